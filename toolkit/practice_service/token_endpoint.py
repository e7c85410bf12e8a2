"""The token endpoint (section 4.1), which answers a form with a token response.

Client assertions are checked as in RFC 7523 section 3 (private_key_jwt). The service document does not show errors;
their codes and statuses are those of RFC 6749 section 5.2.
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from toolkit.auth.assertion import ASSERTION_TYPE
from toolkit.core.document import GRANT_TYPE, TOKEN_PATH, Environment, header_names
from toolkit.core.secret import Secret
from toolkit.practice_service.authentication import RequestRefusedError
from toolkit.practice_service.holders import Caller

if TYPE_CHECKING:
    from collections.abc import Container

    from starlette.datastructures import Headers

    from toolkit.core.clock import Clock
    from toolkit.practice_service.holders import Client, Holders, Tokens

FORM_TYPE: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 20
_METHOD_FIELDS: Final = ("client_secret", "client_assertion")
_LONGEST_LIFETIME: Final = 600  # seconds; an assertion is for one request, so a longer lifetime is a mistake
_LEEWAY: Final = 5  # seconds by which the caller's clock may be ahead
_LONGEST_JTI: Final = 256  # characters
# PyJWT would use the system's clock, so the claims are checked here with the clock of the service.
_SIGNATURE_ONLY: Final = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}
_UNCHECKED: Final = {"verify_signature": False, **_SIGNATURE_ONLY}


class TokenEndpoint:
    """Authenticates the clients of broker partners and issues tokens to them."""

    def __init__(self, holders: Holders, tokens: Tokens, clock: Clock) -> None:
        self._holders = holders
        self._tokens = tokens
        self._assertions = _Assertions(clock)

    def respond(
        self, environment: Environment, address: str, headers: Headers, query: str, body: bytes
    ) -> tuple[dict[str, Any], Caller]:
        """Return the token response to a request, and who made it.

        Args:
            environment: the broker environment of this endpoint.
            address: the auth address as the caller wrote it, which may be the audience of an assertion.
            headers, query, body: parts of the request.

        Raises:
            RequestRefusedError: if it is malformed, or does not identify a client of this environment.
        """
        fields = _form_fields(headers, query, body)
        _check_methods(fields, headers)
        client = self._client(fields, environment, address)
        grant_type = fields.get("grant_type")
        if grant_type is None:
            raise _invalid_request("grant_type is missing.")
        if grant_type != GRANT_TYPE:
            raise RequestRefusedError(400, "unsupported_grant_type", f"The grant type must be {GRANT_TYPE}.")
        sent = "assertion" if "client_assertion" in fields else "secret"
        return self._tokens.issue(client.holder, client.name), Caller(client.name, sent, client.holder)

    def _client(self, fields: dict[str, str], environment: Environment, address: str) -> Client:
        if "client_assertion" in fields:
            return self._client_by_assertion(fields, environment, address)
        if "client_id" not in fields:
            raise _invalid_request("client_id is missing.")
        client = self._holders.client(environment, fields["client_id"])
        if client is None or client.secret is None or client.secret != Secret(fields["client_secret"]):
            raise _invalid_client("No client of this environment has this client ID and client secret.")
        return client

    def _client_by_assertion(self, fields: dict[str, str], environment: Environment, address: str) -> Client:
        assertion = Secret(fields["client_assertion"])
        if fields.get("client_assertion_type") != ASSERTION_TYPE:
            raise _invalid_request("client_assertion_type is missing, or differs from RFC 7523 section 2.2.")
        try:
            claimed = self._assertions.claimed_client_id(assertion)
            client = self._holders.client(environment, claimed)
            if client is None or client.public_key is None:
                raise _invalid_client("No client of this environment with a key has the client ID in iss.")
            if fields.get("client_id", claimed) != claimed:
                raise _invalid_client("client_id and the iss of the assertion differ.")
            self._assertions.check(assertion, client, (f"{address}{TOKEN_PATH}", address))
        except _AssertionInvalidError as error:
            raise _invalid_client(f"The client assertion is refused: {error}") from None
        return client


def _form_fields(headers: Headers, query: str, body: bytes) -> dict[str, str]:
    """Return the form without empty fields, which count as omitted (RFC 6749 section 3.2)."""
    content_types = headers.getlist("content-type")
    if len(content_types) != 1 or content_types[0].partition(";")[0].strip().lower() != FORM_TYPE:
        raise _invalid_request(f"The body must be a form, with Content-Type {FORM_TYPE}.")
    if query:
        raise _invalid_request("The URL of the token endpoint must not have a query; put the fields into the body.")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError:
        # The message of the error quotes the field.
        raise _invalid_request("The body is not a well-formed form.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise _invalid_request("A form field must not occur twice.")
    return {name: value for name, value in fields.items() if value}


def _check_methods(fields: dict[str, str], headers: Headers) -> None:
    """Check that there is exactly one way to authenticate, in the form (section 4.1; RFC 6749 section 2.3)."""
    authorization = headers.getlist("authorization")
    in_headers = bool(authorization) or any(headers.getlist(name) for name in header_names())
    in_form = [name for name in _METHOD_FIELDS if name in fields]
    if len(in_form) + in_headers > 1:
        raise _invalid_request("Use one authentication method: client_secret or client_assertion, in the form.")
    if in_headers:
        # RFC 6749 section 5.2: 401, with the scheme that the caller used.
        scheme = "Bearer" if authorization and authorization[0].lower().startswith("bearer") else "Basic"
        raise _invalid_client(
            "Put the credentials into the form; headers are not accepted.", (f'{scheme} realm="practice"',)
        )
    if not in_form:
        raise _invalid_client("The form has neither client_secret nor client_assertion.")


def _invalid_request(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "invalid_request", message)


def _invalid_client(message: str, challenges: tuple[str, ...] = ()) -> RequestRefusedError:
    """Return a 401 (RFC 6749 section 5.2), by default without a challenge, since no header would be accepted."""
    return RequestRefusedError(
        401, "invalid_client", message, [("WWW-Authenticate", challenge) for challenge in challenges]
    )


class _AssertionInvalidError(Exception):
    """The assertion does not identify the client; the message names the broken rule and quotes nothing."""


class _Assertions:
    """Checks assertions, and remembers each `jti` until its assertion has expired.

    Args:
        clock: the time of the service.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[tuple[str, str], float] = {}  # (client ID, jti) to the assertion's exp

    def claimed_client_id(self, assertion: Secret) -> str:
        """Return the unverified `iss` of an assertion, to find the key for its check.

        Raises:
            _AssertionInvalidError: if it is not a JWT, or does not name an issuer.
        """
        issuer = _decoded(assertion, None, None, _UNCHECKED).get("iss")
        if not isinstance(issuer, str):
            raise _AssertionInvalidError("iss is missing or not text.")
        return issuer

    def check(self, assertion: Secret, client: Client, audiences: Container[str]) -> None:
        """Accept an assertion once, from this client and for one of these audiences.

        Raises:
            _AssertionInvalidError: if a rule of RFC 7523 section 3 is broken.
        """
        claims = _decoded(assertion, client.public_key, [client.algorithm], _SIGNATURE_ONLY)
        _check_key_id(assertion, client)
        if not claims.get("iss") == claims.get("sub") == client.client_id:
            raise _AssertionInvalidError("iss and sub must both be the client ID.")
        if _single_audience(claims.get("aud")) not in audiences:
            raise _AssertionInvalidError("aud must be the URL of this token endpoint, or its auth address.")
        now = self._clock.now().timestamp()
        expires = _checked_times(claims, now)
        self._use(client.client_id, claims.get("jti"), expires, now)

    def _use(self, client_id: str, jti: Any, expires: float, now: float) -> None:
        if not isinstance(jti, str) or not 0 < len(jti) <= _LONGEST_JTI:
            raise _AssertionInvalidError("jti is missing, too long or not text.")
        with self._lock:
            self._used = {used: end for used, end in self._used.items() if end > now}
            if (client_id, jti) in self._used:
                raise _AssertionInvalidError("this jti was used already; an assertion is valid for one request.")
            self._used[client_id, jti] = expires


def _decoded(assertion: Secret, key: Any, algorithms: list[str] | None, options: dict[str, bool]) -> dict[str, Any]:
    import jwt

    try:
        claims: dict[str, Any] = jwt.decode(assertion.reveal(), key, algorithms=algorithms, options=options)  # type: ignore[arg-type]
    except (jwt.PyJWTError, ValueError, RecursionError):
        # The messages of these errors may quote the assertion.
        raise _AssertionInvalidError("it is not a JWT signed with the key and algorithm of this client.") from None
    return claims


def _check_key_id(assertion: Secret, client: Client) -> None:
    import jwt

    if jwt.get_unverified_header(assertion.reveal()).get("kid", client.key_id) != client.key_id:
        raise _AssertionInvalidError("kid is not the key ID of this client.")


def _single_audience(aud: Any) -> str:
    """Return the only audience; for none or several, return an empty text, which is not an address."""
    if isinstance(aud, list) and len(aud) == 1:
        aud = aud[0]
    return aud if isinstance(aud, str) else ""


def _checked_times(claims: dict[str, Any], now: float) -> float:
    """Check `exp`, `iat` and `nbf`, and return `exp` in seconds since the epoch."""
    expires = _seconds(claims, "exp")
    if expires is None:
        raise _AssertionInvalidError("exp is missing.")
    if expires <= now:
        raise _AssertionInvalidError("exp is in the past.")
    if expires > now + _LONGEST_LIFETIME:
        raise _AssertionInvalidError(f"exp is more than {_LONGEST_LIFETIME} seconds ahead.")
    for name in ("iat", "nbf"):
        if (_seconds(claims, name) or 0) > now + _LEEWAY:
            raise _AssertionInvalidError(f"{name} is in the future.")
    return expires


def _seconds(claims: dict[str, Any], name: str) -> float | None:
    """Return a NumericDate (RFC 7519 section 2), or None if the claim is missing."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _AssertionInvalidError(f"{name} is not a number of seconds.")
    return value
