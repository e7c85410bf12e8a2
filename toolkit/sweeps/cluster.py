"""Dask's part of a loan: a `Variable` that holds what the lender publishes, and a topic for reports to the lender.

The scheduler keeps the variable. The lender's side runs on the event loop of its `distributed.Client`, so publications
reach the scheduler in the order of their editions.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from toolkit.core.addresses import is_loopback
from toolkit.core.errors import ConfigurationError, UnsafeAddress, not_installed
from toolkit.core.text import excerpt

_READ_WITHIN: Final = 5.0  # seconds
_PUBLISH_WITHIN: Final = 10.0  # seconds
_PRIVATE_SCHEMES: Final = frozenset({"tls", "wss", "inproc"})
_PREFIX: Final = "toolkit-loan-"
LOST: Final = (OSError, TimeoutError, RuntimeError)  # what a lost connection to the scheduler raises


class BoardSilentError(Exception):
    """The place of the publications does not answer. Never reaches the user's code."""


def check_cluster(cluster: Any) -> str:
    """Check that a token may be published on a cluster: nobody on the network can read it.

    Return the first address, or "", at which any program on this machine could read it.

    Raises:
        ConfigurationError: if it is not a connected `distributed.Client`, or distributed is not installed.
        UnsafeAddress: if the scheduler or a worker is on another machine and is called without TLS.
    """
    client_class = _distributed().Client
    if not isinstance(cluster, client_class):
        raise ConfigurationError(
            f"A cluster is a dask.distributed.Client, not {type(cluster).__name__}.",
            "Pass the client: with Client(cluster) as client: tk.lend(session, client)",
            about="cluster",
        )
    if cluster.status != "running":
        raise ConfigurationError(
            f"The client of the cluster is not connected: its status is {excerpt(str(cluster.status))}.",
            "Open it before the loan, and close it afterwards.",
            about="cluster",
        )
    scheduler = str(cluster.scheduler_info()["address"])
    return refuse_open_addresses([str(cluster.scheduler.address), scheduler, *worker_addresses(cluster)])


def count_workers(cluster: Any) -> int:
    """Return the number of workers that the cluster has now, at least 1."""
    try:
        return max(1, len(worker_addresses(cluster)))
    except Exception:  # noqa: BLE001 - distributed raises errors of many kinds when a connection is lost
        return 1


def refuse_open_addresses(addresses: Iterable[str]) -> str:
    """Refuse addresses of a cluster at which others on the network could read a token.

    Return the first address, or "", that has no TLS and is this machine's.

    Raises:
        UnsafeAddress: if one of them is another machine's and has no TLS.
    """
    open_here = ""
    for address in addresses:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        if parts.scheme in _PRIVATE_SCHEMES:
            continue
        if not is_loopback(parts.hostname or ""):
            raise UnsafeAddress(
                f"The cluster is called without TLS at {excerpt(address)}, on another machine. Whoever can read the "
                "network there would read the access tokens.",
                "Nothing was lent. Start scheduler, workers and client with TLS, as in Client(address, security=...) "
                "with distributed.Security.",
                about="cluster",
            )
        open_here = open_here or address
    return open_here


def worker_addresses(cluster: Any) -> list[str]:
    """Return the addresses of the workers that the cluster has now."""
    return [str(address) for address in cluster.nthreads()]


class LenderBoard:
    """The place where a lender publishes. Not to be used on the event loop of the client.

    Args:
        cluster: a connected `distributed.Client`.
        loan: name of the loan.
        fields: returns what to publish.
        note: called on the client's event loop with each report of a borrower.
    """

    def __init__(
        self, cluster: Any, loan: str, fields: Callable[[], dict[str, Any]], note: Callable[[object], None]
    ) -> None:
        self._cluster = cluster
        self._topic = _PREFIX + loan
        self._variable = _distributed().Variable(_PREFIX + loan, client=cluster)
        self._fields = fields
        self._note = note
        self._lock = asyncio.Lock()
        self._is_wanted = False
        self._is_subscribed = False

    def publish(self) -> None:
        """Publish what there is now.

        Raises:
            OSError, TimeoutError, RuntimeError: if the scheduler cannot be reached.
        """
        try:
            if not self._is_subscribed:
                self._cluster.subscribe_topic(self._topic, self._answer)
                self._is_subscribed = True
            self._cluster.sync(self._publish, callback_timeout=_PUBLISH_WITHIN, asynchronous=False)
        except BaseException:
            self._is_subscribed = False  # a scheduler that comes back does not know the topic
            raise

    def close(self) -> None:
        """Publish the tombstone, and listen no more."""
        with suppress(*LOST):
            self.publish()
            self._cluster.unsubscribe_topic(self._topic)

    async def _publish(self) -> None:
        self._is_wanted = True
        async with self._lock:
            if self._is_wanted:
                self._is_wanted = False
                await self._variable.set(self._fields())

    async def _answer(self, event: tuple[float, Any]) -> None:
        """Acknowledge a report at once, since a renewal may take long."""
        self._note(event[1])
        await self._publish()


class WorkerBoard:
    """The place where a borrower reads, in a task on a worker. Made in the task's own thread, then used by any thread.

    Args:
        loan: name of the loan.
    """

    def __init__(self, loan: str) -> None:
        self._topic = _PREFIX + loan
        self._context = contextvars.copy_context()  # in which Dask notes the worker
        self._client: Any = None

    def read(self) -> object:
        """Return what the lender published last.

        Raises:
            BoardSilentError: if the scheduler does not answer.
        """
        client = self._connected()
        try:
            return _distributed().Variable(self._topic, client=client).get(timeout=_READ_WITHIN)
        except Exception as error:  # noqa: BLE001 - distributed raises errors of many kinds when a connection is lost
            raise BoardSilentError(f"the scheduler gave no answer ({type(error).__name__}).") from None

    def report(self, fields: dict[str, Any]) -> None:
        """Send a report to the lender.

        Raises:
            BoardSilentError: if the scheduler cannot be reached.
        """
        client = self._connected()
        try:
            client.log_event(self._topic, fields)
        except Exception as error:  # noqa: BLE001 - as above
            raise BoardSilentError(f"the scheduler cannot be reached ({type(error).__name__}).") from None

    def _connected(self) -> Any:
        """Return the client of this worker.

        Raises:
            ConfigurationError: if this is not a task on a worker, or it would block the worker's event loop.
            BoardSilentError: if the scheduler cannot be reached.
        """
        client = self._client
        if client is None or client.status != "running":
            client = self._new_client()
        if client.asynchronous:
            raise ConfigurationError(
                "A session that is not asynchronous cannot be used on the event loop of a Dask worker, which it would "
                "block.",
                "Use an ordinary function as the task, or lend an AsyncSession to a coroutine.",
                about="session",
            )
        self._client = client
        return client

    def _new_client(self) -> Any:
        get_client = _distributed().get_client
        for context in (self._context.copy(), contextvars.copy_context()):
            try:
                return context.run(get_client)
            except ValueError:  # no worker, and no client
                continue
            except Exception as error:  # noqa: BLE001 - as above
                raise BoardSilentError(f"the scheduler cannot be reached ({type(error).__name__}).") from None
        raise ConfigurationError(
            "A lent session is used outside of a Dask task, in a thread or process without a connection to the "
            "scheduler.",
            "Use it in the function that Dask calls, before that starts threads of its own.",
            about="session",
        )


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise not_installed(error, {"dask", "distributed"}, "A loan", "dask", about="cluster") from None
    return distributed
