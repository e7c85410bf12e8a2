"""`progress`: goes through items and shows how far it is."""

from __future__ import annotations

import operator
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Generic, SupportsIndex, TypeVar

from toolkit.errors import ConfigurationError
from toolkit.long_work.showing import Nowhere, Place, here
from toolkit.long_work.words import HowFar, ended, stopped
from toolkit.settings import is_offline
from toolkit.traffic import TRAFFIC, Traffic

Item = TypeVar("Item")
_SHORT: Final = 0.5  # seconds; work that takes less is not long
_PACE: Final = 0.2  # seconds between two showings
_NOWHERE: Final = Nowhere()


class Progress(Generic[Item]):
    """Items that show how far whoever goes through them is; for `for` and `async for`, again and again.

    Args:
        items: what to go through.
        total: how many there are, or None.
        label: what they are, as text.
        place: gives where it is shown; None for nowhere.
        seconds: a monotonic clock.
        traffic: counts of calls that went out and that were replayed.
    """

    def __init__(
        self,
        items: Iterable[Item] | AsyncIterable[Item],
        *,
        total: int | None = None,
        label: str = "",
        place: Callable[[], Place | None] = here,
        seconds: Callable[[], float] = time.monotonic,
        traffic: Traffic = TRAFFIC,
    ) -> None:
        self._items: Any = items
        self._total = total
        self._label = label
        self._place = place
        self._seconds = seconds
        self._traffic = traffic

    def __iter__(self) -> Iterator[Item]:
        # A loop that ends early, by an error, an interrupt or `break`, drops this generator, which ends the showing.
        with self._shown() as step:
            for item in self._items:
                yield item
                step()

    async def __aiter__(self) -> AsyncIterator[Item]:
        with self._shown() as step:
            async for item in self._items:
                yield item
                step()

    @contextmanager
    def _shown(self) -> Iterator[Callable[[], None]]:
        began = last = self._seconds()
        sent, played = self._traffic.sent, self._traffic.played
        done = 0
        place: Place | None = None

        def how_far() -> HowFar:
            return HowFar(done, self._total, self._seconds() - began, self._label)

        def step() -> None:
            nonlocal done, last, place
            done += 1
            now = self._seconds()
            is_replay = self._traffic.sent == sent and self._traffic.played > played
            if now - began < _SHORT or now - last < _PACE or is_replay or is_offline():
                return
            last = now
            place = place or self._place()
            if place is not None:
                try:
                    place.show(how_far())
                except Exception:  # noqa: BLE001 - a terminal that is gone is no reason to end the work
                    place = _NOWHERE

        words = stopped
        try:
            yield step
            words = ended
        finally:
            if place is not None:
                with suppress(Exception):
                    place.end(words(how_far()))


def progress(
    items: Iterable[Item] | AsyncIterable[Item], *, total: SupportsIndex | None = None, label: str = ""
) -> Progress[Item]:
    """Go through items and show how far it is: how many are done, and how long the rest will take.

    >>> for number in tk.progress(numbers, label="accounts"):
    ...     session.broker.get(f"/v1/accounts/{number}")

    It appears once half a second has passed, and leaves one line of text behind, also when the loop is
    stopped or fails. It is silent while every call of the loop is replayed, and with TOOLKIT_OFFLINE, so
    that a replayed notebook stays the same; and where nobody looks, such as in a log.

    Args:
        items: anything that `for` or, in an async cell, `async for` goes through.
        total: how many items there are, where they do not know it themselves, as with `frame.itertuples()`,
            `executor.map(...)` and `asyncio.as_completed(tasks)`.
        label: what they are.

    Raises:
        ConfigurationError: there is nothing to go through, or the total is no count.
    """
    if not hasattr(items, "__iter__") and not hasattr(items, "__aiter__") and not hasattr(items, "__getitem__"):
        raise ConfigurationError(
            f"Progress is through items, and {type(items).__name__} has none.",
            "Give a list or anything else that a for loop takes; to count to a number, give range(number).",
        )
    count = None if total is None else _count(total)
    if hasattr(items, "itertuples"):
        raise ConfigurationError(
            "A for loop goes through the columns of a table, not through its rows.",
            "For its rows, give frame.itertuples() and total=len(frame).",
        )
    return Progress(items, total=_length(items) if count is None else count, label=str(label))


def _count(total: SupportsIndex) -> int:
    """The total as an int, be it one of Python or of NumPy."""
    with suppress(TypeError):
        count = operator.index(total)
        if count >= 0 and not isinstance(total, bool):
            return count
    raise ConfigurationError(
        "The total of a progress is a count of items, such as total=len(frame).",
        "Leave it out if you do not know it.",
    )


def _length(items: Any) -> int | None:
    try:
        length = operator.length_hint(items, -1)
    except OverflowError:  # more than Python counts, such as range(2**70)
        return None
    return length if length >= 0 else None
