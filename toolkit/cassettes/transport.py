"""A call and a cassette: replay what is recorded, else send and record. Told once, in `through`.

Sessions use `through` as well; `CassetteTransport` makes it a transport for any httpx client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from toolkit.cassettes.conversion import (
    RECORDABLE,
    as_failure,
    as_recorded,
    as_recorded_response,
    as_response,
    header_list,
)
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.cassettes.replay.matching import ANYONE, Identity
from toolkit.cassettes.streams import observe
from toolkit.core.clock import Clock, SystemClock
from toolkit.core.errors import CassetteError
from toolkit.core.ledger import TRAFFIC, Authorization, Call
from toolkit.core.user_code import warn
from toolkit.scrubbing.messages import HeaderList, RecordedRequest
from toolkit.transport.flow import Flow, run, run_async
from toolkit.transport.network import Network

if TYPE_CHECKING:
    from toolkit.scrubbing.scrubber import Scrubber


class Tape(Protocol):
    """What a call needs from a cassette; see `Cassette` for the meaning."""

    scrubber: Scrubber

    def find(self, request: RecordedRequest, identity: Identity = ..., /) -> Interaction | None: ...

    def record(self, interaction: Interaction, /) -> None: ...

    def token_request_of(self, authorization: Authorization, /) -> Interaction | None: ...


class Outgoing:
    """A request on its way: who sends it, how, and what is remembered.

    This class is for the request of a plain client, which is sent as it is. A session's request (class
    `SessionRequest`) gets its credentials in `send`, so neither client nor cassette ever sees them.

    Attributes:
        request: the request as the client made it.
        clock: where the time of sending comes from.
        identity: who calls, for matching recordings.
    """

    __slots__ = ("clock", "request")
    identity: Identity = ANYONE

    def __init__(self, request: httpx.Request, clock: Clock) -> None:
        self.request = request
        self.clock = clock

    def uri(self) -> str:
        """Return the URL to record."""
        return str(self.request.url)

    def new_call(self) -> Call:
        """Return the entry for a ledger, started now."""
        url, clock = self.request.url, self.clock
        return Call(clock.now(), url.host, self.request.method, url.path, since=clock.monotonic())

    def send(self, call: Call) -> Flow[httpx.Response]:  # noqa: ARG002 - a session notes in it how it is authorized
        """Send the request; start `call` again if it is sent later than now."""
        response: httpx.Response = yield self.request
        return response

    def placeholders(self) -> HeaderList:
        """Return the headers that stand in a recording for the credentials that were sent."""
        return ()

    def note_call(self, call: Call) -> None:
        """Remember a call that was sent."""

    def note_replay(self, interaction: Interaction, token_request: Interaction | None) -> None:
        """Remember a call that was replayed, and the recorded token request that counts as played with it."""


def through(tape: Tape | None, outgoing: Outgoing) -> Flow[httpx.Response]:
    """Replay a request from a cassette, or send it and record the answer.

    1. Look up the request as it would be recorded: scrubbed, and without credentials.
    2. If a recording matches, replay it. Nothing below runs.
    3. Otherwise send the request, with credentials if the sender has any.
    4. Record the answer when the caller has read its body to the end. The caller gets it as it came.

    Args:
        tape: the cassette, or None to send without recording.
        outgoing: the request and its sender.

    Raises:
        CassetteMiss: if nothing matches and the cassette does not record.
        httpx.TransportError: if the service does not answer, or did not answer when this was recorded.
    """
    recorded: RecordedRequest | None = None
    if tape is not None:
        recorded = yield from as_recorded(outgoing.request, outgoing.uri())
        match = tape.find(tape.scrubber.lookup_request(recorded), outgoing.identity)
        if match is not None:
            by = match.authorized_by
            outgoing.note_replay(match, None if by is None else tape.token_request_of(by))
            return as_response(match, outgoing.request)
    TRAFFIC.sent += 1
    call = outgoing.new_call()
    try:
        response = yield from outgoing.send(call)
    except RECORDABLE as error:
        call.status = NO_ANSWER.status
        call.end(outgoing.clock)
        outgoing.note_call(call)
        if tape is not None and recorded is not None:
            _record_failure(tape, _as_sent(recorded, outgoing), call, error)
        raise
    call.status = response.status_code
    outgoing.note_call(call)
    if tape is None or recorded is None:
        return observe(response, call, outgoing.clock)
    return observe(response, call, outgoing.clock, _recorder(tape, _as_sent(recorded, outgoing), response, call))


def _as_sent(recorded: RecordedRequest, outgoing: Outgoing) -> RecordedRequest:
    """Return the request as it is recorded: with placeholders where the credentials went."""
    placeholders = outgoing.placeholders()
    return replace(recorded, headers=(*recorded.headers, *placeholders)) if placeholders else recorded


def _recorder(tape: Tape, request: RecordedRequest, response: httpx.Response, call: Call) -> Callable[[bytes], None]:
    """Return a function that records the call, given the complete body of the response."""

    def record(body: bytes) -> None:
        tape.record(
            Interaction(
                request=request,
                response=as_recorded_response(response, body, headers=header_list(response.headers)),
                recorded_at=call.sent_at,
                elapsed=call.elapsed,
                authorized_by=call.authorized_by,
            )
        )

    return record


def _record_failure(tape: Tape, request: RecordedRequest, call: Call, error: httpx.TransportError) -> None:
    """Record that a request got no answer. If that fails too, only warn: the caller is about to get `error`."""
    interaction = Interaction(
        request=request,
        response=NO_ANSWER,
        recorded_at=call.sent_at,
        elapsed=call.elapsed,
        authorized_by=call.authorized_by,
        failure=as_failure(error),
    )
    try:
        tape.record(interaction)
    except CassetteError as unrecorded:
        warn(f"The failed {request.method} is not recorded. {unrecorded.what}")


class CassetteTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Replays from and records to a cassette; for an httpx.Client and an httpx.AsyncClient alike.

    Args:
        tape: the cassette.
        inner: the transport for requests that are not replayed; by default httpx's own, direct or through the proxy
            of the environment as for a client without a cassette.
        clock: by default the machine's.
    """

    def __init__(
        self,
        tape: Tape,
        inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._tape = tape
        # A Network opens nothing until a request is sent, which a replay never does.
        self._inner: Any = Network(is_async=False) if inner is None else inner
        self._inner_async: Any = Network(is_async=True) if inner is None else inner
        self._clock = clock or SystemClock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return run(through(self._tape, Outgoing(request, self._clock)), self._inner)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await run_async(through(self._tape, Outgoing(request, self._clock)), self._inner_async)

    def close(self) -> None:
        if isinstance(self._inner, httpx.BaseTransport):
            self._inner.close()

    async def aclose(self) -> None:
        if isinstance(self._inner_async, httpx.AsyncBaseTransport):
            await self._inner_async.aclose()
