"""The lender: keeps a token in hand for its borrowers, renews it shortly before it expires, and publishes it.

`LoanState` is what the lender knows and publishes next; it does no I/O. `Lender` asks the session for tokens, in turns
that a thread of its own takes. Token requests go through the session's own token source, so the borrowers together
cause one request for each renewal that is due.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock
from toolkit.core.errors import ToolkitError
from toolkit.loans.publication import Publication

SHORTEST_WAIT: Final = 0.1  # seconds between two turns
LONGEST_WAIT: Final = 30.0  # seconds; a machine that slept notices it then
COUNT_EVERY: Final = 2.0  # seconds; how often borrowers are counted if they share a rate
RETRY_AFTER: Final = 1.0  # seconds; after a publication that failed
_JUST_AFTER: Final = 0.005  # seconds; a token that is looked at too early is not due


class Ask(NamedTuple):
    """A borrower's question for a better token.

    Attributes:
        number: number of the token that it has.
        is_refused: True if the service refused it; False if it is about to expire.
        was_accepted: True if the service had accepted it from this borrower earlier.
    """

    number: int
    is_refused: bool = False
    was_accepted: bool = False

    def to_fields(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_fields(cls, fields: object) -> Ask | None:
        """Return the question that `to_fields` wrote, or None for anything else."""
        if not isinstance(fields, Mapping) or type(fields.get("number")) is not int:
            return None
        return cls(fields["number"], fields.get("is_refused") is True, fields.get("was_accepted") is True)


class LoanState:
    """The state of a lender, which several threads may use.

    Args:
        clock: the lender's clock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._edition = self._number = self._declined = 0
        self._token: Token | None = None
        self._problem = ""
        self._refused: Ask | None = None
        self._share: float | None = None
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """True if the loan has ended."""
        return self._is_over

    @property
    def token(self) -> Token | None:
        """The token that is published."""
        return self._token

    def offer(self, token: Token) -> None:
        """Take over the session's token."""
        with self._lock:
            self._number += self._token is None or self._token.access_token != token.access_token
            self._token, self._problem = token, ""

    def fail(self, problem: str) -> None:
        """Note the reason for which the lender cannot get a token."""
        with self._lock:
            self._token, self._problem = None, problem

    def divide(self, share: float | None) -> None:
        """Note each borrower's share of the rate."""
        with self._lock:
            self._share = share

    def decline(self) -> None:
        """Note that the token in hand is not replaced, although it was refused."""
        with self._lock:
            self._declined = self._number

    def end(self) -> None:
        """End the loan: what is published from here on is its tombstone."""
        with self._lock:
            self._is_over = True
            self._token = None

    def note(self, ask: Ask) -> None:
        """Note a borrower's question. Several about a token count once; those about an older token are ignored."""
        with self._lock:
            if ask.is_refused and ask.number == self._number and ask.number != self._declined:
                was_accepted = ask.was_accepted or (self._refused is not None and self._refused.was_accepted)
                self._refused = ask._replace(was_accepted=was_accepted)

    def take_refused(self) -> tuple[Token, bool] | None:
        """Return the token that a borrower reported as refused, and if it had been accepted; each report once."""
        with self._lock:
            ask, self._refused = self._refused, None
            if ask is None or self._token is None or ask.number != self._number:
                return None
            return self._token, ask.was_accepted

    def publication(self) -> Publication:
        """Return what to publish at this moment; each has the next edition."""
        with self._lock:
            self._edition += 1
            if self._is_over:
                return Publication(self._edition, is_over=True)
            token = self._token
            if token is None:
                return Publication(self._edition, self._number, problem=self._problem, share=self._share)
            left = min(
                (token.expires_at - self._clock.now()).total_seconds(),
                token.expires_monotonic - self._clock.monotonic(),
            )
            return Publication(
                self._edition,
                self._number,
                token.access_token,
                token.issued_at,
                token.expires_at,
                left=max(0.0, left),
                declined=self._declined,
                share=self._share,
            )


class TokenKeeper(Protocol):
    """The session's side of a lender."""

    def obtain(self) -> Token:
        """Return a usable token, from the session's token source.

        Raises:
            TokenError, Unreachable: if no token is available.
        """
        ...

    def reject(self, token: Token, *, was_accepted: bool) -> bool:
        """Note that the service refused a token; return True if a new one is worth a request."""
        ...


class Lender:
    """Renews and publishes.

    Args:
        state: what is lent.
        keeper: where tokens come from.
        clock: the session's clock.
        publish: publishes the present `state.publication()`; returns False if that failed and is worth another try.
        share: returns the calls per second for each borrowing process, or None for no limit.
    """

    def __init__(
        self,
        state: LoanState,
        keeper: TokenKeeper,
        *,
        clock: Clock,
        publish: Callable[[], bool],
        share: Callable[[], float | None] = lambda: None,
    ) -> None:
        self._state = state
        self._keeper = keeper
        self._clock = clock
        self._publish = publish
        self._share = share
        self._wake = threading.Event()
        self._failures = 0

    def note(self, ask: Ask) -> None:
        """Note a borrower's question, and let the next turn begin."""
        self._state.note(ask)
        self._wake.set()

    def run(self) -> None:
        """Take turns until the loan ends."""
        while not self._state.is_over:
            self._wake.wait(self.turn())
            self._wake.clear()

    def end(self) -> None:
        """End the loan. A turn that is under way publishes the tombstone only."""
        self._state.end()
        self._wake.set()

    def turn(self) -> float:
        """Renew what is due, publish, and return the seconds until the next turn.

        Each turn publishes, even if nothing has changed: borrowers learn how much of the token's lifetime is left now.
        """
        self._replace_refused()
        try:
            token = self._keeper.obtain()
        except ToolkitError as error:
            self._failures += 1
            self._state.fail(str(error))
            wait = min(LONGEST_WAIT, 2.0 ** min(self._failures, 5) / 2)
        else:
            self._failures = 0
            self._state.offer(token)
            wait = self._until_renewal(token)
        share = self._share()
        self._state.divide(share)
        if share is not None:
            wait = min(wait, COUNT_EVERY)
        return wait if self._publish() else min(wait, RETRY_AFTER)

    def _replace_refused(self) -> None:
        """Reject a token that a borrower reported as refused, unless it replaced another for that reason."""
        refused = self._state.take_refused()
        if refused is None:
            return
        token, was_accepted = refused
        if not self._keeper.reject(token, was_accepted=was_accepted):
            self._state.decline()

    def _until_renewal(self, token: Token) -> float:
        now, monotonic = self._clock.now(), self._clock.monotonic()
        left = min((token.renew_at - now).total_seconds(), token.renew_monotonic - monotonic)
        return min(max(left + _JUST_AFTER, SHORTEST_WAIT), LONGEST_WAIT)
