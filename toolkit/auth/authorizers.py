"""Add credentials to requests, as described by the two flows in section 5 of the service document.

A grant's headers are set on a copy of the request. The request that the client keeps and the cassette records stays as
the caller made it, without credentials. A token request is sent separately, through `exchange`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

import httpx

from toolkit.auth.credentials import Credentials
from toolkit.auth.kinds import Client, Headers, KeyPair, revealed
from toolkit.auth.tokens.single_flight import MemoryTokenStore, TokenSource, token_source, with_retries
from toolkit.auth.tokens.token import Token, TokenStore
from toolkit.core.document import GRANT_TYPE, TOKEN_PATH, Placeholder
from toolkit.core.ledger import Authorization, Clock
from toolkit.core.secret import Secret
from toolkit.transport.flow import Flow
from toolkit.transport.retry import Retry, can_be_sent_again

TOKEN_REQUEST_TIMEOUT: Final = 30.0  # seconds, even if the session has no timeout
_SHOW_CREDENTIALS: Final = frozenset({"request", "auth"})  # keys of httpcore's events


@dataclass(frozen=True, slots=True)
class Grant:
    """The headers that authorize a request, the authorization that the ledger records, and the access token, if any."""

    headers: Headers = field(repr=False)
    authorization: Authorization
    token: Token | None = None


def authorized(request: httpx.Request, grant: Grant) -> httpx.Request:
    """Return a copy of a request with a grant's headers added; the stream and timeouts stay the same."""
    extensions = dict(request.extensions)
    if trace := extensions.get("trace"):
        # httpcore's trace events include requests with credentials. Async clients await what the lambda returns.
        extensions["trace"] = lambda event, info: trace(
            event, {name: value for name, value in info.items() if name not in _SHOW_CREDENTIALS}
        )
    # For speed: httpx copies an httpx.Headers object unchanged, but normalizes every header in a list again.
    copy = httpx.Request(
        request.method, request.url, headers=request.headers, stream=request.stream, extensions=extensions
    )
    for name, value in grant.headers:
        copy.headers[name] = value
    return copy


def authorization(credentials: Credentials, token: Token | None = None, number: int | None = None) -> Authorization:
    """Return a description of a call's authorization for the ledger and recordings."""
    return Authorization(
        kind=credentials.kind,
        environment=credentials.environment,
        profile=credentials.name,
        token=number,
        issued_at=token.issued_at if token else None,
        expires_at=token.expires_at if token else None,
    )


class TokenRequest(NamedTuple):
    """A token request with the credentials in its form fields, and the form to record in its place."""

    request: httpx.Request
    recorded_form: bytes
    secrets: tuple[tuple[str, Secret], ...] = ()  # of this request, with the names of their placeholders
    tries: int = 1  # requests sent for this token, including this one


# Sends a token request in the layer below the cassette, which records it together with the calls.
Exchange = Callable[[TokenRequest], Flow[Token]]


class KeyPairAuthorizer:
    """The legacy flow (section 5.2): the key pair is sent with every call. It has the methods of a BearerAuthorizer."""

    def __init__(self, credentials: KeyPair, *, header_prefix: str) -> None:
        headers, self.recorded_headers = credentials.headers(header_prefix)
        self.grant: Grant | None = Grant(headers, authorization(credentials))

    def grant_at(self, now: datetime, monotonic: float, /) -> Grant | None:  # noqa: ARG002
        return self.grant

    def obtain(self) -> Flow[Grant]:
        raise AssertionError("a key pair never needs a request")

    def note_answer(self, request: httpx.Request, status: int, grant: Grant, /) -> bool:  # noqa: ARG002
        return False


class BearerAuthorizer:
    """Sends a bearer token with every call (section 5.1) until the token expires. Subclasses define how to get one.

    After a 401 with a token that should be valid, the token is renewed once, and the request is repeated once if its
    body can be sent again. The service document does not require this.

    `number` returns the number that identifies a token in its session's tables.
    """

    recorded_headers: Headers = (("Authorization", f"Bearer {Placeholder.ACCESS_TOKEN}"),)

    def __init__(
        self, credentials: Credentials, *, clock: Clock, number: Callable[[Token], int], source: TokenSource
    ) -> None:
        self._credentials = credentials
        self._clock = clock
        self._number = number
        self._source = source
        self._grant: Grant | None = None

    @property
    def grant(self) -> Grant | None:
        """The current grant if it is usable, or None."""
        return self.grant_at(self._clock.now(), self._clock.monotonic())

    def grant_at(self, now: datetime, monotonic: float, /) -> Grant | None:
        """Return the grant if it is usable at the given wall-clock and monotonic times, or None."""
        token, grant = self._source.token, self._grant
        if token is None or monotonic >= token.renew_monotonic or now >= token.renew_at:
            return None
        return grant if grant is not None and grant.token is token else self._granted(token)

    def obtain(self) -> Flow[Grant]:
        """Return the current grant if it is usable, otherwise a new one."""
        return self._granted((yield from self._source.obtain(self._clock, self._fetch)))

    def note_answer(self, request: httpx.Request, status: int, grant: Grant, /) -> bool:
        """Note the status of the response to a request; return True if it is worth trying a new grant."""
        if grant.token is None:
            return False
        if status != httpx.codes.UNAUTHORIZED:
            if self._source.doubted is not None:
                self._source.accept(grant.token)
            return False
        return self._source.reject(grant.token) and can_be_sent_again(request)

    def _granted(self, token: Token) -> Grant:
        grant = self._grant
        if grant is None or grant.token is not token:
            headers = (("Authorization", f"Bearer {token.access_token.reveal()}"),)
            grant = Grant(headers, authorization(self._credentials, token, self._number(token)), token)
            self._grant = grant
        return grant

    def _fetch(self, *, patiently: bool) -> Flow[Token]:
        raise NotImplementedError


class TokenAuthorizer(BearerAuthorizer):
    """The client credentials flow (section 5.1): tokens come from the token endpoint.

    `exchange` sends token requests, and `new_jti` returns a new identifier for an assertion. A `timeout` of None means
    30 seconds. No retry starts once the longest of the connect, read and write timeouts has passed since the first try.
    """

    _credentials: Client

    def __init__(
        self,
        credentials: Client,
        *,
        auth_address: str,
        clock: Clock,
        store: MemoryTokenStore | TokenStore,
        exchange: Exchange,
        number: Callable[[Token], int],
        new_jti: Callable[[], str] = lambda: str(uuid.uuid4()),
        retry: Retry = Retry(),  # noqa: B008 - a frozen value
        timeout: float | httpx.Timeout | None = None,
    ) -> None:
        self._token_url = f"{auth_address}{TOKEN_PATH}"
        source = token_source(store, credentials, self._token_url)
        super().__init__(credentials, clock=clock, number=number, source=source)
        self._issuer = auth_address
        self._exchange = exchange
        self._new_jti = new_jti
        self._retry = retry
        # A request that is not built by a client has no timeout unless one is set.
        timeout = httpx.Timeout(TOKEN_REQUEST_TIMEOUT, pool=None) if timeout is None else httpx.Timeout(timeout)
        self._timeout = timeout.as_dict()
        parts = (timeout.connect, timeout.read, timeout.write)
        self._seconds = max(TOKEN_REQUEST_TIMEOUT if part is None else part for part in parts)

    def reject(self, token: Token, *, was_accepted: bool) -> bool:
        """Note that the service refused a borrower's token; return True if it is worth trying a new token."""
        if was_accepted:
            self._source.accept(token)
        return self._source.reject(token)

    def _fetch(self, *, patiently: bool) -> Flow[Token]:
        retry = self._retry if patiently else Retry(tries=1)
        retry = replace(retry, within=min(retry.within, self._seconds))
        return with_retries(lambda tries: self._exchange(self._token_request(tries)), self._clock, retry)

    def _token_request(self, tries: int) -> TokenRequest:
        """Return a token request with the credentials only in its form fields (section 4.1)."""
        further, client_id = self._credentials.form_fields, self._credentials.client_id
        evidence = self._credentials.evidence(
            token_url=self._token_url, issuer=self._issuer, now=self._clock.now(), new_jti=self._new_jti
        )
        secrets = tuple((name.upper(), value) for name, value in evidence.items() if isinstance(value, Secret))
        fields = {**further, "grant_type": GRANT_TYPE, "client_id": client_id, **evidence}
        hidden = {name: str(Placeholder.SECRET) for name, value in further.items() if isinstance(value, Secret)}
        hidden |= {name.lower(): f"<{name}>" for name, _ in secrets}
        shown = {**fields, **hidden, "client_id": Placeholder.CLIENT_ID}
        request = httpx.Request(
            "POST",
            self._token_url,
            headers={"Accept": "application/json"},
            data=revealed(fields),
            extensions={"timeout": dict(self._timeout)},
        )
        return TokenRequest(request, urlencode(revealed(shown), safe="<>").encode("ascii"), secrets, tries)


Authorizer = KeyPairAuthorizer | BearerAuthorizer
