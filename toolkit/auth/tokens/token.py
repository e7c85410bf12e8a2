"""An access token and its lifetime.

Section 5.1 of the service document: a caller reuses one token until it expires. Renewing slightly
early, so that a token does not expire on its way, is an addition of ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from toolkit.core.clock import Clock
from toolkit.core.document import Placeholder
from toolkit.core.html import badge, card, code
from toolkit.core.secret import Secret
from toolkit.core.words import date_text, instant_words, minutes_text

EARLY_AT_MOST: Final = 10.0  # seconds
EARLY_SHARE: Final = 0.1  # of the lifetime
LONGEST_LIFETIME: Final = timedelta(days=1)


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

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return _bundle(self)

    @property
    def lifetime(self) -> timedelta:
        """From issue to expiry."""
        return self.expires_at - self.issued_at

    def remaining(self, now: datetime) -> timedelta:
        """Lifetime left at an instant, not below zero."""
        return max(self.expires_at - now, timedelta(0))

    def is_good(self, clock: Clock) -> bool:
        """Whether it has not ended by either clock, though a new one may be due."""
        return clock.monotonic() < self.expires_monotonic and clock.now() < self.expires_at

    def is_usable(self, clock: Clock) -> bool:
        """Whether it lasts for another call by both clocks, so that a laptop that slept asks anew."""
        return clock.monotonic() < self.renew_monotonic and clock.now() < self.renew_at


def _bundle(token: Token) -> dict[str, str]:
    """A token without its text; one of a replay holds a placeholder for it."""
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
