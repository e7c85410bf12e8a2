"""Convert messages between httpx and their recorded form, and record response bodies while they are read.

A response body is passed on as it arrives, and collected for the recording. A stream without an end is recorded up to
the point where the caller stops reading.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import httpx

from toolkit.cassettes.format.interactions import FAILURES, Interaction, RecordedFailure
from toolkit.core.errors import CassetteError, CassetteMiss, SecretLeak
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.scrubbing.compression import capped
from toolkit.scrubbing.messages import HeaderList, RecordedResponse, header_bytes
from toolkit.scrubbing.normal_form import is_text
from toolkit.transport.failures import Advice, ReplayedReason, no_connection
from toolkit.transport.flow import call_apart, chunks_of

# Media types of streams of events or of lines, which may never end.
_STREAMS: Final = frozenset(
    {
        *("text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl"),
        *("application/x-jsonlines", "application/json-seq", "application/stream+json"),
    }
)
_LENGTH_HEADERS: Final = frozenset({"content-encoding", "content-length"})
LARGE_BODY: Final = 1 << 16  # bytes; searching more than that for secrets would block an event loop
_STEP: Final = 1_024  # bytes to decompress at a time; each step yields at most a megabyte


def as_recorded_response(response: httpx.Response, body: bytes, *, headers: HeaderList) -> RecordedResponse:
    """Return a response in its recorded form, with the body as received and headers that fit it."""
    extensions = response.extensions
    return RecordedResponse(
        response.status_code,
        extensions.get("reason_phrase", b"").decode("ascii", "ignore"),  # as httpx shows it
        headers,
        body,
        extensions.get("http_version", b"").decode("ascii", "replace"),
    )


def as_response(interaction: Interaction, request: httpx.Request, *, source: str) -> httpx.Response:
    """Return a recorded response as if it had just arrived, with its body unread; or raise the recorded error.

    A note on the error names `source`, the file that it was replayed from.
    """
    failure = interaction.failure
    if failure is not None:
        raised = FAILURES[failure.type](failure.message, request=request)  # same message as in the live call
        on = f" (recorded on {interaction.recorded_at:%Y-%m-%d})" if interaction.recorded_at else ""
        raised.add_note(
            Advice(f'This error was replayed from {source}{on}. To send the call again, record it with mode="all".')
        )
        if failure.reason:
            raised.add_note(ReplayedReason(failure.reason))
        raise raised
    response = response_of(interaction.response, request)
    if interaction.ended_early:
        call = f"{request.method} {excerpt(request.url.path)}"
        response.stream = EndedEarly(interaction.response.body, call)
    return response


def response_of(recorded: RecordedResponse, request: httpx.Request) -> httpx.Response:
    """Return the httpx response for a recorded response, with its body unread."""
    extensions: dict[str, bytes] = {}
    if recorded.reason or recorded.http_version.startswith("HTTP/1"):  # httpx derives a missing one from the status
        extensions["reason_phrase"] = recorded.reason.encode("ascii", "ignore")
    if recorded.http_version:
        extensions["http_version"] = recorded.http_version.encode("ascii", "replace")
    try:
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in recorded.headers]
    except UnicodeEncodeError:  # text from vcrpy; calling `header_bytes` for every header takes twice as long
        headers = [(header_bytes(name), header_bytes(value)) for name, value in recorded.headers]
    return httpx.Response(
        recorded.status,
        headers=headers,
        stream=httpx.ByteStream(recorded.body),
        request=request,
        extensions=extensions,
    )


def as_failure(error: httpx.RequestError) -> RecordedFailure:
    """Return the recorded form of an error; a transport's own error class is recorded as its httpx base class."""
    name = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in FAILURES)
    return RecordedFailure(name, str(error), no_connection(error))


def header_list(headers: httpx.Headers) -> HeaderList:
    """Return the names and values of headers in their original order and case."""
    return tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw])


def _part_that_was_read(headers: httpx.Headers, packed: bytes) -> tuple[HeaderList, bytes]:
    """Return the recorded form of a stream that was closed early: its headers, and its body up to the last full line.

    The body is decompressed, because truncated compressed data cannot be checked for secrets. An incomplete last line
    is left out: a caller that reads lines never saw it, and half of a secret cannot be recognized.
    """
    body = capped(_decompressed(headers, packed), len(packed))
    body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    if not is_text(body):
        raise SecretLeak(
            "A stream in an unknown content encoding cannot be checked for secrets.",
            "Send the header Accept-Encoding: identity with the next request.",
        )
    return tuple(pair for pair in header_list(headers) if pair[0].lower() not in _LENGTH_HEADERS), body


def _decompressed(headers: httpx.Headers, packed: bytes) -> Iterator[bytes]:
    steps = iter([packed[start : start + _STEP] for start in range(0, len(packed), _STEP)])
    response = httpx.Response(200, headers=headers, content=steps)
    with suppress(httpx.DecodingError):  # raised at the end, because the rest is missing
        yield from response.iter_bytes()


class EndedEarly(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The recorded part of a stream that the caller closed early. Reading beyond it raises CassetteMiss."""

    def __init__(self, body: bytes, call: str) -> None:
        self._body = body
        self._call = call

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        raise CassetteMiss(
            f"The recording of {self._call} ends here: this response was closed early when it was recorded.",
            'Stop reading at the same point, or record the call again with mode="all".',
        )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class ObservedBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that is passed on to the caller, and recorded once it has been read to the end.

    If the caller closes an event stream early, the part that was read is recorded. An error response that is closed
    without being read, as happens before a retry, is recorded without its body. Any other body that is closed early,
    and any body that breaks off or is garbage-collected, is not recorded, and a warning is issued.

    Args:
        response: the response.
        ended: called once, when the body has been read, closed or garbage-collected.
        record: called with the complete body, or with a part of it and the headers to record instead of the response's
            own. If it is None, the body is not recorded.
        name: the call, as named in warnings.
    """

    def __init__(
        self,
        response: httpx.Response,
        ended: Callable[[], None],
        record: Callable[..., None] | None = None,
        *,
        name: str = "",
    ) -> None:
        self._headers = response.headers
        self._name = name
        self._stream: Any = response.stream
        self._ended: Callable[[], None] | None = ended
        self._record = record
        self._chunks: list[bytes] = []
        media_type = "" if record is None else response.headers.get("content-type", "").partition(";")[0]
        self._has_no_end = media_type.strip().lower() in _STREAMS
        self._may_be_closed_early = self._has_no_end or response.is_error

    def __iter__(self) -> Iterator[bytes]:
        self._may_be_closed_early = self._has_no_end
        try:
            for chunk in self._stream:
                self._keep(chunk)
                yield chunk
        except Exception:
            self._may_be_closed_early = False  # the stream broke off
            raise
        self._record_whole()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._may_be_closed_early = self._has_no_end
        try:
            async with chunks_of(self._stream) as chunks:
                async for chunk in chunks:
                    self._keep(chunk)
                    yield chunk
        except Exception:
            self._may_be_closed_early = False  # the stream broke off
            raise
        if sum(map(len, self._chunks)) < LARGE_BODY:
            self._record_whole()
        else:
            await call_apart(self._record_whole)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._end()
        self._record_part()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._end()
        if self._record is not None and self._may_be_closed_early:
            await call_apart(self._record_part)
        self._record_part()

    def __del__(self) -> None:
        self._end()
        if not sys.is_finalizing():
            self._may_be_closed_early = False
            self._record_part()

    def _keep(self, chunk: bytes) -> None:
        if self._record is not None:
            self._chunks.append(chunk)

    def _end(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def _record_whole(self) -> None:
        record, self._record = self._record, None
        if record is not None:
            self._end()
            record(b"".join(self._chunks))

    def _record_part(self) -> None:
        """Record a body that the caller closed early, if possible. On failure, only warn: the call is over."""
        record, self._record = self._record, None
        if record is None:
            return
        if not self._may_be_closed_early:
            warn(f"The response to {self._name} was closed early, so it was not recorded.")
            return
        try:
            headers, body = _part_that_was_read(self._headers, b"".join(self._chunks))
            record(body, headers)
        except CassetteError as error:
            warn(f"The stream of {self._name} was closed early, and could not be recorded: {error.what}")
