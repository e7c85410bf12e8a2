"""The handle of a loan, and the session that it opens in a worker's process.

The handle is sent to the workers in the arguments of their tasks, where it works like a session. Its pickle contains no
secret. Each process opens one session per loan when the session is first needed. This session borrows the lender's
tokens and never sends a token request.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

import httpx

from toolkit.auth.authorizers import BearerAuthorizer, Grant
from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.single_flight import TokenSource
from toolkit.auth.tokens.token import Token, is_bearer_token
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, TokenError, how_to_install
from toolkit.core.ledger import Clock
from toolkit.core.secret import REGISTER, Secret
from toolkit.local.settings import Settings
from toolkit.session.session import AsyncSession, Session
from toolkit.transport.flow import Apart, Flow, Pause

TOPIC: Final = "toolkit-loan-"  # comes before the name of a loan in the names of its variable and its report topic
GONE: Final = "Run the call again inside the `with tk.lend(...)` block of a process that is still running."
_READ_WITHIN: Final = 5.0  # seconds
HEARD_FOR: Final = 3.0  # seconds after news from the lender during which it counts as alive
SILENCE: Final = 5.0  # seconds after a report by which a lender has to publish; otherwise it counts as gone
_PATIENCE: Final = 60.0  # seconds to wait for a lender that responds, but whose token request takes long
_REPORT_AGAIN: Final = 2.0  # seconds
_FIRST_PAUSE: Final = 0.05  # seconds between two checks; each pause is 1.5 times as long as the previous one
_LONGEST_PAUSE: Final = 0.5
_MOST_SESSIONS: Final = 16  # loans whose sessions a worker process keeps
_OPENING: Final = threading.Lock()
SESSIONS: Final[dict[str, Session | AsyncSession]] = {}  # by their loans
_NAMES: Final = {*dir(Session), "environment", "credentials", "settings", "is_practice", "retry", "per_second"}


class Terms(NamedTuple):
    """The facts about the lender's session that a worker needs. They contain no secret."""

    loan: str  # name of the loan
    environment: str
    profile: str
    kind: str  # of the credentials
    addresses: Mapping[str, str]  # of the interfaces, by their names, without the auth address
    header_prefix: str
    options: Mapping[str, Any]  # further arguments of the session: timeout, verify, retry and per_second
    is_async: bool


class LentSession:
    """A session on the workers of a cluster, with a lender's access tokens; see `tk.lend`.

    It has the attributes and methods of a `Session`, or of an `AsyncSession` if one was lent: `broker`, `market_data`,
    `accounts()`, `calls()` and so on. Calls are not collected from all workers: `calls()` lists only the calls that
    this process's tasks made.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _NAMES:  # Dask looks for its own attributes
            raise AttributeError(f"a lent session has no attribute {name!r}")
        return getattr(session_for(self.terms), name)

    def __repr__(self) -> str:
        return f"<LentSession {self.terms.environment} as {self.terms.profile!r}: loan {self.terms.loan}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return LentSession, (self.terms,)


def session_for(terms: Terms) -> Session | AsyncSession:
    """Return the session of a loan in this process."""
    with _OPENING:
        if terms.loan not in SESSIONS:
            while len(SESSIONS) >= _MOST_SESSIONS:
                del SESSIONS[next(iter(SESSIONS))]
            SESSIONS[terms.loan] = (AsyncSession if terms.is_async else Session)(
                credentials=BorrowedCredentials(terms, Borrower(terms.loan, WorkerBoard(terms.loan))),
                settings=Settings(terms.addresses, terms.header_prefix),
                **terms.options,
            )
        return SESSIONS[terms.loan]


class Published(NamedTuple):
    """A lender's message, as plain data for Dask's scheduler. Times are durations, because clocks differ."""

    edition: int  # number of the publication, from 1
    number: int = 0  # of the token in the loan, from 1; 0 without a token
    access_token: str | None = None
    read_again_in: float = 0.0  # seconds for which a borrower may use the token before it checks for another
    # Number of the last token that a borrower reported as refused and that the lender did not replace, because it had
    # just replaced another one for that reason.
    declined: int = 0
    problem: str = ""  # why the lender has no token
    is_over: bool = False


class WorkerBoard:
    """Reads the lender's messages from the scheduler. Create it on a task's own thread; any thread may use it."""

    def __init__(self, loan: str) -> None:
        self._loan = loan
        self._context = contextvars.copy_context()  # Dask stores the worker in it
        self._client: Any = None

    def read(self) -> object:
        """Return the lender's latest message. Raises TokenError if the scheduler does not answer."""
        variable = dask_distributed().Variable
        return self._call(lambda client: variable(TOPIC + self._loan, client=client).get(timeout=_READ_WITHIN))

    def report(self, fields: dict[str, Any]) -> None:
        """Send a report to the lender."""
        self._call(lambda client: client.log_event(TOPIC + self._loan, fields))

    def _call(self, function: Callable[[Any], Any]) -> Any:
        what = "A session that is not asynchronous would block the event loop of a Dask worker."
        advice = "Use an ordinary function as the task, or lend an AsyncSession to a coroutine."
        try:
            if self._client is None or self._client.status != "running":
                self._client = self._context.copy().run(dask_distributed().get_client)
            if not self._client.asynchronous:
                return function(self._client)
        except ValueError:  # no worker
            what = "A lent session was used outside a Dask task."
            advice = "Use the session in the function that Dask calls, before that function starts its own threads."
        except Exception as error:  # noqa: BLE001 - distributed raises errors of many kinds when a connection is lost
            reason = f"The scheduler of the loan {self._loan} did not respond ({type(error).__name__})."
            raise TokenError(reason, GONE) from None
        raise ConfigurationError(what, advice, about="session")


class Borrower:
    """Borrows the tokens of one loan for this process's session, by reading the lender's messages on the board."""

    def __init__(self, loan: str, board: WorkerBoard) -> None:
        self._loan = loan
        self._board = board
        self._edition = 0
        self._heard_at = 0.0  # when the edition was first read; monotonic seconds, like all times here
        self._reported_at: float | None = None

    def borrow(self, clock: Clock, *, refused: Secret | None, was_accepted: bool) -> Flow[Token]:
        """Return the lender's newest token.

        A token is used for a few seconds before the borrower checks for a new message from the lender. If none was
        published for a while, or if the token was refused, the borrower sends a report, which the lender acknowledges
        at once by publishing again. The report states whether the refused token had been accepted earlier.
        """
        started, pause = clock.monotonic(), _FIRST_PAUSE
        while True:
            published: Published = yield Apart(self._read)
            now = clock.monotonic()
            if published.edition != self._edition:
                self._edition, self._heard_at = published.edition, now
            token = None if published.access_token is None else Secret(published.access_token)
            is_refused = token is not None and token == refused
            if now - self._heard_at < HEARD_FOR:
                if published.problem:
                    raise TokenError(f"The lender of loan {self._loan} has no token: {published.problem}")
                if token is not None and (not is_refused or published.declined >= published.number):
                    lasts, issued_at = published.read_again_in, clock.now()
                    expires_at, until = issued_at + timedelta(seconds=lasts), clock.monotonic() + lasts
                    return Token(token, issued_at, expires_at, expires_monotonic=until, early=0.0)
            if self._reported_at is None or now - self._reported_at >= _REPORT_AGAIN:
                self._reported_at = now
                report = {"number": published.number, "is_refused": is_refused, "was_accepted": was_accepted}
                yield Apart(partial(self._board.report, report))
            if now - max(started, self._heard_at) > SILENCE or now - started > _PATIENCE:
                what = f"The lender of loan {self._loan} is gone: it does not respond, or has not renewed its token."
                raise TokenError(what, GONE)
            yield Pause(pause, clock)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _read(self) -> Published:
        """Return the lender's latest message, after adding its token to the register of secrets."""
        fields = self._board.read()
        if not isinstance(fields, Mapping) or fields.keys() != set(Published._fields):
            raise TokenError(f"The loan {self._loan} was published by another version of the toolkit.", GONE)
        published = Published(**fields)
        if published.is_over:
            raise TokenError(f"The loan {self._loan} has ended, so this process has no access token.", GONE)
        if is_bearer_token(published.access_token):
            REGISTER.add("ACCESS_TOKEN", Secret(published.access_token))
        return published


class BorrowedCredentials(Credentials):
    """The caller whose access tokens are lent, as described by the terms of the loan. Contains no secret."""

    def __init__(self, terms: Terms, borrower: Borrower) -> None:
        self.kind = CredentialKind(terms.kind)
        super().__init__(environment=Environment(terms.environment), name=terms.profile)
        self.loan = terms.loan
        self.borrower = borrower
        self.note_source("", terms.addresses)

    def borrowing_authorizer(self, clock: Clock, number: Callable[[Token], int]) -> BorrowedAuthorizer:
        return BorrowedAuthorizer(self, clock=clock, number=number, source=TokenSource())

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return ()

    def proof(self) -> str:
        return self.loan

    def _identity(self) -> tuple[str, ...]:
        return (self.loan,)


class BorrowedAuthorizer(BearerAuthorizer):
    """Adds a lender's access token to calls. After a 401, it tries the lender's newest token once."""

    _credentials: BorrowedCredentials
    _accepted: Secret | None = None
    _refused: Secret | None = None

    def note_answer(self, request: httpx.Request, status: int, grant: Grant, /) -> bool:
        token = None if grant.token is None else grant.token.access_token
        if status == httpx.codes.UNAUTHORIZED:
            self._refused = token
        else:
            self._accepted = token
            self._refused = None if self._refused == token else self._refused
        return super().note_answer(request, status, grant)

    def _fetch(self, *, patiently: bool) -> Flow[Token]:  # noqa: ARG002 - a borrower always waits
        was_accepted = self._refused is not None and self._refused == self._accepted
        return self._credentials.borrower.borrow(self._clock, refused=self._refused, was_accepted=was_accepted)


def dask_distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        what = f"A loan needs {error.name}, which is not installed."
        raise ConfigurationError(what, how_to_install("dask"), about="cluster") from None
    return distributed
