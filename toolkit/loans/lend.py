"""Lend a session to the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import secrets
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.user_code import warn
from toolkit.loans.cluster import LenderBoard, check_cluster, count_workers
from toolkit.loans.handle import LentSession, Terms, forget_lent, note_lent
from toolkit.loans.lender import Ask, Lender, LoanState
from toolkit.loans.lending import Lendable, lendable
from toolkit.session.session import AsyncSession, Session

if TYPE_CHECKING:
    from distributed import Client

_LAST_TURN: Final = 5.0  # seconds to wait for a turn that is under way when the loan ends


def lend(session: Session | AsyncSession, cluster: Client) -> Loan:
    """Lend a session to the workers of a Dask cluster, for a `with` statement.

    >>> with tk.lend(session, cluster) as lent:
    ...     tables = cluster.gather(cluster.map(positions_of, account_ids, session=lent))

    The handle `lent` holds no secret, and works as a session in the tasks. The credentials stay here: this process
    requests the access tokens, renews them before they expire, and publishes them for the workers with a Dask
    `Variable`. So each token is one request, however many workers there are. A worker whose token is refused asks for
    the newest one and repeats its call once, as a session does. When the loan has ended or this process is gone,
    workers get no other token: they raise TokenError, at the latest when the token that they hold expires.

    A rate (`per_second`) is divided by the number of workers; calls of this process come on top of it.

    The access token lies in the memory of the scheduler and of the workers, so a cluster on other machines needs TLS.
    Without TLS any program on this machine reads the token of a cluster on loopback, whoever runs it: a warning says
    so. `Client(security=True)` makes a cluster with TLS, and `Client(processes=False)` one within this process.
    Proxies come from the variables of the workers' own environment.

    Args:
        session: a live session of a broker partner. An AsyncSession is lent to tasks that are coroutines.
        cluster: a connected `distributed.Client`. If it is asynchronous, write `async with`.

    Raises:
        CredentialsMismatch: if the session has a key pair, which is itself the secret, or has borrowed its tokens.
        ConfigurationError: if the session has a cassette, or a transport, clock or TLS context of its own, which
            cannot travel; or the cluster is not connected; or Dask is not installed.
        UnsafeAddress: if the cluster is on another machine and is called without TLS, or the session's credentials
            are not meant for its addresses.
        TokenError, Unreachable: if the session cannot get a token to lend.
    """
    return Loan(lendable(session), cluster, session=session)


class Loan:
    """A loan of a session to a cluster: a context manager that gives the handle. Made by `lend`.

    Args:
        parts: what is lent.
        cluster: a connected `distributed.Client`.
        session: the session that the handle stands for in this process; None to borrow here too, synchronously.
    """

    def __init__(self, parts: Lendable, cluster: Client, *, session: Session | AsyncSession | None = None) -> None:
        self._parts = parts
        self._session = session
        self._cluster = cluster
        self.name = secrets.token_hex(8)
        self._state = LoanState(parts.clock)
        self._lender: Lender | None = None
        self._board: LenderBoard | None = None
        self._thread: threading.Thread | None = None

    def __repr__(self) -> str:
        state = "ended" if self._state.is_over else "open" if self._thread else "not open"
        return f"<Loan {self.name} of {self._parts.profile!r}: {state}>"

    def __enter__(self) -> LentSession:
        if getattr(self._cluster, "asynchronous", False) is True:
            raise ConfigurationError(
                "The client of the cluster is asynchronous, and entering a loan waits for the scheduler.",
                "Write async with tk.lend(session, cluster) as lent.",
                about="cluster",
            )
        _warn_of_open(check_cluster(self._cluster))
        return self._open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._close()

    async def __aenter__(self) -> LentSession:
        _warn_of_open(await asyncio.to_thread(check_cluster, self._cluster))
        return await asyncio.to_thread(self._open)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._close)

    def _open(self) -> LentSession:
        if self._thread is not None:
            raise ConfigurationError("This loan was opened already.", "Make another with tk.lend().", about="session")
        parts = self._parts
        parts.keeper.obtain()  # an error here is the caller's, not the workers'
        self._board = LenderBoard(self._cluster, self.name, self._state, self._note)
        self._lender = Lender(
            self._state, parts.keeper, clock=parts.clock, publish=self._board.publish, share=self._share
        )
        self._lender.turn()
        self._thread = threading.Thread(target=self._lender.run, name=f"loan {self.name}", daemon=True)
        self._thread.start()
        if self._session is not None:
            note_lent(self.name, self._session)
        return LentSession(self._terms())

    def _close(self) -> None:
        forget_lent(self.name)
        if self._lender is None or self._board is None or self._thread is None:
            return
        self._lender.end()
        self._board.close()
        self._thread.join(_LAST_TURN)
        self._parts.keeper.close()

    def _share(self) -> float | None:
        """Return the calls per second for each worker, or None for no limit."""
        per_second = self._parts.pace.per_second
        return None if per_second is None else per_second / count_workers(self._cluster)

    def _note(self, ask: Ask) -> None:
        if self._lender is not None:
            self._lender.note(ask)

    def _terms(self) -> Terms:
        parts = self._parts
        return Terms(
            loan=self.name,
            environment=str(parts.environment),
            profile=parts.profile,
            kind=str(parts.kind),
            addresses=parts.addresses,
            header_prefix=parts.header_prefix,
            options=parts.options,
            is_async=isinstance(self._session, AsyncSession),
        )


def _warn_of_open(address: str) -> None:
    """Warn of an address at which any program on this machine can read a token; "" is none."""
    if address:
        warn(
            f"The cluster is called without TLS at {excerpt(address)}: any program on this machine, whoever runs it, "
            "can read the lent access token there. If others use this machine, lend to a cluster with TLS, "
            "Client(security=True), or within this process, Client(processes=False)."
        )
