"""The handle of a loan: it goes to the workers in the arguments of their tasks, and works there as a session.

It pickles without any secret: environment, addresses, options and the name of the loan. Each process opens one session
a loan, when it is first needed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from toolkit.auth.borrowed import BorrowedCredentials
from toolkit.core.clock import SystemClock
from toolkit.loans.borrower import Borrower
from toolkit.loans.cluster import WorkerBoard
from toolkit.local.settings import Settings
from toolkit.session.session import AsyncSession, Session
from toolkit.transport.pacing import Pace, Rate, pace_of

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
        options: further arguments of the session: timeout, verify and retry.
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


class RateShare:
    """The share of this process in the rate of the lender's session.

    Attributes:
        pace: the schedule of the calls with the loan's tokens.
    """

    def __init__(self) -> None:
        self.pace = Pace()
        self._rate: Rate | None = None

    def note(self, per_second: float | None) -> None:
        """Follow what the lender publishes: calls per second, or None for no limit."""
        if per_second is None:
            self._rate = None
        elif self._rate is None:
            self._rate = self.pace.add(per_second)
        else:
            self._rate.per_second = per_second


def _borrowing(terms: Terms) -> Session | AsyncSession:
    """Open a session that borrows its tokens."""
    share = RateShare()
    borrower = Borrower(terms.loan, WorkerBoard(terms.loan), note_share=share.note)
    credentials = BorrowedCredentials(
        environment=terms.environment,
        name=terms.profile,
        kind=terms.kind,
        loan=terms.loan,
        destinations=terms.addresses,
        borrow=borrower.borrow,
    )
    share.pace = pace_of(credentials.fingerprint(), SystemClock())
    return (AsyncSession if terms.is_async else Session)(
        credentials=credentials,
        settings=Settings(terms.addresses, terms.header_prefix),
        **terms.options,
    )
