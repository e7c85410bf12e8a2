"""Time, handed in: the system's clock, and one that a test or a replay moves by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where the toolkit gets its time from."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary start, never going back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that stands still until it is moved, and refuses to go back."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        if start.utcoffset() is None:
            raise ValueError("a clock starts at an aware instant, such as datetime(2026, 1, 1, tzinfo=UTC)")
        self._now = start.astimezone(UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both readings on by `seconds`, which must not be negative."""
        if seconds < 0:
            raise ValueError("a clock does not go back")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def sleep(self, seconds: float) -> None:
        """What a pause is by this clock: it is over at once, and the clock has moved on."""
        self.advance(seconds)


def sleep(clock: Clock, seconds: float) -> None:
    """Let time pass on this thread; a clock with a `sleep` of its own says how."""
    own = getattr(clock, "sleep", None)
    if own is None:
        time.sleep(seconds)
    else:
        own(seconds)


async def sleep_async(clock: Clock, seconds: float) -> None:
    """The same in a task."""
    import asyncio  # loaded by whoever runs a task

    own = getattr(clock, "sleep", None)
    if own is None:
        await asyncio.sleep(seconds)
    else:
        own(seconds)
