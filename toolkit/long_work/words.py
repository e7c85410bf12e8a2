"""How far work is, in words: pure functions of counts and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class HowFar:
    """Where work stands.

    Attributes:
        done: items that are done.
        total: items that there are, or None when nobody knows.
        elapsed: seconds since the first item was asked for.
        label: what the items are, as text; may be empty.
    """

    done: int
    total: int | None
    elapsed: float
    label: str = ""

    @property
    def left(self) -> float | None:
        """Seconds that it will take at the pace so far, or None when that cannot be told."""
        if self.total is None or not 0 < self.done <= self.total:
            return None
        return self.elapsed / self.done * (self.total - self.done)


def so_far(how_far: HowFar) -> str:
    """While it goes on: `accounts: 37 of 250 in 12 s, about 69 s left`."""
    left = how_far.left
    rest = "" if left is None else f", about {duration(left)} left"
    return f"{_labelled(how_far)}{_counted(how_far)} in {duration(how_far.elapsed)}{rest}"


def ended(how_far: HowFar) -> str:
    """When everything is done: `accounts: 250 in 80 s`."""
    return f"{_labelled(how_far)}{how_far.done:,} in {duration(how_far.elapsed)}"


def stopped(how_far: HowFar) -> str:
    """When it ended early, for whatever reason: `accounts: stopped after 37 of 250, 12 s`."""
    return f"{_labelled(how_far)}stopped after {_counted(how_far)}, {duration(how_far.elapsed)}"


def duration(seconds: float) -> str:
    """A duration to two figures or so: `0.4 s`, `37 s`, `12 min`, `3.5 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def _counted(how_far: HowFar) -> str:
    is_of_all = how_far.total is not None and how_far.done <= how_far.total
    return f"{how_far.done:,} of {how_far.total:,}" if is_of_all else f"{how_far.done:,}"


def _labelled(how_far: HowFar) -> str:
    return f"{how_far.label}: " if how_far.label else ""
