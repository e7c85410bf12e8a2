"""Clocks that are passed in: the system's clock, and a clock that a test moves by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The toolkit's source of time. A clock may also have a method `sleep(seconds)`, see `sleep`."""

    def now(self) -> datetime:
        """Return the present instant, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; the reading never decreases."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is moved, and never goes back."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        if start.utcoffset() is None:
            raise ValueError("the start must be an aware instant, such as datetime(2026, 1, 1, tzinfo=UTC)")
        self._now = start.astimezone(UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both readings forward.

        Raises:
            ValueError: if `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError("a clock cannot go back")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def sleep(self, seconds: float) -> None:
        """Move the clock instead of waiting."""
        self.advance(seconds)


def sleep(clock: Clock, seconds: float) -> None:
    """Pause this thread, or let a clock that has a `sleep` method pass the time."""
    own = getattr(clock, "sleep", None)
    if own is None:
        time.sleep(seconds)
    else:
        own(seconds)


async def sleep_async(clock: Clock, seconds: float) -> None:
    """Pause this task, or let a clock that has a `sleep` method pass the time."""
    import asyncio

    own = getattr(clock, "sleep", None)
    if own is None:
        await asyncio.sleep(seconds)
    else:
        own(seconds)
