from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, parse_qsl

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from manual_clock import ManualClock

from toolkit.auth.authorizers import KeyPairAuthorizer, TokenAuthorizer
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret
from toolkit.transport.flow import WhichLoop

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
AUTH = "https://auth.example.com/base"
TOKEN_URL = "https://auth.example.com/base/v1/oauth2/token"
SECRET = "QXZ-client-secret &=+%"


def key_pair(**changes):
    return KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper", **changes)


def client_secret(**changes):
    return ClientSecret(
        **{"client_id": "client 1", "client_secret": SECRET, "environment": "broker-sandbox", **changes}
    )


class Bench:
    """An authorizer with an exchange of the test's own: it yields the token request and is sent the token as text."""

    def __init__(self, credentials):
        self.clock = ManualClock(START)
        self.met = []
        self.token_requests = []
        self.authorizer = TokenAuthorizer(
            credentials,
            auth_address=AUTH,
            clock=self.clock,
            store=MemoryTokenStore(),
            exchange=self.exchange,
            number=self.number,
            new_jti=lambda: f"jti-{len(self.token_requests)}",
        )

    def exchange(self, token_request):
        self.token_requests.append(token_request)
        now = self.clock.now()
        text = yield token_request.request
        return Token(Secret(text), now, now + timedelta(seconds=890))

    def number(self, token):
        self.met.append(token)
        return len(self.met)

    def obtain(self):
        """Return the grant, with the token that answers the token request."""
        flow = self.authorizer.obtain()
        assert isinstance(next(flow), WhichLoop)
        try:
            next(flow)
            flow.send("QXZ-access-token")
        except StopIteration as end:
            return end.value
        raise AssertionError("the flow asked for more than one token")

    def form(self):
        return parse_qs(self.token_requests[-1].request.content.decode(), strict_parsing=True)


def test_key_pair_in_headers():
    """A key pair goes into the two headers of section 5.2, with the configured prefix."""
    grant = KeyPairAuthorizer(key_pair(), header_prefix="ACME").grant
    assert grant.headers == (("ACME-API-KEY-ID", "QXZ-key-id"), ("ACME-API-SECRET-KEY", "QXZ-secret-key"))


@pytest.mark.parametrize("scheme", ["headers", "basic"])
def test_key_pair_in_recordings(scheme):
    """A recording shows the document's placeholders and header names, whatever the prefix."""
    shown = KeyPairAuthorizer(key_pair(scheme=scheme), header_prefix="ACME").recorded_headers
    assert (
        dict(shown)
        == {
            "headers": {"SVC-API-KEY-ID": "<API_KEY_ID>", "SVC-API-SECRET-KEY": "<API_SECRET_KEY>"},
            "basic": {"Authorization": "Basic <API_KEY_ID:API_SECRET_KEY>"},
        }[scheme]
    )


def test_client_secret_request():
    """A client secret goes to the exact token URL, in the form and nowhere else (section 4.1)."""
    bench = Bench(client_secret())
    bench.obtain()
    request = bench.token_requests[0].request
    assert (request.method, str(request.url)) == ("POST", TOKEN_URL)
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert bench.form() == {"grant_type": ["client_credentials"], "client_id": ["client 1"], "client_secret": [SECRET]}
    assert "Authorization" not in request.headers
    assert not any("QXZ" in value for value in request.headers.values())


KEY = ec.generate_private_key(ec.SECP256R1())


def client_key(**changes):
    return ClientKey("client 1", KEY, environment="broker-sandbox", **changes)


@pytest.mark.parametrize("credentials", [client_secret(), client_key()], ids=["secret", "key"])
def test_recorded_form(credentials):
    """The form in a recording has the same fields, with placeholders for secrets."""
    bench = Bench(credentials)
    bench.obtain()
    token_request = bench.token_requests[0]
    shown = dict(parse_qsl(token_request.recorded_form.decode(), strict_parsing=True))
    assert shown.keys() == bench.form().keys()
    assert shown["client_id"] == "<CLIENT_ID>"
    assert shown.get("client_secret", "<CLIENT_SECRET>") == "<CLIENT_SECRET>"
    assert shown.get("client_assertion", "<CLIENT_ASSERTION>") == "<CLIENT_ASSERTION>"
    assert b"QXZ" not in token_request.recorded_form
    named = [secret.reveal() for name, secret in token_request.secrets if name == "CLIENT_ASSERTION"]
    assert named == bench.form().get("client_assertion", [])
