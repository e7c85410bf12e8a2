"""The interactions of a cassette file, by number, no matter which tool wrote the file.

In a file of ours that is laid out exactly as the recorder writes it, interactions are found by a few byte searches,
however many there are. Each is parsed when it is first needed: by regular expressions if it has the usual shape, and
otherwise by a YAML parser, which takes eighteen times as long (measured). A file that an editor has laid out
differently, or that stock vcrpy wrote, is parsed as a whole.

Regular expressions are safe because they read only text that has a single meaning in YAML: plain and single-quoted
scalars of printable ASCII on one line, with the keys in the order in which the recorder writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.cassettes.format.interactions import HEADER, MARKER, Interaction, from_fields, is_uri
from toolkit.core.errors import CassetteCorrupt, CassetteError
from toolkit.core.text import printable
from toolkit.local.files import read_file
from toolkit.scrubbing.messages import RecordedRequest

if TYPE_CHECKING:
    from toolkit.cassettes.format.decoding import Unreadable

_END: Final = b"\n  complete: true\n"
_START: Final = b"- request:\n"
_HEAD: Final = re.compile(rb"- request:\n    method: ([A-Za-z][!-~]*)\n    uri: ([A-Za-z][!-~]*)\n")


class Item(NamedTuple):
    """The place of an interaction in a file: its first byte, the byte after its last, and its first line, from 1."""

    start: int
    end: int
    line: int


class Contents:
    """The interactions of one file, by number from 0.

    Args:
        parsed: those of a file that was parsed as a whole.
        items: or the places of the complete items in a file of ours that is laid out as the recorder writes it. They
            are parsed one by one.
        data: the bytes of such a file up to the end of the last complete item; None for another file.
        is_foreign, is_torn: see below.
        source: the file, for messages.

    Attributes:
        data: as in the arguments.
        is_foreign: True if stock vcrpy wrote the file: with real addresses, and without keys of ours.
        is_torn: True if the file ends in an incomplete interaction, left by an interrupted write.
    """

    def __init__(
        self,
        parsed: Iterable[Interaction | Unreadable] = (),
        items: Sequence[Item] = (),
        *,
        data: bytes | None = None,
        is_foreign: bool = False,
        is_torn: bool = False,
        source: str = "",
    ) -> None:
        self._parsed = dict(enumerate(parsed))
        self._items = items
        self._source = source
        self._count = len(self._parsed) or len(items)
        self.data = data
        self.is_foreign = is_foreign
        self.is_torn = is_torn

    def __len__(self) -> int:
        return self._count

    def interaction(self, number: int) -> Interaction:
        """Return an interaction by its number.

        Raises:
            CassetteCorrupt: if it cannot be read.
        """
        parsed = self._parsed.get(number)
        if parsed is None:
            item = self.item(number)
            parsed = decode_usual(item)
            if parsed is None:
                from toolkit.cassettes.format import decoding

                parsed = decoding.decode(item, source=self._source, line=self._items[number].line)
            self._parsed[number] = parsed
        if isinstance(parsed, Interaction):
            return parsed
        raise parsed.error.with_traceback(None)

    def item(self, number: int) -> bytes:
        """Return the bytes of an item in a file that is laid out as the recorder writes it. Another can follow."""
        item = (self.data or b"")[slice(*self._items[number][:2])]
        return item if item.endswith(b"\n") else item + b"\n"

    def appendable(self) -> bytes:
        """Return the bytes that the next item can follow; none without items, since vcrpy needs at least one."""
        return b"".join((HEADER, *map(self.item, range(len(self))))) if len(self) else b""

    def head(self, number: int) -> RecordedRequest:
        """Return a request with at least its method and URI.

        Raises:
            CassetteCorrupt: if they cannot be read.
        """
        match = _HEAD.match(self.data, *self._items[number][:2]) if self.data else None
        if match is not None and b"#" not in match[0]:  # plain scalars
            method, uri = match[1].decode("ascii"), match[2].decode("ascii")
            if is_uri(uri):
                return RecordedRequest(method, uri)
        parsed = self._parsed.get(number)
        known = None if parsed is None or isinstance(parsed, Interaction) else parsed.head
        return known or self.interaction(number).request

    def line(self, number: int) -> int | None:
        """Return the line on which an interaction begins, from 1, or None if it is not known."""
        if self._items:
            return self._items[number].line
        return getattr(self._parsed[number], "line", None)

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


def is_ours(data: bytes) -> bool:
    """Return True if these bytes are a cassette of ours, or the beginning of such a cassette."""
    return bool(data) and (data.startswith(MARKER[:-1]) or MARKER.startswith(data))


def lay_out(data: bytes, *, source: str) -> Contents | None:
    """Return the interactions of a cassette of ours, or None if it is not laid out as the recorder writes it."""
    if b"\r\n" in data:  # from an editor, or from git; the recorder does not write it
        data = data.replace(b"\r\n", b"\n")
    starts = list(_starts(data))
    if not starts and (HEADER.startswith(data) or (HEADER + _START).startswith(data)):
        return Contents(data=b"", is_torn=True, source=source)
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
        return Contents((), items, data=data[:end], is_torn=True, source=source)
    if end == len(data) or _is_complete(data[last:]):
        return Contents((), items, data=data, source=source)
    return None if end else Contents((), items[:-1], data=data[:last], is_torn=True, source=source)


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


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; none if the file does not exist.

    Raises:
        CassetteError: if it cannot be read.
    """
    try:
        return read_file(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        what = f"Cannot read {printable(str(path.absolute()))}: {error.strerror}."
        advice = 'Give a file that can be read, or a name such as "tour".'
        raise CassetteError(what, advice, about="cassette") from None


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


_QUOTED: Final = r"'(?:[ -&(-~]++|'')*+'"
# In a plain scalar, a colon before a space or line end, and a number sign after a space, have a meaning of their own.
_PLAIN: Final = r"(?:[A-Za-z]|<[A-Z])(?:[!-9;-~]++|:(?=[!-~])| ++(?=[!-\"$-~]))*+"
_SCALAR: Final = rf"(?:{_QUOTED}|{_PLAIN})"
_NAME: Final = r"[A-Za-z][A-Za-z0-9_.-]*+"
_HEADERS: Final = rf"headers:(?: \{{\}}|((?:\n      {_NAME}:(?:\n      - {_SCALAR})++)++))"
_CALLER: Final = rf"\n((?:    [a-z_]++: (?:{_SCALAR}|[1-9][0-9]{{0,8}}+)\n)++)"
_ITEM: Final = re.compile(
    rf"- request:\n    method: ({_SCALAR})\n    uri: ({_SCALAR})\n    {_HEADERS}\n    body: ({_SCALAR})\n"
    rf"  response:\n    status:\n      code: ([1-9][0-9][0-9])\n      message: ({_SCALAR})\n    {_HEADERS}\n"
    rf"    body:\n      string: ({_SCALAR})\n"
    rf"(?:  http_version: ({_SCALAR})\n)?+(?:  recorded_at: '([0-9T:.Z-]++)'\n)?+"
    r"(?:  elapsed: ([0-9]{1,9}+\.[0-9]{1,9}+)\n)?+(?:  tries: ([1-9][0-9]{0,8}+)\n)?+(  ended_early: true\n)?+"
    rf"(?:  pseudonyms:\n((?:  - {_SCALAR}\n)++))?+"
    rf"(?:  authorized_by:{_CALLER})?+(?:  token_obtained:{_CALLER})?+  complete: true\n"
)
_HEADER: Final = re.compile(rf"\n      ({_NAME}):((?:\n      - {_SCALAR})++)")
_VALUE: Final = re.compile(rf"\n      - ({_SCALAR})")
_FIELD: Final = re.compile(rf"    ([a-z_]++): (?:({_SCALAR})|([0-9]++))\n")
# Plain scalars that YAML 1.1 reads as booleans or null, in any case.
_NOT_TEXT: Final = frozenset({"yes", "no", "true", "false", "on", "off", "null"})


class _NeedsParser(ValueError):
    """The item has a meaning that this module does not know."""


def decode_usual(item: bytes) -> Interaction | None:
    """Return what `decoding.decode` returns for an item of ours, or None if that needs a parser."""
    match = _ITEM.fullmatch(item.decode("ascii")) if item.isascii() else None
    if match is None:
        return None
    method, uri, sent, sent_body, code, reason, received, body, version, at, *noted = match.groups()
    seconds, tries, early, rules, by, obtained = noted
    try:
        response = {
            "status": {"code": int(code), "message": _text(reason)},
            "headers": _headers(received),
            "body": {"string": _text(body)},
        }
        return from_fields(
            {
                "request": {
                    "method": _text(method),
                    "uri": _text(uri),
                    "headers": _headers(sent),
                    "body": _text(sent_body),
                },
                "response": response,
                "http_version": version and _text(version),
                "recorded_at": at,
                "elapsed": seconds and float(seconds),
                "tries": int(tries or 1),
                "ended_early": early is not None,
                "pseudonyms": [_text(line[4:]) for line in (rules or "").splitlines()],
                "authorized_by": by and _caller(by),
                "token_obtained": obtained and _caller(obtained),
            }
        )
    except (ValueError, KeyError, TypeError, OverflowError):  # the parser will say what is wrong
        return None


def _text(scalar: str) -> str:
    if scalar[0] == "'":
        return scalar[1:-1].replace("''", "'")
    if scalar.lower() in _NOT_TEXT:
        raise _NeedsParser
    return scalar


def _key_texts(keys: Iterable[str]) -> list[str]:
    listed = list(keys)
    if len(set(listed)) != len(listed):  # YAML takes the last of two equal keys
        raise _NeedsParser
    return [_text(key) for key in listed]


# Cached, because a client sends the same headers with most of its requests.
@lru_cache(maxsize=256)
def _headers(block: str | None) -> dict[str, list[str]]:
    headers = _HEADER.findall(block or "")
    names = _key_texts(name for name, _ in headers)
    values = [[_text(value) for value in _VALUE.findall(values)] for _, values in headers]
    return dict(zip(names, values, strict=True))


def _caller(block: str) -> dict[str, Any]:
    fields = _FIELD.findall(block)
    keys = _key_texts(key for key, _, _ in fields)
    values: list[Any] = [int(number) if number else _text(scalar) for _, scalar, number in fields]
    return dict(zip(keys, values, strict=True))
