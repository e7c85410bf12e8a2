"""Calls at a limited rate: when each of them is due."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

from toolkit.transport.pacing import Pace, nap, pace_of


class Caller:
    """A caller that waits for its turn on a clock of its own, and notes when it is sent."""

    def __init__(self, pace, now):
        self.pace, self.clock = pace, ManualClock()
        self.clock.advance(now)
        self.turn = pace.turn(now)

    def sent(self):
        """Wait, and return the instant at which the call may be sent."""
        while (pause := nap(self.pace, self.turn, self.clock)) is not None:
            assert pause.seconds > 0
            self.clock.sleep(pause.seconds)
        return self.clock.monotonic()


def limited(per_second):
    """Return a pace with a rate, and what keeps the rate in force."""
    pace = Pace()
    return pace, pace.add(per_second)


@given(st.lists(st.floats(0, 3), max_size=30), st.floats(0.5, 20))
def test_calls_that_come_later(gaps, per_second):
    """Whenever calls come: none is sent before its time, and within no second are there more than the rate allows."""
    pace, _rate = limited(per_second)
    now, sent = 0.0, []
    for gap in gaps:
        now += gap
        sent.append(Caller(pace, now).sent())
        assert sent[-1] >= now
    assert all(later - earlier >= 1 / per_second - 1e-5 for earlier, later in pairwise(sent))


def test_calls_that_are_late():
    """A call that is very late moves the schedule on, one that is a little late does not; without a rate none waits."""
    pace, rate = limited(10)
    turns = [pace.turn(0.0) for _ in range(3)]
    assert pace.seconds_left(turns[0], 5.0) == 0
    assert pace.seconds_left(turns[1], 5.0) == pytest.approx(0.1)
    assert pace.seconds_left(turns[1], 5.15) == 0
    assert pace.seconds_left(turns[2], 5.15) == pytest.approx(0.05)
    pace.drop(rate)
    assert (pace.is_limited, pace.seconds_left(turns[2], 5.15)) == (False, 0)


def test_clocks_of_their_own():
    """Who has the same credentials and the same clock shares a pace; tests with clocks of their own do not meet."""
    clock = ManualClock()
    assert pace_of("a", clock) is pace_of("a", clock)
    assert pace_of("a", clock) is not pace_of("a", ManualClock())
