"""Access tokens: reading a token response, and one token for everyone who shares the credentials.

Section 5.1 of the service document: a caller reuses one token until it expires. Renewing slightly
early, so that a token does not expire on its way, is an addition of ours.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from toolkit.clock import Clock
from toolkit.errors import TokenRefused, TokenResponseInvalid
from toolkit.escaping import excerpt
from toolkit.flow import Flight, Flow, Wait
from toolkit.secret import Secret
from toolkit.service import TOKEN_FIELDS, TOKEN_TYPE, TOKEN_VALIDITY

EARLY_AT_MOST: Final = 10.0  # seconds
EARLY_SHARE: Final = 0.1  # of the lifetime
LONGEST_LIFETIME: Final = timedelta(days=1)
_NOTABLE_CLOCK_OFFSET: Final = timedelta(seconds=30)
_BEARER_TOKEN: Final = re.compile(r"[!-~]+\Z")  # wider than RFC 6750 section 2.1, whose alphabet servers stray from
_ERROR_CODE_CHARACTERS: Final = frozenset(map(chr, range(0x20, 0x7F))) - set('"\\')  # RFC 6749 section 5.2


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and its lifetime.

    Attributes:
        access_token: the token, as a Secret.
        issued_at: when its lifetime counts from: the instant before it was asked for.
        expires_at: when it ends, by the service's `expires_in`.
        renew_at: from when on a new one is asked for, slightly before it ends.
        renew_monotonic: the same on the monotonic clock, in seconds.
    """

    access_token: Secret
    issued_at: datetime
    expires_at: datetime
    # The second clock: what the wall clock cannot know after it was set back.
    expires_monotonic: float = field(default=math.inf, repr=False, compare=False)
    renew_at: datetime = field(init=False, repr=False, compare=False)
    renew_monotonic: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        early = min(EARLY_AT_MOST, EARLY_SHARE * self.lifetime.total_seconds())
        object.__setattr__(self, "renew_at", self.expires_at - timedelta(seconds=early))
        object.__setattr__(self, "renew_monotonic", self.expires_monotonic - early)

    def __repr__(self) -> str:
        issued, expires = (f"{instant:%Y-%m-%d %H:%M:%S}" for instant in (self.issued_at, self.expires_at))
        return f"<Token {self.access_token}, issued {issued}, expires {expires} UTC>"

    @property
    def lifetime(self) -> timedelta:
        """From issue to expiry."""
        return self.expires_at - self.issued_at

    def remaining(self, now: datetime) -> timedelta:
        """Lifetime left at an instant, not below zero."""
        return max(self.expires_at - now, timedelta(0))

    def is_usable(self, clock: Clock) -> bool:
        """Whether it lasts for another call by both clocks, so that a laptop that slept asks anew."""
        return clock.monotonic() < self.renew_monotonic and clock.now() < self.renew_at


def read_token_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    asked_at: datetime,
    asked_monotonic: float,
    scrub: Callable[[str], str] = str,
) -> Token:
    """The token in a reply of the token endpoint (section 4.1; RFC 6749 sections 5.1 and 5.2).

    Lifetimes are decided so: `expires_in` may be a number or numeric text. Missing or null, the
    validity of section 8 applies (15 minutes). More than a day is taken as a day. Zero, negative,
    fractional below a second, or no number: refused, such a token could not be used.

    Args:
        asked_at: the instant before the request was sent, from which the lifetime counts.
        asked_monotonic: the same instant on the monotonic clock, in seconds.
        scrub: takes known secrets out of text, before any of the reply goes into a message.

    Raises:
        TokenRefused: the status is no success.
        TokenResponseInvalid: the reply is no token response; its values are not quoted.
    """
    if not 200 <= status < 300:
        raise _refusal(status, headers, body, asked_at, scrub)
    fields = _json_object(body)
    if fields is None:
        kind = excerpt(scrub(headers.get("content-type", "no content type")), 60)
        raise TokenResponseInvalid(
            f"The token endpoint answered {status} with something that is no JSON object ({kind}, {len(body)} bytes).",
            "Check the auth address: this may be a login page or a proxy.",
        )
    access_token, token_type, seconds = fields.get("access_token"), fields.get("token_type"), _seconds(fields)
    if not isinstance(access_token, str) or not _BEARER_TOKEN.match(access_token):
        why = "access_token is missing or no text that a bearer token can be (RFC 6750 section 2.1)"
    elif not isinstance(token_type, str) or token_type.lower() != TOKEN_TYPE.lower():
        why = "token_type is not Bearer"
    elif not seconds >= 1:
        why = "expires_in is no number of seconds above zero"
    else:
        lifetime = timedelta(seconds=int(min(seconds, LONGEST_LIFETIME.total_seconds())))
        expires_monotonic = asked_monotonic + lifetime.total_seconds()
        return Token(Secret(access_token), asked_at, asked_at + lifetime, expires_monotonic=expires_monotonic)
    raise _invalid(why, fields, scrub)


def _seconds(fields: Mapping[str, Any]) -> float:
    """The lifetime that a reply gives in seconds, NaN when that is no number."""
    given = fields.get("expires_in")
    if given is None:
        return TOKEN_VALIDITY.total_seconds()
    try:
        return math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        return math.nan
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if given > 0 else -math.inf


def _invalid(why: str, fields: Mapping[str, Any], scrub: Callable[[str], str]) -> TokenResponseInvalid:
    named = list(fields.items())[:12]
    shape = ", ".join(f"{excerpt(scrub(name), 40)}: {type(value).__name__}" for name, value in named)
    return TokenResponseInvalid(
        f"The token endpoint's reply is no token response: {why}.",
        f"Its fields are {shape or 'none'}; section 2 of the service document names {', '.join(TOKEN_FIELDS)}.",
    )


def _refusal(
    status: int, headers: Mapping[str, str], body: bytes, now: datetime, scrub: Callable[[str], str]
) -> TokenRefused:
    error = (_json_object(body) or {}).get("error")
    if not isinstance(error, str) or not error or not set(error) <= _ERROR_CODE_CHARACTERS:
        error = None
    code = excerpt(scrub(error), 60) if error else None
    offset = _clock_offset(headers, now)
    did = "refused the credentials" if 400 <= status < 500 and status != 429 else "gave no token"
    what = f"The token endpoint {did}: status {status}" + (f" ({code})." if code else ".")
    if status >= 500:
        advice = "The service has a problem of its own; try again later."
    elif status == 429:
        advice = "The service asks for fewer requests; wait before trying again."
    elif offset is not None and abs(offset) >= _NOTABLE_CLOCK_OFFSET:
        off = "ahead of" if offset > timedelta(0) else "behind"
        advice = f"This machine's clock is {abs(round(offset.total_seconds()))} s {off} the server's; set it."
    else:
        advice = "Check client ID, secret or key, and that they belong to this environment."
    return TokenRefused(what, advice, status=status, error=code, clock_offset=offset)


def _clock_offset(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to load, for refusals only

    try:
        there = parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, OverflowError):
        return None
    return now - (there if there.tzinfo else there.replace(tzinfo=UTC))


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class TokenStore(Protocol):
    """Where tokens are kept between calls, so that everyone who shares credentials shares a token."""

    def slot(self, key: str) -> TokenSlot:
        """The place of one set of credentials at one token endpoint; the same object for the same key."""
        ...


class TokenSlot:
    """One set of credentials' token at one token endpoint, and who is fetching it.

    The lock is held while deciding only, never across a request.

    Attributes:
        token: the last token obtained, usable or not; None before the first and after a refusal.
        doubted: a token that came of a renewal after a 401 and was not taken yet.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.token: Token | None = None
        self._flight: Flight | None = None
        self._renewing = False
        self.doubted: Token | None = None

    def current(self, clock: Clock) -> Token | None:
        """The token, if it is usable."""
        token = self.token
        return token if token is not None and token.is_usable(clock) else None

    def accept(self, token: Token) -> None:
        """The service took this token: if it is refused later, it is worth renewing."""
        if self.doubted is token:
            self.doubted = None

    def reject(self, token: Token) -> bool:
        """The service answered 401 to this token. Whether another token is worth a try.

        A token that came of such a renewal and was never taken is not renewed again: the reason must
        be another, and the service asks for no new token on each call.
        """
        with self._lock:
            if self.token is not token:
                return True
            if self.doubted is token:
                return False
            self.token = None
            self._renewing = True
            return True

    def obtain(self, clock: Clock, fetch: Callable[[], Flow[Token]]) -> Flow[Token]:
        """The token: the current one, the one that another caller is fetching, or a new one.

        A fetch that fails or is cancelled raises for the caller who made it only; the next one who
        waited makes the next.
        """
        mine: Flight | None = None
        alone = False
        try:  # from here on, so that no interrupt can leave behind a flight that never lands
            while mine is None:
                with self._lock:
                    token = self.current(clock)
                    if token is not None:
                        return token
                    flight = self._flight
                    if flight is None or flight.process != os.getpid():
                        mine = self._flight = Flight()
                    elif alone:
                        mine = Flight()
                if mine is None and flight is not None:
                    alone = not (yield Wait(flight))
            token = yield from fetch()
            with self._lock:
                self.token = token
                self.doubted, self._renewing = (token if self._renewing else None), False
            return token
        finally:
            if mine is not None:
                with self._lock:
                    if self._flight is mine:
                        self._flight = None
                mine.landed.set_result(True)


class MemoryTokenStore:
    """Tokens in this process only, gone when it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: dict[str, TokenSlot] = {}

    def slot(self, key: str) -> TokenSlot:
        with self._lock:
            return self._slots.setdefault(key, TokenSlot())


SHARED_IN_PROCESS: Final = MemoryTokenStore()
