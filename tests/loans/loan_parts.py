"""A loan within this process, without Dask: a board that both sides share, and clocks that tests move."""

from __future__ import annotations

import secrets
from datetime import timedelta

import httpx

from toolkit.auth.borrowed import BorrowedCredentials
from toolkit.auth.tokens.token import Token
from toolkit.core.clock import ManualClock
from toolkit.core.secret import Secret
from toolkit.loans.borrower import BoardSilentError, Borrower
from toolkit.loans.lender import Ask, Lender, LoanState
from toolkit.loans.publication import Publication
from toolkit.transport.flow import run

LOAN = "1f2e3d4c5b6a7988"


def new_token(clock, lifetime=900.0):
    """Return a token that is issued now."""
    expires = clock.now() + timedelta(seconds=lifetime)
    return Token(
        Secret(secrets.token_urlsafe(24)), clock.now(), expires, expires_monotonic=clock.monotonic() + lifetime
    )


class Keeper:
    """The tokens of a lender's session: one that is renewed when it is due or rejected.

    Attributes:
        lifetime: of new tokens, in seconds.
        requested: number of token requests.
        rejected: the tokens that were rejected, each with whether it was accepted before.
        renews_rejected: whether a rejected token is worth a new one.
        failure: raised instead of requesting, if set.
    """

    def __init__(self, clock, lifetime=900.0):
        self.clock, self.lifetime = clock, lifetime
        self.token, self.requested, self.rejected = None, 0, []
        self.renews_rejected, self.failure = True, None

    def obtain(self):
        if self.token is None or not self.token.is_usable(self.clock):
            if self.failure is not None:
                raise self.failure
            self.requested += 1
            self.token = new_token(self.clock, self.lifetime)
        return self.token

    def reject(self, token, *, was_accepted):
        self.rejected.append((token, was_accepted))
        if self.renews_rejected:
            self.token = None
        return self.renews_rejected


class Board:
    """Both sides of a board. Publications pass through their plain fields.

    Attributes:
        fields: what was published last; None for nothing.
        reads: number of reads.
        asks: the questions so far.
        answer: called with each question, as the lender's side.
        is_lost: True if nobody can read or ask.
    """

    def __init__(self, state):
        self.state, self.fields, self.reads, self.asks = state, None, 0, []
        self.answer = lambda ask: None
        self.is_lost = False

    def publish(self):
        self.fields = self.state.publication().to_fields()
        return True

    def read(self):
        self.reads += 1
        if self.is_lost or self.fields is None:
            raise BoardSilentError("the scheduler gave no answer (TimeoutError).")
        return Publication.from_fields(self.fields)

    def ask(self, ask):
        self.asks.append(ask)
        self.answer(Ask.from_fields(ask.to_fields()))


class Lending:
    """A lender with its clock, keeper and board. It answers questions at once, unless it is `gone`."""

    def __init__(self, lifetime=900.0):
        self.clock = ManualClock()
        self.state = LoanState(self.clock)
        self.keeper = Keeper(self.clock, lifetime)
        self.board = Board(self.state)
        self.lender = Lender(self.state, self.keeper, clock=self.clock, publish=self.board.publish)
        self.board.answer = self._answer
        self.gone = False

    def _answer(self, ask):
        if not self.gone:
            self.lender.note(ask)
            self.board.publish()
            self.lender.turn()

    def borrower(self):
        return Borrower(LOAN, self.board)

    def credentials(self, destinations):
        return BorrowedCredentials(
            environment="broker-sandbox",
            name="desk",
            kind="client secret",
            loan=LOAN,
            destinations=destinations,
            borrow=self.borrower().borrow,
        )


def borrow(borrower, clock, *, refused=None, was_accepted=False):
    """Return the token that a borrower gets."""
    return run(borrower.borrow(clock, refused=refused, was_accepted=was_accepted), httpx.MockTransport(None))
