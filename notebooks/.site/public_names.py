"""Public names as Markdown: signature, meaning, arguments, results and errors, from their docstrings."""

from __future__ import annotations

import builtins
import enum
import importlib
import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import docstrings

import toolkit as tk

# The members of each class that a reader uses, in the order of use. All others are internal.
MEMBERS = {
    "Session": "trading market_data broker accounts tokens calls token now describe close",
    "AsyncSession": "accounts close",
    "Token": "is_usable remaining lifetime",
    "Secret": "reveal",
    "Signer": "algorithm key_id sign",
    "Settings": "load",
    "Cassette": "transport table play_count unplayed close",
    "PracticeService": "start close settings session async_session revoke_tokens",
    "Faults": "inject clear",
    "Stats": "reset",
    "SweepResult": "table failures retry",
    "Drift": "table",
}
# Objects that functions return: where their class is, and what returns them.
RETURNED = {
    "Drift": ("toolkit.sharing.drift", "tk.drift"),
    "Faults": ("toolkit.practice_service.service", "service.faults"),
    "FindingList": ("toolkit.scrubbing.scanning.findings", "tk.scan"),
    "Finding": ("toolkit.scrubbing.scanning.findings", "tk.scan"),
    "ImportReport": ("toolkit.cassettes.importing", "tk.import_cassette"),
    "PracticeService": ("toolkit.practice_service.service", "tk.practice"),
    "Profile": ("toolkit.auth.profiles.fields", "tk.saved_credentials"),
    "PublishedCopy": ("toolkit.sharing.publish", "tk.publish"),
    "Stats": ("toolkit.practice_service.service", "service.stats"),
    "SweepResult": ("toolkit.sweeps.sweeping", "tk.sweep"),
}
# Arguments for tests of the toolkit and for its other rooms.
INTERNAL = frozenset({"scrubber", "environ", "clock", "self", "cls"})
# Types that a reader knows or finds in the reference.
_KNOWN_TYPES = {
    *vars(builtins),
    *tk.__all__,
    *"AsyncBaseTransport AsyncClient BaseTransport Callable Client DataFrame Iterable Mapping Path Sequence".split(),
    *"Timeout URL httpx pd".split(),
}
_WIDTH = 84


def api(*names: str) -> str:
    """Return the sections of these names, each with signature, meaning, arguments, results and errors."""
    return "\n\n".join(_described(name) for name in names)


def _described(name: str) -> str:
    module, source = RETURNED.get(name, ("", ""))
    value = getattr(importlib.import_module(module), name) if module else getattr(tk, name)
    out = [f"## `{name}`", ""]
    if source:
        out += [f"What `{source}` gives.", ""]
    elif callable(value) and not is_without_signature(value):
        out += ["```python", _signature(f"tk.{name}", value), "```", ""]
    parts = docstrings.sections(inspect.getdoc(value) or "")
    if inspect.isclass(value) and "Args" not in parts and not source:
        parts = {**docstrings.sections(constructor_text(value)), **parts}
    out += _body(parts, value, is_constructed=not source)
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        out += [_choices(value), ""]
    for member in MEMBERS.get(name, "").split():
        out += _member(name, value, member)
    return "\n".join(out)


def is_without_signature(value: Any) -> bool:
    """Check whether a name is not meant to be called: an enumeration, or a protocol."""
    return inspect.isclass(value) and (issubclass(value, enum.Enum) or getattr(value, "_is_protocol", False))


def constructor_text(value: type) -> str:
    """Return the docstring of the constructor if the class, or one below it, has its own."""
    return inspect.getdoc(value.__init__) or "" if "__init__" in vars(value) or value.__bases__ != (object,) else ""


def _body(parts: Mapping[str, str], value: Any, *, is_constructed: bool = True) -> Iterator[str]:
    yield docstrings.prose(parts[""])
    yield ""
    titles = {"Args": "Arguments", "Attributes": "Attributes", "Returns": "Returns", "Raises": "Errors"}
    for section, title in titles.items():
        if section in parts and (section != "Args" or is_constructed):
            text = parts[section]
            types = _types(value) if section in ("Args", "Attributes") else {}
            yield f"**{title}**"
            yield ""
            yield docstrings.prose(text) if section == "Returns" else docstrings.terms(text, types, INTERNAL)
            yield ""


def _member(name: str, value: Any, member: str) -> list[str]:
    plain = inspect.getattr_static(value, member)
    function = plain.fget if isinstance(plain, property) else getattr(plain, "func", None) or getattr(value, member)
    parts = docstrings.sections(inspect.getdoc(function) or "")
    out = ["", f"### `{name}.{member}`", ""]
    if not isinstance(plain, property):
        variable = {"Session": "session", "AsyncSession": "await session", "Cassette": "cassette"}.get(name, "")
        if inspect.ismethod(function):  # a class method
            variable = f"tk.{name}"
        variable = variable or re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower().rpartition("_")[2]
        out += ["```python", _signature(f"{variable}.{member}", function), "```", ""]
    return [*out, *_body(parts, function)]


def parameters_of(value: Any) -> list[inspect.Parameter]:
    """Return the parameters that a reader may pass."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter for parameter in parameters if parameter.name not in INTERNAL]


def _types(value: Any) -> dict[str, str]:
    """Return what each parameter may be, according to the code."""
    return {
        parameter.name: f"`{_plain(parameter.annotation)}`" if _plain(parameter.annotation) else ""
        for parameter in parameters_of(value)
        if parameter.annotation is not parameter.empty
    }


def _plain(annotation: Any) -> str:
    """Return a type as a reader may write it; nothing for types that are internal."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text if set(re.findall(r"\w+", text)) <= _KNOWN_TYPES else ""


def _signature(name: str, value: Any) -> str:
    """Return a call with all parameters, on several lines if it is long."""
    words, is_keyword, last = [], False, None
    for parameter in parameters_of(value):
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword and last is not parameter.VAR_POSITIONAL:
            words.append("*")
        is_keyword = is_keyword or parameter.kind is parameter.KEYWORD_ONLY
        last = parameter.kind
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        words.append(f"{star}{parameter.name}{default}")
    line = f"{name}({', '.join(words)})"
    if len(line) <= _WIDTH:
        return line
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 2 > _WIDTH - 4:
            lines.append("")
        lines[-1] += f"{' ' if lines[-1] else ''}{word},"
    return "\n".join([f"{name}(", *(f"    {line}" for line in lines), ")"])


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value)
    return "..." if callable(value) else json.dumps(value) if isinstance(value, str) else repr(value)


def _choices(value: type[enum.Enum]) -> str:
    return "\n".join(["| name | value |", "|---|---|", *(f"| `{item.name}` | `{item.value}` |" for item in value)])
