"""An access token: its lifetime on two clocks, and what it shows."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
TEXT = "QXZ-token-QXZ-token"


def made(lifetime=890):
    """Return a token requested at START, when the monotonic clock stood at 100 seconds."""
    return Token(Secret(TEXT), START, START + timedelta(seconds=lifetime), expires_monotonic=100.0 + lifetime)


class TwoClocks:
    """A clock with two readings that are moved independently."""

    def __init__(self, wall=0.0, monotonic=0.0):
        self.wall, self.seconds = wall, monotonic

    def now(self):
        return START + timedelta(seconds=self.wall)

    def monotonic(self):
        return 100.0 + self.seconds


@given(lifetime=st.integers(1, 86400), after=st.floats(0, 90000))
def test_usable(lifetime, after):
    """A token is usable until 10 seconds or 10 % of its lifetime before its end, whichever is less."""
    token = made(lifetime)
    early = min(10.0, lifetime / 10)
    usable = token.is_usable(TwoClocks(after, after))
    if after < lifetime - early - 0.001:
        assert usable
    if after > lifetime - early + 0.001:
        assert not usable


@pytest.mark.parametrize(("wall", "monotonic"), [(895, 0), (0, 895), (895, -50), (-5000, 895)])
def test_both_clocks(wall, monotonic):
    """A token that has expired on either clock is not used: after a sleep, or after the wall clock was set back."""
    assert made().is_usable(TwoClocks())
    assert not made().is_usable(TwoClocks(wall, monotonic))


def test_token_hides_its_text():
    """A token shows its instants but not its text, cannot be pickled, and is copied as it is."""
    token = made()
    for shown in (repr(token), str(token), f"{token}"):
        assert TEXT not in shown
        assert "2026" in shown
    with pytest.raises(TypeError):
        pickle.dumps(token)
    assert copy.deepcopy(token) == token
