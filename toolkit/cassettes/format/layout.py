"""Find the interactions in the bytes of a cassette of ours without parsing them.

This is one of the two modules that make replay fast (the other is `fast_items`): opening a cassette costs a few byte
searches, however many interactions it holds. It handles only files laid out exactly as the recorder writes them. A file
that an editor or formatter has laid out differently is parsed as a whole instead.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise
from typing import Final, NamedTuple

from toolkit.cassettes.format.interactions import HEADER, MARKER
from toolkit.core.ledger import parse_instant

_END: Final = b"\n  complete: true\n"
_START: Final = b"- request:\n"
_HEAD: Final = re.compile(rb"- request:\n    method: (?P<method>[^\n]+)\n    uri: (?P<uri>[^\n]+)\n")
_ENVIRONMENT: Final = re.compile(rb"    kind: [^\n]+\n    environment: ([^\n]+)\n")
_TOKEN_NUMBER: Final = re.compile(rb"([0-9]{1,9})\n")
_RECORDED_AT: Final = re.compile(rb"'?([0-9T:.Z-]{1,40})'?\n")
_PLAIN: Final = re.compile(rb"[A-Za-z][!-~]*\Z")


class Item(NamedTuple):
    """The place of an interaction in a file.

    Attributes:
        start: index of its first byte.
        end: index after its last byte.
        line: number of its first line in the file, from 1.
    """

    start: int
    end: int
    line: int


class Layout(NamedTuple):
    """The items of a file.

    Attributes:
        data: bytes of the file up to the end of the last complete item.
        items: the complete items.
        is_torn: True if an incomplete item follows, left by an interrupted write.
    """

    data: bytes
    items: tuple[Item, ...]
    is_torn: bool


def is_ours(data: bytes) -> bool:
    """Return True if these bytes are a cassette of ours, or the beginning of such a cassette."""
    return bool(data) and (data.startswith(MARKER[:-1]) or MARKER.startswith(data))


def lay_out(data: bytes) -> Layout | None:
    """Return the items of a cassette of ours, or None if it is not laid out as the recorder writes it."""
    if b"\r\n" in data:  # from an editor, or from git; the recorder does not write it
        data = data.replace(b"\r\n", b"\n")
    if not data.startswith(HEADER):
        return Layout(b"", (), is_torn=True) if HEADER.startswith(data) else None
    starts = [end - len(_START) for end in _line_ends(data, _START)]
    if not starts:
        return Layout(b"", (), is_torn=True) if _START.startswith(data[len(HEADER) :]) else None
    if starts[0] != len(HEADER):
        return None
    items = items_between(data, [*starts, len(data)], line=HEADER.count(b"\n") + 1)
    last = starts[-1]
    marker = data.find(_END, last)
    end = 0 if marker < 0 else marker + len(_END)
    if end and end < len(data) and _START.startswith(data[end:]):
        items[-1] = items[-1]._replace(end=end)
        return Layout(data[:end], tuple(items), is_torn=True)
    if end == len(data) or _is_complete(data[last:]):
        return Layout(data, tuple(items), is_torn=False)
    return None if end else Layout(data[:last], tuple(items[:-1]), is_torn=True)


def items_between(data: bytes, boundaries: list[int], *, line: int) -> list[Item]:
    """Return an item for each pair of neighbouring boundaries; `line` is the line of the first item."""
    items = []
    for start, end in pairwise(boundaries):
        items.append(Item(start, end, line))
        line += data.count(b"\n", start, end)
    return items


def _is_complete(item: bytes) -> bool:
    """Return True if an item that was edited at its end is still complete."""
    from toolkit.cassettes.format import yaml_text

    try:
        parsed = yaml_text.load(item)
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, list) and len(parsed) == 1 and parsed[0].get("complete") is True


def appendable(layout: Layout) -> bytes:
    """Return the bytes to which the next item can be appended; empty without items, since vcrpy needs at least one."""
    if not layout.items:
        return b""
    return layout.data if layout.data.endswith(b"\n") else layout.data + b"\n"


def head(layout: Layout, number: int) -> tuple[str, str] | None:
    """Return method and URI of an item without parsing it, or None if that needs a parser."""
    item = layout.items[number]
    match = _HEAD.match(layout.data, item.start, item.end)
    if match is None:
        return None
    method, uri = _plain_text(match["method"]), _plain_text(match["uri"])
    return None if method is None or uri is None else (method, uri)


def environments(layout: Layout) -> list[str]:
    """Return the names of the environments whose calls are recorded, in order of appearance."""
    callers = (_ENVIRONMENT.match(layout.data, end) for end in _line_ends(layout.data, b"  authorized_by:\n"))
    names = dict.fromkeys(match[1] for match in callers if match)
    return list(dict.fromkeys(name.decode("ascii", "replace") for name in names))


def token_requests(layout: Layout) -> list[int]:
    """Return the numbers of the items that are token requests."""
    starts = [item.start for item in layout.items]
    return [bisect.bisect(starts, end) - 1 for end in _line_ends(layout.data, b"  token_obtained:\n")]


def last_token_number(layout: Layout) -> int:
    """Return the highest token number, or 0 if there is none."""
    numbers = (_TOKEN_NUMBER.match(layout.data, end) for end in _line_ends(layout.data, b"    token: "))
    return max((int(match[1]) for match in numbers if match), default=0)


def first_recorded_at(layout: Layout) -> datetime | None:
    """Return the first recording time in the file, or None if there is none."""
    end = next(_line_ends(layout.data, b"  recorded_at: "), None)
    match = None if end is None else _RECORDED_AT.match(layout.data, end)
    try:
        return None if match is None else parse_instant(match[1].decode("ascii"))
    except ValueError:
        return None


def _line_ends(data: bytes, beginning: bytes) -> Iterator[int]:
    """Yield the index after each occurrence of a text at the beginning of a line, except in the first line."""
    at = data.find(b"\n" + beginning)
    while at >= 0:
        yield at + 1 + len(beginning)
        at = data.find(b"\n" + beginning, at + len(beginning))


def _plain_text(scalar: bytes) -> str | None:
    """Return the text of a plain scalar, or None if it is quoted or otherwise needs a parser."""
    return scalar.decode("ascii") if _PLAIN.match(scalar) and b"#" not in scalar else None
