"""`progress` goes through items and shows how far the loop is, in a notebook's output or at a terminal."""

from __future__ import annotations

import operator
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Generic, SupportsIndex, TypeVar

from toolkit.core.errors import ConfigurationError
from toolkit.core.ledger import TRAFFIC, Traffic
from toolkit.local.progress_lines import Line, LoopStatus, line_here
from toolkit.local.variables import is_offline

Item = TypeVar("Item")
_QUIET: Final = 0.5  # seconds; a loop that takes less shows nothing
_INTERVAL: Final = 0.2  # seconds between two updates


def progress(
    items: Iterable[Item] | AsyncIterable[Item], *, total: SupportsIndex | None = None, label: str = ""
) -> Loop[Item]:
    """Go through items and show how many are done, and how long the rest will take.

    >>> for number in tk.progress(numbers, label="accounts"):
    ...     session.broker.get(f"/v1/accounts/{number}")

    It appears after half a second and leaves one line of text behind, also when the loop is stopped or fails. It is
    silent while every call of the loop is replayed and with TOOLKIT_OFFLINE, so that a replayed notebook stays the
    same, and where nobody would see it, such as in a log.

    Args:
        items: anything that `for` or, in an async cell, `async for` goes through.
        total: how many items there are, if the items do not know it themselves, as with `frame.itertuples()`,
            `executor.map(...)` and `asyncio.as_completed(tasks)`.
        label: what the items are.

    Raises:
        ConfigurationError: if `items` cannot be iterated over, or `total` is not a count.
    """
    if not hasattr(items, "__iter__") and not hasattr(items, "__aiter__") and not hasattr(items, "__getitem__"):
        raise ConfigurationError(
            f"Progress needs items to loop over, but a {type(items).__name__} cannot be iterated over.",
            "Pass a list or anything else that a for loop takes; to count to a number, pass range(number).",
            about="items",
        )
    count = operator.length_hint(items, -1) if total is None else _count(total)
    if hasattr(items, "itertuples"):
        raise ConfigurationError(
            "A for loop goes through the columns of a table, not through its rows.",
            "For its rows, pass frame.itertuples() and total=len(frame).",
            about="items",
        )
    return Loop(items, total=count if count >= 0 else None, label=str(label))


def _count(total: SupportsIndex) -> int:
    """Return the total as an int; integers of NumPy are accepted too."""
    with suppress(TypeError):
        count = operator.index(total)
        if count >= 0 and not isinstance(total, bool):
            return count
    raise ConfigurationError(
        "The total must be a count of items, such as total=len(frame).",
        "Leave it out if you do not know it.",
        about="total",
    )


class Loop(Generic[Item]):
    """Items that show the progress of each `for` or `async for` loop through them.

    Args:
        items: what to go through.
        total: number of items, or None if unknown.
        label: what the items are.
        at_least: number of items that are done before progress appears.
        line: returns where progress is shown, or None for nowhere.
        seconds: a monotonic clock.
        traffic: counts of calls that were sent and that were replayed.
    """

    def __init__(
        self,
        items: Iterable[Item] | AsyncIterable[Item],
        *,
        total: int | None = None,
        label: str = "",
        at_least: int = 1,
        line: Callable[[], Line | None] = line_here,
        seconds: Callable[[], float] = time.monotonic,
        traffic: Traffic = TRAFFIC,
    ) -> None:
        self._items: Any = items
        self._total = total
        self._label = label
        self._at_least = at_least
        self._line = line
        self._seconds = seconds
        self._traffic = traffic

    def __iter__(self) -> Iterator[Item]:
        # A loop that ends early, by an error, an interrupt or `break`, drops this generator, which ends the line.
        with self._steps() as step:
            for item in self._items:
                yield item
                step()

    async def __aiter__(self) -> AsyncIterator[Item]:
        with self._steps() as step:
            async for item in self._items:
                yield item
                step()

    @contextmanager
    def _steps(self) -> Iterator[Callable[[], None]]:
        """Provide the function to call after each item."""
        started = shown = self._seconds()
        sent, played = self._traffic.sent, self._traffic.played
        done = 0
        line: Line | None = None

        def status() -> LoopStatus:
            return LoopStatus(done, self._total, self._seconds() - started, self._label)

        def step() -> None:
            nonlocal done, shown, line
            done += 1
            now = self._seconds()
            is_replay = self._traffic.sent == sent and self._traffic.played > played
            is_early = now - started < _QUIET or now - shown < _INTERVAL or done < self._at_least
            if is_early or is_replay or is_offline():
                return
            shown = now
            line = line or self._line()
            if line is not None:
                with suppress(Exception):  # a closed terminal must not end the loop
                    line.show(status())

        text = LoopStatus.stopped_text
        try:
            yield step
            text = LoopStatus.finished_text
        finally:
            if line is not None:
                with suppress(Exception):
                    line.end(text(status()))
