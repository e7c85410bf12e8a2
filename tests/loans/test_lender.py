"""The lender: when it renews, what it publishes, and what it does about refused tokens."""

import threading

import pytest
from loan_parts import Lending

from toolkit.core.errors import TokenError, Unreachable
from toolkit.loans.lender import COUNT_EVERY, LONGEST_WAIT, RETRY_AFTER, Ask, Lender
from toolkit.loans.publication import Publication


def latest(lending):
    return Publication.from_fields(lending.board.fields)


def live(lending, seconds):
    """Let the lender take its turns for some seconds."""
    end = lending.clock.monotonic() + seconds
    while lending.clock.monotonic() < end:
        lending.clock.advance(min(lending.lender.turn(), end - lending.clock.monotonic()))


@pytest.mark.parametrize(("lifetime", "seconds"), [(900, 4000), (4, 60), (3, 30)])
def test_one_request_for_each_renewal_that_is_due(lifetime, seconds):
    """The token in the publication never expires, and is requested once a lifetime less the early seconds."""
    lending = Lending(lifetime)
    live(lending, seconds)
    early = min(10.0, lifetime / 10)
    assert lending.keeper.requested == 1 + seconds // (lifetime - early + 0.01)
    assert latest(lending).number == lending.keeper.requested


def test_each_turn_publishes_what_is_left():
    """A turn comes every 30 seconds at least, and tells borrowers how much of the lifetime is left."""
    lending = Lending()
    assert lending.lender.turn() == LONGEST_WAIT
    lending.clock.advance(30)
    lending.lender.turn()
    assert (latest(lending).edition, latest(lending).number, latest(lending).left) == (2, 1, 870.0)


def test_a_refused_token_is_replaced_once():
    """Many borrowers report one token: it is rejected once. Reports of older tokens change nothing."""
    lending = Lending()
    lending.lender.turn()
    first = lending.keeper.token
    for was_accepted in (False, True, False):
        lending.lender.note(Ask(1, is_refused=True, was_accepted=was_accepted))
    lending.lender.turn()
    lending.lender.note(Ask(1, is_refused=True))
    lending.lender.turn()
    assert lending.keeper.rejected == [(first, True)]
    assert (lending.keeper.requested, latest(lending).number) == (2, 2)


def test_a_replacement_that_is_not_worth_it_is_declined():
    """If the session would not replace a refused token, borrowers are told, and asked no further."""
    lending = Lending()
    lending.lender.turn()
    lending.keeper.renews_rejected = False
    for _ in range(3):
        lending.lender.note(Ask(1, is_refused=True))
        lending.lender.turn()
    assert len(lending.keeper.rejected) == 1
    assert (latest(lending).number, latest(lending).declined) == (1, 1)


def test_a_question_about_a_good_token_changes_nothing():
    """A borrower whose clock is ahead asks early; the lender does not renew for that."""
    lending = Lending()
    lending.lender.turn()
    lending.lender.note(Ask(1))
    lending.lender.turn()
    assert (lending.keeper.requested, lending.keeper.rejected) == (1, [])


@pytest.mark.parametrize("error", [TokenError("refused."), Unreachable("no connection.")])
def test_failures_are_published_and_tried_again_less_and_less_often(error):
    """While there is no token, borrowers learn why; afterwards they get the new one."""
    lending = Lending()
    lending.keeper.failure = error
    waits = [lending.lender.turn() for _ in range(7)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 16.0]
    assert (latest(lending).problem, latest(lending).access_token) == (str(error), None)
    lending.keeper.failure = None
    lending.lender.turn()
    assert (latest(lending).problem, latest(lending).number) == ("", 1)


def test_a_publication_that_fails_is_repeated_soon():
    """If the scheduler cannot be reached, the next turn comes after a second."""
    lending = Lending()
    lender = Lender(lending.state, lending.keeper, clock=lending.clock, publish=lambda: False)
    assert lender.turn() == RETRY_AFTER


def test_a_rate_is_divided_by_the_borrowers_of_the_moment():
    """The share is counted every two seconds."""
    lending = Lending()
    workers = [4]
    lender = Lender(
        lending.state, lending.keeper, clock=lending.clock, publish=lending.board.publish, share=lambda: 10 / workers[0]
    )
    assert lender.turn() == COUNT_EVERY
    assert latest(lending).share == 2.5
    workers[0] = 5
    lender.turn()
    assert latest(lending).share == 2.0


def test_after_the_end_there_are_only_tombstones():
    """The thread ends, and a turn that was under way publishes no token."""
    lending = Lending()
    thread = threading.Thread(target=lending.lender.run)
    thread.start()
    lending.lender.end()
    thread.join(10)
    assert not thread.is_alive()
    lending.lender.turn()
    assert latest(lending).is_over
    assert latest(lending).access_token is None


@pytest.mark.parametrize("fields", [None, "text", {}, {"number": "1"}, {"number": True}])
def test_other_questions_are_ignored(fields):
    """Anybody who is connected to the scheduler can post to the topic."""
    assert Ask.from_fields(fields) is None
