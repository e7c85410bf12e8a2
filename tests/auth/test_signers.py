from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from key_forms import KEYS_AND_ALGORITHMS, frames_of, key, refusal

from toolkit.auth.private_keys import ASSERTION_LIFETIME, as_signer, client_assertion
from toolkit.core.errors import ConfigurationError

NOW = datetime(2026, 5, 12, 9, 30, 0, 999_999, tzinfo=UTC)
CANARY = "QXZ0123456789QXZ"
HALVES = {"ES256": 32, "ES384": 48, "ES512": 66}


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


class Remote:
    """A Signer that keeps its key elsewhere: it returns or raises what the test wants, else a signature in DER."""

    def __init__(self, result=b"real", algorithm="ES256", key_id="remote-1"):
        self._result, self.algorithm, self.key_id = result, algorithm, key_id

    def sign(self, data):
        if isinstance(self._result, BaseException):
            raise self._result
        return key("P-256").sign(data, ec.ECDSA(hashes.SHA256())) if self._result == b"real" else self._result


@pytest.mark.parametrize(
    ("algorithm", "result", "words"),
    [
        ("ES256", None, "could not sign: TypeError"),
        ("ES256", CANARY, "could not sign: TypeError"),
        ("ES256", bytes(63), "not a signature"),
        ("ES256", encode_dss_signature(2**384 - 1, 1), "not a signature"),
        ("ES256", encode_dss_signature(1, 2) + b"x", "not a signature"),
        ("EdDSA", bytes(65), "not a signature"),
        ("RS256", bytes(255), "not a signature"),
        ("RS256", ValueError(CANARY), "could not sign: ValueError."),
        ("ES256", ConfigurationError(CANARY, CANARY), "could not sign: ConfigurationError."),
    ],
)
def test_signer_that_does_not_sign(algorithm, result, words):
    """The error says how a Signer failed, and shows neither what it returned nor its own error nor frames."""
    with pytest.raises(ConfigurationError) as caught:
        assertion(Remote(result, algorithm))
    assert words in caught.value.what
    assert caught.value.next_step
    assert caught.value.__context__ is None
    assert CANARY not in frames_of(caught.value) + str(caught.value)


@given(st.sampled_from(sorted(HALVES)), st.data())
def test_ecdsa_signatures(algorithm, data):
    """R and S of fixed length are taken as they are; DER of any length is converted to them (RFC 7518 section 3.4)."""
    half = HALVES[algorithm]
    numbers = st.integers(1, 2 ** (8 * half) - 1) | st.integers(1, 300)
    r, s = data.draw(numbers), data.draw(numbers)
    plain = r.to_bytes(half, "big") + s.to_bytes(half, "big")
    for signature in (plain, encode_dss_signature(r, s)):
        token = assertion(Remote(signature, algorithm))
        if signature is plain or len(signature) != 2 * half:  # one in 2^48 of real signatures
            assert base64.urlsafe_b64decode(token.rpartition(".")[2] + "==") == plain


def test_signer_that_is_refused():
    """An algorithm without a private key is refused, and so is what contradicts the Signer."""
    for algorithm, key_id in (("none", None), ("HS256", None), (5, None), ("ES256", 5), ("ES256", "")):
        assert refusal(Remote(b"", algorithm, key_id)).about == "private_key"
    for argument, value in (("algorithm", "ES384"), ("key_id", "other"), ("passphrase", "a")):
        assert "Leave them out" in refusal(Remote(), **{argument: value}).next_step
    with pytest.raises(ConfigurationError, match="does not sign"):
        assertion(Remote(b"", "none"))
    signer = Remote()
    assert as_signer(signer, algorithm="ES256", key_id="remote-1") is signer
