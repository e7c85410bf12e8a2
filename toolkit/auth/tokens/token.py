"""An access token with its lifetime, and the reply of the token endpoint that brings one (RFC 6749 section 5).

Section 5.1 of the service document: a caller reuses one token until it expires. Renewing it slightly early, so
that it does not expire on its way, is our addition.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from toolkit.core.document import TOKEN_FIELDS, TOKEN_TYPE, TOKEN_VALIDITY, Placeholder
from toolkit.core.errors import TokenRefused, TokenResponseInvalid
from toolkit.core.ledger import Clock, parse_http_date
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import badge, card, code, date_text, excerpt, instant_words, minutes_text
from toolkit.transport.retry import retry_after_of

if TYPE_CHECKING:
    from toolkit.auth.credentials import Credentials

EARLY_AT_MOST: Final = 10.0  # seconds
EARLY_SHARE: Final = 0.1  # of the lifetime
LONGEST_LIFETIME: Final = timedelta(days=1)
_BEARER_TOKEN: Final = re.compile(r"[!-~]+\Z")  # more than RFC 6750 section 2.1 allows, as some servers send
_TOKENS: Final = ("access_token", "refresh_token", "id_token")
_NOTABLE_CLOCK_OFFSET: Final = timedelta(seconds=30)
_MOST_FIELDS: Final = 12  # named in an error
_REQUEST_ERRORS: Final = frozenset({"invalid_request", "invalid_scope", "unsupported_grant_type"})
_ERROR_CODE: Final = re.compile(r"[ !#-\[\]-~]+\Z")  # RFC 6749 section 5.2


def early_seconds(lifetime: timedelta) -> float:
    """Return how many seconds before its end a token of this lifetime is renewed."""
    return min(EARLY_AT_MOST, EARLY_SHARE * lifetime.total_seconds())


def is_bearer_token(value: object) -> TypeGuard[str]:
    """Return True if a value is text that an Authorization header can carry as a bearer token."""
    return isinstance(value, str) and _BEARER_TOKEN.match(value) is not None


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and its lifetime.

    Attributes:
        access_token: the token, as a Secret.
        issued_at: when its lifetime starts: the instant before it was requested.
        expires_at: when it ends, according to the service's `expires_in`.
        expires_monotonic: when it ends on the monotonic clock, in seconds.
        early: seconds before its end at which to ask for a new one; by default a tenth of the lifetime, and at most 10.
        renew_at: when to request a new one, slightly before it ends.
        renew_monotonic: the same instant on the monotonic clock, in seconds.
    """

    access_token: Secret
    issued_at: datetime
    expires_at: datetime
    # The second clock notices what the wall clock cannot: that the wall clock was set back.
    expires_monotonic: float = field(default=math.inf, repr=False, compare=False)
    early: float | None = field(default=None, repr=False, compare=False)
    renew_at: datetime = field(init=False, repr=False, compare=False)
    renew_monotonic: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        early = early_seconds(self.lifetime) if self.early is None else self.early
        object.__setattr__(self, "renew_at", self.expires_at - timedelta(seconds=early))
        object.__setattr__(self, "renew_monotonic", self.expires_monotonic - early)

    def __repr__(self) -> str:
        issued, expires = (f"{instant:%Y-%m-%d %H:%M:%S}" for instant in (self.issued_at, self.expires_at))
        return f"<Token {self.access_token}, issued {issued}, expires {expires} UTC>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        state = "replayed" if self.access_token == Secret(Placeholder.ACCESS_TOKEN) else "live"
        rows = [
            ("Text", code(str(self.access_token))),
            ("Issued", instant_words(self.issued_at)),
            ("Expires", instant_words(self.expires_at)),
            ("Lifetime", f"{minutes_text(self.lifetime)} minutes"),
        ]
        source = badge(f"{state}, issued {date_text(self.issued_at)}")
        return {"text/plain": f"{repr(self).removesuffix('>')}, {state}>", "text/html": card("Token", [source], rows)}

    @property
    def lifetime(self) -> timedelta:
        """Time from issue to expiry."""
        return self.expires_at - self.issued_at

    def remaining(self, now: datetime) -> timedelta:
        """Return the lifetime that is left at an instant; never negative."""
        return max(self.expires_at - now, timedelta(0))

    def is_good(self, clock: Clock) -> bool:
        """Return True if the token has not expired on either clock, even if it is time to renew it."""
        return clock.monotonic() < self.expires_monotonic and clock.now() < self.expires_at

    def is_usable(self, clock: Clock) -> bool:
        """Return True if the token lasts for another call on both clocks.

        Both count, so that a laptop requests a new token after it was asleep.
        """
        return clock.monotonic() < self.renew_monotonic and clock.now() < self.renew_at


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

    The tokens in the reply are entered in the register of secrets. `expires_in` may be a number or numeric text. If it
    is missing or null, the validity of section 8 applies (15 minutes). More than a day counts as a day. Anything else,
    such as less than a second, is refused, because such a token could not be used.

    Args:
        status, headers, body: the reply.
        requested_at, requested_monotonic: the instant before the request was sent, on both clocks.
        scrub: removes known secrets from text. Applied to everything of the reply that goes into a message.
        credentials: those that asked, for the advice in an error.
    """
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not 200 <= status < 300:
        raise _refusal(status, headers, fields, requested_at, scrub, credentials)
    if not isinstance(fields, dict):
        kind = excerpt(scrub(headers.get("content-type", "no content type")), 60)
        what = f"The token endpoint answered {status} without a JSON object ({kind}, {len(body)} bytes)."
        raise TokenResponseInvalid(what, "Check the auth address: this may be a login page or a proxy.")
    # Even if the reply is refused: its tokens may be good, also those that the document does not name.
    texts = [(name.upper(), fields.get(name)) for name in _TOKENS]
    REGISTER.add_all((name, Secret(text)) for name, text in texts if isinstance(text, str))
    access_token, token_type, seconds = fields.get("access_token"), fields.get("token_type"), _seconds(fields)
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
    named = list(fields.items())[:_MOST_FIELDS]
    shape = ", ".join(f"{excerpt(scrub(name), 40)}: {type(value).__name__}" for name, value in named)
    raise TokenResponseInvalid(
        f"The reply of the token endpoint is not a token response: {why}.",
        f"Its fields: {shape or 'none'}. Section 2 of the service document names {', '.join(TOKEN_FIELDS)}.",
    )


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


def _refusal(
    status: int,
    headers: Mapping[str, str],
    fields: Any,
    now: datetime,
    scrub: Callable[[str], str],
    credentials: Credentials | None,
) -> TokenRefused:
    error = fields.get("error") if isinstance(fields, dict) else None
    error = error if isinstance(error, str) and _ERROR_CODE.match(error) else None
    server_time, wait = parse_http_date(headers.get("date", "")), retry_after_of(headers, now)
    offset = None if server_time is None else now - server_time
    did = "gave no token"
    if status >= 500 or error == "temporarily_unavailable":
        advice = "The service has a problem of its own; try again later."
    elif status == 429:
        advice = "The service asks for fewer requests; wait before trying again."
    elif status < 400 or (error is None and status in {404, 405}):
        advice = "Check the auth address: this may be another service, or a proxy."
    else:
        did = "refused the request" if error in _REQUEST_ERRORS else "refused the credentials"
        advice = _what_to_check(error, offset, credentials)
    code = excerpt(scrub(error), 60) if error else None
    return TokenRefused(
        f"The token endpoint {did}: status {status}" + (f" ({code})." if code else "."),
        advice if wait is None else f"{advice} It asks to wait {math.ceil(wait)} s.",
        status=status,
        error=code,
        clock_offset=offset,
        retry_after=wait,
    )


def _what_to_check(error: str | None, offset: timedelta | None, credentials: Credentials | None) -> str:
    if error == "invalid_scope":
        return "Check the scope in form_fields; the service does not grant it to this client."
    if offset is not None and abs(offset) >= _NOTABLE_CLOCK_OFFSET:
        off = "ahead of" if offset > timedelta(0) else "behind"
        return f"This machine's clock is {abs(round(offset.total_seconds()))} s {off} the server's; set it."
    environment = "this environment" if credentials is None else credentials.environment
    advice = f"Check client ID, secret or key, and that they belong to {environment}."
    return f"{advice} {credentials.where_to_correct() if credentials else ''}".rstrip()
