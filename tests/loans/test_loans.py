"""A loan within this process, without Dask: both sides share a board, and tests move their clocks."""

from __future__ import annotations

import pickle
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock

import toolkit as tk
from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret
from toolkit.sweeps import borrower as handles
from toolkit.sweeps.borrower import HEARD_FOR, SILENCE, BorrowedCredentials, Borrower, LentSession, Terms
from toolkit.sweeps.lend import Lender, refuse_open_addresses, terms_of
from toolkit.transport.flow import run

LOAN = "1f2e3d4c5b6a7988"
TERMS = Terms(
    loan=LOAN,
    environment="broker-sandbox",
    profile="desk",
    kind="client secret",
    addresses={"broker_sandbox": "https://broker.example.com"},
    header_prefix="SVC",
    options={"timeout": 7.0, "verify": True, "retry": tk.Retry(tries=2), "per_second": None},
    is_async=False,
)


class Lending:
    """A lender, its tokens and its clock, and the board, on which it answers at once unless it is `gone`."""

    def __init__(self, lifetime=900.0):
        self.clock, self.lifetime = ManualClock(), lifetime
        self.token, self.requested, self.rejected = None, 0, []
        self.renews_rejected, self.failure, self.gone = True, None, False
        self.reports = []
        self.lender = Lender(self, None, self.clock)
        self.turn()

    def obtain(self):
        if self.token is None or not self.token.is_usable(self.clock):
            if self.failure is not None:
                raise self.failure
            self.requested += 1
            now, until = self.clock.now(), self.clock.monotonic() + self.lifetime
            secret = Secret(secrets.token_urlsafe(24))
            self.token = Token(secret, now, now + timedelta(seconds=self.lifetime), expires_monotonic=until)
        yield from ()
        return SimpleNamespace(token=self.token)

    def reject(self, token, *, was_accepted):
        self.rejected.append((token, was_accepted))
        self.token = None if self.renews_rejected else token
        return self.renews_rejected

    def turn(self):
        wait = self.lender.turn()
        self.published = self.lender.fields()
        return wait

    def read(self):
        return self.published

    def report(self, fields):
        self.reports.append(fields)
        if not self.gone:
            self.lender.note(fields)
            self.turn()

    def session(self, service, settings, **options):
        addresses = {name: settings.addresses[name] for name in ("broker_sandbox", "market_data_sandbox")}
        credentials = BorrowedCredentials(TERMS._replace(addresses=addresses), Borrower(LOAN, self))
        options = {"settings": replace(settings, addresses=addresses), "clock": self.clock} | options
        return tk.Session(credentials=credentials, transport=service, **options)


@pytest.fixture
def lending():
    return Lending()


def borrow(borrower, clock, *, refused=None, was_accepted=False):
    """Return the token that a borrower gets."""
    return run(borrower.borrow(clock, refused=refused, was_accepted=was_accepted), httpx.MockTransport(None))


@given(
    lifetime=st.floats(2, 900),
    days_ahead=st.floats(-2, 2),
    pauses=st.lists(st.floats(0.01, 700), min_size=1, max_size=15),
)
def test_no_clock_and_no_pause_gives_a_token_that_has_expired(lifetime, days_ahead, pauses):
    """While the lender lives, a borrowed token is good at the service, whatever the borrower's clock says."""
    lending = Lending(lifetime)
    clock = ManualClock(lending.clock.now() + timedelta(days=days_ahead))
    borrower = Borrower(LOAN, lending)
    for pause in pauses:
        token = borrow(borrower, clock)
        assert token.is_usable(clock)
        assert token.access_token == lending.token.access_token
        assert token.expires_monotonic - clock.monotonic() <= min(HEARD_FOR, lending.lifetime / 20) + 1e-6
        for each in (clock, lending.clock):
            each.advance(pause)
        lending.turn()


@pytest.mark.parametrize("days_ahead", [-2, 0, 2])
def test_a_lender_that_is_gone_is_an_error_within_ten_seconds(lending, days_ahead):
    """A killed lender leaves its variable, which says nothing new; one that comes back is used again."""
    clock = ManualClock(lending.clock.now() + timedelta(days=days_ahead))
    borrower = Borrower(LOAN, lending)
    borrow(borrower, clock)
    lending.gone = True
    clock.advance(HEARD_FOR)
    with pytest.raises(tk.TokenError, match="is gone"):
        borrow(borrower, clock)
    assert clock.monotonic() < HEARD_FOR + SILENCE + 1 < 10
    assert 1 < len(lending.reports) < 5
    before = clock.monotonic()
    with pytest.raises(tk.TokenError, match="is gone"):
        borrow(borrower, clock)
    assert clock.monotonic() - before < 10
    lending.gone = False
    lending.turn()
    assert borrow(borrower, clock).is_usable(clock)


def test_a_refused_token_is_replaced_once(lending):
    """All borrowers get the one replacement; reports of older tokens, and other things on the topic, change nothing."""
    borrowers = [Borrower(LOAN, lending) for _ in range(3)]
    old = [borrow(each, lending.clock) for each in borrowers]
    first = lending.token
    new = {
        borrow(each, lending.clock, refused=token.access_token, was_accepted=True)
        for each, token in zip(borrowers, old, strict=True)
    }
    assert {token.access_token for token in new} == {lending.token.access_token}
    for report in (None, "text", {"number": 1, "is_refused": True}, {"number": True}):
        lending.lender.note(report)
        lending.turn()
    assert (lending.rejected, lending.requested) == ([(first, True)], 2)


def test_a_declined_replacement_gives_the_same_token(lending):
    """Then the service's own answer reaches the caller, and nobody asks further."""
    lending.renews_rejected = False
    borrower = Borrower(LOAN, lending)
    token = borrow(borrower, lending.clock)
    for _ in range(3):
        assert borrow(borrower, lending.clock, refused=token.access_token).access_token == token.access_token
    assert (len(lending.rejected), lending.requested) == (1, 1)


def test_the_lenders_problem_is_the_borrowers(lending):
    """If the lender cannot get a token, the borrower's error says why."""
    lending.failure = tk.TokenError("The token endpoint refused the credentials: status 401.")
    lending.clock.advance(901)
    lending.turn()
    with pytest.raises(tk.TokenError, match="refused the credentials"):
        borrow(Borrower(LOAN, lending), lending.clock)


def test_what_is_no_loan_any_more_is_an_error_at_once(lending):
    """A loan that is over, and a variable of another version, which is not quoted."""
    lending.lender.end()
    lending.turn()
    for published, words in ((lending.published, "has ended"), ({"version": 1}, "another version")):
        lending.published = published
        with pytest.raises(tk.TokenError, match=words):
            borrow(Borrower(LOAN, lending), lending.clock)
    assert lending.clock.monotonic() == 0


def test_the_end_of_a_loan_waits_for_no_renewal(lending):
    """The thread of the lender, which waits until a renewal is due, ends at once."""
    published = threading.Event()
    thread = threading.Thread(target=lending.lender.run, args=[published.set], daemon=True)
    thread.start()
    assert published.wait(10)
    lending.lender.end()
    thread.join(10)
    assert not thread.is_alive()


def test_a_session_with_a_loan_never_requests_a_token(lending, service, settings):
    """Its calls carry the lender's token; a 401 gets the newest one once, and a second 401 reaches the caller."""
    session = lending.session(service, settings)
    session.broker.get("/v1/accounts")
    lending.clock.advance(896)
    lending.turn()
    session.broker.get("/v1/accounts")
    assert list(session.calls()["token"]) == [1, 2]
    revoked = lending.token.access_token.reveal()
    service.answer = lambda request: service.reply({}, 401 if revoked in request.headers["Authorization"] else 200)
    assert session.broker.get("/v1/accounts").status_code == 200
    service.answer = lambda request: service.reply({}, 401)
    assert [session.broker.get("/v1/accounts").status_code for _ in range(3)] == [401] * 3
    assert lending.requested <= 4
    assert service.token_requests == []
    with pytest.raises(tk.ConfigurationError):
        tk.save_credentials(session.credentials, "desk")
    with pytest.raises(tk.CredentialsMismatch, match="uses borrowed tokens"):
        terms_of(session, LOAN)


def test_borrowed_tokens_go_to_the_lenders_addresses_only(lending, service, settings):
    """Borrowed credentials are bound, so code on a worker cannot send the token elsewhere by mistake."""
    elsewhere = tk.Settings({"broker_sandbox": "https://elsewhere.example.com"})
    credentials = lending.session(service, settings).credentials
    session = tk.Session(credentials=credentials, settings=elsewhere, transport=service, clock=lending.clock)
    with pytest.raises(tk.UnsafeAddress, match="elsewhere"):
        session.broker.get("/v1/accounts")
    assert service.requests == []


def test_the_handle_has_no_secret(make_credentials, settings):
    """A handle goes to the workers in the arguments of tasks, which logs and dashboards show."""
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings)
    lent = LentSession(terms_of(session, LOAN))
    assert pickle.loads(pickle.dumps(lent)).terms == lent.terms  # noqa: S301
    secret = session.credentials.client_secret.reveal().encode()
    for data in (pickle.dumps(lent), repr(lent).encode(), str(vars(lent)).encode()):
        assert secret not in data


def test_it_works_as_a_session(monkeypatch):
    """Environment, interfaces and options are the lender's; there is no auth interface to request tokens from."""
    monkeypatch.setattr(handles, "SESSIONS", {})
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    lent = LentSession(TERMS)
    for name in ("__dask_graph__", "_meta", "npartitions"):  # Dask asks every argument for attributes of its own
        assert not hasattr(lent, name)
    assert handles.SESSIONS == {}
    assert (lent.environment, lent.credentials.name, lent.credentials.secrets()) == ("broker-sandbox", "desk", ())
    assert (str(lent.broker.base_url), lent.broker.timeout.read) == ("https://broker.example.com", 7.0)
    assert (lent.retry, "auth_sandbox" in lent.settings.addresses) == (tk.Retry(tries=2), False)
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: id(LentSession(TERMS).broker), range(50)))) == 1
    for number in range(100):
        handles.session_for(TERMS._replace(loan=str(number), is_async=True))
    assert len(handles.SESSIONS) == handles._MOST_SESSIONS


def test_other_machines_need_tls():
    """A token would cross the network in the clear; on loopback, programs of this machine can read it."""
    private = ["inproc://10.0.0.3/7/1", "tls://c:1", "tls://127.0.0.1:1", "wss://c:1"]
    assert refuse_open_addresses(private) == ""
    for address in ("tcp://10.0.0.3:8786", "10.0.0.3:8786", "ws://cluster:80", "tcp://[fe80::1]:1", "ucx://h:1"):
        with pytest.raises(tk.UnsafeAddress, match="does not use TLS"):
            refuse_open_addresses([*private, address])
    for address in ("tcp://127.0.0.1:1", "tcp://[::1]:1", "tcp://localhost:1", "127.0.0.1:1"):
        assert refuse_open_addresses([*private, address]) == address
