"""The function `through`, which replays a recorded call, or sends and records it.

Sessions use `through` directly; `CassetteTransport` wraps it in a transport for any httpx client.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from sys import intern
from typing import TYPE_CHECKING, Any, Final

import httpx

from toolkit.cassettes.bodies import (
    LARGE_BODY,
    ObservedBody,
    as_failure,
    as_recorded_response,
    as_response,
    header_list,
    response_of,
)
from toolkit.cassettes.format.interactions import NO_ANSWER, RECORDABLE, Interaction
from toolkit.cassettes.replay.matching import ANYONE, Identity
from toolkit.core.document import TOKEN_PATH, Interface
from toolkit.core.errors import CassetteError, ToolkitError, UnsafeAddress
from toolkit.core.ledger import EPOCH, TRAFFIC, TRIES, Call, Clock, Ledger, SystemClock, source_of
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.scrubbing.compression import AFTER_THE_CALL
from toolkit.scrubbing.messages import HeaderList, RecordedRequest, RecordedResponse
from toolkit.transport.failures import origin
from toolkit.transport.flow import Apart, Flow, Read, run, run_async
from toolkit.transport.httpx2 import UpperTransport, answer, answer_async, as_httpx_transport
from toolkit.transport.network import Network, Places

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette
    from toolkit.cassettes.recording.recorder import Recorder

_REPLAYED: Final = "toolkit.replayed"  # request extension: the URI of a replayed request; redirects inherit it


class Outgoing:
    """A plain client's request, to be replayed or sent as is.

    A session's request (class `SessionRequest`) gets its credentials in `send`, so neither the client nor the cassette
    ever sees them.

    Attributes:
        request: the request as the client made it.
        clock: used to note when the request is sent.
        interface: interface name or host to note in the ledger.
        path: path to note in the ledger.
        identity: the caller's identity, used to match recordings.
        ledger: where the call is recorded; None for a plain client.
        places: limits how many calls are in progress at once; None if the inner transport does this.
    """

    __slots__ = ("clock", "interface", "path", "places", "request")
    identity: Identity = ANYONE
    ledger: Ledger | None = None

    def __init__(self, request: httpx.Request, clock: Clock, places: Places | None = None) -> None:
        self.request = request
        self.clock = clock
        self.places = places
        self.interface = request.url.host
        self.path = request.url.path

    def uri(self) -> str:
        """Return the URL to record."""
        return str(self.request.url)

    def send(self, call: Call) -> Flow[httpx.Response]:  # noqa: ARG002 - a session notes the authorization in it
        """Send the request. If another request has to be sent first, restart the timing of `call`."""
        response: httpx.Response = yield self.request
        return response

    def placeholders(self) -> HeaderList:
        """Return the headers that are recorded instead of the credentials that were sent."""
        return ()


def through(tape: Cassette | None, outgoing: Outgoing) -> Flow[httpx.Response]:
    """Replay a request from a cassette, or send it and record the response.

    1. Look up the request, first as it is written, then as it would be recorded (scrubbed, and without credentials).
    2. If a recording matches, replay it and skip the next steps.
    3. Otherwise, wait if too many calls are in progress, and send the request, with credentials if the sender has any.
       A request is not sent if a value in it contains a placeholder or pseudonym from the recording, or if it follows a
       replayed redirect to another origin.
    4. Record the response once the caller has read its body to the end. The caller gets the response unchanged.
    """
    request, places = outgoing.request, outgoing.places
    recorder = None if tape is None else tape.recorder
    recorded = RecordedRequest("", "")
    if tape is not None:
        sent: Any = request.stream
        body = b"".join(sent) if isinstance(sent, httpx.ByteStream) else (yield Read(request))
        recorded = RecordedRequest(request.method, outgoing.uri(), header_list(request.headers), body)
        match = yield from _matching(tape, recorded, outgoing.identity)
        if match is not None:
            return _replay(tape, outgoing, match, recorded.uri)
        tape.player.refuse_recorded_values(recorded)
        _refuse_replayed_redirect(request.extensions.pop(_REPLAYED, recorded.uri), recorded.uri, tape)
    TRAFFIC.sent += 1
    method = intern(request.method)  # interned, because a separate string for every call would waste memory
    call = Call(outgoing.clock.now(), outgoing.interface, method, outgoing.path, since=outgoing.clock.monotonic())
    try:
        response = yield from (outgoing.send(call) if places is None else _in_place(outgoing, places, call))
    except RECORDABLE as error:
        call.end(outgoing.clock)
        _note(outgoing, call, NO_ANSWER.status)
        if recorder is not None:
            try:
                _record(recorder, outgoing, recorded, call, NO_ANSWER, failure=as_failure(error))
            except CassetteError as unrecorded:  # the caller is about to get `error`
                warn(f"The failed {method} request was not recorded. {unrecorded.what}")
        raise
    _note(outgoing, call, response.status_code)
    if response.is_stream_consumed:  # a test transport created it with its whole body, which the client reads again
        stream: Any = response.stream
        whole = as_recorded_response(response, b"".join(stream), headers=header_list(response.headers))
        response = response_of(whole, request)
    record = None
    if recorder is not None:
        record = partial(_record_answer, recorder, outgoing, recorded, call, response)
    response.request = request
    response.stream = ObservedBody(response, partial(_end, outgoing, call), record, name=f"{method} {outgoing.path}")
    return response


def _matching(tape: Cassette, recorded: RecordedRequest, identity: Identity) -> Flow[Interaction | None]:
    """Return the recording that matches a request, or None if the request is to be sent.

    Most requests match a recording exactly, apart from addresses, so they need not be searched for secrets.
    """
    player, recorder = tape.player, tape.recorder
    match = None
    if tape.replays:
        match = player.play(tape.scrubber.with_symbols(recorded), identity, as_written=True)
    if match is None and (tape.replays or recorder is None):
        look_up = partial(tape.scrubber.lookup_request, recorded)
        scrubbed = look_up() if len(recorded.body) < LARGE_BODY else (yield Apart(look_up))
        match = player.play(scrubbed, identity) if tape.replays else None
        if match is None and recorder is None:
            raise player.miss(scrubbed, identity)
    if match is None and recorder is not None:
        recorder.get_ready()  # a request whose response cannot be recorded is not sent
    return match


def _replay(tape: Cassette, outgoing: Outgoing, match: Interaction, uri: str) -> httpx.Response:
    """Return a recorded response; add its call to the ledger, after the token request played with it, if any."""
    TRAFFIC.played += 1
    request, by, name = outgoing.request, match.authorized_by, tape.path.name
    request.extensions[TRIES] = match.tries
    request.extensions.setdefault(_REPLAYED, uri)
    token_request = None if by is None else tape.player.token_request_of(by)
    if outgoing.ledger is not None:
        if token_request is not None:
            outgoing.ledger.add(_call_of(token_request, Interface.AUTH, TOKEN_PATH))
        outgoing.ledger.add(_call_of(match, outgoing.interface, outgoing.path))
    response = as_response(match, request, source=name)
    source_of(response).replayed_from = name
    return response


def _call_of(played: Interaction, interface: str, path: str) -> Call:
    sent_at, method, status = played.recorded_at or EPOCH, played.request.method, played.response.status
    return Call(sent_at, interface, method, path, status, played.elapsed, played.authorized_by, played.tries)


def _in_place(outgoing: Outgoing, places: Places, call: Call) -> Flow[httpx.Response]:
    """Send a request once a slot is free; the slot stays taken until the response is read or closed."""
    if (yield from places.enter(outgoing.request.extensions.get("timeout", {}).get("pool"))):
        call.start(outgoing.clock)
    try:
        response = yield from outgoing.send(call)
    except BaseException:
        places.leave()
        raise
    return response


def _note(outgoing: Outgoing, call: Call, status: int) -> None:
    call.status = status
    outgoing.request.extensions[TRIES] = call.tries
    if outgoing.ledger is not None:
        outgoing.ledger.add(call)


def _end(outgoing: Outgoing, call: Call) -> None:
    call.end(outgoing.clock)
    if outgoing.places is not None:
        outgoing.places.leave()


def _refuse_replayed_redirect(first: str, uri: str, tape: Cassette) -> None:
    """Raise UnsafeAddress if a chain of replayed redirects leads to an origin other than the one where it began.

    The client would send its headers, cookies and query to that origin, so the recording would decide who gets them.
    """
    if first == uri:
        return
    asked, target = origin(httpx.URL(first)), origin(httpx.URL(uri))
    if asked != target:
        raise UnsafeAddress(
            f"A redirect replayed from {tape.path.name} leads from {excerpt(asked)} to {excerpt(target)}, "
            "and the redirected request is not recorded.",
            "Nothing was sent there, because a recording must not decide where live requests go. If the address is "
            'right, request it directly, or record everything again with mode="all".',
        )


def _record_answer(
    recorder: Recorder,
    outgoing: Outgoing,
    recorded: RecordedRequest,
    call: Call,
    response: httpx.Response,
    body: bytes,
    headers: HeaderList | None = None,
) -> None:
    """Record a call and its response. If `headers` is given, the body is the beginning of a stream that ended early."""
    received = header_list(response.headers) if headers is None else headers
    answer = as_recorded_response(response, body, headers=received)
    try:
        _record(recorder, outgoing, recorded, call, answer, ended_early=headers is not None)
    except CassetteError as error:
        error.response = response_of(answer, response.request)  # the caller never gets the original
        with suppress(httpx.DecodingError):
            error.response.read()
        raise


def _record(
    recorder: Recorder,
    outgoing: Outgoing,
    recorded: RecordedRequest,
    call: Call,
    response: RecordedResponse,
    **noted: Any,
) -> None:
    """Record a call; any error is raised as a CassetteError."""
    by, elapsed = call.authorized_by, call.elapsed
    sent = recorded._replace(headers=(*recorded.headers, *outgoing.placeholders()))
    try:
        recorder.append(Interaction(sent, response, call.sent_at, elapsed, by, tries=call.tries, **noted))
    except CassetteError:
        raise
    except Exception as error:  # noqa: BLE001 - its text may quote the response
        reason = error.what if isinstance(error, ToolkitError) else f"{type(error).__name__}."
        what = f"{call.method} {call.path} could not be recorded: {reason}"
        raise CassetteError(what, f"{AFTER_THE_CALL} do not use a cassette.", about="cassette") from None


class CassetteTransport(UpperTransport):
    """Replays from and records to a cassette, for a Client or an AsyncClient of httpx or httpx2.

    See `Cassette.transport` for the argument `inner`.
    """

    def __init__(self, tape: Cassette, inner: httpx.BaseTransport | httpx.AsyncBaseTransport | None = None) -> None:
        self._tape = tape
        # A Network opens nothing until a request is sent, which a replay never does.
        self._inner: Any = Network(is_async=False) if inner is None else as_httpx_transport(inner)
        self._inner_async: Any = Network(is_async=True) if inner is None else self._inner
        super().__init__(self._inner, self._inner_async)
        self._places = Places() if inner is None else None

    def handle_request(self, request: Any) -> Any:
        if not isinstance(request, httpx.Request):
            return answer(request, self.handle_request)
        return run(self._through(request), self._inner)

    async def handle_async_request(self, request: Any) -> Any:
        if not isinstance(request, httpx.Request):
            return await answer_async(request, self.handle_async_request)
        return await run_async(self._through(request), self._inner_async)

    def _through(self, request: httpx.Request) -> Flow[httpx.Response]:
        return through(self._tape, Outgoing(request, SystemClock(), self._places))
