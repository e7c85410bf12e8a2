"""Read the answer of the token endpoint: a token or an error (RFC 6749 sections 5.1 and 5.2)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.correcting import where_to_correct
from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token, is_bearer_token
from toolkit.core.document import TOKEN_FIELDS, TOKEN_TYPE, TOKEN_VALIDITY
from toolkit.core.errors import TokenRefused, TokenResponseInvalid
from toolkit.core.ledger import parse_http_date
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import excerpt
from toolkit.transport.retry import retry_after_of

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

_NOTABLE_CLOCK_OFFSET: Final = timedelta(seconds=30)
_TOKENS: Final = ("access_token", "refresh_token", "id_token")
_MOST_FIELDS: Final = 12  # named in an error
_REQUEST_ERRORS: Final = frozenset({"invalid_request", "invalid_scope", "unsupported_grant_type"})
_ERROR_CODE_CHARACTERS: Final = frozenset(map(chr, range(0x20, 0x7F))) - set('"\\')  # RFC 6749 section 5.2


def read_token_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    requested_at: datetime,
    requested_monotonic: float,
    scrub: Callable[[str], str] = str,
    credentials: Credentials | None = None,
) -> Token:
    """Return the token in a reply of the token endpoint (section 4.1; RFC 6749 sections 5.1 and 5.2).

    The tokens in the reply are entered in the register of secrets.

    `expires_in` may be a number or numeric text. If it is missing or null, the validity of section 8 applies
    (15 minutes). More than a day counts as a day. Anything else, such as less than a second, is refused, because
    such a token could not be used.

    Args:
        status, headers, body: the reply.
        requested_at: the instant before the request was sent, where the lifetime starts.
        requested_monotonic: the same instant on the monotonic clock, in seconds.
        scrub: removes known secrets from text. Applied to everything of the reply that goes into a message.
        credentials: those that asked, for the advice in an error.

    Raises:
        TokenRefused: if the status is not a success.
        TokenResponseInvalid: if the reply is not a token response. Its values are not quoted.
    """
    if not 200 <= status < 300:
        raise _refusal(status, headers, body, requested_at, scrub, credentials)
    fields = _json_object(body)
    if fields is None:
        kind = excerpt(scrub(headers.get("content-type", "no content type")), 60)
        raise TokenResponseInvalid(
            f"The token endpoint answered {status} with something that is not a JSON object "
            f"({kind}, {len(body)} bytes).",
            "Check the auth address: this may be a login page or a proxy.",
        )
    access_token, token_type, seconds = fields.get("access_token"), fields.get("token_type"), _seconds(fields)
    _register_tokens(fields)  # even if the reply is refused: its tokens may be good
    if not is_bearer_token(access_token):
        why = "access_token is missing or not text that can be a bearer token (RFC 6750 section 2.1)"
    elif not isinstance(token_type, str) or token_type.lower() != TOKEN_TYPE.lower():
        why = "token_type is not Bearer"
    elif not seconds >= 1:
        why = "expires_in is not a number of seconds above zero"
    else:
        lifetime = timedelta(seconds=int(min(seconds, LONGEST_LIFETIME.total_seconds())))
        expires_monotonic = requested_monotonic + lifetime.total_seconds()
        return Token(Secret(access_token), requested_at, requested_at + lifetime, expires_monotonic=expires_monotonic)
    raise _invalid(why, fields, scrub)


def _register_tokens(fields: Mapping[str, Any]) -> None:
    """Enter the tokens of a reply in the register, also those that the document does not name (RFC 6749, OpenID)."""
    tokens = [(name, fields.get(name)) for name in _TOKENS]
    REGISTER.add_all((name.upper(), Secret(text)) for name, text in tokens if isinstance(text, str))


def _seconds(fields: Mapping[str, Any]) -> float:
    """Return the lifetime in seconds that a reply states; NaN if it is not a number."""
    value = fields.get("expires_in")
    if value is None:
        return TOKEN_VALIDITY.total_seconds()
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _invalid(why: str, fields: Mapping[str, Any], scrub: Callable[[str], str]) -> TokenResponseInvalid:
    named = list(fields.items())[:_MOST_FIELDS]
    shape = ", ".join(f"{excerpt(scrub(name), 40)}: {type(value).__name__}" for name, value in named)
    return TokenResponseInvalid(
        f"The reply of the token endpoint is not a token response: {why}.",
        f"Its fields: {shape or 'none'}. Section 2 of the service document names {', '.join(TOKEN_FIELDS)}.",
    )


def _refusal(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
    scrub: Callable[[str], str],
    credentials: Credentials | None,
) -> TokenRefused:
    error = (_json_object(body) or {}).get("error")
    if not isinstance(error, str) or not error or not set(error) <= _ERROR_CODE_CHARACTERS:
        error = None
    code = excerpt(scrub(error), 60) if error else None
    offset, wait = _clock_offset(headers, now), retry_after_of(headers, now)
    is_elsewhere = error is None and (status < 400 or status in {404, 405})
    if status == 429 or not 400 <= status < 500 or is_elsewhere or error == "temporarily_unavailable":
        did = "gave no token"
    else:
        did = "refused the request" if error in _REQUEST_ERRORS else "refused the credentials"
    what = f"The token endpoint {did}: status {status}" + (f" ({code})." if code else ".")
    if status >= 500 or error == "temporarily_unavailable":
        advice = "The service has a problem of its own; try again later."
    elif status == 429:
        advice = "The service asks for fewer requests; wait before trying again."
    elif is_elsewhere:
        advice = "Check the auth address: this may be another service, or a proxy."
    elif error == "invalid_scope":
        advice = "Check the scope in form_fields; the service does not grant it to this client."
    elif offset is not None and abs(offset) >= _NOTABLE_CLOCK_OFFSET:
        off = "ahead of" if offset > timedelta(0) else "behind"
        advice = f"This machine's clock is {abs(round(offset.total_seconds()))} s {off} the server's; set it."
    else:
        advice = _check_credentials(credentials)
    if wait is not None:
        advice = f"{advice} It asks to wait {math.ceil(wait)} s."
    return TokenRefused(what, advice, status=status, error=code, clock_offset=offset, retry_after=wait)


def _check_credentials(credentials: Credentials | None) -> str:
    environment = "this environment" if credentials is None else credentials.environment
    advice = f"Check client ID, secret or key, and that they belong to {environment}."
    return f"{advice} {where_to_correct(credentials)}".rstrip()


def _clock_offset(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return this machine's clock minus the server's; None if the reply has no readable Date."""
    server_time = parse_http_date(headers.get("date", ""))
    return None if server_time is None else now - server_time


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
