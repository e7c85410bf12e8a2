"""What can be lent of a session, and what cannot, with the reason."""

import ssl

import httpx
import pytest
from manual_clock import ManualClock

import toolkit as tk
from toolkit.sweeps.lend import terms_of
from toolkit.transport.network import Network


@pytest.fixture
def session(make_credentials, settings):
    """Return a session that can be lent."""
    return tk.Session(credentials=make_credentials("broker-sandbox", name="desk"), settings=settings, timeout=7)


def test_the_terms_of_a_session(session, settings):
    """Addresses without the auth address, the caller without a secret, and the options that travel."""
    terms = terms_of(session, "loan")
    names = ("broker_sandbox", "market_data_sandbox")
    assert terms.addresses == {name: settings.addresses[name] for name in names}
    assert (terms.environment, terms.profile, terms.kind) == ("broker-sandbox", "desk", "client secret")
    assert terms.options == {"timeout": httpx.Timeout(7.0, pool=None), "verify": True, "retry": session.retry}
    assert session.credentials.client_secret.reveal() not in repr(terms)


@pytest.mark.parametrize("is_async", [False, True])
def test_its_tokens_are_the_sessions_own(is_async, make_credentials, settings, service, monkeypatch):
    """The lender and the session use one token; a refused token is replaced once. No event loop is needed."""
    monkeypatch.setattr(Network, "handle_request", lambda self, request: service.handle_request(request))
    credentials = make_credentials("broker-sandbox", name="desk")
    session = (tk.AsyncSession if is_async else tk.Session)(credentials=credentials, settings=settings)
    lender = tk.lend(session, None).lender
    token = lender.obtain()
    assert (len(service.token_requests), session.token) == (1, token)
    for was_accepted, number in ((False, 2), (True, 3), (False, 3)):  # the last was never accepted
        lender.turn()
        fields = lender.fields()
        lender.note({"number": fields["number"], "is_refused": True, "was_accepted": was_accepted})
        lender.turn()
        assert lender.fields()["number"] == number
        assert len(service.token_requests) == number
    lender.network.close()


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"transport": "service"}, "transport"),
        ({"clock": ManualClock()}, "clock"),
        ({"verify": ssl.create_default_context()}, "verify"),
        ({"cassette": "new", "mode": "new_episodes"}, "cassette"),
    ],
)
def test_what_cannot_travel_is_refused(options, about, make_credentials, settings, service):
    """A transport, clock, TLS context or cassette is an object of this process."""
    options = {name: service if value == "service" else value for name, value in options.items()}
    session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=settings, **options)
    with pytest.raises(tk.ConfigurationError, match="cannot be lent") as error:
        terms_of(session, "loan")
    assert error.value.about == about
    session.close()


@pytest.mark.parametrize("environment", ["live", "paper"])
def test_a_key_pair_cannot_be_lent(environment, make_credentials, settings):
    """The workers would get the secret key itself."""
    session = tk.Session(credentials=make_credentials(environment), settings=settings)
    with pytest.raises(tk.CredentialsMismatch, match="the secret key itself"):
        terms_of(session, "loan")


def test_destinations_are_checked_where_the_credentials_are(make_credentials, settings):
    """Credentials that are bound to other addresses are refused before anything is lent."""
    credentials = make_credentials("broker-sandbox")
    credentials.note_source("saved", {"broker_sandbox": "https://elsewhere.example.com"})
    session = tk.Session(credentials=credentials, settings=settings)
    with pytest.raises(tk.UnsafeAddress, match="would be sent to a new destination"):
        terms_of(session, "loan")
