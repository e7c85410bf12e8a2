"""What can be lent of a session, and what cannot, with the reason."""

import pickle
import ssl
from dataclasses import replace

import httpx
import pytest

import toolkit as tk
from toolkit.core.clock import ManualClock
from toolkit.loans.lending import lendable
from toolkit.transport.network import Network


@pytest.fixture
def session(make_credentials, settings):
    """Return a session that can be lent."""
    return tk.Session(credentials=make_credentials("broker-sandbox", name="desk"), settings=settings, timeout=7)


def test_the_parts_of_a_session(session, settings):
    """Addresses without the auth address, the caller without a secret, and the options that travel."""
    parts = lendable(session)
    names = ("broker_sandbox", "market_data_sandbox")
    assert parts.addresses == {name: settings.addresses[name] for name in names}
    assert (parts.environment, parts.profile, parts.kind) == ("broker-sandbox", "desk", "client secret")
    assert parts.options == {"timeout": httpx.Timeout(7.0, pool=None), "verify": True, "retry": session.retry}
    assert pickle.loads(pickle.dumps(parts.options)) == parts.options  # noqa: S301
    secret = session.credentials.client_secret.reveal()
    assert secret not in repr(parts)


def test_its_tokens_are_the_sessions_own(session, service, monkeypatch):
    """The lender and the session use one token; a refused token is replaced once."""
    monkeypatch.setattr(Network, "handle_request", lambda self, request: service.handle_request(request))
    keeper = lendable(session).keeper
    token = keeper.obtain()
    session.broker.get("/v1/accounts")
    assert (len(service.token_requests), session.token) == (1, token)
    assert keeper.reject(token, was_accepted=False)
    replacement = keeper.obtain()
    assert not keeper.reject(replacement, was_accepted=False)
    assert keeper.reject(replacement, was_accepted=True)
    assert len(service.token_requests) == 2
    keeper.close()


def test_an_async_session_can_be_lent(make_credentials, settings, service, monkeypatch):
    """The lender has no event loop, so its token requests go out synchronously."""
    monkeypatch.setattr(Network, "handle_request", lambda self, request: service.handle_request(request))
    keeper = lendable(tk.AsyncSession(credentials=make_credentials("broker-live"), settings=settings)).keeper
    assert keeper.obtain().access_token.reveal() == service.issued[0]


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
        lendable(session)
    assert error.value.about == about
    session.close()


def test_trust_travels(make_credentials, settings):
    """Workers trust the certificates of their own machines, or those in a file that each of them has."""
    for verify in ("system", "/etc/ssl/company.pem"):
        session = tk.Session(credentials=make_credentials("broker-sandbox"), settings=replace(settings, verify=verify))
        parts = lendable(session)
        assert parts.options["verify"] == parts.keeper._network.verify == verify


@pytest.mark.parametrize("environment", ["live", "paper"])
def test_a_key_pair_cannot_be_lent(environment, make_credentials, settings):
    """The workers would get the secret key itself."""
    session = tk.Session(credentials=make_credentials(environment), settings=settings)
    with pytest.raises(tk.CredentialsMismatch, match="the secret key itself"):
        lendable(session)


@pytest.mark.parametrize("value", [None, "session", tk.Settings()])
def test_only_sessions_can_be_lent(value):
    """Anything else is an error that says what to open."""
    with pytest.raises(tk.ConfigurationError, match="AsyncSession"):
        lendable(value)


def test_destinations_are_checked_where_the_credentials_are(make_credentials, settings):
    """Credentials that are bound to other addresses are refused before anything is lent."""
    credentials = make_credentials("broker-sandbox")
    credentials.note_source("saved", {"broker_sandbox": "https://elsewhere.example.com"})
    session = tk.Session(credentials=credentials, settings=settings)
    with pytest.raises(tk.UnsafeAddress, match="would go elsewhere"):
        lendable(session)
