"""The coordinator of a sweep on a cluster: hands out keys, a share at a time, and counts their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count
from typing import Any, Final, Protocol

from toolkit.core.ledger import Traffic
from toolkit.sweeps.keys import Key, KeySource
from toolkit.sweeps.outcomes import KeyFailure
from toolkit.sweeps.shares import Share, Spread, ask_share

_SHARES_FOR_EACH: Final = 8  # shares of a sweep for each worker, so that all end at about the same time
_LEAST, _MOST, _UNKNOWN = 20, 1000, 200  # keys of a share
_TICK: Final = 0.5  # seconds between two looks at the workers


class Pool(Protocol):
    """Workers that call functions."""

    def count(self) -> int:
        """Return the number of workers, at least 1."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Let a worker call a function; return a future with the method `result()`."""
        ...

    def wait(self, futures: Collection[Any], seconds: float) -> Iterable[Any]:
        """Wait until a future is done, but no longer than some seconds; return those that are done."""
        ...

    def cancel(self, futures: Collection[Any]) -> None:
        """Cancel futures; calls that have begun may go on."""
        ...


class Counts(Traffic):
    """The counts of the workers so far.

    Attributes:
        answered: number of keys that were answered.
        failed: number of keys that failed.
        notes: what to warn of, each once, in its order.
    """

    answered: int = 0
    failed: int = 0

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}

    def add(self, answered: int, failed: int, notes: Iterable[str] = ()) -> None:
        """Add the outcomes of a share."""
        self.notes |= dict.fromkeys(notes)
        self.answered += answered
        self.failed += failed
        self.sent += answered + failed


def spread_keys(
    spread: Spread,
    source: KeySource,
    pool: Pool,
    *,
    at_once: int,
    earlier: Mapping[Key, KeyFailure],
    counts: Counts,
    watch: Callable[[], None],
) -> None:
    """Let the workers of a pool ask for keys.

    Args:
        spread: what all tasks share.
        source: the keys.
        pool: the workers. Each has one share at a time.
        at_once: number of keys that all workers together ask for at the same time.
        earlier: failures of earlier runs.
        counts: kept up to date.
        watch: called about twice a second.

    Raises:
        ToolkitError: what a worker raised.
    """
    futures: set[Any] = set()
    numbers = count(1)
    try:
        while True:
            workers = min(pool.count(), at_once)
            while len(futures) < workers and (keys := _taken(source, _size(source.total, workers))):
                share = Share(
                    next(numbers),
                    keys,
                    source.kind or "text",
                    at_once=at_once // workers,
                    earlier=[earlier[key] for key in keys if key in earlier],
                )
                futures.add(pool.submit(ask_share, spread, share))
            if not futures:
                return
            for future in pool.wait(futures, _TICK):
                futures.discard(future)
                counts.add(*future.result())
            watch()
    finally:
        if futures:
            pool.cancel(futures)


def _taken(source: KeySource, size: int) -> list[Key]:
    keys: list[Key] = []
    while len(keys) < size and (key := source.take()) is not None:
        keys.append(key)
    return keys


def _size(total: int | None, workers: int) -> int:
    """Return the number of keys of the next share."""
    if total is None:
        return _UNKNOWN
    return min(max(total // (workers * _SHARES_FOR_EACH), _LEAST), _MOST)
