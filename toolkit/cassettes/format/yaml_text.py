"""Write and read cassette YAML without loss, safely, and in a readable form.

Multi-line strings are written as blocks, other strings on one line. All output is ASCII, because stock vcrpy reads
files in the machine's preferred encoding. Plain and single-quoted strings on one line, which are unambiguous, are read
without a YAML parser, in a sixth of the time. Before a parser loads anything, the nesting depth and the size of
expanded aliases are checked.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

_MOST_LEVELS: Final = 500  # an interaction has six
_MOST_NODES: Final = 20_000_000  # with aliases expanded
# YAML 1.1 reads 1:30:00 as a number in base 60. Reading one takes time quadratic in the number of its digits.
_SIXTIES: Final = re.compile(r"[0-9_](?::[0-5]?[0-9]){20}")
_LONGEST_KEY: Final = 1_000  # characters; parsers stop at 1,024 unless a question mark announces the key

# In a plain scalar, a colon before a space or line end, and a number sign after a space, have a special meaning.
_PLAIN: Final = r"(?:[A-Za-z]|<[A-Z])(?:[!-9;-~]++|:(?=[!-~])| ++(?=[!-\"$-~]))*+"
# Plain scalars that YAML 1.1 does not read as text, in upper or lower case.
_NOT_TEXT: Final = frozenset({"yes", "no", "true", "false", "on", "off", "null"})
_QUOTED: Final = r"'(?:[ -&(-~]++|'')*+'"
_NUMBER: Final = r"[1-9][0-9]{0,8}+|[0-9]{1,9}+\.[0-9]{1,9}+"
_LINE: Final = re.compile(
    rf"(  (?:  )*+)(?:([A-Za-z][A-Za-z0-9_.-]*+):(?: ({_QUOTED}|{_PLAIN}|{_NUMBER}|\{{\}}))?+|- ({_QUOTED}|{_PLAIN}))"
)
_PLAIN_TEXT: Final = re.compile(_PLAIN)
_PRINTABLE: Final = re.compile(r"[\x20-\x7e]*")
# A literal block cannot represent white space at either end or before a line end, nor empty last lines.
_BLOCK: Final = re.compile(r"(?!\s)(?:[!-~]++|\n(?!\n\Z)| ++(?![ \n]))*+(?<! )")
_LINE_END: Final = re.compile(r"\n(?!\n)")


class NotYaml(ValueError):
    """The text is not YAML, or is not safe to load.

    Attributes:
        line: line of the problem within the text, from 0.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def dump(item: Mapping[str, Any]) -> bytes:
    """Return a mapping of plain types as a list item in block YAML; the keys keep their order."""
    return f"- {_written(item, chr(10))[3:]}\n".encode("ascii")


def _written(value: Any, margin: str) -> str:
    """Return a value as YAML to put after its key or a dash; `margin` is the line break and indentation before them."""
    if isinstance(value, str):
        is_block = "\n" in value and _BLOCK.fullmatch(value)
        return f" {_block(value, margin) if is_block else _on_one_line(value)}"
    if isinstance(value, dict) and value:
        inner = f"{margin}  "
        return "".join([f"{_key(key, inner)}{_written(each, inner)}" for key, each in value.items()])
    if isinstance(value, list) and value:
        return "".join([f"{margin}-{_written(each, margin)}" for each in value])
    if isinstance(value, bytes):
        return f" !!binary {_block(base64.encodebytes(value).decode(), margin)}"
    if isinstance(value, float):
        written = repr(value)
        return f" {written}" if "." in written else f" {written.replace('e', '.0e')}"
    return f" {json.dumps(value)}"


@lru_cache(maxsize=1024)
def _key(key: str, margin: str) -> str:
    written = _on_one_line(key)
    return f"{margin}{written}:" if len(written) < _LONGEST_KEY else f"{margin}? {written}{margin}:"


def _on_one_line(text: str) -> str:
    if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    if _PRINTABLE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    escaped = json.dumps(text, ensure_ascii=False).replace("\x7f", r"\x7f")
    return escaped.encode("ascii", "backslashreplace").decode()  # YAML has the same escapes, even beyond 16 bits


def _block(text: str, margin: str) -> str:
    """Return a multi-line string as a literal block."""
    inner, lines = f"{margin}  ", text.removesuffix("\n")
    return f"{'|-' if lines == text else '|'}{inner}{_LINE_END.sub(inner, lines)}"


def load_usual(lines: Iterable[str]) -> dict[str, Any]:
    """Parse lines of block YAML and return the mapping that `load` would return.

    Raises:
        ValueError, LookupError, AttributeError: if a YAML parser is needed.
    """
    fields: dict[str, Any] = {}
    mappings, keys = [fields], [""]  # the open mapping of each level, and its last key
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError
        indentation, key, scalar, element = match.groups()
        level = len(indentation) // 2 - 1
        if level == len(mappings) and mappings[-1].get(keys[-1], "") is None:
            mappings[-1][keys[-1]] = {}
            mappings.append(mappings[-1][keys[-1]])
            keys.append("")
        del mappings[level + 1 :], keys[level + 1 :]
        mapping = mappings[level]  # IndexError if a level is skipped
        if element is not None:
            if mapping[keys[level]] is None:
                mapping[keys[level]] = []
            mapping[keys[level]].append(_value(element))
        elif key in mapping or key.lower() in _NOT_TEXT:  # YAML takes the last of two equal keys
            raise ValueError
        else:
            mapping[key] = None if scalar is None else _value(scalar)
            keys[level] = key
    return fields


def _value(scalar: str) -> Any:
    if scalar[0] == "'":
        return scalar[1:-1].replace("''", "'")
    if scalar[0].isdigit():
        return float(scalar) if "." in scalar else int(scalar)
    if scalar in ("true", "{}"):
        return True if scalar == "true" else {}
    if scalar.lower() in _NOT_TEXT:
        raise ValueError
    return scalar


def _check(text: str, loader: Any) -> None:
    """Raise NotYaml for YAML that would crash a loader or exhaust memory."""
    import yaml

    # Node count and anchor of each open collection; the first entry is the document.
    sizes, anchors = [0], [""]
    sizes_by_anchor: dict[str, int] = {}
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line if event.start_mark else 0
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            anchors.append(event.anchor or "")
        elif isinstance(event, yaml.CollectionEndEvent):
            sizes_by_anchor[anchors.pop()] = size = sizes.pop()
            sizes[-1] += size
        elif isinstance(event, yaml.AliasEvent):
            sizes[-1] += sizes_by_anchor.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if (event.tag or event.implicit[0]) and _SIXTIES.search(event.value):
                raise NotYaml("a number is too long", line)
        is_too_deep = len(sizes) > _MOST_LEVELS
        if is_too_deep or sizes[-1] > _MOST_NODES:
            raise NotYaml("it is nested too deeply" if is_too_deep else "its aliases expand to too much data", line)


def load(data: bytes, load_safely: Callable[[Any], Any] | None = None) -> Any:
    """Load YAML with `load_safely`, by default as YAML 1.1 without language-specific tags."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # not every platform has libyaml
    try:
        text = data.decode("utf-8-sig")
        _check(text, loader)
        return load_safely(text) if load_safely else yaml.load(text, Loader=loader)  # noqa: S506
    except NotYaml:
        raise
    except UnicodeDecodeError as error:
        raise NotYaml("it is not UTF-8 text", data.count(b"\n", 0, error.start)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise NotYaml(f"it is not valid YAML ({error.problem})", line) from None
    except (yaml.YAMLError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        raise NotYaml("it is not valid YAML (a character or a value that is not allowed)", 0) from None
