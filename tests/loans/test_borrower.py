"""The borrower: which token it uses, when it asks the lender, and when it gives up."""

from dataclasses import replace
from datetime import timedelta

import pytest
from loan_parts import LOAN, Lending, borrow

import toolkit as tk
from toolkit.core.clock import ManualClock
from toolkit.core.errors import TokenError
from toolkit.loans.borrower import SILENCE
from toolkit.loans.lender import Ask
from toolkit.session import Session


@pytest.fixture
def lending():
    lending = Lending()
    lending.lender.turn()
    return lending


def test_a_published_token_is_borrowed(lending):
    """A borrower reads once and asks nothing."""
    token = borrow(lending.borrower(), lending.clock)
    assert token.access_token == lending.keeper.token.access_token
    assert (lending.board.reads, lending.board.asks) == (1, [])


def test_a_loan_that_is_over_is_an_error(lending):
    """The tombstone says so, at once."""
    lending.lender.end()
    lending.board.publish()
    with pytest.raises(TokenError, match="has ended"):
        borrow(lending.borrower(), lending.clock)
    assert lending.clock.monotonic() == 0


def test_a_lost_scheduler_is_an_error(lending):
    """Without the scheduler there is no token."""
    lending.board.is_lost = True
    with pytest.raises(TokenError, match="the scheduler gave no answer"):
        borrow(lending.borrower(), lending.clock)


def test_a_refused_token_is_reported_once_by_all_borrowers(lending):
    """Each borrower asks with the number of its token, and all get the one replacement."""
    borrowers = [lending.borrower() for _ in range(3)]
    old = [borrow(borrower, lending.clock) for borrower in borrowers]
    new = {
        borrow(borrower, lending.clock, refused=token, was_accepted=True).access_token
        for borrower, token in zip(borrowers, old, strict=True)
    }
    assert new == {lending.keeper.token.access_token}
    assert lending.board.asks == [Ask(1, is_refused=True, was_accepted=True)]
    assert lending.keeper.requested == 2


def test_a_declined_replacement_gives_the_same_token(lending):
    """Then the service's own answer reaches the caller, as in the lender's session."""
    borrower = lending.borrower()
    token = borrow(borrower, lending.clock)
    lending.keeper.renews_rejected = False
    assert borrow(borrower, lending.clock, refused=token) == token


@pytest.mark.parametrize("ahead", [-7200, -60, 0, 3, 60, 7200])
def test_other_clocks_are_no_obstacle(lending, ahead):
    """A borrower whose clock is off uses the token, and stops using it in time."""
    clock = ManualClock(lending.clock.now() + timedelta(seconds=ahead))
    token = borrow(lending.borrower(), clock)
    assert token.is_usable(clock)
    assert token.expires_monotonic <= 900


def use_until(end, borrower, clock, token):
    """Use borrowed tokens, each until it is to be looked up again."""
    while clock.monotonic() < end:
        clock.advance(max(token.renew_monotonic - clock.monotonic(), 0.001))
        token = borrow(borrower, clock)


@pytest.mark.parametrize("ahead", [0, 3, 60, 7200])
def test_a_lender_that_is_gone_is_an_error_within_a_lifetime(lending, ahead):
    """A killed lender leaves its variable. Its token is used until it ends, then there is none."""
    clock = ManualClock(lending.clock.now() + timedelta(seconds=ahead))
    borrower = lending.borrower()
    token = borrow(borrower, clock)
    lending.gone = True
    with pytest.raises(TokenError, match="is gone"):
        use_until(1000, borrower, clock, token)
    assert 890 - ahead < clock.monotonic() <= 900.5
    at_once = clock.monotonic()
    with pytest.raises(TokenError, match="is gone"):
        borrow(borrower, clock)
    assert clock.monotonic() == at_once


def test_a_first_read_of_an_old_variable_waits_for_an_answer_only(lending):
    """A worker that starts after the lender was killed asks, and gives up soon."""
    lending.gone = True
    lending.clock.advance(901)
    with pytest.raises(TokenError, match="is gone"):
        borrow(lending.borrower(), lending.clock)
    assert lending.clock.monotonic() - 901 == pytest.approx(SILENCE, abs=0.6)
    assert 1 < len(lending.board.asks) < 5


def test_a_lender_that_comes_back_is_used(lending):
    """A lender that was cut off and renews again is not gone for good."""
    borrower = lending.borrower()
    lending.clock.advance(901)
    lending.gone = True
    with pytest.raises(TokenError, match="is gone"):
        borrow(borrower, lending.clock)
    lending.gone = False
    lending.clock.advance(100)
    lending.lender.turn()
    assert borrow(borrower, lending.clock).is_usable(lending.clock)


def test_the_lenders_problem_is_the_borrowers(lending):
    """If the lender cannot get a token, the borrower's error says why."""
    lending.keeper.failure = TokenError("The token endpoint refused the credentials: status 401.")
    lending.clock.advance(901)
    with pytest.raises(TokenError, match="refused the credentials"):
        borrow(lending.borrower(), lending.clock)


def test_a_slow_renewal_is_waited_for(lending):
    """A lender that answers, but has no new token yet, is not gone."""
    turns = []

    def answer(ask):
        lending.lender.note(ask)
        lending.board.publish()
        turns.append(ask)
        if len(turns) == 8:
            lending.lender.turn()

    lending.board.answer = answer
    lending.clock.advance(901)
    assert borrow(lending.borrower(), lending.clock).is_usable(lending.clock)
    assert lending.clock.monotonic() - 901 > SILENCE


def lent_session(lending, service, settings, **options):
    """Return a session on a service within this process that borrows its tokens."""
    addresses = {name: settings.addresses[name] for name in ("broker_sandbox", "market_data_sandbox")}
    credentials = lending.credentials(addresses)
    return Session(
        credentials=credentials,
        settings=replace(settings, addresses=addresses),
        transport=service,
        clock=lending.clock,
        **options,
    )


def test_a_session_with_a_loan_never_requests_a_token(lending, service, settings):
    """Its calls carry the lender's token and are in its ledger; the token is renewed by the lender."""
    session = lent_session(lending, service, settings)
    session.broker.get("/v1/accounts")
    lending.clock.advance(896)
    lending.lender.turn()
    session.broker.get("/v1/accounts")
    sent = [request.headers["Authorization"] for request in service.calls]
    assert service.token_requests == []
    assert len(set(sent)) == 2
    assert sent[1] == f"Bearer {lending.keeper.token.access_token.reveal()}"
    assert list(session.calls()["token"]) == [1, 2]
    assert (session.credentials.name, str(session.credentials.kind)) == ("desk", "client secret")
    assert LOAN in session.credentials.loaded_from


def test_a_401_gets_the_newest_token_once(lending, service, settings):
    """The call is repeated with the replacement; a second 401 reaches the caller."""
    session = lent_session(lending, service, settings)
    revoked = lending.keeper.token.access_token.reveal()
    service.answer = lambda request: service.reply({}, 401 if revoked in request.headers["Authorization"] else 200)
    assert session.broker.get("/v1/accounts").status_code == 200
    assert (lending.keeper.requested, len(service.calls)) == (2, 2)
    service.answer = lambda request: service.reply({}, 401)
    assert session.broker.get("/v1/accounts").status_code == 401
    assert session.broker.get("/v1/accounts").status_code == 401
    assert lending.keeper.requested == 3


def test_borrowed_tokens_go_to_the_lenders_addresses_only(lending, service, settings):
    """Borrowed credentials are bound, so code on a worker cannot send the token elsewhere by mistake."""
    elsewhere = tk.Settings({"broker_sandbox": "https://elsewhere.example.com"})
    session = Session(
        credentials=lent_session(lending, service, settings).credentials,
        settings=elsewhere,
        transport=service,
        clock=lending.clock,
    )
    with pytest.raises(tk.UnsafeAddress, match="elsewhere"):
        session.broker.get("/v1/accounts")
    assert service.requests == []


def test_borrowed_credentials_cannot_be_saved(lending, settings):
    """There is nothing to save; the error says where the credentials are."""
    with pytest.raises(tk.ConfigurationError):
        tk.save_credentials(lending.credentials({}), "desk")
