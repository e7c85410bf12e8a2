"""The reference as Markdown, written from the code: public names from their docstrings, commands from their help."""

import builtins
import enum
import importlib
import inspect
import json
import re

from functools import cache
from pathlib import Path

import docstrings

import toolkit as tk

PAGES = Path(__file__).resolve().parents[1] / "reference"

# What a reader uses of each class, in the order in which it is used. Anything else of a class is internal.
MEMBERS = {
    "Session": "trading market_data broker accounts tokens calls token now describe close",
    "AsyncSession": "accounts close",
    "Token": "is_usable remaining lifetime",
    "Secret": "reveal",
    "Signer": "algorithm key_id sign",
    "Settings": "load",
    "Cassette": "transport table play_count unplayed environments recorded_at finish close",
    "PracticeService": "start close settings credentials session async_session stats faults revoke_tokens url",
    "Faults": "inject clear",
    "Stats": "reset",
    "SweepResult": "table failures retry",
    "Drift": "table to_json",
    "FindingList": "",
    "Finding": "",
    "ImportReport": "",
    "PublishedCopy": "",
    "Profile": "",
    "ToolkitError": "",
}
# Objects that functions return: where their class is, and what returns them.
RETURNED = {
    "Drift": ("toolkit.sharing.drift", "tk.drift"),
    "Faults": ("toolkit.practice_service.faults", "service.faults"),
    "FindingList": ("toolkit.scrubbing.scanning.findings", "tk.scan"),
    "Finding": ("toolkit.scrubbing.scanning.findings", "tk.scan"),
    "ImportReport": ("toolkit.cassettes.importing.report", "tk.import_cassette"),
    "PracticeService": ("toolkit.practice_service.service", "tk.practice"),
    "Profile": ("toolkit.auth.profiles.fields", "tk.saved_credentials"),
    "PublishedCopy": ("toolkit.sharing.publishing.publication", "tk.publish"),
    "Stats": ("toolkit.practice_service.world", "service.stats"),
    "SweepResult": ("toolkit.sweeps.result", "tk.sweep"),
}
# Arguments for tests of the toolkit and for its own rooms.
INTERNAL = frozenset({"scrubber", "environ", "clock", "self", "cls"})
# Types that a reader knows or finds in the reference.
_KNOWN_TYPES = {
    *vars(builtins),
    *tk.__all__,
    *"AsyncBaseTransport AsyncClient BaseTransport Callable Client DataFrame Iterable Mapping Path Sequence".split(),
    *"Timeout URL httpx pd".split(),
}
_WIDTH = 84
_GENERATED = re.compile(r"<!-- (api|commands|json):? ?([^>]*?) ?-->\n.*?<!-- end -->", re.DOTALL)


def filled(text):
    """Return a page with its generated parts: what stands between `<!-- api: NAMES -->` and `<!-- end -->`."""
    writers = {"api": api, "commands": commands, "json": json_reports}
    return _GENERATED.sub(lambda part: writers[part[1]](*part[2].split()), text)


def names_in(text):
    """Return the public names that a page describes."""
    return [name for kind, names in _GENERATED.findall(text) if kind == "api" for name in names.split()]


@cache
def _sections():
    """Return the page and the heading of each public name, and of each command."""
    found = {}
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        found |= {name: (page.stem, name) for name in names_in(text)}
        if page.stem == "errors":
            found |= {name: (page.stem, name) for name in re.findall(r"^## `(\w+)`$", text, re.MULTILINE)}
    headings = re.findall(r"^## `(toolkit .*)`$", commands(), re.MULTILINE)
    return found, {heading: ("command-line", heading) for heading in headings}


def section_of(code):
    """Return the page of the reference and the heading that inline code is about, or None.

    `tk.Session("paper")` is about Session, `toolkit scan . --json` about the command, `CassetteMiss` about the error.
    """
    names, headings = _sections()
    name = re.match(r"tk\.(\w+)|([A-Z]\w+)\Z", code)
    if name:
        return names.get(name[1] or name[2])
    words = re.match(r"toolkit( [a-z]+)*", code)
    command = words[0] if words else ""
    while command and command not in headings:
        command = command.rpartition(" ")[0]
    return headings.get(command)


def api(*names):
    """Return the sections of these names, each with signature, meaning, arguments, results and errors."""
    return "\n\n".join(_described(name) for name in names)


def _described(name):
    module, source = RETURNED.get(name, ("", ""))
    value = getattr(importlib.import_module(module), name) if module else getattr(tk, name)
    out = [f"## `{name}`", ""]
    if source:
        out += [f"What `{source}` gives.", ""]
    elif callable(value) and not _is_without_signature(value):
        out += ["```python", _signature(f"tk.{name}", value), "```", ""]
    parts = docstrings.sections(inspect.getdoc(value) or "")
    if inspect.isclass(value) and "Args" not in parts and not source:
        parts = {**docstrings.sections(_constructor_text(value)), **parts}
    out += _body(parts, value, is_constructed=not source)
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        out += [_choices(value), ""]
    for member in MEMBERS.get(name, "").split():
        out += _member(name, value, member)
    return "\n".join(out)


def _is_without_signature(value):
    return inspect.isclass(value) and (issubclass(value, enum.Enum) or getattr(value, "_is_protocol", False))


def _constructor_text(value):
    """Return the docstring of the constructor, without its first paragraph, if the class has its own."""
    return inspect.getdoc(value.__init__) or "" if "__init__" in vars(value) or value.__bases__ != (object,) else ""


def _body(parts, value, *, is_constructed=True):
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


def _member(name, value, member):
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


def _parameters(value):
    """Return the parameters that a reader may give."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter for parameter in parameters if parameter.name not in INTERNAL]


def _types(value):
    """Return what each parameter may be, as the code says it, and its default."""
    return {
        parameter.name: f"`{_plain(parameter.annotation)}`" if _plain(parameter.annotation) else ""
        for parameter in _parameters(value)
        if parameter.annotation is not parameter.empty
    }


def _plain(annotation):
    """Return a type as a reader may write it; nothing for the names of types that only the code has."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text if set(re.findall(r"\w+", text)) <= _KNOWN_TYPES else ""


def _signature(name, value):
    """Return a call with all parameters, broken into lines where it is long."""
    words, is_keyword, last = [], False, None
    for parameter in _parameters(value):
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


def _default(value):
    if isinstance(value, enum.Enum):
        return str(value)
    return "..." if callable(value) else json.dumps(value) if isinstance(value, str) else repr(value)


def _choices(value):
    return "\n".join(["| name | value |", "|---|---|", *(f"| `{item.name}` | `{item.value}` |" for item in value)])


def commands(*_):
    """Return a section for each command of the command line, from its help."""
    from typer.main import get_command

    from toolkit.cli.app import app

    return "\n\n".join(_command_sections(get_command(app), "toolkit", None))


def _command_sections(command, name, parent):
    import click

    context = command.context_class(command, info_name=name, parent=parent)
    yield _command_text(command, context)
    for inner in getattr(command, "commands", {}).values():
        if not inner.hidden:
            yield from _command_sections(inner, inner.name, context)


def json_reports(*_):
    """Return what the help of each command says about the JSON that it prints, one section each."""
    sections = re.split(r"^## `(.*?)`$", commands(), flags=re.MULTILINE)
    said = {
        name: re.search(r"^JSON (?:is|has) .*?(?=\n\n)", text, re.DOTALL | re.MULTILINE)
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    return "\n\n".join(f"## `{name}`\n\n{match[0]}" for name, match in said.items() if match)


def _command_text(command, context):
    path = context.command_path
    out = [f"## `{path}`", "", inspect.cleandoc(command.help or ""), ""]
    out += ["```text", f"{path} {' '.join(command.collect_usage_pieces(context))}", "```", ""]
    records = [param.get_help_record(context) for param in command.get_params(context) if param.name != "help"]
    for names, about in filter(None, records):
        text = re.sub(r"\s+", " ", about).replace("[", "\\[").strip() or "No further text."
        out += [f"`{names}`", f": {text}", ""]
    inner = [f"`{path} {name}`" for name, below in getattr(command, "commands", {}).items() if not below.hidden]
    if inner:
        out += [f"Commands: {', '.join(inner)}."]
    return "\n".join([*out, "", _examples(inspect.cleandoc(command.epilog or ""))])


def _examples(epilog):
    """Return the end of a help: its examples as a block to copy, anything else as it is."""
    lines = [line for line in epilog.splitlines() if line]
    if lines[:1] != ["Examples:"]:
        return epilog
    return "\n".join(["```sh", *(line.strip("`") for line in lines[1:]), "```"])
