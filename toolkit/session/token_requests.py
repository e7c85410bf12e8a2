"""Create the object that adds credentials to a session's calls, and send the token requests that it needs.

Token requests are recorded along with the calls, but never replayed on their own.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import httpx

from toolkit.auth.authorizers import Authorizer, KeyPairAuthorizer, TokenAuthorizer, TokenRequest, authorization
from toolkit.auth.credentials import Credentials
from toolkit.auth.destinations import check_destinations
from toolkit.auth.kinds import Client, KeyPair
from toolkit.auth.tokens.token import Token, read_token_response
from toolkit.cassettes.bodies import as_recorded_response, header_list
from toolkit.cassettes.format.interactions import Interaction
from toolkit.core.document import TOKEN_PATH, Interface, symbolic_address
from toolkit.core.errors import ConfigurationError, SecretLeak, TokenError, TokenResponseInvalid, Unreachable
from toolkit.core.ledger import Call
from toolkit.core.secret import Secret
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList, RecordedRequest
from toolkit.transport.failures import origin, unreachable
from toolkit.transport.flow import Flow, ReadAndClose

if TYPE_CHECKING:
    from toolkit.session.sending import Sender

_LARGEST_REPLY: Final = 1 << 20  # bytes
_BODY_HEADERS: Final = frozenset({"content-encoding", "transfer-encoding", "content-length"})


def make_authorizer(sender: Sender) -> Authorizer:
    """Return the object that adds a session's credentials, after checking that they may be sent to its addresses."""
    credentials, settings = sender.credentials, sender.settings
    if credentials is not None:
        check_destinations(credentials, settings)  # nothing has been sent yet, not even a token request
    if isinstance(credentials, KeyPair):
        return KeyPairAuthorizer(credentials, header_prefix=settings.header_prefix)
    if credentials is None:
        raise ConfigurationError(
            "This session replays without credentials, so it cannot send anything.",
            "Pass credentials to the session, or replay only recorded calls.",
            about="credentials",
        )
    address_name = credentials.environment.rules.addresses[Interface.AUTH]
    exchange = TokenExchange(sender, credentials, address_name)
    if (borrowed := credentials.borrowing_authorizer(sender.clock, exchange.number)) is not None:
        return borrowed
    return TokenAuthorizer(
        cast("Client", credentials),
        auth_address=settings.address(address_name),
        clock=sender.clock,
        store=sender.store,
        exchange=exchange,
        number=exchange.number,
        timeout=sender.timeout,
    )


class TokenExchange:
    """Sends token requests for one session, records them, and reads the tokens from the responses."""

    def __init__(self, sender: Sender, credentials: Credentials, address_name: str) -> None:
        self._sender = sender
        self._credentials = credentials
        sender.known.add_all(_strong_fields(credentials))
        self._uri = symbolic_address(address_name) + TOKEN_PATH
        cassette = sender.cassette
        self._recorded_tokens = cassette.contents.last_token_number if cassette and cassette.replays else 0
        self._numbers: dict[Secret, int] = {}
        self._lock = threading.Lock()

    def number(self, token: Token) -> int:
        """Return the token's number. Tokens are numbered in order of first use, after those in the replayed cassette.

        Once a token has a number, its text is not written to recordings.
        """
        self._sender.known.add_all([("ACCESS_TOKEN", token.access_token)])
        with self._lock:
            return self._numbers.setdefault(token.access_token, self._recorded_tokens + len(self._numbers) + 1)

    def __call__(self, token_request: TokenRequest, /) -> Flow[Token]:
        """Send a token request, record it, and read the token from the response.

        Raises:
            Unreachable: if the token endpoint cannot be reached. httpx's own error would contain the request, and with
                it the credentials.
            TokenError: if the endpoint refuses the request, or if its response is not a token response.
        """
        known, clock, request = self._sender.known, self._sender.clock, token_request.request
        known.add_all(token_request.secrets)
        tries = token_request.tries
        call = Call(clock.now(), Interface.AUTH, "POST", TOKEN_PATH, tries=tries, since=clock.monotonic())
        failure: Unreachable | None = None
        try:
            response = yield request
            body = yield ReadAndClose(response, _LARGEST_REPLY)
        except (httpx.TransportError, httpx.DecodingError) as error:
            failure = unreachable(f"The token endpoint at {origin(request.url)}", error)
        if failure is not None:  # raised here, without a context that would contain the request
            raise failure
        call.end(clock)
        try:
            body = _decoded(response, body)
            token = read_token_response(
                response.status_code,
                response.headers,
                body,
                requested_at=call.sent_at,
                requested_monotonic=call.since,
                scrub=known.scrub_text,
                credentials=self._credentials,
            )
        except TokenError as error:
            body = b""  # some tracebacks show local variables
            raise error.with_traceback(None) from None
        self.number(token)  # also adds its text to the known secrets
        call.status = response.status_code
        self._sender.ledger.add(call)
        self._record(token_request, response, body, call, token)
        return token

    def _record(self, sent: TokenRequest, response: httpx.Response, body: bytes, call: Call, token: Token) -> None:
        cassette = self._sender.cassette_in_use()
        if cassette is None or cassette.recorder is None:
            return
        form = sent.recorded_form
        cassette.recorder.append(
            Interaction(
                RecordedRequest("POST", self._uri, _headers_for(form, sent.request.headers), form),
                as_recorded_response(response, body, headers=_headers_for(body, response.headers)),
                recorded_at=call.sent_at,
                elapsed=call.elapsed,
                token_obtained=authorization(self._credentials, token, self.number(token)),
                tries=call.tries,
            )
        )


def _decoded(response: httpx.Response, body: bytes) -> bytes:
    """Return a response body without its content encoding."""
    with suppress(SecretLeak):
        is_read = response.is_stream_consumed  # by a transport, as in tests
        body = response.content if is_read else decompress_body(header_list(response.headers), body)
        if len(body) <= _LARGEST_REPLY:
            return body
    raise TokenResponseInvalid(
        "The token endpoint's response is larger than 1 MiB, or is not encoded as its Content-Encoding says.",
        "Check the auth address: it may lead to another service or a proxy.",
    )


def _strong_fields(credentials: Credentials) -> list[tuple[str, Secret]]:
    """Return the values of form fields that look like secrets, to be replaced wherever they occur."""
    values = credentials.form_fields.values() if isinstance(credentials, Client) else ()
    fields = [value for value in values if isinstance(value, Secret)]
    if not fields:
        return []
    from toolkit.scrubbing.strength import Strength, grade

    return [("SECRET", secret) for secret in fields if grade(secret.reveal()) is Strength.STRONG]


def _headers_for(body: bytes, headers: httpx.Headers) -> HeaderList:
    """Return the headers for a decoded or scrubbed body: without encoding headers, and with the new length."""
    kept = [(name, value) for name, value in header_list(headers) if name.lower() not in _BODY_HEADERS]
    return (*kept, ("Content-Length", str(len(body))))
