"""The way of one call below its scope check: cassette, then auth, then the network.

One flow for sync and async. The request that the client holds and the cassette records never has a
credential on it, and a replayed call needs none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final

import httpx

from toolkit.auth.authorizers import AuthorizedRequest, Authorizer, TokenRequest, authorization
from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.response import read_token_response
from toolkit.auth.tokens.token import Token
from toolkit.cassettes import cell_cassette
from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import NO_ANSWER, Interaction
from toolkit.cassettes.replay.matching import Identity
from toolkit.cassettes.transport import (
    RECORDABLE,
    as_recorded,
    as_recorded_response,
    as_response,
    header_list,
    observe,
    record_failure,
    recording,
)
from toolkit.core.clock import Clock
from toolkit.core.document import TOKEN_PATH, Interface, symbolic_address
from toolkit.core.errors import ConfigurationError, TokenError, Unreachable
from toolkit.core.ledger import EPOCH, TRAFFIC, Call, Ledger
from toolkit.scrubbing.messages import HeaderList, RecordedRequest
from toolkit.scrubbing.scrubber import KnownSecrets
from toolkit.session.scope import RawHeaders, Scope
from toolkit.transport.flow import Flow, Read, run, run_async
from toolkit.transport.unreachable import origin, unreachable

_BODY_HEADERS: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})


class Caller:
    """Makes the calls of one session and remembers them.

    Args:
        clock: where time comes from.
        cassette: what is replayed and recorded, or None.
        identity: who calls, for matching recordings.
        known: secrets of this session, shared with the cassette's scrubber.
        authorizer: made when the first call goes out; a replay never makes one.
        join: lets the cassette of a cell know this session's addresses.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        cassette: Cassette | None,
        identity: Identity,
        known: KnownSecrets,
        authorizer: Callable[[], Authorizer],
        join: Callable[[Cassette], object] = lambda cassette: None,  # noqa: ARG005
    ) -> None:
        self.ledger = Ledger()
        self._clock = clock
        self._cassette = cassette
        self._identity = identity
        self._known = known
        self._make_authorizer = authorizer
        self._join = join
        self._authorizer: Authorizer | None = None
        self._numbers = TokenNumbers(after=cassette.last_token_number if cassette and cassette.replays else 0)

    @property
    def token(self) -> Token | None:
        """The token in hand, if one was obtained and is usable."""
        grant = self._authorizer.grant if self._authorizer else None
        return grant.token if grant else None

    def call(self, scope: Scope, request: httpx.Request) -> Flow[httpx.Response]:
        """Check, replay or send, and record one request of an interface.

        Raises:
            AccessError: it may not be sent.
            CassetteMiss: it is not recorded, and the cassette's mode records nothing.
            TokenError, Unreachable: no token could be had for it.
        """
        checked = scope.check(request)
        cassette = self._cassette or cell_cassette.current()
        if cassette is None:
            return self._send(scope, request, checked)
        return self._replay_or_record(self._joined(cassette), scope, request, checked)

    def _joined(self, cassette: Cassette) -> Cassette:
        """A cassette that knows what this session knows: the running cell's may not have met it before."""
        if cassette is not self._cassette:
            self._join(cassette)
            self._known.share_with(cassette.scrubber.known)
        return cassette

    def _replay_or_record(
        self, cassette: Cassette, scope: Scope, request: httpx.Request, checked: tuple[str, RawHeaders]
    ) -> Flow[httpx.Response]:
        recorded = yield from as_recorded(request, uri=scope.to_record(request))
        found = cassette.find(cassette.scrubber.lookup_request(recorded), self._identity)
        if found is None:
            return (yield from self._send(scope, request, checked, cassette, recorded))
        self._remember_played(cassette, found, scope.interface, checked[0])
        return as_response(found, request)

    def _send(
        self,
        scope: Scope,
        request: httpx.Request,
        checked: tuple[str, RawHeaders],
        cassette: Cassette | None = None,
        recorded: RecordedRequest | None = None,
    ) -> Flow[httpx.Response]:
        TRAFFIC.sent += 1
        path, raw = checked
        outgoing = scope.to_send(request)
        if outgoing is not request:
            raw = outgoing.headers.raw
        if self._authorizer is None:
            self._authorizer = self._make_authorizer()
        authorizer, clock = self._authorizer, self._clock
        sent_at, since = clock.now(), clock.monotonic()
        grant = authorizer.grant_at(sent_at, since)
        if grant is None:
            grant = yield from authorizer.obtain()
            sent_at, since = clock.now(), clock.monotonic()
        try:
            response: httpx.Response = yield AuthorizedRequest(outgoing, grant, raw)
            if authorizer.is_worth_retrying(request, response.status_code, grant):
                yield Read(response)
                grant = yield from authorizer.obtain()
                sent_at, since = clock.now(), clock.monotonic()
                response = yield AuthorizedRequest(outgoing, grant, raw)
                authorizer.is_worth_retrying(request, response.status_code, grant)
        except RECORDABLE as error:
            elapsed = timedelta(seconds=clock.monotonic() - since)
            by = grant.authorization
            self.ledger.add(Call(sent_at, scope.interface, request.method, path, NO_ANSWER.status, elapsed, by))
            if cassette is not None and recorded is not None:
                shown = _as_sent(recorded, authorizer)
                record_failure(cassette, shown, error, sent_at=sent_at, elapsed=elapsed, authorized_by=by)
            raise
        call = Call(sent_at, scope.interface, request.method, path, response.status_code, None, grant.authorization)
        self.ledger.add(call)
        if cassette is None or recorded is None:
            return observe(response, call, since, clock)
        record = recording(cassette, _as_sent(recorded, authorizer), response, call)
        return observe(response, call, since, clock, record)

    def number(self, token: Token) -> int:
        """The number of a token in this session, whoever obtained it; from here on no recording shows the token."""
        self._known.add("ACCESS_TOKEN", token.access_token)
        return self._numbers.number(token)

    def exchange(self, credentials: Credentials, address_name: str, token_request: TokenRequest) -> Flow[Token]:
        """Send a token request, record it, and read the token in its reply.

        Raises:
            Unreachable: the token endpoint cannot be reached. httpx's own error would carry the
                request, and with it the credentials.
            TokenError: it refused, or its reply is no token response.
        """
        for kind, secret in token_request.secrets:
            self._known.add(kind, secret)
        request, clock = token_request.request, self._clock
        sent_at, since = clock.now(), clock.monotonic()
        failure: Unreachable | None = None
        try:
            response: httpx.Response = yield request
            body: bytes = yield Read(response)
        except (httpx.TransportError, httpx.DecodingError) as error:
            failure = unreachable(f"The token endpoint at {origin(request.url)}", error)
        if failure is not None:  # raised here, it has no context, which would hold the request
            raise failure
        elapsed = timedelta(microseconds=round((clock.monotonic() - since) * 1_000_000))
        try:
            token = read_token_response(
                response.status_code,
                response.headers,
                body,
                asked_at=sent_at,
                asked_monotonic=since,
                scrub=self._known.scrub_text,
            )
        except TokenError as error:
            body = b""  # some tracebacks show local variables: those of this function, and further down
            raise error.with_traceback(None) from None
        number = self.number(token)
        self.ledger.add(Call(sent_at, Interface.AUTH, "POST", TOKEN_PATH, response.status_code, elapsed))
        cassette = self._cassette or cell_cassette.current()
        if cassette is not None and cassette.records:
            self._joined(cassette)
            form = token_request.recorded_form
            cassette.record(
                Interaction(
                    RecordedRequest(
                        "POST", symbolic_address(address_name) + TOKEN_PATH, _headers_of(request.headers, form), form
                    ),
                    as_recorded_response(response, body, headers=_headers_of(response.headers, body)),
                    recorded_at=sent_at,
                    elapsed=elapsed,
                    token_obtained=authorization(credentials, token, number),
                )
            )
        return token

    def _remember_played(self, cassette: Cassette, found: Interaction, interface: Interface, path: str) -> None:
        if found.authorized_by is not None:
            token_request = cassette.token_request_of(found.authorized_by)
            if token_request is not None:
                self.ledger.add(_played(token_request, Interface.AUTH, TOKEN_PATH))
        self.ledger.add(_played(found, interface, path))


class TokenNumbers:
    """Numbers the tokens of a session in the order in which it meets them.

    Args:
        after: the highest number that is taken, in a cassette that is added to.
    """

    def __init__(self, *, after: int = 0) -> None:
        self._after = after
        self._numbers: dict[Token, int] = {}
        self._lock = threading.Lock()

    def number(self, token: Token) -> int:
        """The number of a token, from 1."""
        with self._lock:
            return self._numbers.setdefault(token, self._after + len(self._numbers) + 1)


class InterfaceTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """The transport of one interface's client. The session owns what is below and closes it."""

    def __init__(self, scope: Scope, caller: Caller, below: httpx.BaseTransport | httpx.AsyncBaseTransport) -> None:
        self._scope = scope
        self._caller = caller
        self._below = below

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return run(self._caller.call(self._scope, request), self._below)  # type: ignore[arg-type]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await run_async(self._caller.call(self._scope, request), self._below)  # type: ignore[arg-type]


def _as_sent(recorded: RecordedRequest, authorizer: Authorizer) -> RecordedRequest:
    """A request as a recording shows it: with placeholders where the credentials went."""
    return replace(recorded, headers=(*recorded.headers, *authorizer.recorded_headers))


def _headers_of(headers: httpx.Headers, body: bytes) -> HeaderList:
    """Headers for a body that is recorded decoded, or with placeholders in it."""
    kept = [(name, value) for name, value in header_list(headers) if name.lower() not in _BODY_HEADERS]
    return (*kept, ("Content-Length", str(len(body))))


def no_credentials() -> Authorizer:
    """What a replay without credentials has in place of an authorizer."""
    raise ConfigurationError(
        "This session replays without credentials, so it cannot send anything.",
        "Give credentials to the session, or replay only what is recorded.",
    )


def _played(interaction: Interaction, interface: Interface, path: str) -> Call:
    return Call(
        interaction.recorded_at or EPOCH,
        interface,
        interaction.request.method,
        path,
        interaction.response.status,
        interaction.elapsed,
        interaction.authorized_by,
    )
