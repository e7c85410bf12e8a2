"""The interactions of a cassette file, by number, no matter which tool wrote the file.

In our own files, a byte search finds where each interaction begins, without parsing. Each is parsed when it is first
needed, without a YAML parser if it has the usual shape. A file that was reformatted in an editor, or that stock vcrpy
wrote, is parsed as a whole.

vcrpy stores what a client passed to it, so a request body may be text, bytes, a file, an iterator or, with aiohttp,
JSON values, and headers may be a mapping or a list of pairs, with one value or several. Other tools store response
content in other fields. The time of such an interaction comes from its Date header, or is a fixed instant. Files from
other recorders are recognized, so that the error can name the recorder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolkit.cassettes.format import yaml_text
from toolkit.cassettes.format.interactions import (
    HEADER,
    MARKER,
    Interaction,
    from_fields,
    is_uri,
)
from toolkit.core.errors import CassetteCorrupt, CassetteError, SecretLeak
from toolkit.core.ledger import EPOCH, parse_http_date
from toolkit.core.text import printable
from toolkit.local.files import read_file
from toolkit.scrubbing.compression import TooLarge, decompress_body
from toolkit.scrubbing.messages import RecordedRequest, header_value

_START: Final = b"- request:\n"
_END: Final = b"\n  complete: true\n"
_HEAD: Final = re.compile(rb"- request:\n    method: ([A-Za-z][!-~]*)\n    uri: ([A-Za-z][!\"$-~]*)\n")
_NOT_CASSETTE: Final = "one of its fields has an invalid value"
_NOT_CONVERTED: Final = (
    "it was recorded by {}, whose recordings cannot be converted; record the calls again, or import a HAR file of them "
    "with `toolkit cassettes import FILE NAME`"
)
_OLD: Final = "it is in the format of vcrpy before version 1.0; `python -m vcr.migration` converts it"
# Patterns of other programs' files, and the message for each; the first match counts.
_OTHER_PROGRAMS: Final = (
    (rb"\A\s*\{\s*\"log\"\s*:", "it is a HAR file; `toolkit cassettes import FILE NAME` makes a cassette from it"),
    (rb"!!python/object:vcr\.request\.Request|\A(?:\[\s*\{\s*\"|- )request\b", _OLD),
    (rb"recorded_with[\"']? *: *[\"']?betamax", _NOT_CONVERTED.format("betamax")),
    (rb"recorded_with[\"']? *: *[\"']?(?:VCR-vcr|vcr/)", _NOT_CONVERTED.format("R's vcr")),
    (rb"recorded_with[\"']? *: *[\"']?VCR|!ruby/struct:VCR::", _NOT_CONVERTED.format("Ruby's VCR")),
    (rb"(?m)^[ \t{]{0,8}[\"']?http_interactions[\"']? *:", _NOT_CONVERTED.format("Ruby's VCR or a similar program")),
    (rb"parsed_body[\"']? *:", _NOT_CONVERTED.format("the serializer of pydantic-ai")),
    (rb"(?m)^ {4}url: ", _NOT_CONVERTED.format("go-vcr")),
)

_ITEM: Final = re.compile(rb"(?m)^ {0,2}- (?=request:|response:)")


class Item(NamedTuple):
    """The place of an interaction in a file, and its fields if the file was parsed as a whole."""

    line: int | None  # its first line, from 1, if known
    start: int = 0  # its first byte, if interactions are parsed one by one,
    end: int = 0  # and the byte after its end
    fields: Any = None  # its parsed fields in any other file


@dataclass(eq=False)
class Contents:
    """The interactions of one file, by number from 0. Each is read when it is first needed.

    Attributes:
        items: the places of the interactions in the file.
        data: the bytes of one of our files with the recorder's layout, up to the end of the last complete item; None
            for a file that was parsed as a whole.
        is_foreign: True if stock vcrpy wrote the file, with real addresses and without our keys.
        is_torn: True if the file ends in an incomplete interaction, left by an interrupted write.
        source: the file, for messages.
        raw: the bytes of the file.
    """

    items: Sequence[Item] = ()
    data: bytes | None = None
    is_foreign: bool = False
    is_torn: bool = False
    source: str = ""
    raw: bytes = b""

    def __post_init__(self) -> None:
        self._read: dict[int, Interaction | CassetteCorrupt] = {}

    def __len__(self) -> int:
        return len(self.items)

    def interaction(self, number: int) -> Interaction:
        """Return an interaction by its number."""
        found = self.interaction_or_error(number)
        if isinstance(found, Interaction):
            return found
        raise found.with_traceback(None)

    def interaction_or_error(self, number: int) -> Interaction | CassetteCorrupt:
        """Return an interaction, or the error that explains why it cannot be read."""
        if number not in self._read:
            try:
                self._read[number] = self._decoded(number)
            except CassetteCorrupt as error:
                self._read[number] = error
        return self._read[number]

    def _decoded(self, number: int) -> Interaction:
        line, _, _, fields = self.items[number]
        if self.data is not None:
            item = self.item(number)
            usual = decode_usual(item)
            if usual:
                return usual
            fields = self._parsed(item, line or 1)
        try:
            return _foreign_interaction(fields) if self.is_foreign else from_fields(fields)
        except KeyError as error:
            why = f"{error} is missing"
        except ValueError as error:
            why = str(error)
        except (TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
            why = _NOT_CASSETTE  # messages about Python code would not help
        raise _corrupt(self.source, f"in interaction {number + 1}, {why}", line)

    def _parsed(self, item: bytes, line: int) -> Any:
        """Return the fields of one of our block items; `line` is its first line in the file, from 1."""
        try:
            items = yaml_text.load(item)
        except yaml_text.NotYaml as error:
            raise _corrupt(self.source, str(error), line + error.line) from None
        return items[0] if isinstance(items, list) and len(items) == 1 else None

    def readable(self) -> dict[int, Interaction]:
        """Return a mapping from number to interaction for all interactions that can be read."""
        found = ((number, self.interaction_or_error(number)) for number in range(len(self)))
        return {number: each for number, each in found if isinstance(each, Interaction)}

    def head(self, number: int) -> RecordedRequest:
        """Return a request with at least a method and a URI, which are empty if they cannot be read."""
        item = self.items[number]
        match = _HEAD.match(self.data, item.start, item.end) if self.data else None
        if match is not None and is_uri(uri := match[2].decode("ascii")):
            return RecordedRequest(match[1].decode("ascii"), uri)
        with suppress(TypeError, LookupError):
            method, uri = item.fields["request"]["method"], item.fields["request"]["uri"]
            if isinstance(method, str) and isinstance(uri, str) and is_uri(uri):
                return RecordedRequest(method, uri)
        found = self.interaction_or_error(number)
        return found.request if isinstance(found, Interaction) else RecordedRequest("", "")

    def item(self, number: int) -> bytes:
        """Return the bytes of an item in a file with the recorder's layout. They end with a line break."""
        item = (self.data or b"")[self.items[number].start : self.items[number].end]
        return item if item.endswith(b"\n") else item + b"\n"

    def appendable(self) -> bytes:
        """Return the bytes to append the next item to; b"" if there are no items, because vcrpy needs at least one."""
        return b"".join((HEADER, *map(self.item, range(len(self))))) if len(self) else b""

    @property
    def path(self) -> Path:
        """The path of the file."""
        return Path(self.source)

    @cached_property
    def recorded_at(self) -> datetime | None:
        """When the first interaction that can be read was recorded; None if there is none."""
        found = map(self.interaction_or_error, range(len(self)))
        return next((each.recorded_at for each in found if isinstance(each, Interaction)), None)

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
    """Return True if these bytes are one of our cassettes, or the beginning of one."""
    return bool(data) and (data.startswith(MARKER[:-1]) or MARKER.startswith(data))


def lay_out(data: bytes, *, source: str) -> Contents | None:
    """Return the interactions of one of our cassettes, or None if it does not have the recorder's layout."""
    raw, data = data, data.replace(b"\r\n", b"\n")  # CRLF comes from an editor or git; the recorder does not write it
    if (HEADER + _START).startswith(data):
        return Contents(data=b"", is_torn=True, source=source, raw=data)
    if not data.startswith(HEADER + _START):
        return None
    starts = [match.start() + 1 for match in re.finditer(b"\n" + _START, data)]
    last = starts[-1]
    marker = (data if data.endswith(b"\n") else data + b"\n").find(_END, last)
    end = marker + len(_END)
    is_torn = marker < 0 or (end < len(data) and _START.startswith(data[end:]))
    if marker < 0:
        starts.pop()
    if is_torn:
        data = data[: last if marker < 0 else end]
    items, line = [], HEADER.count(b"\n") + 1
    for start, end in pairwise([*starts, len(data)]):
        items.append(Item(line, start, end))
        line += data.count(b"\n", start, end)
    return Contents(items, data, is_torn=is_torn, source=source, raw=raw)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file; b"" if the file does not exist."""
    try:
        return read_file(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        what = f"Cannot read {printable(str(path.absolute()))}: {error.strerror}."
        advice = 'Pass a file that can be read, or a name such as "tour".'
        raise CassetteError(what, advice, about="cassette") from None


def read(data: bytes, *, source: str) -> Contents:
    """Return the interactions in a file's bytes; `source` is the name of the file for messages."""
    if not data.strip():
        return Contents(source=source, raw=data)
    own = is_ours(data)
    layout = lay_out(data, source=source) if own else None
    if layout is not None:
        return layout
    program = "" if own else next((what for sign, what in _OTHER_PROGRAMS if re.search(sign, data)), "")
    try:
        document = yaml_text.load(data) if own else _load_foreign(data)
    except yaml_text.NotYaml as error:
        raise _corrupt(source, program or str(error), None if program else 1 + error.line) from None
    found = document.get("interactions") if isinstance(document, Mapping) else None
    if not isinstance(found, list):
        raise _corrupt(source, program or "it does not have the fields of a cassette")
    ends = [0, *(match.start() for match in _ITEM.finditer(data))]
    lines = list(accumulate((data.count(b"\n", start, end) for start, end in pairwise(ends)), initial=1))[1:]
    is_usual = len(lines) == len(found)  # in any other layout, the line numbers are unknown
    items = [Item(lines[at] if is_usual else None, fields=fields) for at, fields in enumerate(found)]
    opened = Contents(items, is_foreign=not own, source=source, raw=data)
    if program and not opened.readable():
        raise _corrupt(source, program)
    return opened


def decode_usual(item: bytes) -> Interaction | None:
    """Return the interaction in one of our items, or None if reading it needs a YAML parser."""
    if not (item.isascii() and item.startswith(_START)):
        return None
    try:
        return from_fields(yaml_text.load_usual(f" {item[1:-1].decode('ascii')}".split("\n")))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):  # the parser will say what is wrong
        return None


def _load_foreign(data: bytes) -> Any:
    if data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        try:
            return json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            line, what = getattr(error, "lineno", 1) - 1, getattr(error, "msg", "nested too deeply, or not UTF-8")
            raise yaml_text.NotYaml(f"it is not valid JSON ({what})", line) from None
    from vcr.serializers import yamlserializer

    return yaml_text.load(data, yamlserializer.deserialize)


def _corrupt(source: str, why: str, line: int | None = None) -> CassetteCorrupt:
    """Return the error for a file that is not a cassette."""
    where = f"{source}, line {line}" if line else source
    return CassetteCorrupt(
        f"{where} is not a cassette: {why}.",
        "A cassette is a file in vcrpy's format, version 1. The file was not changed: fix it, or pass another file.",
        about="cassette",
    )


def _foreign_interaction(fields: Mapping[str, Any]) -> Interaction:
    """Return an interaction as stock vcrpy reads it."""
    request, response = fields["request"], fields["response"]
    if "parsed_body" in {**request, **response}:
        raise ValueError("a body is stored under 'parsed_body', where pydantic-ai's serializer puts it")
    code = response.get("status_code")  # what vcrpy wrote for httpx before version 6
    status = response["status"] if code is None else {"code": code}
    read = from_fields({"request": {**request, "body": _sent(request)}, "response": {**response, "status": status}})
    received = read.response.headers
    try:
        decompress_body(received, read.response.body)
    except TooLarge:  # replay refuses it
        pass
    except SecretLeak:  # for some clients, vcrpy records the decoded body
        kept = [pair for pair in received if pair[0].lower() not in ("content-encoding", "content-length")]
        received = (*kept, ("Content-Length", str(len(read.response.body))))
    return read._replace(
        response=read.response._replace(headers=received),
        recorded_at=parse_http_date(header_value(received, "date")) or EPOCH,
    )


def _sent(request: Mapping[str, Any]) -> Any:
    """Return a request body as text, bytes or a file."""
    value = request.get("body")
    value = list(value) if isinstance(value, Iterator) else value
    if isinstance(value, list | tuple) and value and all(isinstance(chunk, bytes) for chunk in value):
        return b"".join(value)
    if value is None or isinstance(value, str | bytes) or hasattr(value, "read"):
        return value
    return json.dumps(value, default=str)  # what aiohttp was given to send as JSON
