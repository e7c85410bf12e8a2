"""Which token requests are tried again, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.tokens.single_flight import with_retries
from toolkit.core.clock import ManualClock
from toolkit.core.errors import TokenRefused, Unreachable
from toolkit.transport.flow import Pause
from toolkit.transport.retry import Retry

PASSING = [
    TokenRefused("down", status=503),
    TokenRefused("down", status=500),
    TokenRefused("too many", status=429),
    TokenRefused("late", status=408),
    TokenRefused("busy", status=400, error="temporarily_unavailable"),
    Unreachable("no connection"),
]


class Endpoint:
    """A token endpoint with a clock of its own that fails as planned."""

    def __init__(self, failures, *, takes=0.0):
        self.failures = list(failures)
        self.clock = ManualClock()
        self.takes = takes
        self.tries = 0
        self.pauses = []

    def attempt(self, number):
        self.tries += 1
        assert number == self.tries
        self.clock.advance(self.takes)
        if self.failures:
            raise self.failures.pop(0)
        return "token"
        yield

    def outcome(self, jitter=0.5):
        """Return the token; pauses are recorded and end at once."""
        flow = with_retries(self.attempt, self.clock, Retry(), jitter=lambda: jitter)
        try:
            while True:
                pause = next(flow)
                assert isinstance(pause, Pause)
                self.pauses.append(pause.seconds)
                self.clock.advance(pause.seconds)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("failure", PASSING, ids=str)
def test_bounded_tries(failure):
    """There are at most four tries; the error tells their number, keeps its data, and has no context."""
    endpoint = Endpoint([failure] * 9)
    with pytest.raises(type(failure)) as caught:
        endpoint.outcome()
    assert endpoint.tries == 4
    assert "4 tries" in str(caught.value)
    assert getattr(caught.value, "status", None) == getattr(failure, "status", None)
    assert caught.value.__context__ is caught.value.__cause__ is None


@given(
    st.lists(st.tuples(st.sampled_from(PASSING), st.none() | st.floats(0, 100)), max_size=12),
    st.floats(0, 40),
    st.floats(0, 1),
)
def test_bounds(failures, takes, jitter):
    """Whatever fails and whatever the service asks, there are at most four tries within 30 s."""
    errors = [
        TokenRefused("x", status=failure.status, retry_after=seconds) if isinstance(failure, TokenRefused) else failure
        for failure, seconds in failures
    ]
    passing = [failure for failure in errors if failure.is_passing]
    endpoint = Endpoint(passing, takes=takes)
    try:
        endpoint.outcome(jitter)
    except (TokenRefused, Unreachable):
        assert len(passing) >= endpoint.tries
    else:
        assert endpoint.tries == len(passing) + 1
    assert 1 <= endpoint.tries <= 4
    assert sum(endpoint.pauses) + takes * (endpoint.tries - 1) <= 30 + 1e-9
