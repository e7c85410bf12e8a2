"""Find the interactions in a file of stock vcrpy without parsing them.

Only the usual layout of PyYAML's dumper is handled: keys in alphabetical order, two columns per level, items that
begin at the margin. If an alias, an extra key or other text at the margin could change the meaning of an item, the
whole file is left to vcrpy's loader (module `vcrpy_files`, apart from this one because it needs yaml and vcr).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolkit.cassettes.format.fast_items import NOT_TEXT
from toolkit.cassettes.format.layout import Layout, items_between

_HEADER: Final = b"interactions:\n"
_END: Final = b"version: 1\n"
_START: Final = b"\n- request:\n    body:"
_AT_THE_MARGIN: Final = re.compile(rb"\n(?! |\n|- request:\n    body:)")
_OTHER_LINE_BREAKS: Final = (b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")  # of YAML 1.1
_PARSED_BODY: Final = b"\n    parsed_body:"  # of pydantic-ai, whose files are refused as a whole
_ANCHOR: Final = re.compile(rb"[\s\[,{:-]&([^\s,\[\]{}]+)")
_ALIAS: Final = re.compile(rb"[\s\[,{:-]\*([^\s,\[\]{}]+)")
_HEAD: Final = re.compile(rb"\n    method: ([A-Za-z]+)\n    uri: (https?://[!-\"$-~]*)\n  response:\n")
_RESPONSE: Final = b"\n  response:\n"


def lay_out(data: bytes) -> Layout | None:
    """Return the items of a file in vcrpy's usual layout, or None if it has another layout or is not UTF-8 text."""
    if not (data.startswith(_HEADER) and data.endswith(b"\n" + _END)):
        return None
    items = data[: -len(_END)]
    if not items.startswith(_START[1:], len(_HEADER)) or _AT_THE_MARGIN.search(items, len(_HEADER), len(items) - 1):
        return None
    if any(text in items for text in (*_OTHER_LINE_BREAKS, _PARSED_BODY)) or _has_aliases(items):
        return None
    try:
        items.decode("utf-8")
    except UnicodeDecodeError:
        return None
    boundaries = [*_starts(items), len(items)]
    return Layout(items, tuple(items_between(items, boundaries, line=2)), is_torn=False)


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


def as_file(item: bytes) -> bytes:
    """Return an item as a file of its own, in which it starts on the second line."""
    return _HEADER + item + _END


def head(layout: Layout, number: int) -> tuple[str, str] | None:
    """Return method and URI of an item without parsing it, or None if that needs a parser."""
    item = layout.items[number]
    at = layout.data.find(_RESPONSE, item.start, item.end)
    if at < 0 or layout.data.find(_RESPONSE, at + 1, item.end) >= 0:
        return None
    line = layout.data.rfind(b"\n    method: ", item.start, at)
    match = _HEAD.match(layout.data, line, item.end) if line >= 0 else None
    if match is None or match.end() != at + len(_RESPONSE) or match[1].decode("ascii").lower() in NOT_TEXT:
        return None
    return None if match[2].endswith(b":") else (match[1].decode("ascii"), match[2].decode("ascii"))
