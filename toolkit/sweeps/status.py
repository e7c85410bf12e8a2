"""The progress of a sweep: a line with counts, rate and time left, which a replay does not show."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Protocol

from toolkit.core.ledger import TRAFFIC, Traffic
from toolkit.local.progress_lines import Line, LoopStatus, line_here
from toolkit.local.variables import is_offline
from toolkit.sweeps.keys import KeySource

_QUIET: Final = 0.5  # seconds; a sweep that takes less shows nothing


class Tally(Protocol):
    """Counts of a run."""

    @property
    def answered(self) -> int:
        """Number of keys that were answered."""

    @property
    def failed(self) -> int:
        """Number of keys that failed."""


@dataclass(frozen=True, slots=True)
class SweepStatus(LoopStatus):
    """The progress of a sweep: `positions: 3,700 of 10,000 in 4.1 s, 902 a second, about 7.0 s left; 3 failed`.

    Attributes:
        asked: number of keys that were asked for in this run.
        failed: number of those that failed.
    """

    asked: int = 0
    failed: int = 0

    @property
    def remaining(self) -> float | None:
        """Seconds left at the rate of this run, or None if that is unknown."""
        if self.total is None or not self.asked or self.done > self.total:
            return None
        return self.elapsed / self.asked * (self.total - self.done)

    @property
    def _rate(self) -> str:
        if not self.asked or not self.elapsed:
            return ""
        rate = self.asked / self.elapsed
        return f", {rate:,.0f} a second" if rate >= 9.95 else f", {rate:.1f} a second"

    @property
    def _failures(self) -> str:
        return f"; {self.failed:,} failed" if self.failed else ""


class SweepProgress:
    """Shows how far a sweep is, a few times a second.

    Args:
        label: what is swept.
        is_replay: True to show nothing.
        line: returns where progress is shown, or None for nowhere.
        seconds: a monotonic clock.
        traffic: counts of calls that were sent and that were replayed.
    """

    def __init__(
        self,
        label: str,
        *,
        is_replay: bool,
        line: Callable[[], Line | None] = line_here,
        seconds: Callable[[], float] = time.monotonic,
        traffic: Traffic = TRAFFIC,
    ) -> None:
        self._label = label
        self._is_silent = is_replay or is_offline()
        self._make_line = line
        self._seconds = seconds
        self._traffic = traffic
        self._line: Line | None = None
        self._started = seconds()
        self._sent = traffic.sent

    def watch(self, tally: Tally, source: KeySource) -> None:
        """Show how far the sweep is."""
        is_early = self._seconds() - self._started < _QUIET
        if self._is_silent or is_early or self._traffic.sent == self._sent:
            return
        self._line = self._line or self._make_line()
        if self._line is not None:
            with suppress(Exception):  # a closed terminal must not end the sweep
                self._line.show(self._status(tally, source))

    @contextmanager
    def shown(self, tally: Tally, source: KeySource) -> Iterator[None]:
        """Leave a line of text behind when the sweep ends, also early."""
        text = SweepStatus.stopped_text
        try:
            yield
            text = SweepStatus.finished_text
        finally:
            if self._line is not None:
                with suppress(Exception):
                    self._line.end(text(self._status(tally, source)))

    def _status(self, tally: Tally, source: KeySource) -> SweepStatus:
        asked = tally.answered + tally.failed
        elapsed = self._seconds() - self._started
        return SweepStatus(source.skipped + asked, source.total, elapsed, self._label, asked, tally.failed)
