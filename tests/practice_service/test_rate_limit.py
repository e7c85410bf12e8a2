from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

from toolkit.practice_service.app import RateLimit


@given(
    rate=st.floats(0.05, 50),
    pauses=st.lists(st.floats(0, 3), max_size=60),
)
def test_never_more_than_the_rate(rate, pauses):
    """In any stretch of time at most its share of calls and one full bucket pass."""
    clock = ManualClock()
    limit, passed = RateLimit(rate, clock), []
    for pause in pauses:
        clock.advance(pause)
        if limit.seconds_to_wait("holder") == 0:
            passed.append(clock.monotonic())
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            assert last - first + 1 <= rate * (passed[last] - start) + max(1, rate) + 1e-3


@given(rate=st.floats(0.05, 50))
def test_wait_is_enough(rate):
    """Who waits as long as the answer says may call again, and the wait is at least a second."""
    clock = ManualClock()
    limit = RateLimit(rate, clock)
    while not (seconds := limit.seconds_to_wait("holder")):
        pass
    assert isinstance(seconds, int)
    assert seconds >= 1
    clock.advance(seconds)
    assert limit.seconds_to_wait("holder") == 0
