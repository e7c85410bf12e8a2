"""The interactions of a cassette file, by number, no matter which tool wrote the file.

Replay is fast because of this module and `fast_items`: in a file of ours that is laid out exactly as the recorder
writes it, interactions are found by a few byte searches, however many there are, and each is parsed when it is first
needed. A file that an editor has laid out differently, or that stock vcrpy wrote, is parsed as a whole.
"""

from __future__ import annotations

import bisect
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.cassettes.format import fast_items, interactions
from toolkit.cassettes.format.interactions import HEADER, MARKER, Interaction, UnreadableInteraction, is_uri
from toolkit.core.errors import CassetteCorrupt
from toolkit.core.ledger import parse_instant
from toolkit.core.text import printable
from toolkit.scrubbing.messages import RecordedRequest

if TYPE_CHECKING:
    import pandas as pd

_END: Final = b"\n  complete: true\n"
_START: Final = b"- request:\n"
_HEAD: Final = re.compile(rb"- request:\n    method: ([A-Za-z][!-~]*)\n    uri: ([A-Za-z][!-~]*)\n")
_ENVIRONMENT: Final = re.compile(rb"    kind: [^\n]+\n    environment: ([^\n]+)\n")
_TOKEN_NUMBER: Final = re.compile(rb"([0-9]{1,9})\n")
_RECORDED_AT: Final = re.compile(rb"'?([0-9T:.Z-]{1,40})'?\n")


class Contents(ABC):
    """The interactions of one file.

    Attributes:
        is_foreign: True if stock vcrpy wrote the file: with real addresses, and without keys of ours.
        is_torn: True if the file ends in an incomplete interaction, left by an interrupted write.
        recorded_at: when the first interaction was recorded; None if there is none.
        environments: names of the environments whose calls are recorded, in order of appearance.
        last_token_number: the highest token number, 0 if there is none.
        token_requests: numbers of the interactions that are token requests.
    """

    is_foreign: bool = False
    is_torn: bool = False
    recorded_at: datetime | None
    environments: list[str]
    last_token_number: int
    token_requests: list[int]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def interaction(self, number: int) -> Interaction:
        """Return an interaction by its number, from 0.

        Raises:
            CassetteCorrupt: if it cannot be read.
        """

    @abstractmethod
    def head(self, number: int) -> RecordedRequest:
        """Return a request with at least its method and URI.

        Raises:
            CassetteCorrupt: if they cannot be read.
        """

    @abstractmethod
    def line(self, number: int) -> int | None:
        """Return the line on which an interaction begins, from 1, or None if it is not known."""

    def readable(self) -> dict[int, Interaction]:
        """Return the interactions that can be read, by their numbers."""
        found = {}
        for number in range(len(self)):
            interaction = self.interaction_or_error(number)
            if isinstance(interaction, Interaction):
                found[number] = interaction
        return found

    def interaction_or_error(self, number: int) -> Interaction | CassetteCorrupt:
        """Return an interaction, or why it cannot be read."""
        try:
            return self.interaction(number)
        except CassetteCorrupt as error:
            return error

    def table(self) -> pd.DataFrame:
        """Return one row per interaction that can be read; `Cassette.table` documents the columns."""
        import pandas as pd

        def text(value: str | None) -> str | None:
            return value if value is None else printable(value)

        rows = list(self.readable().values())
        columns: dict[str, Any] = {
            "recorded": pd.Series([row.recorded_at for row in rows], dtype="datetime64[us, UTC]"),
            "method": pd.Series([text(row.request.method) for row in rows], dtype="str"),
            "uri": pd.Series([text(row.request.uri) for row in rows], dtype="str"),
            "status": pd.Series([row.response.status for row in rows], dtype="int64"),
            "elapsed": pd.Series([row.elapsed and row.elapsed.total_seconds() for row in rows], dtype="float64"),
            "size": pd.Series([len(row.response.body) for row in rows], dtype="int64"),
            "profile": pd.Series([text(row.authorized_by and row.authorized_by.profile) for row in rows], dtype="str"),
        }
        return pd.DataFrame(columns)


class Parsed(Contents):
    """Interactions that were parsed when the file was opened, because it has an unusual layout."""

    def __init__(self, interactions: Sequence[Interaction | UnreadableInteraction], *, is_foreign: bool) -> None:
        self._interactions = interactions
        self.is_foreign = is_foreign
        recorded = self.readable()
        self.recorded_at = next((interaction.recorded_at for interaction in recorded.values()), None)
        callers = [interaction.authorized_by for interaction in recorded.values() if interaction.authorized_by]
        self.environments = list(dict.fromkeys(str(caller.environment) for caller in callers))
        obtained = {number: by for number, interaction in recorded.items() if (by := interaction.token_obtained)}
        self.last_token_number = max((caller.token or 0 for caller in (*callers, *obtained.values())), default=0)
        self.token_requests = list(obtained)

    def __len__(self) -> int:
        return len(self._interactions)

    def interaction(self, number: int) -> Interaction:
        interaction = self._interactions[number]
        if isinstance(interaction, UnreadableInteraction):
            raise interaction.error.with_traceback(None)
        return interaction

    def head(self, number: int) -> RecordedRequest:
        interaction = self._interactions[number]
        if isinstance(interaction, UnreadableInteraction) and interaction.head is not None:
            return interaction.head
        return self.interaction(number).request

    def line(self, number: int) -> int | None:
        interaction = self._interactions[number]
        return interaction.line if isinstance(interaction, UnreadableInteraction) else None


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

    def item(self, number: int) -> bytes:
        """Return the bytes of an item."""
        start, end, _ = self.items[number]
        return self.data[start:end]

    def appendable(self) -> bytes:
        """Return the bytes that the next item can follow; none without items, since vcrpy needs at least one."""
        if not self.items:
            return b""
        return self.data if self.data.endswith(b"\n") else self.data + b"\n"


class Unparsed(Contents):
    """Interactions of a cassette of ours, laid out as the recorder writes them, which are parsed one by one."""

    def __init__(self, layout: Layout, *, source: str) -> None:
        self.layout = layout
        self.is_torn = layout.is_torn
        self._source = source
        self._parsed: dict[int, Interaction] = {}
        data = layout.data
        callers = (_ENVIRONMENT.match(data, end) for end in _line_ends(data, b"  authorized_by:\n"))
        names = dict.fromkeys(match[1] for match in callers if match)
        self.environments = list(dict.fromkeys(name.decode("ascii", "replace") for name in names))
        numbers = (_TOKEN_NUMBER.match(data, end) for end in _line_ends(data, b"    token: "))
        self.last_token_number = max((int(match[1]) for match in numbers if match), default=0)
        starts = [item.start for item in layout.items]
        self.token_requests = [bisect.bisect(starts, end) - 1 for end in _line_ends(data, b"  token_obtained:\n")]
        self.recorded_at = _first_recorded_at(data)

    def __len__(self) -> int:
        return len(self.layout.items)

    def interaction(self, number: int) -> Interaction:
        parsed = self._parsed.get(number)
        if parsed is None:
            item, line = self.layout.item(number), self.layout.items[number].line
            parsed = fast_items.decode(item) or interactions.decode(item, source=self._source, line=line)
            self._parsed[number] = parsed
        return parsed

    def head(self, number: int) -> RecordedRequest:
        item = self.layout.items[number]
        match = _HEAD.match(self.layout.data, item.start, item.end)
        if match is not None and b"#" not in match[0]:  # plain scalars
            method, uri = match[1].decode("ascii"), match[2].decode("ascii")
            if is_uri(uri):
                return RecordedRequest(method, uri)
        return self.interaction(number).request

    def line(self, number: int) -> int | None:
        return self.layout.items[number].line


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
        return Layout(data[:end], tuple(items), is_torn=True)
    if end == len(data) or _is_complete(data[last:]):
        return Layout(data, tuple(items), is_torn=False)
    return None if end else Layout(data[:last], tuple(items[:-1]), is_torn=True)


def _is_complete(item: bytes) -> bool:
    """Return True if an item that was edited at its end is still complete."""
    from toolkit.cassettes.format import yaml_text

    try:
        parsed = yaml_text.load(item)
    except (ValueError, RecursionError):
        return False
    return isinstance(parsed, list) and len(parsed) == 1 and parsed[0].get("complete") is True


def _first_recorded_at(data: bytes) -> datetime | None:
    end = next(_line_ends(data, b"  recorded_at: "), None)
    match = None if end is None else _RECORDED_AT.match(data, end)
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


def read(data: bytes, *, source: str) -> Contents:
    """Return the interactions in the bytes of a file, which `source` names in messages.

    Raises:
        CassetteCorrupt: if it is not a cassette; names the file and, if known, the line.
    """
    if not data.strip():
        return Parsed((), is_foreign=False)
    if not is_ours(data):
        from toolkit.cassettes.format import vcrpy_files

        return Parsed(vcrpy_files.load(data, source=source), is_foreign=True)
    layout = lay_out(data)
    if layout is not None:
        return Unparsed(layout, source=source)
    return Parsed(interactions.decode_all(data, source=source), is_foreign=False)
