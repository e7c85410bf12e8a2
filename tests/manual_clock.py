"""A clock that a test moves by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class ManualClock:
    """A clock that stands still until it is moved, and never goes back."""

    def __init__(self, start=datetime(2026, 1, 1, tzinfo=UTC)):
        self._now = start
        self._monotonic = 0.0

    def now(self):
        return self._now

    def monotonic(self):
        return self._monotonic

    def advance(self, seconds):
        assert seconds >= 0
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def sleep(self, seconds):
        """Move the clock instead of waiting."""
        self.advance(seconds)
