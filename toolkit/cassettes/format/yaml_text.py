"""YAML as cassettes of ours are written in it: safe, exact, one line a text where that is readable.

All of it is ASCII: stock vcrpy reads its files in whatever encoding the machine prefers.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

try:
    from yaml import CSafeDumper as _BaseDumper
    from yaml import CSafeLoader as _Loader
except ImportError:  # libyaml is not there on every platform
    from yaml import SafeDumper as _BaseDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_WIDEST: Final = 1 << 30  # columns: no text is folded
_DEEPEST: Final = 500  # levels; an interaction has six
_MOST_NODES: Final = 20_000_000
_FEW_ALIASES: Final = 20  # with which nothing repeats often
_ALIAS: Final = re.compile(rb"[\s\[,{:]\*\w")
_INDENTED: Final = b" " * (_DEEPEST // 2)  # a level on a line of its own is a column further in, a list may be none
# YAML 1.1 reads 1:30:00 as a number of base 60; one of many places takes time that grows with their square.
_SIXTIES: Final = re.compile(r"[0-9_](?::[0-5]?[0-9]){20}")
_SIXTIES_BYTES: Final = re.compile(_SIXTIES.pattern.encode("ascii"))
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")  # of UTF-16, in which the characters below are not found
_PLAIN: Final = re.compile(r"[\x20-\x7e\n]*\Z")
# A literal block cannot tell these apart: space at either end, or before a line's end, or empty last lines.
_NOT_A_BLOCK: Final = re.compile(r"\A\s| \n|\n\n\Z|[^\S\n]\Z")


class NotYaml(ValueError):
    """Text that is not YAML.

    Attributes:
        line: line of the problem within the text, from 0.
    """

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


class _Dumper(_BaseDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if not _PLAIN.match(text):
        style = '"'  # escapes keep carriage returns, tabs and the rest exactly
    elif "\n" in text:
        style = '"' if _NOT_A_BLOCK.search(text) else "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump(value: Any) -> bytes:
    """A value of plain types as block YAML, keys in their order."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=_WIDEST, default_flow_style=False)
    return str(text).encode("ascii")


def check(data: bytes) -> None:
    """Refuse YAML that would crash a loader, or whose value would fill the memory when it is walked.

    Raises:
        NotYaml: it is nested too deep, aliases repeat too much of it, or a number takes long to read.
    """
    # Only what has as many as this takes of the characters that make levels and aliases is looked at.
    if data.startswith(_WIDE):
        raise NotYaml("it is not UTF-8 text", 0)
    levels = sum(map(data.count, (b"[", b"{", b"- ", b"-\n", b"? ", b"?\n")))
    is_odd = _INDENTED in data or _SIXTIES_BYTES.search(data) is not None
    if levels <= _DEEPEST and not is_odd and len(_ALIAS.findall(data)) <= _FEW_ALIASES:
        return
    sizes, anchors = [0], [""]  # of the collections that are open: how many nodes they stand for, and their names
    named: dict[str, int] = {}
    for event in yaml.parse(data, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            sizes.append(1)
            anchors.append(event.anchor or "")
        elif isinstance(event, yaml.CollectionEndEvent):
            named[anchors.pop()] = size = sizes.pop()
            sizes[-1] += size
        elif isinstance(event, yaml.AliasEvent):
            sizes[-1] += named.get(event.anchor or "", 1)
        elif isinstance(event, yaml.ScalarEvent):
            sizes[-1] += 1
            if (event.tag or event.implicit[0]) and _SIXTIES.search(event.value):
                raise NotYaml("a number is too long", event.start_mark.line if event.start_mark else 0)
        if len(sizes) > _DEEPEST or sizes[-1] > _MOST_NODES:
            what = "it is nested too deep" if len(sizes) > _DEEPEST else "its aliases repeat too much"
            raise NotYaml(what, event.start_mark.line if event.start_mark else 0)


def load(data: bytes) -> Any:
    """The value of YAML of plain types.

    Raises:
        NotYaml: it is none, or has a tag beyond them, or check() refuses it.
    """
    try:
        check(data)
        return yaml.load(data, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise NotYaml(f"no valid YAML ({error.problem})", line) from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise NotYaml("no valid YAML (a character that YAML does not allow)", 0) from None
