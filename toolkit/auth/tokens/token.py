"""An access token and its lifetime.

Section 5.1 of the service document: a caller reuses one token until it expires. Renewing it slightly early, so
that it does not expire on its way, is our addition.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeGuard

from toolkit.core.clock import Clock
from toolkit.core.document import Placeholder
from toolkit.core.secret import Secret
from toolkit.core.text import badge, card, code, date_text, instant_words, minutes_text

EARLY_AT_MOST: Final = 10.0  # seconds
EARLY_SHARE: Final = 0.1  # of the lifetime
LONGEST_LIFETIME: Final = timedelta(days=1)
_BEARER_TOKEN: Final = re.compile(r"[!-~]+\Z")  # more than RFC 6750 section 2.1 allows, as some servers send


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
        return _mime_bundle(self)

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


def _mime_bundle(token: Token) -> dict[str, str]:
    """Return what a notebook shows for a token, without its text. A replayed token holds a placeholder."""
    is_replayed = token.access_token == Secret(Placeholder.ACCESS_TOKEN)
    source = f"{'replayed' if is_replayed else 'live'}, issued {date_text(token.issued_at)}"
    rows = [
        ("Text", code(str(token.access_token))),
        ("Issued", instant_words(token.issued_at)),
        ("Expires", instant_words(token.expires_at)),
        ("Lifetime", f"{minutes_text(token.lifetime)} minutes"),
    ]
    text = f"{repr(token).removesuffix('>')}, {'replayed' if is_replayed else 'live'}>"
    return {"text/plain": text, "text/html": card("Token", [badge(source)], rows)}
