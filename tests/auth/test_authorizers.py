from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, parse_qsl

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from manual_clock import ManualClock

from toolkit.auth.authorizers import KeyPairAuthorizer, TokenAuthorizer, authorized
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.auth.tokens.single_flight import MemoryTokenStore
from toolkit.auth.tokens.token import Token
from toolkit.core.errors import TokenRefused, Unreachable
from toolkit.core.secret import Secret
from toolkit.transport.flow import run

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
AUTH = "https://auth.example.com/base"
TOKEN_URL = "https://auth.example.com/base/v1/oauth2/token"
SECRET = "QXZ-client-secret &=+%"


def key_pair(**changes):
    return KeyPair("QXZ-key-id", "QXZ-secret-key", environment="paper", **changes)


def client_secret():
    return ClientSecret("client 1", SECRET, environment="broker-sandbox")


class Bench:
    """An authorizer whose token requests raise the errors that the test plans, and then get a token each."""

    def __init__(self, credentials, *errors):
        self.clock, self.errors, self.token_requests = ManualClock(START), list(errors), []
        self.authorizer = TokenAuthorizer(
            credentials,
            auth_address=AUTH,
            clock=self.clock,
            store=MemoryTokenStore(),
            exchange=self.exchange,
            number=lambda token: 1,
        )

    def exchange(self, token_request):
        yield from ()
        self.token_requests.append(token_request)
        if self.errors:
            raise self.errors.pop(0)
        text, now = f"QXZ-access-token-{len(self.token_requests)}", self.clock.now()
        return Token(Secret(text), now, now + timedelta(seconds=890))

    def obtain(self):
        return run(self.authorizer.obtain(), None)

    def form(self, number=-1):
        return parse_qs(self.token_requests[number].request.content.decode(), strict_parsing=True)


@pytest.mark.parametrize(
    ("scheme", "sent", "shown"),
    [
        (
            "headers",
            {"ACME-API-KEY-ID": "QXZ-key-id", "ACME-API-SECRET-KEY": "QXZ-secret-key"},
            {"SVC-API-KEY-ID": "<API_KEY_ID>", "SVC-API-SECRET-KEY": "<API_SECRET_KEY>"},
        ),
        (
            "basic",
            {"Authorization": f"Basic {base64.b64encode(b'QXZ-key-id:QXZ-secret-key').decode()}"},
            {"Authorization": "Basic <API_KEY_ID:API_SECRET_KEY>"},
        ),
    ],
)
def test_key_pair(scheme, sent, shown):
    """A key pair goes into the headers of section 5.2; a recording shows placeholders, whatever the prefix."""
    authorizer = KeyPairAuthorizer(key_pair(scheme=scheme), header_prefix="ACME")
    assert (dict(authorizer.grant.headers), dict(authorizer.recorded_headers)) == (sent, shown)


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


def test_passing_failures():
    """A token request that may succeed later is sent again, signed anew; the last error says how often it was sent."""
    passing = [TokenRefused("The service is down.", status=503), Unreachable("There is no connection.")]
    bench = Bench(client_key(), *passing)
    bench.obtain()
    assert [each.tries for each in bench.token_requests] == [1, 2, 3]
    assert len({*(bench.form(number)["client_assertion"][0] for number in range(3))}) == 3
    with pytest.raises(Unreachable, match=r"There is no connection\. \(4 tries\)"):
        Bench(client_key(), *passing * 2).obtain()
    refused = Bench(client_key(), TokenRefused("No.", status=401, error="invalid_client"))
    with pytest.raises(TokenRefused, match=r"No\.$"):
        refused.obtain()
    assert len(refused.token_requests) == 1


def test_answer_401():
    """A refused token is renewed once. The call goes again, unless its body is used up or the new token is refused."""
    bench, pair = Bench(client_secret()), KeyPairAuthorizer(key_pair(), header_prefix="ACME")
    plain, streamed = (httpx.Request("POST", AUTH, content=content) for content in (b"x", iter([b"x"])))
    note, first = bench.authorizer.note_answer, bench.obtain()
    assert (note(plain, 500, first), pair.note_answer(plain, 401, pair.grant)) == (False, False)
    assert note(plain, 401, first)
    assert bench.authorizer.grant is None
    second = bench.obtain()
    assert note(plain, 401, first), "the other token is worth a try"
    assert (note(plain, 401, second), bench.authorizer.grant) == (False, second)
    assert not note(plain, 200, second)
    assert (note(streamed, 401, second), bench.authorizer.grant) == (False, None)
    third = bench.obtain()
    assert not bench.authorizer.reject(third.token, was_accepted=False)
    assert bench.authorizer.reject(third.token, was_accepted=True)


def test_trace():
    """Credentials go on a copy of the request, and the caller's trace gets the events without that copy."""
    events = []
    request = httpx.Request("GET", AUTH, extensions={"trace": lambda *event: events.append(event)})
    sent = authorized(request, KeyPairAuthorizer(key_pair(), header_prefix="ACME").grant)
    assert [each.headers.get("ACME-API-KEY-ID") for each in (request, sent)] == [None, "QXZ-key-id"]
    sent.extensions["trace"]("http11.send_request_headers.started", {"request": sent, "timeout": 5})
    assert events == [("http11.send_request_headers.started", {"timeout": 5})]
