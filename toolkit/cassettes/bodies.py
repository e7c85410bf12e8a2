"""Messages on their way into a cassette and back: conversion from and to httpx, and the bodies of responses as streams.

The body of an answer is passed on as it comes, and collected for the recording. A stream without an end is recorded as
far as the caller read it.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from toolkit.cassettes.format.interactions import FAILURES, Interaction, RecordedFailure
from toolkit.core.errors import CassetteCorrupt, CassetteError, CassetteMiss, SecretLeak
from toolkit.core.ledger import Call, Clock
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.scrubbing.compression import capped
from toolkit.scrubbing.messages import HeaderList, RecordedResponse, header_bytes
from toolkit.scrubbing.normal_form import is_text
from toolkit.transport.errors import Advice, ReplayedReason, no_connection
from toolkit.transport.flow import call_apart, chunks_of

LARGE_BODY: Final = 1 << 16  # bytes; searching more than that for secrets would hold up an event loop
RECORDABLE: Final = tuple(getattr(httpx, name) for name in sorted(FAILURES))  # errors of a call without an answer
# The name of a header by RFC 5322. From Python 3.14 on, httpx's cookie jar fails on any other.
_NAME: Final = re.compile(rb"[!-9;-~]+")
# Media types of streams of events or of lines, which may go on for ever.
_STREAMS: Final = frozenset(
    {
        *("text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl"),
        *("application/x-jsonlines", "application/json-seq", "application/stream+json"),
    }
)
_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length"})
_STEP: Final = 1_024  # bytes to decompress at a time; one step grows to a megabyte at most


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
        raised = error(failure.message, request=request)  # the message stays that of the live call
        on = f" (recorded on {interaction.recorded_at:%Y-%m-%d})" if interaction.recorded_at else ""
        raised.add_note(
            Advice(f'It was replayed from {source}{on}. To send the call again, record anew with mode="all".')
        )
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
    stream: Any = httpx.ByteStream(recorded.body)
    if interaction.ended_early:
        stream = EndedEarly(recorded.body, _call_of(interaction))
    return httpx.Response(recorded.status, headers=headers, stream=stream, extensions=extensions)


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


def has_no_end(content_type: str) -> bool:
    """Return True if a body of this media type is a stream of events or of lines, which may go on for ever."""
    return content_type.partition(";")[0].strip().lower() in _STREAMS


def _part_that_was_read(headers: HeaderList, chunks: list[bytes]) -> tuple[HeaderList, bytes]:
    """Return the recorded form of a stream that was closed early: its headers, and its body up to the last full line.

    The body is decompressed, because compressed data without its end cannot be checked for secrets. The beginning of
    another line is left out: a caller that reads lines never saw it, and half of a secret cannot be recognized.
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


class EndedEarly(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The recorded part of a stream that the caller closed while it was recorded. Reading on raises CassetteMiss."""

    def __init__(self, body: bytes, call: str) -> None:
        self._body = body
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        raise CassetteMiss(
            f"The recording of {self._call} ends here: this response was closed early when it was recorded.",
            'Stop reading where the recording did, or record it again with mode="all".',
        )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def size_of(headers: httpx.Headers, chunks: Iterable[bytes]) -> int:
    """Return the bytes of a response that are searched for secrets."""
    return sum(map(len, chunks)) + sum(len(value) for _, value in headers.raw)


def observe(
    response: httpx.Response,
    call: Call,
    clock: Clock,
    record: Callable[..., None] | None = None,
    *,
    release: Callable[[], None] | None = None,
    sent: int = 0,
) -> httpx.Response:
    """Return the response with a body that notes the end of the call and passes the complete body to `record`.

    `record` also takes the headers to record instead of the response's own, if the caller ended a stream early.
    `release` is called once: when the body has ended or is closed, or when it is dropped while open.
    `sent` is the number of bytes of the request's body, which is searched for secrets too.
    """
    observed = (
        ObservedStream(response.stream, call, clock, release)
        if record is None
        else RecordedStream(response, call, clock, record, release, sent)
    )
    if response.is_stream_consumed:  # a transport for tests made the response with its whole body
        b"".join(observed)
        observed.note_end()
    else:
        response.stream = observed
    return response


class ObservedStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that notes in its call when it was closed. httpx closes a body after its last byte."""

    __slots__ = ("_call", "_clock", "_release", "_stream")

    def __init__(self, stream: Any, call: Call, clock: Clock, release: Callable[[], None] | None) -> None:
        self._stream = stream
        self._call = call
        self._clock = clock
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self.note_end()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self.note_end()

    def __del__(self) -> None:
        self._let_go()

    def note_end(self) -> None:
        """Note how long the call took, unless that is known already."""
        self._call.end(self._clock)
        self._let_go()

    def _let_go(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()


class RecordedStream(ObservedStream):
    """An observed body that also passes all of it to `record` when it has been read to its end.

    A stream of events that the caller closes earlier is recorded as far as it was read, and a response with an error
    status that nobody reads, as before another try, without its body. Another body that is closed earlier, and every
    body that breaks off or is dropped, is not recorded, and a warning says so.
    """

    __slots__ = ("_chunks", "_has_no_end", "_is_over", "_is_unread_error", "_record", "_response", "_sent")

    def __init__(
        self,
        response: httpx.Response,
        call: Call,
        clock: Clock,
        record: Callable[..., None],
        release: Callable[[], None] | None,
        sent: int = 0,
    ) -> None:
        super().__init__(response.stream, call, clock, release)
        self._has_no_end = has_no_end(response.headers.get("content-type", ""))
        self._is_unread_error = response.is_error
        self._response = response
        self._record = record
        self._sent = sent
        self._chunks: list[bytes] = []
        self._is_over = False

    def __iter__(self) -> Iterator[bytes]:
        self._is_unread_error = False
        try:
            for chunk in self._stream:
                self._chunks.append(chunk)
                yield chunk
        except Exception:
            self._has_no_end = False  # it broke off
            raise
        self._record_once()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._is_unread_error = False
        try:
            async with chunks_of(self._stream) as chunks:
                async for chunk in chunks:
                    self._chunks.append(chunk)
                    yield chunk
        except Exception:
            self._has_no_end = False  # it broke off
            raise
        if self._is_large():
            await call_apart(self._record_once)
        else:
            self._record_once()

    def close(self) -> None:
        super().close()
        self._record_part()

    async def aclose(self) -> None:
        await super().aclose()
        if not self._is_over and self._has_no_end and self._is_large():
            await call_apart(self._record_part)
        else:
            self._record_part()

    def _is_large(self) -> bool:
        return self._sent + size_of(self._response.headers, self._chunks) >= LARGE_BODY

    def __del__(self) -> None:
        self._let_go()
        if not sys.is_finalizing():
            self._abandon()

    def _record_once(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        self.note_end()
        body = b"".join(self._chunks)
        try:
            self._record(body)
        except CassetteError as error:
            error.response = _with_body(self._response, body)
            raise

    def _record_part(self) -> None:
        """Record a body that the caller has closed early, and may. A failure is only a warning: it is over."""
        if self._is_over or not (self._has_no_end or self._is_unread_error):
            self._abandon()
            return
        self._is_over = True
        try:
            headers, body = _part_that_was_read(header_list(self._response.headers), self._chunks)
            self._record(body, headers)
        except CassetteError as error:
            warn(f"The stream of {self._name} was closed before its end, and could not be recorded: {error.what}")

    def _abandon(self) -> None:
        if not self._is_over:
            self._is_over = True
            warn(f"The response to {self._name} was closed before its end, so it is not recorded.")

    @property
    def _name(self) -> str:
        return f"{self._call.method} {self._call.path}"


def _with_body(response: httpx.Response, body: bytes) -> httpx.Response:
    """Return a copy of a consumed response with its body read, because the caller never got the original."""
    copy = httpx.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=httpx.ByteStream(body),
        request=response._request,  # noqa: SLF001 - the property raises while there is no request
        extensions=response.extensions,
        default_encoding=response.default_encoding,
    )
    with contextlib.suppress(httpx.DecodingError):
        copy.read()
    return copy
