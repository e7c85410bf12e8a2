"""Lend a session to the workers of a Dask cluster: a thread in this process renews and publishes its token."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from toolkit.auth.authorizers import TokenAuthorizer
from toolkit.auth.kinds import KeyPair
from toolkit.auth.tokens.token import Token, early_seconds
from toolkit.core.addresses import is_loopback
from toolkit.core.document import Interface
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError, UnsafeAddress, wrong_type
from toolkit.core.ledger import Clock, SystemClock
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.session.session import AsyncSession, Session
from toolkit.sweeps.borrower import (
    HEARD_FOR,
    TOPIC,
    BorrowedCredentials,
    LentSession,
    Published,
    Terms,
    dask_distributed,
)
from toolkit.transport.flow import run
from toolkit.transport.network import Network

if TYPE_CHECKING:
    from distributed import Client

_PUBLISH_WITHIN: Final = 10.0  # seconds
_PRIVATE_SCHEMES: Final = frozenset({"tls", "wss", "inproc"})
_LOST: Final = (OSError, TimeoutError, RuntimeError)  # errors of a lost connection to the scheduler
_LAST_TURN: Final = 5.0  # seconds to wait for a turn that is in progress when the loan ends
_LONGEST_WAIT: Final = 30.0  # seconds; a machine that was asleep notices it after this time at most
_RETRY_AFTER: Final = 1.0  # seconds; after a publication that failed, and while there is no token
_JUST_AFTER: Final = 0.1  # seconds after a token is due for renewal


def lend(session: Session | AsyncSession, cluster: Client) -> Loan:
    """Lend a session to the workers of a Dask cluster, for the duration of a `with` statement.

    >>> with tk.lend(session, cluster) as lent:
    ...     tables = cluster.gather(cluster.map(positions_of, account_ids, session=lent))

    The handle `lent` contains no secret and works like a session in the tasks. The credentials stay in this process,
    which requests the access tokens, renews them before they expire, and publishes them to the workers in a Dask
    `Variable`. Each token is therefore requested once, however many workers there are. A worker whose token is refused
    asks for the newest token and repeats its call once, as a session does. Once the loan has ended or this process is
    gone, the workers' calls raise TokenError, within ten seconds at most.

    A rate (`per_second`) is divided by the initial number of workers; this process's own calls do not count towards it.

    The scheduler and the workers have the access token in memory, so a cluster on other machines needs TLS. Without
    TLS, any program on this machine, run by any user, can read the token of a cluster on loopback, and a warning is
    given. `Client(security=True)` creates a cluster with TLS, and `Client(processes=False)` one within this process.
    Proxies are taken from the workers' own environment variables.

    Args:
        session: a live session of a broker partner. An AsyncSession is lent to tasks that are coroutines.
        cluster: a connected `distributed.Client`. If it is asynchronous, write `async with`.

    Raises:
        CredentialsMismatch: if the session has a key pair, which would itself be lent, or if its tokens are borrowed.
        ConfigurationError: if the session has a cassette, or its own transport, clock or TLS context, which cannot be
            sent; if the cluster is not connected; or if Dask is not installed.
        UnsafeAddress: if the cluster is on another machine and is reached without TLS, or the session's credentials are
            not meant for its addresses.
        TokenError, Unreachable: if the session cannot get a token to lend.
    """
    return Loan(session, cluster)


class Loan:
    """A loan of a session to a cluster: a context manager that returns the handle. Made by `lend`."""

    def __init__(self, session: Session | AsyncSession, cluster: Client) -> None:
        self._terms = terms_of(session, secrets.token_hex(8))
        sender, below = session._sender, cast("Network", session._below)  # noqa: SLF001
        self._rate = sender.pace.per_second
        self._cluster: Any = cluster
        network = Network(is_async=False, verify=below.verify, proxy=below.proxy)
        self.lender = Lender(cast("TokenAuthorizer", sender.authorizer()), network, sender.clock)
        self._topic = TOPIC + self._terms.loan
        self._publishing = asyncio.Lock()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> LentSession:
        if getattr(self._cluster, "asynchronous", False) is True:
            raise ConfigurationError(
                "The cluster client is asynchronous, so a plain with statement would block its event loop.",
                "Write async with tk.lend(session, cluster) as lent.",
                about="cluster",
            )
        _warn_of_open(check_cluster(self._cluster))
        return self._open()

    def __exit__(self, *_: object) -> None:
        self.lender.end()
        if self._thread is not None:
            with suppress(*_LOST):
                self._publish()  # the tombstone
                self._cluster.unsubscribe_topic(self._topic)
            self._thread.join(_LAST_TURN)
        self.lender.network.close()

    async def __aenter__(self) -> LentSession:
        _warn_of_open(await asyncio.to_thread(check_cluster, self._cluster))
        return await asyncio.to_thread(self._open)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.__exit__)

    def _open(self) -> LentSession:
        self.lender.obtain()  # an error here is raised for the caller, not for the workers
        self.lender.turn()
        self._cluster.subscribe_topic(self._topic, self._answer)
        self._publish()
        self._thread = threading.Thread(target=self.lender.run, args=(self._publish,), daemon=True)
        self._thread.start()
        share = None if self._rate is None else self._rate / max(1, len(self._cluster.nthreads()))
        return LentSession(self._terms._replace(options={**self._terms.options, "per_second": share}))

    def _publish(self) -> None:
        """Publish the current state; raise one of `_LOST` if the scheduler cannot be reached."""
        self._cluster.sync(self._set, callback_timeout=_PUBLISH_WITHIN, asynchronous=False)

    async def _set(self) -> None:
        async with self._publishing:  # so that the last edition is the one that remains
            await dask_distributed().Variable(self._topic, client=self._cluster).set(self.lender.fields())

    async def _answer(self, event: tuple[float, Any]) -> None:
        """Acknowledge a report immediately, since a renewal may take a long time."""
        self.lender.note(event[1])
        await self._set()


def _warn_of_open(address: str) -> None:
    if address:
        warn(
            f"The connection to the cluster at {excerpt(address)} does not use TLS: any program on this machine, run "
            "by any user, can read the lent access token. If others use this machine, lend to a cluster that uses "
            "TLS (Client(security=True)) or that runs in this process (Client(processes=False))."
        )


def check_cluster(cluster: Any) -> str:
    """Check that nobody on the network could read a token that is published on a cluster.

    Return the first address on this machine where any program could read it, or "". Raises the same errors as `lend`.
    """
    if not isinstance(cluster, dask_distributed().Client):
        next_step = "Pass the client: with Client(cluster) as client: tk.lend(session, client)"
        raise wrong_type("cluster", "a dask.distributed.Client", cluster, next_step)
    if cluster.status != "running":
        raise ConfigurationError(
            f"The cluster client is not connected: its status is {excerpt(str(cluster.status))}.",
            "Open it before tk.lend, and close it after the with block.",
            about="cluster",
        )
    return refuse_open_addresses([cluster.scheduler.address, cluster.scheduler_info()["address"], *cluster.nthreads()])


def refuse_open_addresses(addresses: Iterable[str]) -> str:
    """Return the first address on this machine without TLS, or ""; raise UnsafeAddress for one on another machine."""
    split = {address: urlsplit(address if "://" in address else f"tcp://{address}") for address in addresses}
    readable = [address for address, parts in split.items() if parts.scheme not in _PRIVATE_SCHEMES]
    for address in readable:
        if not is_loopback(split[address].hostname or ""):
            raise UnsafeAddress(
                f"The connection to the cluster at {excerpt(address)}, on another machine, does not use TLS. Anyone "
                "who can read the network traffic could read the access tokens.",
                "Nothing was lent. Start the scheduler, the workers and the client with TLS, for example "
                "Client(address, security=distributed.Security(...)).",
                about="cluster",
            )
    return next(iter(readable), "")


class Lender:
    """Keeps a token for the borrowers, renews it shortly before it expires, and prepares the messages to publish.

    One thread calls `run`; other threads may call `fields` and `note` meanwhile. No event loop is needed.
    """

    def __init__(self, authorizer: TokenAuthorizer, network: Network, clock: Clock) -> None:
        self.is_over = False
        self.network = network
        self._authorizer = authorizer
        self._clock = clock
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._token: Token | None = None
        self._problem = ""
        self._edition = self._number = self._declined = 0
        self._refused: bool | None = None  # whether the refused token was accepted earlier; None for no report

    def obtain(self) -> Token:
        """Return a usable token. If a renewal is due, one request serves all users of the session's tokens."""
        return cast("Token", run(self._authorizer.obtain(), self.network).token)

    def note(self, report: object) -> None:
        """Note a borrower's report. Reports about the same token count once; reports about older tokens are ignored."""
        if isinstance(report, Mapping) and report.get("is_refused") is True:
            with self._lock:
                if report.get("number") == self._number != self._declined:
                    self._refused = report.get("was_accepted") is True or self._refused is True
                    self._wake.set()

    def fields(self) -> dict[str, Any]:
        """Return the message to publish now, with the next edition number."""
        with self._lock:
            self._edition += 1
            token, published = self._token, Published(self._edition, self._number, problem=self._problem)
            if self.is_over:
                published = Published(self._edition, is_over=True)
            elif token is not None:
                left = self._until(token.expires_at, token.expires_monotonic)
                seconds = min(HEARD_FOR, early_seconds(token.lifetime) / 2, left)
                if seconds > 0:
                    text = token.access_token.reveal()
                    published = Published(self._edition, self._number, text, seconds, self._declined)
            return published._asdict()

    def run(self, publish: Callable[[], None]) -> None:
        """Call `turn` and `publish` repeatedly until the loan ends."""
        while not self.is_over:
            wait = self.turn()
            try:
                publish()
            except _LOST:
                wait = min(wait, _RETRY_AFTER)
            self._wake.wait(wait)
            self._wake.clear()

    def end(self) -> None:
        """End the loan. From now on, the only message that is published is that it has ended."""
        self.is_over = True
        self._wake.set()

    def turn(self) -> float:
        """Renew the token if a renewal is due or the token was refused, and return the seconds until the next turn."""
        with self._lock:
            was_accepted, self._refused = self._refused, None
        if was_accepted is not None and self._token is not None:
            is_new_one_worth_it = self._authorizer.reject(self._token, was_accepted=was_accepted)
            self._declined = self._declined if is_new_one_worth_it else self._number
        token, problem = None, ""
        try:
            token = self.obtain()
        except ToolkitError as error:
            problem = str(error)
        with self._lock:
            self._number += token is not None and token != self._token
            self._token, self._problem = token, problem
        if token is None:
            return _RETRY_AFTER  # the session decides when to request a token again
        left = self._until(token.renew_at, token.renew_monotonic)
        return min(max(left, 0.0) + _JUST_AFTER, _LONGEST_WAIT)

    def _until(self, instant: datetime, monotonic: float) -> float:
        """Return the seconds until an instant, by the wall clock or the monotonic clock, whichever gives fewer."""
        return min((instant - self._clock.now()).total_seconds(), monotonic - self._clock.monotonic())


def terms_of(session: Session | AsyncSession, loan: str) -> Terms:
    """Return the terms of a session that can be lent. Raises the same errors as `lend`."""
    if not isinstance(session, Session | AsyncSession):
        raise wrong_type("session", "a Session or an AsyncSession", session, "Open one with tk.Session().")
    sender, network, credentials = session._sender, session._below, session.credentials  # noqa: SLF001
    if sender.cassette_in_use() is not None:
        raise ConfigurationError(
            "A session with a cassette cannot be lent: a cassette has one writer, and a replay has no tokens.",
            "Lend a live session. To keep the responses, let the tasks return or write tables.",
            about="cassette",
        )
    if isinstance(credentials, KeyPair):
        raise CredentialsMismatch(
            "A key pair cannot be lent: it has no tokens that expire, so the workers would get the secret key itself.",
            "Only broker partners, who use access tokens, can lend a session. Make these calls from this process.",
            about="credentials",
        )
    if credentials is None or isinstance(credentials, BorrowedCredentials):
        raise CredentialsMismatch(
            "This session uses borrowed tokens, so it cannot lend them.",
            "Lend from the process that has the credentials; the loan's handle can be passed on.",
            about="credentials",
        )
    verify = getattr(network, "verify", None)
    own = {
        "clock": not isinstance(sender.clock, SystemClock),
        "transport": not isinstance(network, Network),
        "verify": isinstance(verify, ssl.SSLContext),
    }
    for name in filter(own.__getitem__, own):
        raise ConfigurationError(
            f"A session with its own {name} cannot be lent: the object exists only in this process.",
            f"Leave out {name}=. For TLS, verify= may be the path of a file that every worker has.",
            about=name,
        )
    sender.authorizer()  # checks where the credentials may be sent
    names = {name for interface, name in session.environment.rules.addresses.items() if interface != Interface.AUTH}
    return Terms(
        loan=loan,
        environment=str(session.environment),
        profile=credentials.name,
        kind=str(credentials.kind),
        addresses={name: address for name, address in session.settings.addresses.items() if name in names},
        header_prefix=session.settings.header_prefix,
        options={"timeout": sender.timeout, "verify": verify, "retry": session.retry},
        is_async=isinstance(session, AsyncSession),
    )
