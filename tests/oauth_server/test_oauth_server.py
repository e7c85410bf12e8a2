"""Token requests as a certified server takes and refuses them, and what a caller is told of it.

What each refusal is for is read from the server's own words, which it keeps from its clients: RFC 6749 section 5.2
gives them one code for every way in which the authentication of a client fails.
"""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from oidc_provider import ALGORITHMS, SCOPES

from toolkit.core.document import TOKEN_PATH
from toolkit.core.errors import TokenRefused

HOUR = timedelta(hours=1)


class Resending(httpx.HTTPTransport):
    """Sends the first token request that it sees in place of every later one: a replay by someone on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.first: httpx.Request | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == TOKEN_PATH:
            self.first = request = self.first or request
        return super().handle_request(request)


def refusal(session):
    """The error of a call that gets no token."""
    with pytest.raises(TokenRefused) as caught:
        session.broker.get("/v1/accounts")
    return caught.value


def check_works(session, server, broker):
    """A call bears the token that the server issued to this client, for 15 minutes."""
    assert session.broker.get("/v1/accounts").json() == []
    token = session.token
    assert broker.bearers == [token.access_token.reveal()]
    assert token.lifetime == timedelta(minutes=15)
    seen = server.introspect(token.access_token.reveal())
    assert (seen["active"], seen["client_id"]) == (True, session.credentials.client_id)
    return seen


def test_a_client_secret_gets_a_token(open_session, client_secret, server, broker):
    """client_secret_post, as section 5.1 has it."""
    check_works(open_session(client_secret()), server, broker)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_client_key_gets_a_token_with_every_algorithm(open_session, client_key, server, broker, algorithm):
    """private_key_jwt, with the key that the server knows by its `kid`."""
    check_works(open_session(client_key(algorithm)), server, broker)


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "PS384"])
def test_a_key_without_an_id_is_found_by_the_server(open_session, client_key, server, broker, algorithm):
    """`kid` may be left out (RFC 7515 section 4.1.4)."""
    check_works(open_session(client_key(algorithm, key_id=None)), server, broker)


def test_a_token_is_reused_by_the_session(open_session, client_key, broker):
    """Two calls bear the same token."""
    session = open_session(client_key())
    for _ in range(2):
        session.broker.get("/v1/accounts")
    assert len(broker.bearers) == 2
    assert len(set(broker.bearers)) == 1


@pytest.mark.parametrize("audience", ["token-endpoint", "issuer"])
def test_both_names_of_the_server_are_taken_as_the_audience(open_session, client_key, server, broker, audience):
    """The server takes its issuer and its token endpoint's URL (RFC 7523 section 3, OpenID Connect Core section 9)."""
    check_works(open_session(client_key(audience=audience)), server, broker)


def test_the_text_of_an_audience_is_sent_as_it_is(open_session, client_key, server, broker):
    """An audience written out in full works as its name does."""
    check_works(open_session(client_key(audience=f"{server.issuer}{TOKEN_PATH}")), server, broker)


@pytest.mark.parametrize("audience", ["https://elsewhere.example", "/"])
def test_another_audience_is_refused(open_session, client_key, server, audience):
    """An assertion for another server, or for this one with a slash too many, is no good here."""
    written = server.issuer + audience if audience == "/" else audience
    error = refusal(open_session(client_key(audience=written)))
    assert (error.status, error.error) == (401, "invalid_client")
    assert server.why_refused().startswith("audience (aud) must equal")


def test_an_assertion_is_good_for_one_request(open_session, client_key, server):
    """The server refuses a `jti` that it has seen, and the caller whose request was replayed is told."""
    transport = Resending()
    open_session(client_key(), transport=transport).broker.get("/v1/accounts")
    error = refusal(open_session(client_key(), transport=transport))
    assert (error.status, error.error) == (401, "invalid_client")
    assert server.why_refused() == "client assertion tokens must only be used once"


@pytest.mark.parametrize(
    ("off", "says", "reason"),
    [(-HOUR, "behind", "jwt expired"), (HOUR, "ahead of", "iat (JWT issued at) must not be in the future")],
    ids=["slow", "fast"],
)
def test_a_clock_that_is_off_is_named(open_session, client_key, server, off, says, reason):
    """Assertions of the past and of the future are refused, and the error tells by how much the clock is off."""
    error = refusal(open_session(client_key(), off=off))
    assert (error.status, error.error) == (401, "invalid_client")
    assert server.why_refused() == reason
    assert abs(error.clock_offset - off) < timedelta(seconds=30)
    assert "clock" in str(error)
    assert says in str(error)


def test_a_clock_that_is_a_little_off_does_no_harm(open_session, client_key, server, broker):
    """Ten seconds either way are within what servers tolerate; no `nbf` makes them matter."""
    for off in (-10, 10):
        broker.bearers.clear()
        check_works(open_session(client_key(), off=timedelta(seconds=off)), server, broker)


def test_a_clock_that_is_right_is_not_blamed(open_session, client_secret, server):
    """The advice after a wrong secret is about the credentials."""
    error = refusal(open_session(client_secret(secret="not-the-secret")))
    assert abs(error.clock_offset) < timedelta(seconds=30)
    assert "clock" not in str(error)
    assert server.why_refused() == "invalid secret provided"


@pytest.mark.parametrize("client_id", ["secret", "nobody"])
def test_a_wrong_secret_and_an_unknown_client_are_refused(open_session, client_secret, server, client_id):
    """Either way the server says invalid_client, and so do we; the secret is in no part of the error."""
    error = refusal(open_session(client_secret(client_id, "not-the-secret")))
    assert (error.status, error.error) == (401, "invalid_client")
    assert "not-the-secret" not in repr(error) + str(error)
    assert server.why_refused() == {"secret": "invalid secret provided", "nobody": "client not found"}[client_id]


@pytest.mark.parametrize("key_id", ["ES256-1", None, "ES256-2"])
def test_a_wrong_key_is_refused(open_session, client_key, server, key_id):
    """A key that is not registered signs nothing that the server takes, whatever `kid` it goes by."""
    key = ec.generate_private_key(ec.SECP256R1())
    error = refusal(open_session(client_key(key=key, key_id=key_id)))
    assert (error.status, error.error) == (401, "invalid_client")
    reason = "no applicable key found" if key_id == "ES256-2" else "signature verification failed"
    assert reason in server.why_refused()


def test_an_algorithm_that_is_not_registered_is_refused(open_session, client_key, server):
    """The right key with another algorithm of its family is not what the client registered."""
    error = refusal(open_session(client_key("RS256", algorithm="PS256")))
    assert (error.status, error.error) == (401, "invalid_client")
    assert server.why_refused() == "alg mismatch"


def test_a_method_that_is_not_registered_is_refused(open_session, client_secret, server):
    """A client that is registered with a key cannot call with a secret."""
    error = refusal(open_session(client_secret("ES256")))
    assert (error.status, error.error) == (401, "invalid_client")
    assert "does not match the registered client authentication method" in server.why_refused()


def test_a_client_without_the_grant_is_refused(open_session, client_secret, server):
    """A client that may not have tokens of its own gets the server's own code, which is not the one of the RFC."""
    error = refusal(open_session(client_secret("no-grant")))
    assert (error.status, error.error) == (400, "invalid_request")
    assert server.why_refused() == "requested grant type is not allowed for this client"


def test_a_scope_is_granted(open_session, client_key, client_secret, server, broker):
    """A scope in `form_fields` reaches the server, with either way to authenticate."""
    for credentials in (client_key(form_fields={"scope": SCOPES[0]}), client_secret(form_fields={"scope": SCOPES[0]})):
        broker.bearers.clear()
        assert check_works(open_session(credentials), server, broker)["scope"] == SCOPES[0]


def test_a_scope_beyond_the_client_is_refused(open_session, client_key, server):
    """invalid_scope is reported as such: what is asked for is wrong, not the credentials."""
    error = refusal(open_session(client_key(form_fields={"scope": SCOPES[1]})))
    assert (error.status, error.error) == (400, "invalid_scope")
    assert server.why_refused()


def test_the_type_and_lifetime_of_an_assertion_may_be_chosen(open_session, client_key, server, broker):
    """A longer life carries an assertion over a clock that is five minutes slow."""
    slow = timedelta(minutes=-5)
    options = {"assertion_typ": "client-authentication+jwt", "assertion_lifetime": 600}
    check_works(open_session(client_key(**options), off=slow), server, broker)
    refusal(open_session(client_key(), off=slow))
    assert server.why_refused() == "jwt expired"
