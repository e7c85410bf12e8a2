"""Publications: plain data, and how borrowers with other clocks judge the age of a token."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loan_parts import new_token

from toolkit.core.clock import ManualClock
from toolkit.core.register import REGISTER
from toolkit.core.secret import Secret
from toolkit.loans.publication import SHARE_IS_GOOD_FOR, SHORTEST_USE, Publication, borrowed_token, is_late


def published(clock, lifetime=900.0, **changes):
    token = new_token(clock, lifetime)
    publication = Publication(3, 2, token.access_token, token.issued_at, token.expires_at, left=lifetime)
    return replace(publication, **changes)


def worker_clock(lender, ahead):
    """Return a clock of another machine, which is ahead of the lender's by some seconds, or behind."""
    return ManualClock(lender.now() + timedelta(seconds=ahead))


@pytest.mark.parametrize("changes", [{}, {"share": 2.5}, {"problem": "no"}, {"declined": 2}])
def test_fields_are_plain_and_read_back(changes):
    """A publication survives JSON, and reading it makes its token known as a secret. Its repr does not show it."""
    publication = published(ManualClock(), **changes)
    assert Publication.from_fields(json.loads(json.dumps(publication.to_fields()))) == publication
    assert REGISTER.kind_of(publication.access_token) == "ACCESS_TOKEN"
    assert publication.access_token.reveal() not in repr(publication)


def test_tombstone_has_no_token():
    """The publication of a loan that is over is read back without a token."""
    tombstone = Publication.from_fields(Publication(9, is_over=True).to_fields())
    assert tombstone.is_over
    assert borrowed_token(tombstone, ManualClock()) is None


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"edition": -1},
        {"edition": True},
        {"number": "2"},
        {"access_token": "two words"},
        {"access_token": 7},
        {"issued_at": None},
        {"expires_at": "soon"},
        {"expires_at": 7},
        {"expires_at": "2027-01-01T00:00:00Z"},
        {"left": float("nan")},
        {"left": None},
        {"share": "many"},
    ],
)
def test_anything_else_is_refused(change):
    """A value of another shape or version is a ValueError that quotes nothing."""
    fields = {**published(ManualClock()).to_fields(), **change}
    with pytest.raises(ValueError, match=r"^(?!.*(two words|many))"):
        Publication.from_fields(fields)
    with pytest.raises(ValueError, match="not a publication"):
        Publication.from_fields("text")


@given(
    lifetime=st.floats(2, 900),
    age=st.floats(0, 900),
    ahead=st.floats(-3600, 3600),
    is_fresh=st.booleans(),
    delay=st.floats(0, 5),
)
def test_no_clock_makes_a_token_last_longer(lifetime, age, ahead, is_fresh, delay):
    """Whatever the borrower's clock says, its token ends within the seconds that were left at the publication.

    A borrower that knows that the publication is fresh uses it for all of them but the delay.
    """
    lender = ManualClock()
    publication = published(lender, lifetime)
    age = 0.0 if is_fresh else min(age, lifetime)
    lender.advance(age)
    clock = worker_clock(lender, ahead)
    clock.advance(delay)
    token = borrowed_token(publication, clock, fresh_since=0.0 if is_fresh else None)
    if token is None:
        assert ahead > 0 or lifetime - age - delay < SHORTEST_USE + 1e-3
        assert not is_fresh or lifetime - delay < SHORTEST_USE + 1e-3
        return
    left = min(token.expires_monotonic - clock.monotonic(), token.remaining(clock.now()).total_seconds())
    assert SHORTEST_USE - 1e-3 <= left <= lifetime + 1e-3
    if is_fresh:
        assert left == pytest.approx(lifetime - delay, abs=1e-3)
    elif abs(ahead) < 1e-9:
        assert left == pytest.approx(lifetime - age - delay, abs=1e-3)
    assert token.is_usable(clock)
    assert (token.access_token, token.lifetime) == (publication.access_token, timedelta(seconds=lifetime))


def test_a_new_token_is_looked_up_after_the_lender_renews_it():
    """A token of 900 s is renewed 10 s before its end, and looked up 5 s before; then ever more often."""
    clock = ManualClock()
    publication = published(clock)
    looks = []
    while (token := borrowed_token(publication, clock)) is not None:
        looks.append(clock.monotonic())
        clock.advance(token.renew_monotonic - clock.monotonic())
        assert not token.is_usable(clock)
    assert looks[:4] == pytest.approx([0.0, 895.0, 897.5, 898.75])
    assert len(looks) < 12
    assert clock.monotonic() == pytest.approx(900.0, abs=2 * SHORTEST_USE)


def test_lateness_begins_when_the_lender_should_have_renewed():
    """A borrower asks as soon as it looks for a successor in vain."""
    clock = ManualClock()
    publication = published(clock)
    assert not is_late(publication, borrowed_token(publication, clock), clock)
    clock.advance(895.0)
    assert is_late(publication, borrowed_token(publication, clock), clock)


def test_a_share_of_a_rate_is_looked_up_often():
    """Workers come and go, so a borrower with a share of a rate does not wait for the end of its token."""
    clock = ManualClock()
    token = borrowed_token(published(clock, share=3.0), clock)
    assert token.renew_monotonic == pytest.approx(SHARE_IS_GOOD_FOR)


def test_a_token_that_is_read_again_is_the_same_token():
    """Reading again gives an equal token, so that it keeps its number in the table of tokens."""
    clock = ManualClock()
    publication = published(clock)
    first = borrowed_token(publication, clock)
    clock.advance(895.0)
    assert borrowed_token(publication, clock) == first
    assert first.access_token != Secret("another")
