"""Response bodies on their way back: timed, collected for the recording, and passed on as they come."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, Final, Protocol

import httpx

from toolkit.cassettes.conversion import has_no_end, header_list, part_that_was_read
from toolkit.core.clock import Clock
from toolkit.core.errors import CassetteError
from toolkit.core.ledger import Call
from toolkit.core.user_code import warn
from toolkit.scrubbing.messages import HeaderList
from toolkit.transport.flow import call_apart, chunks_of

LARGE_BODY: Final = 1 << 16  # bytes; searching more than that for secrets would hold up an event loop


def size_of(headers: httpx.Headers, chunks: Iterable[bytes]) -> int:
    """Return the bytes of a response that are searched for secrets."""
    return sum(map(len, chunks)) + sum(len(value) for _, value in headers.raw)


def observe(
    response: httpx.Response,
    call: Call,
    clock: Clock,
    record: Record | None = None,
    *,
    release: Callable[[], None] | None = None,
) -> httpx.Response:
    """Return the response with a body that notes the end of the call and passes the complete body to `record`.

    `record` also takes the headers to record instead of the response's own, if the caller ended a stream early.
    `release` is called once: when the body has ended or is closed, or when it is dropped while open.
    """
    observed = (
        ObservedStream(response.stream, call, clock, release)
        if record is None
        else RecordedStream(response, call, clock, record, release)
    )
    if response.is_stream_consumed:  # a transport for tests made the response with its whole body
        b"".join(observed)
        observed.note_end()
    else:
        response.stream = observed
    return response


class Record(Protocol):
    """A function that records a response.

    Args:
        body: the body as received; of a stream that the caller closed early, the part that was read.
        headers: the headers of a stream that the caller closed early; None for a complete body.
    """

    def __call__(self, body: bytes, headers: HeaderList | None = None, /) -> None: ...


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

    __slots__ = ("_chunks", "_has_no_end", "_is_over", "_is_unread_error", "_record", "_response")

    def __init__(
        self, response: httpx.Response, call: Call, clock: Clock, record: Record, release: Callable[[], None] | None
    ) -> None:
        super().__init__(response.stream, call, clock, release)
        self._has_no_end = has_no_end(response.headers.get("content-type", ""))
        self._is_unread_error = response.is_error
        self._response = response
        self._record = record
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
        if size_of(self._response.headers, self._chunks) < LARGE_BODY:
            self._record_once()
        else:
            await call_apart(self._record_once)

    def close(self) -> None:
        super().close()
        self._record_part()

    async def aclose(self) -> None:
        await super().aclose()
        if self._is_over or not self._has_no_end or size_of(self._response.headers, self._chunks) < LARGE_BODY:
            self._record_part()
        else:
            await call_apart(self._record_part)

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
            headers, body = part_that_was_read(header_list(self._response.headers), self._chunks)
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
