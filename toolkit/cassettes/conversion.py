"""Convert requests, responses and errors of httpx to those of a cassette, and back.

Streams without an end are recorded as far as the caller read them, and replayed event by event.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from toolkit.cassettes.format.interactions import FAILURES, Interaction, RecordedFailure
from toolkit.core.errors import CassetteCorrupt, CassetteMiss, SecretLeak
from toolkit.core.escaping import excerpt
from toolkit.scrubbing.compression import capped
from toolkit.scrubbing.messages import HeaderList, RecordedResponse, header_bytes, header_value
from toolkit.scrubbing.normal_form import is_text
from toolkit.transport.errors import Advice, ReplayedReason, no_connection

_EVENTS: Final = "text/event-stream"
_LINES: Final = frozenset(
    {
        *("application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"),
        *("application/json-seq", "application/stream+json"),
    }
)
_EVENT: Final = re.compile(rb"[^\r\n]*+(?:(?:\r\n|\n|\r)[^\r\n]++)*+(?:\r\n|\n|\r)*+")  # lines up to an empty line
_LINE: Final = re.compile(rb"[^\r\n]*+[\r\n]*+")
_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length"})
_STEP: Final = 1_024  # bytes to decompress at a time; one step grows to a megabyte at most


def has_no_end(content_type: str) -> bool:
    """Return True if a body of this media type is a stream of events or of lines, which may go on for ever."""
    media_type = _media_type(content_type)
    return media_type == _EVENTS or media_type in _LINES


def part_that_was_read(headers: HeaderList, chunks: list[bytes]) -> tuple[HeaderList, bytes]:
    """Return the recorded form of a stream that was closed early: its headers, and its body up to the last full line.

    The body is decompressed, because compressed data without its end cannot be checked for secrets. The beginning of
    another line is left out: a caller that reads lines never saw it, and half of a secret cannot be recognized.

    Args:
        headers: the headers as received.
        chunks: the body as received.

    Raises:
        SecretLeak: if the body cannot be decompressed, or grows too large.
    """
    packed = b"".join(chunks)
    body = capped(_decompressed(headers, packed), len(packed))
    body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if not is_text(body):
        raise SecretLeak(
            "A stream in an unknown content encoding cannot be checked for secrets.",
            "Send the header Accept-Encoding: identity with the next one.",
        )
    return tuple((name, value) for name, value in headers if name.lower() not in _LENGTH_HEADERS), body


def _decompressed(headers: HeaderList, packed: bytes) -> Iterator[bytes]:
    steps = iter([packed[start : start + _STEP] for start in range(0, len(packed), _STEP)])
    response = httpx.Response(200, headers=list(headers), content=steps)
    with contextlib.suppress(httpx.DecodingError):  # at the end, which is missing
        yield from response.iter_bytes()


class EventStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded stream, which comes in pieces of one event or line each.

    Args:
        body: what was recorded.
        content_type: its media type.
        ended_early: whether the caller closed the stream while it was recorded. Reading on then raises CassetteMiss.
        call: method and path, for that error.
    """

    def __init__(self, body: bytes, content_type: str, *, ended_early: bool, call: str) -> None:
        self._pieces = _LINE if _media_type(content_type) in _LINES else _EVENT
        self._body = body
        self._ended_early = ended_early
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces.finditer(self._body):
            if piece[0]:
                yield piece[0]
        if self._ended_early:
            raise CassetteMiss(
                f"The recording of {self._call} ends here: this response was closed early when it was recorded.",
                'Stop reading where the recording did, or record it again with mode="all".',
            )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


RECORDABLE: Final = tuple(getattr(httpx, name) for name in sorted(FAILURES))  # errors of a call without an answer

# The name of a header by RFC 5322. From Python 3.14 on, httpx's cookie jar fails on any other.
_NAME: Final = re.compile(rb"[!-9;-~]+")


def as_recorded_response(response: httpx.Response, body: bytes, *, headers: HeaderList) -> RecordedResponse:
    """Return a response as a cassette holds it, with the body as received and headers that fit it."""
    extensions = response.extensions
    return RecordedResponse(
        response.status_code,
        extensions.get("reason_phrase", b"").decode("ascii", "ignore"),  # as httpx shows it
        headers,
        body,
        extensions.get("http_version", b"").decode("ascii", "replace"),
    )


def as_response(interaction: Interaction, request: Any = None, *, source: str) -> httpx.Response:
    """Return a recorded response as if it had just arrived, with its body unread.

    Args:
        interaction: the recording.
        request: what it answers.
        source: name of the cassette's file, for a note on the error of a request that got no response.

    Raises:
        CassetteCorrupt: if the name of a header is not one.
        httpx.RequestError: if the recorded request got no response; of the recorded class.
    """
    failure = interaction.failure
    if failure is not None:
        error: type[httpx.RequestError] = getattr(httpx, failure.type)  # RecordedFailure allows no other names
        raised = _with_advice(error(failure.message, request=request), interaction, source)
        if failure.reason:
            raised.add_note(ReplayedReason(failure.reason))
        raise raised
    recorded = interaction.response
    extensions: dict[str, bytes] = {}
    if recorded.reason or recorded.http_version.startswith("HTTP/1"):  # httpx derives a missing one from the status
        extensions["reason_phrase"] = recorded.reason.encode("ascii", "ignore")
    if recorded.http_version:
        extensions["http_version"] = recorded.http_version.encode("ascii", "replace")
    headers = _raw_headers(recorded.headers)
    if not all(_NAME.fullmatch(name) for name, _ in headers):
        raise CassetteCorrupt(
            f"The recorded response to {excerpt(_call_of(interaction))} has a header whose name is not valid.",
            "Correct the name of the header in the cassette, or record the call again.",
            about="cassette",
        )
    content_type = header_value(recorded.headers, "content-type")
    if interaction.ended_early or has_no_end(content_type):
        ended_early, call = interaction.ended_early, _call_of(interaction)
        stream = EventStream(recorded.body, content_type, ended_early=ended_early, call=call)
        return httpx.Response(recorded.status, headers=headers, stream=stream, extensions=extensions)
    body = httpx.ByteStream(recorded.body)
    return httpx.Response(recorded.status, headers=headers, stream=body, extensions=extensions)


def _with_advice(error: httpx.RequestError, interaction: Interaction, source: str) -> httpx.RequestError:
    """Return an error with a note that it was replayed. Its message stays that of the live call."""
    on = f" (recorded on {interaction.recorded_at:%Y-%m-%d})" if interaction.recorded_at else ""
    advice = f'It was replayed from {source}{on}. To send the call again, record anew with mode="all".'
    error.add_note(Advice(advice))
    return error


def _call_of(interaction: Interaction) -> str:
    return f"{interaction.request.method} {urlsplit(interaction.request.uri).path}"


def _raw_headers(headers: HeaderList) -> list[tuple[bytes, bytes]]:
    try:
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    except UnicodeEncodeError:  # text from vcrpy; calling `header_bytes` for every header takes twice as long
        return [(header_bytes(name), header_bytes(value)) for name, value in headers]


def as_failure(error: httpx.RequestError) -> RecordedFailure:
    """Return the recorded form of an error of RECORDABLE; a transport's own class becomes its base in httpx."""
    name = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in FAILURES)
    return RecordedFailure(name, str(error), no_connection(error))


def header_list(headers: httpx.Headers) -> HeaderList:
    """Return the names and values of headers in their original order and case."""
    return tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw])
