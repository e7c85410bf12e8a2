"""The interactions of a cassette file, by number, no matter which tool wrote the file.

In a file of ours that is laid out exactly as the recorder writes it, interactions are found by a few byte searches,
however many there are, and each is parsed when it is first needed: by `fast_items` if it has the usual shape. A file
that an editor has laid out differently, or that stock vcrpy wrote, is parsed as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.cassettes.format import fast_items
from toolkit.cassettes.format.interactions import HEADER, MARKER, Interaction, is_uri
from toolkit.core.errors import CassetteCorrupt
from toolkit.scrubbing.messages import RecordedRequest

if TYPE_CHECKING:
    from toolkit.cassettes.format.decoding import Unreadable

_END: Final = b"\n  complete: true\n"
_START: Final = b"- request:\n"
_HEAD: Final = re.compile(rb"- request:\n    method: ([A-Za-z][!-~]*)\n    uri: ([A-Za-z][!-~]*)\n")


class Contents:
    """The interactions of one file, by number from 0, which were parsed when it was opened.

    Attributes:
        is_foreign: True if stock vcrpy wrote the file: with real addresses, and without keys of ours.
        is_torn: True if the file ends in an incomplete interaction, left by an interrupted write.
    """

    is_torn = False

    def __init__(self, recorded: Sequence[Interaction | Unreadable] = (), *, is_foreign: bool = False) -> None:
        self._recorded = recorded
        self.is_foreign = is_foreign

    def __len__(self) -> int:
        return len(self._recorded)

    def interaction(self, number: int) -> Interaction:
        """Return an interaction by its number.

        Raises:
            CassetteCorrupt: if it cannot be read.
        """
        interaction = self._recorded[number]
        if isinstance(interaction, Interaction):
            return interaction
        raise interaction.error.with_traceback(None)

    def head(self, number: int) -> RecordedRequest:
        """Return a request with at least its method and URI.

        Raises:
            CassetteCorrupt: if they cannot be read.
        """
        interaction = self._recorded[number]
        if not isinstance(interaction, Interaction) and interaction.head is not None:
            return interaction.head
        return self.interaction(number).request

    def line(self, number: int) -> int | None:
        """Return the line on which an interaction begins, from 1, or None if it is not known."""
        interaction = self._recorded[number]
        return None if isinstance(interaction, Interaction) else interaction.line

    def readable(self) -> dict[int, Interaction]:
        """Return the interactions that can be read, by their numbers."""
        found = ((number, self.interaction_or_error(number)) for number in range(len(self)))
        return {number: each for number, each in found if isinstance(each, Interaction)}

    def interaction_or_error(self, number: int) -> Interaction | CassetteCorrupt:
        """Return an interaction, or why it cannot be read."""
        try:
            return self.interaction(number)
        except CassetteCorrupt as error:
            return error

    @cached_property
    def recorded_at(self) -> datetime | None:
        """When the first interaction was recorded; None if there is none."""
        found = (self.interaction_or_error(number) for number in range(len(self)))
        return next((interaction.recorded_at for interaction in found if isinstance(interaction, Interaction)), None)

    @cached_property
    def environments(self) -> list[str]:
        """Names of the environments whose calls are recorded, in order of appearance."""
        callers = (interaction.authorized_by for interaction in self.readable().values())
        return list(dict.fromkeys(str(caller.environment) for caller in callers if caller))

    @cached_property
    def last_token_number(self) -> int:
        """The highest token number, 0 if there is none."""
        callers = (each for by in self.readable().values() for each in (by.authorized_by, by.token_obtained))
        return max((caller.token or 0 for caller in callers if caller), default=0)

    @cached_property
    def token_requests(self) -> list[int]:
        """Numbers of the interactions that are token requests."""
        return [number for number, interaction in self.readable().items() if interaction.token_obtained]


class Item(NamedTuple):
    """The place of an interaction in a file: its first byte, the byte after its last, and its first line, from 1."""

    start: int
    end: int
    line: int


class Unparsed(Contents):
    """Interactions of a cassette of ours, laid out as the recorder writes them, which are parsed one by one.

    Args:
        data: bytes of the file up to the end of the last complete item.
        items: the complete items.
        is_torn: True if an incomplete item follows.
        source: the file, for messages.
    """

    def __init__(self, data: bytes, items: Sequence[Item], *, is_torn: bool, source: str) -> None:
        super().__init__()
        self.data = data
        self.is_torn = is_torn
        self._items = items
        self._source = source
        self._parsed: dict[int, Interaction] = {}

    def __len__(self) -> int:
        return len(self._items)

    def item(self, number: int) -> bytes:
        """Return the bytes of an item, which another can follow."""
        start, end, _ = self._items[number]
        item = self.data[start:end]
        return item if item.endswith(b"\n") else item + b"\n"

    def appendable(self) -> bytes:
        """Return the bytes that the next item can follow; none without items, since vcrpy needs at least one."""
        if not self._items:
            return b""
        return self.data if self.data.endswith(b"\n") else self.data + b"\n"

    def interaction(self, number: int) -> Interaction:
        parsed = self._parsed.get(number)
        if parsed is None:
            start, end, line = self._items[number]
            item = self.data[start:end]
            parsed = fast_items.decode(item)
            if parsed is None:
                from toolkit.cassettes.format import decoding

                parsed = decoding.decode(item, source=self._source, line=line)
            self._parsed[number] = parsed
        return parsed

    def head(self, number: int) -> RecordedRequest:
        start, end, _ = self._items[number]
        match = _HEAD.match(self.data, start, end)
        if match is not None and b"#" not in match[0]:  # plain scalars
            method, uri = match[1].decode("ascii"), match[2].decode("ascii")
            if is_uri(uri):
                return RecordedRequest(method, uri)
        return self.interaction(number).request

    def line(self, number: int) -> int | None:
        return self._items[number].line


def is_ours(data: bytes) -> bool:
    """Return True if these bytes are a cassette of ours, or the beginning of such a cassette."""
    return bool(data) and (data.startswith(MARKER[:-1]) or MARKER.startswith(data))


def lay_out(data: bytes, *, source: str) -> Unparsed | None:
    """Return the interactions of a cassette of ours, or None if it is not laid out as the recorder writes it."""
    if b"\r\n" in data:  # from an editor, or from git; the recorder does not write it
        data = data.replace(b"\r\n", b"\n")
    starts = list(_starts(data))
    if not starts and (HEADER.startswith(data) or (HEADER + _START).startswith(data)):
        return Unparsed(b"", (), is_torn=True, source=source)
    if not starts or not data.startswith(HEADER) or starts[0] != len(HEADER):
        return None
    items = []
    line = HEADER.count(b"\n") + 1
    for start, end in pairwise([*starts, len(data)]):
        items.append(Item(start, end, line))
        line += data.count(b"\n", start, end)
    last = starts[-1]
    marker = data.find(_END, last)
    end = 0 if marker < 0 else marker + len(_END)
    if end and end < len(data) and _START.startswith(data[end:]):
        items[-1] = items[-1]._replace(end=end)
        return Unparsed(data[:end], items, is_torn=True, source=source)
    if end == len(data) or _is_complete(data[last:]):
        return Unparsed(data, items, is_torn=False, source=source)
    return None if end else Unparsed(data[:last], items[:-1], is_torn=True, source=source)


def _starts(data: bytes) -> Iterator[int]:
    at = data.find(b"\n" + _START)
    while at >= 0:
        yield at + 1
        at = data.find(b"\n" + _START, at + len(_START))


def _is_complete(item: bytes) -> bool:
    """Return True if an item that was edited at its end is still complete."""
    from toolkit.cassettes.format import yaml_text

    try:
        parsed = yaml_text.load(item)
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, list) and len(parsed) == 1 and parsed[0].get("complete") is True


def read(data: bytes, *, source: str) -> Contents:
    """Return the interactions in the bytes of a file, which `source` names in messages.

    Raises:
        CassetteCorrupt: if it is not a cassette; names the file and, if known, the line.
    """
    if not data.strip():
        return Contents()
    own = is_ours(data)
    layout = lay_out(data, source=source) if own else None
    if layout is not None:
        return layout
    from toolkit.cassettes.format import decoding

    return Contents(decoding.decode_all(data, source=source, is_ours=own), is_foreign=not own)
