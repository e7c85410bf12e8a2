"""The publication of a lender: the newest access token, how long it lasts, and whether the loan goes on.

A publication is plain data, so that Dask's scheduler can keep it. It holds an access token and no other secret. Each
has the next higher edition, so that a borrower who asked for something sees that the lender is alive.

A borrower may be on another machine, with another clock. So a publication states instants as well as the seconds that
were left when it was made:

- It was made before it was read, so no more than those seconds are left, whatever the borrower's clock says.
- While the clocks agree, the instants show its age. The token of a lender that is gone therefore expires in time.
- A borrower whose clock is ahead would count a good token as expired. It asks the lender. The answer was made after
  the question, so the seconds in it count from the question on, and the borrower's clock no longer matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final

from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token, early_seconds, is_bearer_token
from toolkit.core.clock import Clock
from toolkit.core.ledger import instant_text, parse_instant
from toolkit.core.register import REGISTER
from toolkit.core.secret import Secret

VERSION: Final = 1
SHORTEST_USE: Final = 0.02  # seconds; a token with less left does not last for another call
SHARE_IS_GOOD_FOR: Final = 5.0  # seconds after which a borrower looks whether its share of the rate has changed


@dataclass(frozen=True, slots=True)
class Publication:
    """The state of a loan.

    Attributes:
        edition: number of this publication, from 1.
        number: number of the token in the loan, from 1; 0 without a token.
        access_token: the token, or None if the lender has none.
        issued_at, expires_at: its lifetime by the lender's clock.
        left: seconds of its lifetime that were left when this was published.
        declined: number of the last token that a borrower reported as refused, and that the lender did not replace,
            because it had just replaced another for that reason; else 0.
        problem: why the lender has no token, in words; "" if it has.
        share: calls per second for each borrowing process, or None for no limit.
        is_over: True if the loan has ended.
    """

    edition: int
    number: int = 0
    access_token: Secret | None = None
    issued_at: datetime | None = None
    expires_at: datetime | None = None
    left: float = 0.0
    declined: int = 0
    problem: str = ""
    share: float | None = None
    is_over: bool = False

    def to_fields(self) -> dict[str, Any]:
        """Return the publication as texts and numbers. The token is among them, readable."""
        return {
            "version": VERSION,
            "edition": self.edition,
            "number": self.number,
            "access_token": self.access_token and self.access_token.reveal(),
            "issued_at": self.issued_at and instant_text(self.issued_at),
            "expires_at": self.expires_at and instant_text(self.expires_at),
            "left": self.left,
            "declined": self.declined,
            "problem": self.problem,
            "share": self.share,
            "is_over": self.is_over,
        }

    @classmethod
    def from_fields(cls, fields: object) -> Publication:
        """Return the publication that `to_fields` wrote. Its token is entered in the register of secrets.

        Raises:
            ValueError: if it is something else; the message quotes nothing.
        """
        if not isinstance(fields, Mapping) or fields.get("version") != VERSION:
            raise ValueError("not a publication of this version")
        text, issued, expires = fields.get("access_token"), fields.get("issued_at"), fields.get("expires_at")
        if text is not None:
            if not is_bearer_token(text):
                raise ValueError("not a bearer token")
            REGISTER.add("ACCESS_TOKEN", Secret(text))
        publication = cls(
            edition=_count(fields.get("edition")),
            number=_count(fields.get("number")),
            access_token=None if text is None else Secret(text),
            issued_at=None if issued is None else _instant(issued),
            expires_at=None if expires is None else _instant(expires),
            left=_seconds(fields.get("left")),
            declined=_count(fields.get("declined")),
            problem=str(fields.get("problem") or ""),
            share=None if fields.get("share") is None else _seconds(fields.get("share")),
            is_over=fields.get("is_over") is True,
        )
        if publication.access_token is not None:
            start, end = publication.issued_at, publication.expires_at
            if start is None or end is None or not timedelta(0) < end - start <= LONGEST_LIFETIME:
                raise ValueError("not a lifetime")
        return publication


def borrowed_token(publication: Publication, clock: Clock, *, fresh_since: float | None = None) -> Token | None:
    """Return the token of a publication as the borrower may use it, or None if it has none that lasts for a call.

    The borrower looks for a new token halfway between the instant at which the lender renews it and its end: by then
    the new token is published. If it is not, the old token stays in use, and the borrower looks ever more often until
    it ends.

    Args:
        publication: what was read.
        clock: the borrower's clock.
        fresh_since: an instant, by the borrower's monotonic clock, before which this was certainly not published;
            None if nothing is known.
    """
    secret, issued_at, expires_at = publication.access_token, publication.issued_at, publication.expires_at
    if secret is None or issued_at is None or expires_at is None:
        return None
    now, monotonic = clock.now(), clock.monotonic()
    lifetime = expires_at - issued_at
    left = min(publication.left, lifetime.total_seconds())
    if fresh_since is not None:
        left -= monotonic - fresh_since
        if (expires_at - now).total_seconds() < left:  # this clock is ahead of the lender's
            expires_at = now + timedelta(seconds=left)
            issued_at = expires_at - lifetime
    left = min(left, (expires_at - now).total_seconds())
    if left < SHORTEST_USE:
        return None
    early = early_seconds(lifetime) / 2
    look_again_in = left - early if left > early + SHORTEST_USE else left / 2
    if publication.share is not None:
        look_again_in = min(look_again_in, SHARE_IS_GOOD_FOR)
    return Token(secret, issued_at, expires_at, expires_monotonic=monotonic + left, early=left - look_again_in)


def is_late(publication: Publication, token: Token, clock: Clock) -> bool:
    """Check whether the lender should have replaced a token by now."""
    if publication.number == 0:
        return False
    return token.remaining(clock.now()).total_seconds() < early_seconds(token.lifetime) / 2 + SHORTEST_USE


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a count")
    return value


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError("not a number of seconds")
    return float(value)


def _instant(value: object) -> datetime:
    if not isinstance(value, str):
        raise ValueError("not an instant")  # noqa: TRY004 - one kind of error for a publication that is not one
    return parse_instant(value)
