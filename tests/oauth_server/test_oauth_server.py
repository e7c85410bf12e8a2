"""Token requests to a certified server, and the errors for those that it refuses.

The reason for each refusal is read from the server's own log: its clients get the same code for every way in which
their authentication fails (RFC 6749 section 5.2).
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from oidc_provider import ALGORITHMS, SCOPES

from toolkit.core.document import TOKEN_PATH
from toolkit.core.errors import TokenRefused

HOUR = timedelta(hours=1)


def refusal(session):
    with pytest.raises(TokenRefused) as caught:
        session.broker.get("/v1/accounts")
    assert (caught.value.status, caught.value.error) == (401, "invalid_client")
    return caught.value


def check_works(session, server, broker):
    """Check that a call has the token that the server issued to the client for 15 minutes; return what it says."""
    assert session.broker.get("/v1/accounts").json() == []
    token = session.token
    assert broker.bearers == [token.access_token.reveal()]
    assert token.lifetime == timedelta(minutes=15)
    seen = server.introspect(token.access_token.reveal())
    assert (seen["active"], seen["client_id"]) == (True, session.credentials.client_id)
    return seen


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_client_key_with_every_algorithm(open_session, client_key, server, broker, algorithm):
    """A client key gets a token by private_key_jwt, with the `kid` under which it is registered."""
    check_works(open_session(client_key(algorithm)), server, broker)


@pytest.mark.parametrize("audience", ["token-endpoint", "issuer", "in full"])
def test_audience_names(open_session, client_key, server, broker, audience):
    """The server accepts its issuer and the URL of its token endpoint (RFC 7523 section 3, OpenID Connect Core 9)."""
    named = f"{server.issuer}{TOKEN_PATH}" if audience == "in full" else audience
    check_works(open_session(client_key(audience=named)), server, broker)


@pytest.mark.parametrize(
    ("off", "says", "reason"),
    [(-HOUR, "behind", "jwt expired"), (HOUR, "ahead of", "iat (JWT issued at) must not be in the future")],
)
def test_wrong_clock(open_session, client_key, server, off, says, reason):
    """Assertions from the past and the future are refused, and the error tells by how much the clock is off."""
    error = refusal(open_session(client_key(), off=off))
    assert server.why_refused() == reason
    assert abs(error.clock_offset - off) < timedelta(seconds=30)
    assert "clock" in str(error)
    assert says in str(error)


@pytest.mark.parametrize("client_id", ["secret", "nobody"])
def test_wrong_secret_and_unknown_client(open_session, client_secret, server, client_id):
    """A wrong secret and an unknown client are reported as invalid_client; the error does not hold the secret."""
    error = refusal(open_session(client_secret(client_id, "not-the-secret")))
    assert "not-the-secret" not in repr(error) + str(error)
    assert server.why_refused() == {"secret": "invalid secret provided", "nobody": "client not found"}[client_id]


def test_scope(open_session, client_key, client_secret, server, broker):
    """A token for either kind of credentials; a scope in `form_fields` reaches the server."""
    for credentials in (client_key(form_fields={"scope": SCOPES[0]}), client_secret(form_fields={"scope": SCOPES[0]})):
        broker.bearers.clear()
        assert check_works(open_session(credentials), server, broker)["scope"] == SCOPES[0]
