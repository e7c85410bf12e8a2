"""How far work is, in words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.notebook.progress import HowFar, duration, ended, so_far, stopped


def test_so_far() -> None:
    """Counts, the time it took, and the time that is left at this pace."""
    assert so_far(HowFar(50, 250, 20.0, "accounts")) == "accounts: 50 of 250 in 20 s, about 80 s left"
    assert so_far(HowFar(1, 1200, 1.0)) == "1 of 1,200 in 1.0 s, about 20 min left"


def test_without_a_total() -> None:
    """Nothing is made up about what is left."""
    assert so_far(HowFar(50, None, 20.0)) == "50 in 20 s"


def test_a_total_that_was_wrong() -> None:
    """More items than were announced: the total is not repeated."""
    assert so_far(HowFar(12, 10, 3.0)) == "12 in 3.0 s"
    assert ended(HowFar(12, 100, 3.0)) == "12 in 3.0 s"


def test_ends() -> None:
    """What stays behind, after the last item and after an early end."""
    assert ended(HowFar(250, 250, 80.0, "accounts")) == "accounts: 250 in 80 s"
    assert stopped(HowFar(37, 250, 12.0, "accounts")) == "accounts: stopped after 37 of 250, 12 s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (9000, "2.5 h"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    """Two figures or so, in the unit that people would say."""
    assert duration(seconds) == text


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.floats(0.001, 10**6))
def test_what_is_left_is_the_pace_so_far(done: int, more: int, elapsed: float) -> None:
    """Elapsed and left together are the pace times the total; nothing is left at the end."""
    left = HowFar(done, done + more, elapsed).left
    assert left is not None
    assert math.isclose(elapsed + left, elapsed / done * (done + more), rel_tol=1e-9)
    assert HowFar(done, done, elapsed).left == 0
