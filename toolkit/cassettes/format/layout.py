"""Where interactions stand in the bytes of a cassette of ours, found without parsing any.

Only for files that are laid out as we write them; what an editor or a formatter has laid out anew is
parsed whole.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from toolkit.cassettes.format.interactions import HEADER, MARKER
from toolkit.core.ledger import parse_instant

_END: Final = b"\n  complete: true\n"
_START: Final = b"- request:\n"
_HEAD: Final = re.compile(rb"- request:\n    method: (?P<method>[^\n]+)\n    uri: (?P<uri>[^\n]+)\n")
_ENVIRONMENT: Final = re.compile(rb"    kind: [^\n]+\n    environment: ([^\n]+)\n")
_TOKEN_NUMBER: Final = re.compile(rb"([0-9]{1,9})\n")
_RECORDED_AT: Final = re.compile(rb"'?([0-9T:.Z-]{1,40})'?\n")
_PLAIN: Final = re.compile(rb"[A-Za-z][!-~]*\Z")


@dataclass(frozen=True, slots=True)
class Item:
    """Where an interaction stands in a cassette of ours, before it is parsed.

    Attributes:
        start: first byte.
        end: byte after the last.
        line: number of its first line in the file, from 1.
    """

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A cassette of ours that is laid out as we write it.

    Attributes:
        data: its bytes as far as they are complete.
        items: its complete items.
        is_torn: whether more follows: an interaction whose writing was interrupted.
    """

    data: bytes
    items: tuple[Item, ...]
    is_torn: bool


def is_ours(data: bytes) -> bool:
    """Whether these bytes are a cassette of ours, or began to become one, rather than of vcrpy or of nobody."""
    return bool(data) and (data.startswith(MARKER[:-1]) or MARKER.startswith(data))


def lay_out(data: bytes) -> Layout | None:
    """Find the items of a cassette of ours; None when it is not laid out as we write it."""
    if b"\r\n" in data:  # we write none: git did, or an editor
        data = data.replace(b"\r\n", b"\n")
    if not data.startswith(HEADER):
        return Layout(b"", (), is_torn=True) if HEADER.startswith(data) else None
    starts = [end - len(_START) for end in _ends(data, _START)]
    if not starts:
        return Layout(b"", (), is_torn=True) if _START.startswith(data[len(HEADER) :]) else None
    if starts[0] != len(HEADER):
        return None
    items = []
    line = HEADER.count(b"\n") + 1
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        items.append(Item(start, end, line))
        line += data.count(b"\n", start, end)
    last = starts[-1]
    found = data.find(_END, last)
    end = 0 if found < 0 else found + len(_END)
    if end and end < len(data) and _START.startswith(data[end:]):
        items[-1] = replace(items[-1], end=end)
        return Layout(data[:end], tuple(items), is_torn=True)
    if end == len(data) or _is_complete(data[last:]):
        return Layout(data, tuple(items), is_torn=False)
    return None if end else Layout(data[:last], tuple(items[:-1]), is_torn=True)


def _is_complete(item: bytes) -> bool:
    """Whether an item that does not end as we write it is whole all the same: edited by hand."""
    from toolkit.cassettes.format import yaml_text  # keeps yaml out of `import toolkit`

    try:
        parsed = yaml_text.load(item)
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, list) and len(parsed) == 1 and parsed[0].get("complete") is True


def mended(layout: Layout) -> bytes:
    """The bytes that the next item is appended to; none without an item, as vcrpy cannot read an empty list."""
    if not layout.items:
        return b""
    return layout.data if layout.data.endswith(b"\n") else layout.data + b"\n"


def head(layout: Layout, number: int) -> tuple[str, str] | None:
    """Method and URI of an item without parsing it; None where that needs a parser."""
    item = layout.items[number]
    match = _HEAD.match(layout.data, item.start, item.end)
    if match is None:
        return None
    method, uri = _scalar(match["method"]), _scalar(match["uri"])
    return None if method is None or uri is None else (method, uri)


def environments(layout: Layout) -> list[str]:
    """Names of the environments whose calls it holds, in order of appearance."""
    callers = (_ENVIRONMENT.match(layout.data, end) for end in _ends(layout.data, b"  authorized_by:\n"))
    names = dict.fromkeys(match[1] for match in callers if match)
    return list(dict.fromkeys(name.decode("ascii", "replace") for name in names))


def token_requests(layout: Layout) -> list[int]:
    """Numbers of the items that are token requests."""
    starts = [item.start for item in layout.items]
    return [bisect.bisect(starts, end) - 1 for end in _ends(layout.data, b"  token_obtained:\n")]


def last_token_number(layout: Layout) -> int:
    """The highest token number, 0 without any."""
    numbers = (_TOKEN_NUMBER.match(layout.data, end) for end in _ends(layout.data, b"    token: "))
    return max((int(match[1]) for match in numbers if match), default=0)


def first_recorded_at(layout: Layout) -> datetime | None:
    """When the first interaction was recorded."""
    end = next(_ends(layout.data, b"  recorded_at: "), None)
    match = None if end is None else _RECORDED_AT.match(layout.data, end)
    try:
        return None if match is None else parse_instant(match[1].decode("ascii"))
    except ValueError:
        return None


def _ends(data: bytes, text: bytes) -> Iterator[int]:
    """Where each line that begins with a text goes on behind it; never the first line."""
    at = data.find(b"\n" + text)
    while at >= 0:
        yield at + 1 + len(text)
        at = data.find(b"\n" + text, at + len(text))


def _scalar(raw: bytes) -> str | None:
    """The text of a plain scalar; None for one in quotes and for whatever else needs a parser."""
    return raw.decode("ascii") if _PLAIN.match(raw) and b"#" not in raw else None
