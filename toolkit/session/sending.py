"""Send a session's requests: through the cassette, then with credentials, then to the network.

One flow serves sync and async. The request that the client holds and the cassette records never contains a credential,
so a replayed call needs no credentials.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import httpx

from toolkit.auth.authorizers import Authorizer, Grant, authorized
from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.tokens.token import Token, TokenStore
from toolkit.cassettes import selection
from toolkit.cassettes.replay.matching import Identity
from toolkit.cassettes.through import Outgoing, through
from toolkit.core.document import Environment, Placeholder
from toolkit.core.errors import wrong_type
from toolkit.core.ledger import EPOCH, Call, Clock, Ledger, source_of
from toolkit.core.secret import Secret
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import HeaderList
from toolkit.session.card import PRACTICE, REAL_ACCOUNT, source_text
from toolkit.session.scope import Scope, register_with
from toolkit.session.token_requests import make_authorizer
from toolkit.transport.flow import Flow, Pause, ReadAndClose, run, run_async
from toolkit.transport.network import Places
from toolkit.transport.pacing import Pace, nap
from toolkit.transport.retry import Retry, may_be_repeated, retry_after_of

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette


class InterfaceTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The transport of one interface's client. The session owns the underlying transport and closes it."""

    def __init__(self, scope: Scope, sender: Sender, below: Any, session: object = None) -> None:
        self.scope = scope
        self.sender = sender
        self.session = session
        self._below = below

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._with_source(request, run(self.sender.send(self.scope, request), self._below))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._with_source(request, await run_async(self.sender.send(self.scope, request), self._below))

    def _with_source(self, request: httpx.Request, response: httpx.Response) -> httpx.Response:
        source = source_of(response)
        source.describe, source.call = self.sender.source, f"{request.method} {request.url.path}"
        return response


def transport_of(client: object) -> InterfaceTransport:
    """Return the transport of a client that belongs to a session."""
    transport = getattr(client, "_transport", None)
    if not isinstance(client, httpx.Client | httpx.AsyncClient) or not isinstance(transport, InterfaceTransport):
        raise wrong_type("client", "a session's client", client, "For example session.broker or session.trading.")
    return transport


@dataclass(kw_only=True, eq=False, repr=False)
class Sender:
    """Sends the requests of one session and records them in its ledger."""

    environment: Environment
    credentials: Credentials | None
    identity: Identity  # who calls, for matching recordings
    cassette: Cassette | None  # the session's own cassette
    settings: Settings
    known: KnownSecrets  # includes the placeholders of the session's own cassette, if there is one
    store: TokenStore | MemoryTokenStore
    timeout: httpx.Timeout | None = None  # of token requests
    clock: Clock
    retry: Retry
    pace: Pace  # of all calls with these credentials
    jitter: Callable[[], float] = random.random  # multiplies pauses
    places: Places | None = None  # None if the transport limits calls by itself
    is_practice: bool = False
    ledger: Ledger = field(default_factory=Ledger)
    _authorizer: Authorizer | None = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def current_token(self) -> tuple[Token, int | None] | tuple[None, None]:
        """Return the usable token and its number, or (None, None); in a replay, the recorded token without its text."""
        if _sends(self.cassette):
            grant = self._authorizer.grant if self._authorizer else None
            return (grant.token, grant.authorization.token) if grant and grant.token else (None, None)
        for call in reversed(self.ledger.calls()):
            by = call.authorized_by
            if by is not None and by.issued_at is not None and by.expires_at is not None:
                token = Token(Secret(Placeholder.ACCESS_TOKEN), by.issued_at, by.expires_at)
                return (token, by.token) if self.now() < token.renew_at else (None, None)
        return None, None

    def now(self) -> datetime:
        """Return the current time in UTC or, in a replay, the end of the last replayed call."""
        if _sends(self.cassette):
            return self.clock.now()
        return self.ledger.last_ended_at() or (self.cassette and self.cassette.recorded_at) or EPOCH

    def account_with(self, cassette: Cassette | None) -> str:
        """Return the kind of account that receives the calls: "real account", "practice", or "" for neither.

        A replay reaches no account, and a recording does not say whether it was made with a practice service.
        """
        if not _sends(cassette) or not self.environment.rules.real_account:
            return ""
        return PRACTICE if self.is_practice else REAL_ACCOUNT

    def source(self) -> str:
        """Return the source of the responses, such as `broker-sandbox · replayed, recorded 12 May 2026`."""
        source = source_text(self.cassette, self.ledger.last_ended_at())
        return " · ".join(filter(None, (self.environment, self.account_with(self.cassette), source)))

    def send(self, scope: Scope, request: httpx.Request) -> Flow[httpx.Response]:
        """Check a request to an interface, replay or send it, and record it."""
        return through(self.cassette_in_use(), SessionRequest(self, scope, request))

    def cassette_in_use(self) -> Cassette | None:
        """Return the session's own cassette, or the running cell's with the session's addresses added to it."""
        if self.cassette is not None:
            return self.cassette
        cassette = selection.current()
        if cassette is not None:
            register_with(cassette, self.settings)
        return cassette

    def authorizer(self) -> Authorizer:
        """Return the object that adds this session's credentials; it is created by the first live request."""
        if self._authorizer is None:
            with self._lock:  # a second authorizer would start numbering tokens again
                if self._authorizer is None:
                    self._authorizer = make_authorizer(self)
        return self._authorizer


def _sends(cassette: Cassette | None) -> bool:
    return cassette is None or cassette.records


class SessionRequest(Outgoing):
    """A request from a session's client. The ledger records it; credentials are added below the cassette."""

    __slots__ = ("_below", "_scope", "_sender", "identity", "ledger")

    def __init__(self, sender: Sender, scope: Scope, request: httpx.Request) -> None:
        self._below = scope.check(request)
        self.path = self._below.partition("?")[0] or "/"
        self.request = request
        self.clock = sender.clock
        self.places = sender.places
        self.interface = scope.interface
        self.identity = sender.identity
        self.ledger = sender.ledger
        self._sender = sender
        self._scope = scope

    def uri(self) -> str:
        return self._scope.symbolic_text + self._below

    def placeholders(self) -> HeaderList:
        return self._sender.authorizer().recorded_headers

    def send(self, call: Call) -> Flow[httpx.Response]:
        """Send a copy of the request with credentials, resend it in two cases, and return the last response.

        After a 401 for a token that should be valid, the request is sent once more with a new token
        (`auth.authorizers`). GET and HEAD are also sent again after 429, 503 or a connection that broke before a
        response began (`transport.retry`). Credentials are added again for each try, because a token may have expired
        while the call waited.

        Args:
            call: the call, which has just started; it records the last try and the number of tries.
        """
        authorizer, clock, pace = self._sender.authorizer(), self.clock, self._sender.pace
        request = self._scope.to_send(self.request)
        first_sent, is_renewed = 0.0, False
        pause: float | None
        call.tries = 0
        while True:
            grant = authorizer.grant_at(call.sent_at, call.since)
            if grant is None or pace.is_limited:
                grant = yield from _grant_in_turn(call, authorizer, clock, pace)
            if call.tries == 0:
                first_sent = call.since
            call.tries += 1
            call.authorized_by = grant.authorization
            outcome = yield from _outcome(authorized(request, grant))
            answer = outcome if isinstance(outcome, httpx.Response) else None
            if answer is not None and authorizer.note_answer(request, answer.status_code, grant) and not is_renewed:
                is_renewed, pause = True, 0.0
            elif may_be_repeated(request, outcome):
                asked = None if answer is None else retry_after_of(answer.headers, clock.now())
                elapsed = clock.monotonic() - first_sent
                pause = self._sender.retry.pause(call.tries, elapsed, asked, jitter=self._sender.jitter())
            else:
                pause = None
            if pause is None:
                if answer is None:
                    raise outcome
                return answer
            if answer is not None:
                with suppress(httpx.TransportError):  # the connection broke, and is closed
                    yield ReadAndClose(answer)
            if pause:
                yield Pause(pause, clock)
            call.start(clock)


def _outcome(request: httpx.Request) -> Flow[Any]:
    """Send a request; return the response, or the error if there is no response."""
    try:
        return (yield request)
    except httpx.TransportError as error:
        return error


def _grant_in_turn(call: Call, authorizer: Authorizer, clock: Clock, pace: Pace) -> Flow[Grant]:
    """Wait for the call's turn, start the call, and return credentials that are valid at that instant.

    The token is obtained before the wait, so that calls that needed the same token are not all sent at once.
    """
    turn = pace.turn(call.since)
    while True:
        grant = authorizer.grant_at(call.sent_at, call.since)
        if grant is None:
            grant = yield from authorizer.obtain()
            call.start(clock)
        pause = nap(pace, turn, clock)
        if pause is None:
            return grant
        yield pause
        call.start(clock)
