"""The sending of a session's requests: through the cassette, then with credentials, then to the network.

One flow for sync and async. The request that the client holds and the cassette records never carries
a credential, and a replayed call needs none.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx

from toolkit.auth.authorizers import Authorizer
from toolkit.auth.tokens.token import Token
from toolkit.cassettes import cell_cassette
from toolkit.cassettes.replay.matching import Identity
from toolkit.cassettes.through import Outgoing, through
from toolkit.core.clock import Clock
from toolkit.core.document import Environment, Placeholder
from toolkit.core.errors import ConfigurationError
from toolkit.core.ledger import EPOCH, Authorization, Call, Ledger, source_of
from toolkit.core.secret import Secret
from toolkit.core.words import account_words
from toolkit.local.settings import Settings
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.messages import HeaderList
from toolkit.session.card import session_source
from toolkit.session.scope import Scope
from toolkit.session.tries import send_with_tries
from toolkit.transport.flow import Flow, run, run_async
from toolkit.transport.network import Places
from toolkit.transport.pacing import Pace
from toolkit.transport.retry import Retry

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette


class InterfaceTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The transport of one interface's client. The session owns the transport below and closes it.

    Attributes:
        scope, sender: where requests may go, and what sends them.
        session: the session of the client, or None.
    """

    def __init__(
        self,
        scope: Scope,
        sender: Sender,
        below: httpx.BaseTransport | httpx.AsyncBaseTransport,
        *,
        session: object | None = None,
    ) -> None:
        self.scope = scope
        self.sender = sender
        self._below: Any = below
        self.session = session
        # Kept with each response, so it does not refer to the session and its connections.
        self._describe_call = partial(_call_text, scope, sender.known)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._with_source(run(self.sender.send(self.scope, request), self._below))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._with_source(await run_async(self.sender.send(self.scope, request), self._below))

    def _with_source(self, response: httpx.Response) -> httpx.Response:
        source = source_of(response)
        source.describe, source.describe_call = self.sender.source, self._describe_call
        return response


def _call_text(scope: Scope, known: KnownSecrets, response: httpx.Response) -> str:
    """Return method and URL of the call that a response answers, in a replay with the symbolic address."""
    request = response.request
    url = scope.shown(request.url, is_symbolic=source_of(response).replayed_from != "")
    return known.scrub_text(f"{request.method} {url}")


def transport_of(client: object) -> InterfaceTransport:
    """Return the transport of a client that belongs to a session.

    Raises:
        ConfigurationError: if this is anything else.
    """
    transport = getattr(client, "_transport", None)
    if not isinstance(client, httpx.Client | httpx.AsyncClient) or not isinstance(transport, InterfaceTransport):
        raise ConfigurationError(
            f"This needs a client of a session, not {type(client).__name__}.",
            "For example session.broker, session.trading or session.market_data.",
            about="client",
        )
    return transport


class Sender:
    """Sends the requests of one session and remembers them.

    Args:
        clock: where time comes from.
        cassette: the session's own cassette, or None.
        identity: who calls, for matching recordings.
        known: known secrets, with the placeholders of the session's own cassette if it has one.
        make_authorizer: called with the sender when the first request goes out; a replay never needs it.
        settings: passed on to the cassette of a running cell.
        retry: limits for sending a failed call again.
        pace: the schedule of all calls with these credentials.
        jitter: returns a random number from 0 to 1, which pauses are multiplied with.
        places: the places for calls that are under way at once; None if the transport limits them itself.
        is_practice: True if a practice service answers.

    Attributes:
        ledger: the calls so far.
        environment: the environment that is called.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        cassette: Cassette | None,
        identity: Identity,
        known: KnownSecrets,
        make_authorizer: Callable[[Sender], Authorizer],
        settings: Settings,
        retry: Retry,
        pace: Pace,
        jitter: Callable[[], float] = random.random,
        places: Places | None = None,
        is_practice: bool = False,
    ) -> None:
        self.ledger = Ledger()
        self.clock = clock
        self.cassette = cassette
        self.identity = identity
        self.environment = Environment(str(identity.environment))
        self.known = known
        self.retry, self.pace, self.jitter = retry, pace, jitter
        self.places = places
        self._is_practice = is_practice
        self._make_authorizer = make_authorizer
        self._settings = settings
        self._authorizer: Authorizer | None = None
        self._lock = threading.Lock()

    @property
    def _replays_only(self) -> bool:
        return self.cassette is not None and not self.cassette.records

    @property
    def token(self) -> Token | None:
        """The current token, or None without a usable token; in replay the recorded one, without its text."""
        if not self._replays_only:
            grant = self._authorizer.grant if self._authorizer else None
            return grant.token if grant else None
        by = self._last_authorization()
        if by is None or by.issued_at is None or by.expires_at is None:
            return None
        token = Token(Secret(Placeholder.ACCESS_TOKEN), by.issued_at, by.expires_at)
        return token if self.now() < token.renew_at else None

    @property
    def token_number(self) -> int | None:
        """The number of the current token, from 1; None without a token."""
        if not self._replays_only:
            grant = self._authorizer.grant if self._authorizer else None
            return grant.authorization.token if grant else None
        by = self._last_authorization()
        return by.token if by is not None and self.token is not None else None

    def now(self) -> datetime:
        """Return the current time in UTC; in a replay, the end of the last call that was replayed."""
        if not self._replays_only:
            return self.clock.now()
        return self.ledger.last_ended_at() or (self.cassette and self.cassette.recorded_at) or EPOCH

    def _last_authorization(self) -> Authorization | None:
        """Return how the last call with a token was authorized."""
        by = (call.authorized_by for call in reversed(self.ledger.calls()))
        return next((one for one in by if one is not None and one.issued_at is not None), None)

    def account_with(self, cassette: Cassette | None) -> str:
        """Return what to call the account that calls reach through a cassette: "real account", "practice" or "".

        A replay reaches none, and a recording does not say whether a practice service was recorded.
        """
        sends = cassette is None or cassette.records
        return account_words(is_real=sends and self.environment.rules.real_account, is_practice=self._is_practice)

    def source(self) -> str:
        """Return in words where the answers come from, such as `broker-sandbox · replayed, recorded 12 May 2026`."""
        account, ended = self.account_with(self.cassette), self.ledger.last_ended_at()
        return session_source(self.environment, account, self.cassette, ended)

    def send(self, scope: Scope, request: httpx.Request) -> Flow[httpx.Response]:
        """Check, replay or send, and record one request of an interface.

        Raises:
            AccessError: if the request may not be sent.
            CassetteMiss: if it is not recorded, and the cassette does not record.
            TokenError, Unreachable: if no token is available for it.
        """
        path, raw = scope.check(request)
        return through(self.cassette_in_use(), SessionRequest(self, scope, request, path, raw))

    def cassette_in_use(self) -> Cassette | None:
        """Return the session's own cassette, else that of the running cell, which learns its addresses."""
        if self.cassette is not None:
            return self.cassette
        cassette = cell_cassette.current()
        if cassette is not None:
            cell_cassette.register_with(cassette, self._settings)
        return cassette

    def authorizer(self) -> Authorizer:
        """Return the authorizer of this session; the first request makes it.

        Raises:
            ConfigurationError: if the session has no credentials, or the auth address is not set.
        """
        if self._authorizer is None:
            with self._lock:  # a second authorizer would start numbering tokens again
                if self._authorizer is None:
                    self._authorizer = self._make_authorizer(self)
        return self._authorizer


class SessionRequest(Outgoing):
    """A request of a session's client: credentials are added below the cassette, and a ledger remembers it.

    Args:
        path: path below the interface's address, without the query.
        raw: the request's raw headers.
    """

    __slots__ = ("_raw", "_scope", "_sender", "identity", "ledger")

    def __init__(
        self, sender: Sender, scope: Scope, request: httpx.Request, path: str, raw: list[tuple[bytes, bytes]]
    ) -> None:
        self.request = request
        self.clock = sender.clock
        self.places = sender.places
        self.interface = scope.interface
        self.path = path
        self.identity = sender.identity
        self.ledger = sender.ledger
        self._sender = sender
        self._scope = scope
        self._raw = raw

    def uri(self) -> str:
        return self._scope.to_record(self.request)

    def send(self, call: Call) -> Flow[httpx.Response]:
        """Send a copy with credentials, again where that may help; see `toolkit.session.tries`."""
        outgoing = self._scope.to_send(self.request)
        return send_with_tries(
            outgoing,
            self._raw if outgoing is self.request else outgoing.headers.raw,
            call,
            authorizer=self._sender.authorizer(),
            clock=self.clock,
            retry=self._sender.retry,
            pace=self._sender.pace,
            jitter=self._sender.jitter,
        )

    def placeholders(self) -> HeaderList:
        return self._sender.authorizer().recorded_headers
