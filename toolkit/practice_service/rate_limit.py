"""A limit on the calls of each holder, as services have one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolkit.core.clock import Clock


class RateLimit:
    """Lets each holder call a number of times a second, after a token bucket.

    A bucket holds the calls of one second, and at least one, so short bursts pass. It fills evenly.

    Args:
        rate: calls a second for each holder, or None for no limit.
        clock: the time of the service.
    """

    def __init__(self, rate: float | None, clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # by holder: calls left, and when that was, in seconds

    def seconds_to_wait(self, holder: str) -> int:
        """Return 0 and count the call, or if it exceeds the limit, whole seconds after which the next may pass."""
        if self._rate is None:
            return 0
        capacity, now = max(1.0, self._rate), self._clock.monotonic()
        left, at = self._buckets.get(holder, (capacity, now))
        left = min(capacity, left + (now - at) * self._rate)
        # A millionth of a call absorbs rounding: a bucket that needs one second is full after one second.
        if left < 1 - 1e-6:
            self._buckets[holder] = left, now
            return math.ceil((1 - 1e-6 - left) / self._rate)
        self._buckets[holder] = left - 1, now
        return 0
