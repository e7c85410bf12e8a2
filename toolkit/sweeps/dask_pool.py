"""The workers of a Dask cluster as a pool for sweeps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any

from toolkit.loans.cluster import count_workers


class DaskPool:
    """The workers of a cluster; see `Pool`. Dask gives the task of a worker that dies to another.

    Args:
        cluster: a connected `distributed.Client`.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._one_is_done = threading.Event()

    def count(self) -> int:
        return count_workers(self._cluster)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        future = self._cluster.submit(function, *arguments, pure=False)
        future.add_done_callback(lambda _: self._one_is_done.set())
        return future

    def wait(self, futures: Collection[Any], seconds: float) -> Iterable[Any]:
        self._one_is_done.wait(seconds)
        self._one_is_done.clear()
        return [future for future in futures if future.done()]

    def cancel(self, futures: Collection[Any]) -> None:
        self._cluster.cancel(list(futures))
