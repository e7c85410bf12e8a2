"""Rate limits for calls, shared by all threads, tasks and sessions of this process that use the same credentials.

A call takes a turn, waits until the schedule has reached it, and checks the schedule once more before it is sent. So
calls are sent in the order in which they arrive, and a call that is cancelled only wastes its turn. A new rate applies
to calls that come later. Locks are held only to compute, never while waiting.
"""

from __future__ import annotations

import math
import threading
from typing import Final
from weakref import WeakKeyDictionary, WeakSet

from toolkit.core.ledger import Clock, SystemClock
from toolkit.transport.flow import Pause

_LONGEST_SLEEP: Final = 3600.0  # seconds; a low rate may ask for more than a system can sleep at once
_EXACT: Final = 1e-6  # seconds; tolerance for a clock that is not exact
_LATENESS: Final = 0.1  # seconds by which calls may be late and still catch up with the schedule


class Rate:
    """A rate limit of one session, in force until it is dropped or garbage-collected."""

    __slots__ = ("__weakref__", "per_second")

    def __init__(self, per_second: float) -> None:
        self.per_second = per_second


class Pace:
    """The schedule of the calls with one set of credentials.

    Each call takes the next instant of the schedule, 1 / rate seconds after the previous one, where the rate is the
    lowest that any session asks for. The schedule is moved forward after a time without calls, and when calls are too
    late (the machine slept, the event loop was busy), since otherwise they would all be sent at once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: WeakSet[Rate] = WeakSet()
        self._last = -math.inf  # the last turn
        self._late = 0.0  # seconds by which the schedule was moved forward because calls were late

    @property
    def is_limited(self) -> bool:
        """True if any session sets a rate limit."""
        return len(self._rates) > 0

    @property
    def per_second(self) -> float | None:
        """The lowest rate of all sessions, or None."""
        return min((rate.per_second for rate in self._rates), default=None)

    def add(self, per_second: float) -> Rate:
        """Ask for a rate; it applies for as long as the returned object is kept."""
        rate = Rate(per_second)
        with self._lock:
            self._rates.add(rate)
        return rate

    def drop(self, rate: Rate) -> None:
        """Stop asking for a rate."""
        with self._lock:
            self._rates.discard(rate)

    def turn(self, now: float) -> float:
        """Add a new call to the schedule, and return its turn. `now` is a reading of the monotonic clock in seconds."""
        with self._lock:
            rate = self.per_second
            self._last = max(now - self._late, self._last + (1 / rate if rate else 0.0))
            return self._last

    def seconds_left(self, turn: float, now: float) -> float:
        """Return the number of seconds until a call is due. If it is 0, the call must be sent now."""
        with self._lock:
            rate, left = self.per_second, turn + self._late - now
            if rate is None or abs(left) <= _EXACT:
                return 0.0
            if left > 0:
                return left
            if -left > max(_LATENESS, 1 / rate):
                self._late -= left
            return 0.0


def nap(pace: Pace, turn: float, clock: Clock) -> Pause | None:
    """Return how long to wait before checking again whether a call is due, or None if it is due."""
    left = pace.seconds_left(turn, clock.monotonic())
    return Pause(min(left, _LONGEST_SLEEP), clock) if left else None


_THIS_MACHINE: Final = SystemClock()
_PACES: Final[WeakKeyDictionary[Clock, dict[str, Pace]]] = WeakKeyDictionary()


def pace_of(key: str, clock: Clock) -> Pace:
    """Return the pace shared by all sessions with the same credentials (identified by `key`) and the same clock."""
    shared = _THIS_MACHINE if isinstance(clock, SystemClock) else clock
    try:
        return _PACES.setdefault(shared, {}).setdefault(key, Pace())
    except TypeError:  # a clock that cannot be a dictionary key: each session gets its own pace
        return Pace()
