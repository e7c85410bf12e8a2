# ruff: noqa: DTZ001 - hypothesis makes aware instants of naive bounds

from __future__ import annotations

import base64
import json
import traceback
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from key_forms import KEYS_AND_ALGORITHMS, RSA_ALGORITHMS, key

from toolkit.auth.private_keys import as_signer
from toolkit.auth.signers import ASSERTION_LIFETIME, client_assertion
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import REGISTER, Secret

NOW = datetime(2026, 5, 12, 9, 30, 0, 999_999, tzinfo=UTC)
CANARY = "QXZ0123456789QXZ"


def assertion(signer, **changes):
    values = {"client_id": "client-1", "audience": "https://auth.example.com/v1/oauth2/token", "now": NOW}
    return client_assertion(signer, **{**values, "new_jti": lambda: "jti-1", **changes}).reveal()


def verified(token, private_key, algorithm, audience="https://auth.example.com/v1/oauth2/token"):
    """Return the claims of an assertion, verified as the service does, whatever the time."""
    return jwt.decode(
        token,
        private_key.public_key(),
        algorithms=[algorithm],
        audience=audience,
        options={"verify_exp": False, "verify_iat": False},
    )


def parts(token):
    header, claims, _ = (base64.urlsafe_b64decode(part + "==") for part in token.split("."))
    return json.loads(header), json.loads(claims)


@pytest.mark.parametrize(("kind", "algorithm"), KEYS_AND_ALGORITHMS)
def test_signature(kind, algorithm):
    """An assertion of every algorithm is verified with the public key, and with no other algorithm of that key."""
    token = assertion(as_signer(key(kind), algorithm=algorithm))
    assert verified(token, key(kind), algorithm)
    with pytest.raises(jwt.InvalidTokenError):
        verified(token[:-8] + ("AAAAAAAA" if token[-8:] != "AAAAAAAA" else "BBBBBBBB"), key(kind), algorithm)
    for other in {name for name in RSA_ALGORITHMS if kind == "RSA"} - {algorithm}:
        with pytest.raises(jwt.InvalidTokenError):
            verified(token, key(kind), other)


@pytest.mark.parametrize(("kind", "algorithm"), KEYS_AND_ALGORITHMS)
def test_claims(kind, algorithm):
    """Header and claims are exactly those of RFC 7523: integer times, 60 seconds, no `nbf`."""
    token = assertion(as_signer(key(kind), algorithm=algorithm))
    issued_at = int(datetime(2026, 5, 12, 9, 30, tzinfo=UTC).timestamp())
    expected = {
        "iss": "client-1",
        "sub": "client-1",
        "aud": "https://auth.example.com/v1/oauth2/token",
        "iat": issued_at,
        "exp": issued_at + 60,
        "jti": "jti-1",
    }
    header, claims = parts(token)
    assert header == {"alg": algorithm, "typ": "JWT"}
    assert claims == expected == verified(token, key(kind), algorithm)
    assert type(claims["iat"]) is type(claims["exp"]) is int
    assert "=" not in token
    assert ASSERTION_LIFETIME == 60


@given(
    client_id=st.text(min_size=1),
    audience=st.text(min_size=1),
    jti=st.text(min_size=1),
    now=st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC)),
)
def test_claims_of_any_text(client_id, audience, jti, now):
    """An assertion carries any identifiers and any instant, and is valid at once."""
    signer = as_signer(key("P-256"))
    token = assertion(signer, client_id=client_id, audience=audience, now=now, new_jti=lambda: jti)
    claims = verified(token, key("P-256"), "ES256", audience)
    assert (claims["iss"], claims["sub"], claims["aud"], claims["jti"]) == (client_id, client_id, audience, jti)
    assert timedelta(0) <= now - datetime.fromtimestamp(claims["iat"], UTC) < timedelta(seconds=1)


def test_header_type():
    """The header has the `typ` that was given; None leaves it out."""
    signer = as_signer(key("P-256"))
    assert parts(assertion(signer, typ="client-authentication+jwt"))[0] == {
        "alg": "ES256",
        "typ": "client-authentication+jwt",
    }
    assert parts(assertion(signer, typ=None))[0] == {"alg": "ES256"}


class Remote:
    """A Signer that keeps its key elsewhere and returns ECDSA signatures in DER, as key services do."""

    algorithm, key_id = "ES256", "remote-1"

    def __init__(self, failure=None):
        self.failure = failure

    def sign(self, data):
        if self.failure is not None:
            token = CANARY + data.decode()
            raise self.failure(token)
        return key("P-256").sign(data, ec.ECDSA(hashes.SHA256()))


def test_signer_elsewhere():
    """An assertion signed with a key that is kept elsewhere is verified."""
    for _ in range(20):  # DER is of several lengths
        token = assertion(as_signer(Remote()))
        assert parts(token)[0] == {"alg": "ES256", "typ": "JWT", "kid": "remote-1"}
        assert verified(token, key("P-256"), "ES256")


@pytest.mark.parametrize("failure", [ValueError, ConnectionError, TypeError, ConfigurationError])
def test_signer_that_fails(failure):
    """The error for a failing Signer names the type of the failure, and shows neither its text nor its frames."""
    with pytest.raises(ConfigurationError) as caught:
        assertion(Remote(failure))
    assert caught.value.what == f"The signer could not sign: {failure.__name__}."
    assert caught.value.next_step
    assert caught.value.__context__ is None
    assert CANARY not in "".join(
        traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    )


def test_signer_with_changing_algorithm():
    """A Signer that changes to an algorithm without a private key does not sign assertions."""

    class Changing(Remote):
        algorithm = "none"

    with pytest.raises(ConfigurationError, match="'none' does not sign"):
        assertion(Changing())


def test_an_assertion_is_in_the_register():
    """The process knows an assertion as a secret from the moment it is signed."""
    text = assertion(as_signer(key("P-256")))
    assert REGISTER.since(0) == [("CLIENT_ASSERTION", Secret(text))]
