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
from toolkit.core.errors import ConfigurationError, TokenError, UnsafeAddress, not_installed
from toolkit.core.text import excerpt

_READ_WITHIN: Final = 5.0  # seconds
_PUBLISH_WITHIN: Final = 10.0  # seconds
_PRIVATE_SCHEMES: Final = frozenset({"tls", "wss", "inproc"})
_PREFIX: Final = "toolkit-loan-"
GONE: Final = "Run the call again inside the `with tk.lend(...)` block of a process that goes on."
LOST: Final = (OSError, TimeoutError, RuntimeError)  # what a lost connection to the scheduler raises


def check_cluster(cluster: Any) -> str:
    """Check that a token may be published on a cluster: nobody on the network can read it.

    Return the first address, or "", at which any program on this machine could read it. Errors are those of `lend`.
    """
    if not isinstance(cluster, _distributed().Client):
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
    return refuse_open_addresses([str(cluster.scheduler.address), scheduler, *map(str, cluster.nthreads())])


def count_workers(cluster: Any) -> int:
    """Return the number of workers that the cluster has now, at least 1."""
    try:
        return max(1, len(cluster.nthreads()))
    except Exception:  # noqa: BLE001 - distributed raises errors of many kinds when a connection is lost
        return 1


def refuse_open_addresses(addresses: Iterable[str]) -> str:
    """Return the first address, or "", that has no TLS and is this machine's; refuse those of other machines."""
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


class LenderBoard:
    """The place where a lender publishes its `fields`, and gets reports. Not to be used on the client's event loop."""

    def __init__(
        self, cluster: Any, loan: str, fields: Callable[[], dict[str, Any]], note: Callable[[object], None]
    ) -> None:
        self._cluster = cluster
        self._topic = _PREFIX + loan
        self._variable = _distributed().Variable(self._topic, client=cluster)
        self._fields = fields
        self._note = note
        self._lock = asyncio.Lock()
        self._is_subscribed = False

    def publish(self) -> None:
        """Publish what there is now; one of `LOST` if the scheduler cannot be reached."""
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
        async with self._lock:
            await self._variable.set(self._fields())

    async def _answer(self, event: tuple[float, Any]) -> None:
        """Acknowledge a report at once, since a renewal may take long."""
        self._note(event[1])
        await self._publish()


class WorkerBoard:
    """The place where a borrower reads. Made in a task's own thread on a worker, then used by any thread."""

    def __init__(self, loan: str) -> None:
        self._loan = loan
        self._context = contextvars.copy_context()  # in which Dask notes the worker
        self._client: Any = None

    def read(self) -> object:
        """Return what the lender published last; TokenError if the scheduler does not answer."""
        variable = _distributed().Variable
        return self._call(lambda client: variable(_PREFIX + self._loan, client=client).get(timeout=_READ_WITHIN))

    def report(self, fields: dict[str, Any]) -> None:
        """Send a report to the lender."""
        self._call(lambda client: client.log_event(_PREFIX + self._loan, fields))

    def _call(self, function: Callable[[Any], Any]) -> Any:
        what = "A session that is not asynchronous would block the event loop of a Dask worker."
        advice = "Use an ordinary function as the task, or lend an AsyncSession to a coroutine."
        try:
            if self._client is None or self._client.status != "running":
                self._client = self._context.copy().run(_distributed().get_client)
            if not self._client.asynchronous:
                return function(self._client)
        except ValueError:  # no worker
            what = "A lent session is used outside of a Dask task."
            advice = "Use it in the function that Dask calls, before that starts threads of its own."
        except Exception as error:  # noqa: BLE001 - distributed raises errors of many kinds when a connection is lost
            reason = f"The scheduler of the loan {self._loan} gave no answer ({type(error).__name__})."
            raise TokenError(reason, GONE) from None
        raise ConfigurationError(what, advice, about="session")


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise not_installed(error, {"dask", "distributed"}, "A loan", "dask", about="cluster") from None
    return distributed
