"""Where interactions stand in a file of vcrpy's usual block shape, found without parsing any.

The shape is that of PyYAML's dumper: keys in alphabetical order, two columns a level, items that begin at the
margin. What an alias, a key more or a line at the margin could make different is left to vcrpy's loader, whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolkit.cassettes.format.layout import Item, Layout

_HEADER: Final = b"interactions:\n"
_END: Final = b"version: 1\n"
_START: Final = b"\n- request:\n    body:"
_AT_THE_MARGIN: Final = re.compile(rb"\n(?! |\n|- request:\n    body:)")
_OTHER_BREAKS: Final = (b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")  # as YAML 1.1 has it
_ANCHOR: Final = re.compile(rb"[\s\[,{:-]&([^\s,\[\]{}]+)")
_ALIAS: Final = re.compile(rb"[\s\[,{:-]\*([^\s,\[\]{}]+)")
_HEAD: Final = re.compile(rb"\n    method: ([A-Za-z]+)\n    uri: (https?://[!-\"$-~]*)\n  response:\n")
_RESPONSE: Final = b"\n  response:\n"
_OTHER_TYPES: Final = frozenset({b"yes", b"no", b"true", b"false", b"on", b"off", b"null"})  # of YAML 1.1


def lay_out(data: bytes) -> Layout | None:
    """The items of a file of vcrpy's usual shape; None when it is of another, or no UTF-8 text."""
    if not (data.startswith(_HEADER) and data.endswith(b"\n" + _END)):
        return None
    items = data[: -len(_END)]
    if not items.startswith(_START[1:], len(_HEADER)) or _AT_THE_MARGIN.search(items, len(_HEADER), len(items) - 1):
        return None
    if any(other in items for other in _OTHER_BREAKS) or _has_aliases(items):
        return None
    try:
        items.decode("utf-8")
    except UnicodeDecodeError:
        return None
    starts = list(_starts(items))
    found = []
    line = 2
    for start, end in zip(starts, [*starts[1:], len(items)], strict=True):
        found.append(Item(start, end, line))
        line += items.count(b"\n", start, end)
    return Layout(items, tuple(found), is_torn=False)


def _starts(items: bytes) -> Iterator[int]:
    at = items.find(_START)
    while at >= 0:
        yield at + 1
        at = items.find(_START, at + 1)


def _has_aliases(items: bytes) -> bool:
    if b"&" not in items or b"*" not in items:
        return False
    aliases = set(_ALIAS.findall(items))
    return bool(aliases) and not aliases.isdisjoint(_ANCHOR.findall(items))


def whole(item: bytes) -> bytes:
    """One item as a file of its own; its first line is the second of it."""
    return _HEADER + item + _END


def head(layout: Layout, number: int) -> tuple[str, str] | None:
    """Method and URI of an item without parsing it; None where that needs a parser."""
    item = layout.items[number]
    at = layout.data.find(_RESPONSE, item.start, item.end)
    if at < 0 or layout.data.find(_RESPONSE, at + 1, item.end) >= 0:
        return None
    line = layout.data.rfind(b"\n    method: ", item.start, at)
    match = _HEAD.match(layout.data, line, item.end) if line >= 0 else None
    if match is None or match.end() != at + len(_RESPONSE) or match[1].lower() in _OTHER_TYPES:
        return None
    return None if match[2].endswith(b":") else (match[1].decode("ascii"), match[2].decode("ascii"))
