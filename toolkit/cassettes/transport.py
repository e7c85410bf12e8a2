"""The way of a call through a cassette, as an httpx transport of both kinds.

A recorded interaction that matches is replayed and nothing below runs. Otherwise the request passes
on, and what comes back is recorded when its body is complete; the caller gets it as it came.
"""
# MERGE: Calls that got no answer: recorded as what httpx raised, and replayed as the same.

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import httpx

from toolkit.cassettes.format.interactions import FAILURES, NO_ANSWER, Failure, Interaction
from toolkit.core.clock import Clock, SystemClock
from toolkit.core.errors import CassetteError
from toolkit.core.ledger import TRAFFIC, Authorization, Call
from toolkit.core.warn import warn
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse, header_bytes
from toolkit.transport.flow import Flow, Read, run, run_async

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette


# What a network or a service causes. What the caller caused (UnsupportedProtocol, LocalProtocolError) is not recorded.
RECORDABLE: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)


def record_failure(
    cassette: Cassette,
    request: RecordedRequest,
    error: httpx.TransportError,
    *,
    sent_at: datetime,
    elapsed: timedelta,
    authorized_by: Authorization | None = None,
) -> None:
    """Record that a request got no answer. Where that cannot be recorded, warn: the caller is to get `error`.

    Args:
        error: one of RECORDABLE.
    """
    # A class of a transport's own is recorded as httpx's that it is derived from.
    name = next(one.__name__ for one in type(error).__mro__ if one.__name__ in FAILURES)
    interaction = Interaction(
        request=request,
        response=NO_ANSWER,
        recorded_at=sent_at,
        elapsed=elapsed,
        authorized_by=authorized_by,
        failure=Failure(name, str(error)),
    )
    try:
        cassette.record(interaction)
    except CassetteError as unrecorded:
        warn(f"The failed {request.method} is not recorded. {unrecorded.what}")


def as_error(failure: Failure, request: httpx.Request | None) -> httpx.TransportError:
    """What to raise for a recorded failure of the same request."""
    kind: type[httpx.TransportError] = getattr(httpx, failure.type)  # of FAILURES, or there were no Failure
    return kind(failure.message, request=request)


class ObservedStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that passes through as it comes, and notes in its call when it was closed.

    httpx closes a body as soon as it has read it to its end.
    """

    __slots__ = ("_call", "_clock", "_since", "_stream")

    def __init__(self, stream: Any, call: Call, since: float, clock: Clock) -> None:
        self._stream = stream
        self._call = call
        self._since = since
        self._clock = clock

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    def close(self) -> None:
        self._stream.close()
        self.note_end()

    async def aclose(self) -> None:
        await self._stream.aclose()
        self.note_end()

    def note_end(self) -> None:
        """Note how long the call took, the first time."""
        if self._call.elapsed is None:
            self._call.elapsed = timedelta(0, self._clock.monotonic() - self._since)


class RecordedStream(ObservedStream):
    """The same, with the whole body handed to `record` once it was read to its end."""

    __slots__ = ("_chunks", "_ended", "_record", "_response")

    def __init__(
        self, response: httpx.Response, call: Call, since: float, clock: Clock, record: Callable[[bytes], None]
    ) -> None:
        super().__init__(response.stream, call, since, clock)
        self._response = response
        self._record = record
        self._chunks: list[bytes] = []
        self._ended = False

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._chunks.append(chunk)
            yield chunk
        self._end()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._chunks.append(chunk)
            yield chunk
        self._end()

    def close(self) -> None:
        super().close()
        self._abandon()

    async def aclose(self) -> None:
        await super().aclose()
        self._abandon()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            self._abandon()

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self.note_end()
        body = b"".join(self._chunks)
        try:
            self._record(body)
        except CassetteError as error:
            error.response = _readable(self._response, body)
            raise

    def _abandon(self) -> None:
        if not self._ended:
            self._ended = True
            what = f"The response to {self._call.method} {self._call.path} was closed before its end"
            warn(f"{what}, so it is not recorded.")


def observe(
    response: httpx.Response, call: Call, since: float, clock: Clock, record: Callable[[bytes], None] | None = None
) -> httpx.Response:
    """Have the end of a response noted in its call, and its whole body handed to `record`."""
    observed = (
        ObservedStream(response.stream, call, since, clock)
        if record is None
        else RecordedStream(response, call, since, clock, record)
    )
    if response.is_stream_consumed:  # a transport for tests gave it a body that is there already
        b"".join(observed)
        observed.note_end()
    else:
        response.stream = observed
    return response


def _readable(response: httpx.Response, body: bytes) -> httpx.Response:
    """A response whose stream is spent, for a caller who is not handed it: with its body read."""
    copy = httpx.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=httpx.ByteStream(body),
        request=response._request,  # noqa: SLF001 - `request` raises while it is not set
        extensions=response.extensions,
        default_encoding=response.default_encoding,
    )
    with contextlib.suppress(httpx.DecodingError):
        copy.read()
    return copy


def as_recorded(request: httpx.Request, *, uri: str | None = None) -> Flow[RecordedRequest]:
    """A request as a cassette holds it, its body read.

    Args:
        uri: what to record for its URL, by default the URL itself.
    """
    body = yield Read(request)
    return RecordedRequest(request.method, uri or str(request.url), header_list(request.headers), body)


def as_recorded_response(response: httpx.Response, body: bytes, *, headers: HeaderList) -> RecordedResponse:
    """A response as a cassette holds it, with its body as received and headers that fit the body."""
    extensions = response.extensions
    return RecordedResponse(
        response.status_code,
        extensions.get("reason_phrase", b"").decode("ascii", "ignore"),  # as httpx shows it
        headers,
        body,
        extensions.get("http_version", b"").decode("ascii", "replace"),
    )


def as_response(interaction: Interaction, request: httpx.Request | None = None) -> httpx.Response:
    """A recorded response as if it had just arrived, its body unread.

    Args:
        request: what it answers, for the error.

    Raises:
        httpx.TransportError: what was recorded is that no response came.
    """
    if interaction.failure is not None:
        raise as_error(interaction.failure, request)
    recorded = interaction.response
    extensions: dict[str, bytes] = {}
    if recorded.reason or recorded.http_version.startswith("HTTP/1"):  # without it, httpx derives one from the status
        extensions["reason_phrase"] = recorded.reason.encode("ascii", "ignore")
    if recorded.http_version:
        extensions["http_version"] = recorded.http_version.encode("ascii", "replace")
    return httpx.Response(
        recorded.status,
        headers=[(header_bytes(name), header_bytes(value)) for name, value in recorded.headers],
        stream=httpx.ByteStream(recorded.body),
        extensions=extensions,
    )


def recording(
    cassette: Cassette, request: RecordedRequest, response: httpx.Response, call: Call
) -> Callable[[bytes], None]:
    """What records a call once the body of its response is complete."""

    def record(body: bytes) -> None:
        cassette.record(
            Interaction(
                request=request,
                response=as_recorded_response(response, body, headers=header_list(response.headers)),
                recorded_at=call.sent_at,
                elapsed=call.elapsed,
                authorized_by=call.authorized_by,
            )
        )

    return record


class CassetteTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Replays from and records to a cassette; for an httpx.Client and an httpx.AsyncClient alike.

    Args:
        cassette: the cassette.
        inner: what sends what is not replayed; by default httpx's own transport, made when needed.
    """

    def __init__(
        self,
        cassette: Cassette,
        inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._cassette = cassette
        self._inner = inner
        self._own: httpx.HTTPTransport | None = None
        self._own_async: httpx.AsyncHTTPTransport | None = None
        self._clock = clock or SystemClock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        inner: Any = self._inner
        if inner is None and self._cassette.records:
            inner = self._own = self._own or httpx.HTTPTransport()
        return run(self._flow(request), inner)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        inner: Any = self._inner
        if inner is None and self._cassette.records:
            inner = self._own_async = self._own_async or httpx.AsyncHTTPTransport()
        return await run_async(self._flow(request), inner)

    def _flow(self, request: httpx.Request) -> Flow[httpx.Response]:
        recorded = yield from as_recorded(request)
        found = self._cassette.find(self._cassette.scrubber.lookup_request(recorded))
        if found is not None:
            return as_response(found, request)
        TRAFFIC.sent += 1
        sent_at, since = self._clock.now(), self._clock.monotonic()
        try:
            response: httpx.Response = yield request
        except RECORDABLE as error:
            elapsed = timedelta(seconds=self._clock.monotonic() - since)
            record_failure(self._cassette, recorded, error, sent_at=sent_at, elapsed=elapsed)
            raise
        call = Call(sent_at, request.url.host, request.method, request.url.path, response.status_code)
        record = recording(self._cassette, recorded, response, call)
        return observe(response, call, since, self._clock, record)

    def close(self) -> None:
        for inner in (self._own, self._inner):
            if isinstance(inner, httpx.BaseTransport):
                inner.close()

    async def aclose(self) -> None:
        for inner in (self._own_async, self._inner):
            if isinstance(inner, httpx.AsyncBaseTransport):
                await inner.aclose()


def header_list(headers: httpx.Headers) -> HeaderList:
    """Names and values of headers in the order and case in which they came."""
    return tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw])
