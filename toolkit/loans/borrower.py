"""The borrower: gets the lender's newest token when its own is about to expire or was refused.

It looks at the lender's publication. If there is nothing better, it asks the lender and looks again, until the lender
has answered or counts as gone. It never sends a token request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol

from toolkit.auth.tokens.token import Token
from toolkit.core.clock import Clock
from toolkit.core.errors import TokenError
from toolkit.loans.lender import Ask
from toolkit.loans.publication import Publication, borrowed_token, is_late
from toolkit.transport.flow import Apart, Flow, Pause

SILENCE: Final = 5.0  # seconds after a question; a lender that has not published by then counts as gone
PATIENCE: Final = 60.0  # seconds; a token request with its retries takes less
ASK_AGAIN_AFTER: Final = 2.0  # seconds
_FIRST_PAUSE: Final = 0.05  # seconds between two looks; each pause is half as long again as the last
_LONGEST_PAUSE: Final = 0.5
_GONE: Final = "Run the call again inside the `with tk.lend(...)` block of a process that goes on."


class BoardSilentError(Exception):
    """The place of the publications does not answer. Never reaches the user's code."""


class Board(Protocol):
    """The place where the lender publishes, as a borrower sees it. Both methods may block."""

    def read(self) -> Publication:
        """Return the latest publication.

        Raises:
            BoardSilentError: if none can be read; the text says why.
        """
        ...

    def ask(self, ask: Ask) -> None:
        """Send a question to the lender.

        Raises:
            BoardSilentError: if it cannot be sent.
        """
        ...


class Borrower:
    """Borrows tokens from one loan, for all sessions of this process.

    Args:
        loan: name of the loan.
        board: where the lender publishes.
        note_share: called with the borrower's share of the rate whenever a publication is read.
    """

    def __init__(self, loan: str, board: Board, *, note_share: Callable[[float | None], None] | None = None) -> None:
        self._loan = loan
        self._board = board
        self._note_share = note_share
        self._lock = threading.Lock()
        self._asked: _Question | None = None

    def borrow(self, clock: Clock, *, refused: Token | None, was_accepted: bool) -> Flow[Token]:
        """Return the lender's newest token; see `toolkit.auth.borrowed.Borrow`.

        Raises:
            TokenError: if the loan is over, or the lender has no token, or is gone.
        """
        started, pause = clock.monotonic(), _FIRST_PAUSE
        while True:
            read_at = clock.monotonic()
            publication: Publication = yield Apart(self._read)
            question = self._asked
            is_answered = question is not None and publication.edition > question.edition
            token = borrowed_token(publication, clock)
            if token is None and question is not None and is_answered:
                token = borrowed_token(publication, clock, fresh_since=question.since)
            is_same = refused is not None and token is not None and refused.access_token == token.access_token
            if token is not None and (not is_same or publication.declined >= publication.number):
                if is_late(publication, token, clock):
                    yield from self._ask(Ask(publication.number), publication, read_at, clock)
                return token
            if is_answered and publication.problem:
                raise TokenError(f"The lender of the loan {self._loan} has no token: {publication.problem}")
            ask = Ask(publication.number, is_refused=is_same, was_accepted=was_accepted)
            yield from self._ask(ask, publication, read_at, clock)
            self._check_patience(question, clock, waited=clock.monotonic() - started, is_answered=is_answered)
            yield Pause(pause, clock)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _read(self) -> Publication:
        try:
            publication = self._board.read()
        except BoardSilentError as error:
            raise TokenError(f"The loan {self._loan} cannot be looked up: {error}", _GONE) from None
        if publication.is_over:
            raise TokenError(f"The loan {self._loan} has ended, so this process has no access token.", _GONE)
        if self._note_share is not None:
            self._note_share(publication.share)
        return publication

    def _ask(self, ask: Ask, publication: Publication, read_at: float, clock: Clock) -> Flow[None]:
        """Ask the lender, unless the same was asked just now."""
        with self._lock:
            question, now = self._asked, clock.monotonic()
            if question is not None and question.ask == ask and now - question.last < ASK_AGAIN_AFTER:
                return
            is_open = question is not None and question.ask == ask and question.edition >= publication.edition
            since = question.since if question is not None and is_open else read_at
            self._asked = _Question(ask, publication.edition, since=since, last=now)
        try:
            yield Apart(lambda: self._board.ask(ask))
        except BoardSilentError as error:
            raise TokenError(f"The lender of the loan {self._loan} cannot be asked: {error}", _GONE) from None

    def _check_patience(self, question: _Question | None, clock: Clock, *, waited: float, is_answered: bool) -> None:
        is_silent = question is not None and not is_answered and clock.monotonic() - question.since > SILENCE
        if is_silent or waited > PATIENCE:
            raise TokenError(
                f"The lender of the loan {self._loan} is gone: its last token has expired or was refused, and it does "
                "not answer.",
                _GONE,
            )


class _Question:
    """A question that was sent.

    Attributes:
        ask: the question.
        edition: the publication that was read earlier.
        since: when that was read, before the question was first sent; monotonic seconds.
        last: when it was last sent.
    """

    __slots__ = ("ask", "edition", "last", "since")

    def __init__(self, ask: Ask, edition: int, *, since: float, last: float) -> None:
        self.ask = ask
        self.edition = edition
        self.since = since
        self.last = last
