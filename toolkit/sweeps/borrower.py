"""The handle of a loan, and the session that it opens in a worker's process.

The handle goes to the workers in the arguments of their tasks, and works there as a session. It pickles without any
secret. Each process opens one session a loan, when it is first needed; it borrows the lender's tokens and never sends a
token request.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol

from toolkit.auth.tokens.token import Token, is_bearer_token
from toolkit.core.clock import Clock
from toolkit.core.errors import TokenError
from toolkit.core.secret import REGISTER, Secret
from toolkit.local.settings import Settings
from toolkit.session.session import AsyncSession, Session
from toolkit.sweeps.borrowed import BorrowedCredentials
from toolkit.sweeps.cluster import BoardSilentError, WorkerBoard
from toolkit.transport.flow import Apart, Flow, Pause

VERSION: Final = 2  # of what a lender publishes
HEARD_FOR: Final = 3.0  # seconds after news of the lender in which it counts as there
SILENCE: Final = 5.0  # seconds after a report; a lender that has not published by then counts as gone
_PATIENCE: Final = 60.0  # seconds to wait for a lender that answers, but whose token request takes long
_REPORT_AGAIN: Final = 2.0  # seconds
_FIRST_PAUSE: Final = 0.05  # seconds between two looks; each pause is half as long again as the last
_LONGEST_PAUSE: Final = 0.5
_GONE: Final = "Run the call again inside the `with tk.lend(...)` block of a process that goes on."
_MOST_SESSIONS: Final = 16  # loans that a worker process remembers
_OPENING: Final = threading.Lock()
_SESSIONS: Final[dict[str, Session | AsyncSession]] = {}
_LENT_HERE: Final[dict[str, Session | AsyncSession]] = {}
_ATTRIBUTES: Final = "environment credentials settings cassette is_practice retry per_second replays_only"
_NAMES: Final = frozenset((*dir(Session), *_ATTRIBUTES.split()))


class Terms(NamedTuple):
    """The facts about the lender's session that a worker needs, without a secret.

    Attributes:
        loan: name of the loan.
        environment: the environment that is called.
        profile: name of the lender's profile.
        kind: kind of the lender's credentials.
        addresses: the addresses of the interfaces, by their names, without the auth address.
        header_prefix: prefix of the key headers.
        options: further arguments of the session: timeout, verify, retry and per_second.
        is_async: True for an AsyncSession.
    """

    loan: str
    environment: str
    profile: str
    kind: str
    addresses: Mapping[str, str]
    header_prefix: str
    options: Mapping[str, Any]
    is_async: bool


class LentSession:
    """A session on the workers of a cluster, with the access tokens of a lender; see `tk.lend`.

    It has the attributes and methods of a `Session`, or of an `AsyncSession` if that was lent: `broker`,
    `market_data`, `accounts()`, `calls()` and so on. In the lender's own process they are the lender's. Ledgers are not
    collected: `calls()` has the calls of this process.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _NAMES:  # Dask looks for attributes of its own
            raise AttributeError(f"a lent session has no attribute {name!r}")
        return getattr(session_for(self._terms), name)

    def __dir__(self) -> list[str]:
        return dir(session_for(self._terms))

    def __repr__(self) -> str:
        terms = self._terms
        return f"<LentSession {terms.environment} as {terms.profile!r}: loan {terms.loan}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return LentSession, (self._terms,)

    def __dask_tokenize__(self) -> tuple[str, str]:
        return type(self).__name__, self._terms.loan


def session_for(terms: Terms) -> Session | AsyncSession:
    """Return the session of a loan in this process; the lender's own where it was lent."""
    session = _LENT_HERE.get(terms.loan) or _SESSIONS.get(terms.loan)
    if session is not None:
        return session
    with _OPENING:
        session = _SESSIONS.get(terms.loan)
        if session is None:
            while len(_SESSIONS) >= _MOST_SESSIONS:
                del _SESSIONS[next(iter(_SESSIONS))]
            session = _SESSIONS[terms.loan] = _borrowing(terms)
        return session


def note_lent(loan: str, session: Session | AsyncSession) -> None:
    """Use a session itself for the handles of its loan in this process."""
    _LENT_HERE[loan] = session


def forget_lent(loan: str) -> None:
    """Undo `note_lent`."""
    _LENT_HERE.pop(loan, None)


def _borrowing(terms: Terms) -> Session | AsyncSession:
    """Open a session that borrows its tokens."""
    credentials = BorrowedCredentials(
        environment=terms.environment,
        name=terms.profile,
        kind=terms.kind,
        loan=terms.loan,
        destinations=terms.addresses,
        borrow=Borrower(terms.loan, WorkerBoard(terms.loan)).borrow,
    )
    return (AsyncSession if terms.is_async else Session)(
        credentials=credentials, settings=Settings(terms.addresses, terms.header_prefix), **terms.options
    )


class Published(NamedTuple):
    """What a lender publishes, as plain data, so that Dask's scheduler can keep it. Only durations: no clock counts.

    Attributes:
        edition: number of the publication, from 1.
        number: number of the token in the loan, from 1; 0 without a token.
        access_token: the token, or None if the lender has none.
        lifetime: seconds that the token lasts in all.
        left: seconds of it that were left when this was published.
        read_again_in: seconds for which a borrower may use the token before it looks for another.
        declined: number of the last token that a borrower reported as refused, and that the lender did not replace,
            because it had just replaced another for that reason; else 0.
        problem: why the lender has no token, in words; "" if it has.
        is_over: True if the loan has ended.
        version: of these fields.
    """

    edition: int
    number: int = 0
    access_token: str | None = None
    lifetime: float = 0.0
    left: float = 0.0
    read_again_in: float = 0.0
    declined: int = 0
    problem: str = ""
    is_over: bool = False
    version: int = VERSION


class Board(Protocol):
    """The place where the lender publishes, as a borrower sees it; see `WorkerBoard`. Both methods may block."""

    def read(self) -> object: ...

    def report(self, fields: dict[str, Any], /) -> None: ...


class Borrower:
    """Borrows tokens from one loan, for the session of this process.

    Args:
        loan: name of the loan.
        board: where the lender publishes.
    """

    def __init__(self, loan: str, board: Board) -> None:
        self._loan = loan
        self._board = board
        self._edition = self._number = 0
        self._heard_at = 0.0  # when the edition was first read; monotonic seconds, as all instants here
        self._waiting_since: float | None = None
        self._reported_at: float | None = None
        self._expires_at: datetime | None = None

    def borrow(self, clock: Clock, *, refused: Token | None, was_accepted: bool) -> Flow[Token]:
        """Return the lender's newest token; see `toolkit.sweeps.borrowed.Borrow`.

        A token is used for a few seconds, then the lender is looked up. If there is no news of it, or if the token was
        refused, it gets a report, which it acknowledges at once by publishing again.

        Raises:
            TokenError: if the loan is over, or the lender has no token, or is gone.
        """
        started, pause = clock.monotonic(), _FIRST_PAUSE
        while True:
            published: Published = yield Apart(self._read)
            now = clock.monotonic()
            if published.edition != self._edition:
                self._edition, self._heard_at, self._waiting_since = published.edition, now, None
            if now - self._heard_at < HEARD_FOR:
                if published.problem:
                    raise TokenError(f"The lender of the loan {self._loan} has no token: {published.problem}")
                token = self._token(published, clock)
                is_same = token is not None and refused is not None and token.access_token == refused.access_token
                if token is not None and (not is_same or published.declined >= published.number):
                    return token
            is_refused = refused is not None and published.access_token == refused.access_token.reveal()
            yield from self._report(published.number, clock, is_refused=is_refused, was_accepted=was_accepted)
            since = self._waiting_since = now if self._waiting_since is None else self._waiting_since
            if now - since > SILENCE or now - started > _PATIENCE:
                what = f"The lender of the loan {self._loan} is gone: it does not answer, or has no new token."
                raise TokenError(what, _GONE)
            yield Pause(pause, clock)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _read(self) -> Published:
        try:
            published = _published(self._board.read())
        except BoardSilentError as error:
            raise TokenError(f"The loan {self._loan} cannot be looked up: {error}", _GONE) from None
        if published.is_over:
            raise TokenError(f"The loan {self._loan} has ended, so this process has no access token.", _GONE)
        return published

    def _report(self, number: int, clock: Clock, *, is_refused: bool, was_accepted: bool) -> Flow[None]:
        now = clock.monotonic()
        if self._reported_at is not None and now - self._reported_at < _REPORT_AGAIN:
            return
        self._reported_at = now
        fields = {"number": number, "is_refused": is_refused, "was_accepted": was_accepted}
        try:
            yield Apart(lambda: self._board.report(fields))
        except BoardSilentError as error:
            raise TokenError(f"The lender of the loan {self._loan} cannot be reached: {error}", _GONE) from None

    def _token(self, published: Published, clock: Clock) -> Token | None:
        """Return the published token as it may be used here; its instants are those of this process's clock."""
        lasts, now = min(published.left, published.read_again_in), clock.now()
        if published.access_token is None or lasts <= 0:
            return None
        if self._number != published.number or self._expires_at is None or self._expires_at <= now:
            self._number, self._expires_at = published.number, now + timedelta(seconds=published.left)
        issued_at = self._expires_at - timedelta(seconds=published.lifetime)
        until = clock.monotonic() + lasts
        return Token(Secret(published.access_token), issued_at, self._expires_at, expires_monotonic=until, early=0.0)


def _published(fields: object) -> Published:
    """Return what a lender published. Its token is entered in the register of secrets.

    Raises:
        BoardSilentError: if it is something else; the message quotes nothing.
    """
    if isinstance(fields, Mapping) and fields.get("version") == VERSION and fields.keys() == set(Published._fields):
        published = Published(**fields)
        if published.access_token is None:
            return published
        if is_bearer_token(published.access_token):
            REGISTER.add("ACCESS_TOKEN", Secret(published.access_token))
            return published
    raise BoardSilentError("its variable holds something else, maybe of another version.")
