"""Write and load the YAML of cassettes: exactly, safely and readably.

Texts of several lines are written as blocks, other texts on one line. All output is ASCII, because stock vcrpy reads
files in the machine's preferred encoding. It is what PyYAML writes, in a fraction of the time.
Before anything is loaded, `check` counts nesting and aliases.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import yaml

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # not every platform has libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_MOST_LEVELS: Final = 500  # an interaction has six
_MOST_NODES: Final = 20_000_000  # with aliases expanded
_FEW_ALIASES: Final = 20  # too few to multiply anything
_ALIAS: Final = re.compile(rb"[\s\[,{:]\*\w")
# A mapping on a line of its own is indented by at least one column; a list inside it need not be indented further.
_INDENTED: Final = b" " * (_MOST_LEVELS // 2)
# YAML 1.1 reads 1:30:00 as a number in base 60. Reading one takes time quadratic in the number of its digits.
_SIXTIES: Final = re.compile(r"[0-9_](?::[0-5]?[0-9]){20}")
_SIXTIES_BYTES: Final = re.compile(_SIXTIES.pattern.encode("ascii"))
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_PLAIN: Final = re.compile(r"[\x20-\x7e\n]*\Z")
# A literal block cannot represent white space at either end or before a line end, nor empty last lines.
_NOT_A_BLOCK: Final = re.compile(r"\A\s| \n|\n\n\Z|[^\S\n]\Z")
_LINE_END: Final = re.compile(r"\n(?!\n)")
# The beginning of a text that means something else without quotes (YAML 1.1, section 4.4), as may what a loader takes
# for a number, a date or a word such as `yes`.
_INDICATOR: Final = re.compile(r"[ #,\[\]{}&*!|>'\"%@`]|[-?:](?: |\Z)|---|\.\.\.|\Z")
_IMPLICIT: Final = yaml.resolver.Resolver.yaml_implicit_resolvers
_ESCAPED: Final = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e\ud800-\udfff]")  # no encoding has a lone surrogate
_LETTERS: Final = dict(zip('\0\a\b\t\n\v\f\r\x1b"\\\x85\xa0\u2028\u2029', '0abtnvfre"\\N_LP', strict=True))
_LONGEST_KEY: Final = 128  # characters on the line of the value


class NotYaml(ValueError):
    """The text is not YAML, or not safe to load.

    Attributes:
        line: line of the problem within the text, from 0.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def _load(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)


def dump(item: Mapping[str, Any]) -> bytes:
    """Return a mapping of plain types as an item of a list in block YAML, with keys in their order."""
    return f"- {_written(item, chr(10))[3:]}\n".encode("ascii")


def _written(value: Any, margin: str) -> str:
    """Return a value as it follows its key or a dash; `margin` is the line end and the white space before these."""
    if isinstance(value, str):
        return f" {_text(value, margin)}"
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
    written = _text(key, margin)
    is_short = len(written) <= _LONGEST_KEY and "\n" not in written
    return f"{margin}{written}:" if is_short else f"{margin}? {written}{margin}:"


def _text(text: str, margin: str) -> str:
    is_long = "\n" in text
    if not _PLAIN.match(text) or (is_long and _NOT_A_BLOCK.search(text)):
        return f'"{_ESCAPED.sub(_escape, text)}"'
    if is_long:
        return _block(text, margin)
    has_meaning = _INDICATOR.match(text) or ": " in text or " #" in text or text[-1] in ": "
    if has_meaning or any(pattern.match(text) for _, pattern in _IMPLICIT.get(text[0], ())):
        return "'" + text.replace("'", "''") + "'"
    return text


def _block(text: str, margin: str) -> str:
    """Return a text of several lines as a literal block."""
    inner, lines = f"{margin}  ", text.removesuffix("\n")
    return f"{'|-' if lines == text else '|'}{inner}{_LINE_END.sub(inner, lines)}"


def _escape(character: re.Match[str]) -> str:
    letter, code = _LETTERS.get(character[0]), ord(character[0])
    if letter is not None:
        return f"\\{letter}"
    return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


def check(data: bytes) -> None:
    """Refuse YAML that would crash a loader, or fill the memory once it is loaded.

    Raises:
        NotYaml: if it is nested too deeply, its aliases repeat too much, or a number would take long to read.
    """
    if data.startswith(_UTF_16):
        raise NotYaml("it is not UTF-8 text", 0)  # byte searches would find nothing in it
    if not _may_be_hostile(data):
        return
    # Node count and anchor of each open collection; the first entry stands for the document.
    sizes, anchors = [0], [""]
    sizes_by_anchor: dict[str, int] = {}
    for event in yaml.parse(data, Loader=_Loader):
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
            raise NotYaml("it is nested too deeply" if is_too_deep else "its aliases repeat too much", line)


def _may_be_hostile(data: bytes) -> bool:
    """Return True if the text is nested, or has aliases or numbers, to a degree that makes a full check necessary."""
    levels = sum(map(data.count, (b"[", b"{", b"- ", b"-\n", b"? ", b"?\n")))
    is_deep = levels > _MOST_LEVELS or _INDENTED in data
    return is_deep or _SIXTIES_BYTES.search(data) is not None or len(_ALIAS.findall(data)) > _FEW_ALIASES


def load(data: bytes, load_safely: Callable[[Any], Any] = _load) -> Any:
    """Load YAML of plain types.

    Args:
        data: the text, which is checked first.
        load_safely: how to load it; by default as YAML 1.1 without tags of programming languages.

    Raises:
        NotYaml: if it is not YAML, has another tag, or is refused by `check`.
    """
    try:
        check(data)
        return load_safely(data.decode("utf-8-sig"))
    except NotYaml:
        raise
    except UnicodeDecodeError as error:
        raise NotYaml("it is not UTF-8 text", data.count(b"\n", 0, error.start)) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise NotYaml(f"it is not valid YAML ({error.problem})", line) from None
    except yaml.YAMLError:
        raise NotYaml("it is not valid YAML (a character that YAML does not allow)", 0) from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        raise NotYaml("it is not valid YAML (a value that its tag does not allow)", 0) from None


def lines_of_items(data: bytes) -> list[int]:
    """Return the lines, from 1, on which the interactions of a whole cassette begin; none if they are not known.

    Args:
        data: the text, which was loaded before, so it is safe to parse.
    """
    try:
        document: Any = yaml.compose(data, Loader=_Loader)
        items = next(value for key, value in document.value if key.value == "interactions")
        return [int(item.start_mark.line) + 1 for item in items.value]
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, TypeError, ValueError, LookupError, StopIteration):
        return []
