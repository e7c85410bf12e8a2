from __future__ import annotations

import copy
import json
import pickle

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from key_forms import DEFAULTS, RSA_ALGORITHMS, key, pem, refusal

from toolkit.auth.private_keys import as_signer
from toolkit.auth.signers import LocalKey, sign_with
from toolkit.core.errors import ConfigurationError

CANARY = "QXZ0123456789QXZ"
HALVES = {"ES256": 32, "ES384": 48, "ES512": 66}


class Remote:
    """A Signer that keeps its key elsewhere, and returns or raises what the test wants."""

    def __init__(self, result=b"", algorithm="ES256", key_id="remote-1"):
        self._result, self.algorithm, self.key_id = result, algorithm, key_id

    def sign(self, data):
        if isinstance(self._result, BaseException):
            raise self._result
        return self._result


def test_signer_with_contradicting_arguments():
    """An algorithm or key ID other than the Signer's own is refused rather than ignored, and so is a passphrase."""
    for argument, value in (("algorithm", "ES384"), ("key_id", "other"), ("passphrase", "a")):
        assert refusal(Remote(), **{argument: value}).about == argument


@given(st.sampled_from(sorted(HALVES)), st.data())
def test_ecdsa_signatures(algorithm, data):
    """R and S of fixed length are taken as they are; DER of any length is converted to them (RFC 7518 section 3.4)."""
    half = HALVES[algorithm]
    numbers = st.integers(1, 2 ** (8 * half) - 1) | st.integers(1, 300)
    r, s = data.draw(numbers), data.draw(numbers)
    plain = r.to_bytes(half, "big") + s.to_bytes(half, "big")
    assert sign_with(Remote(plain), algorithm, b"data") == plain
    in_der = encode_dss_signature(r, s)
    if len(in_der) != 2 * half:  # one in 2^48 of real signatures
        assert sign_with(Remote(in_der), algorithm, b"data") == plain


@pytest.mark.parametrize(
    ("curve", "algorithm", "digest"),
    [("P-256", "ES256", hashes.SHA256()), ("P-384", "ES384", hashes.SHA384()), ("P-521", "ES512", hashes.SHA512())],
)
def test_real_signature_in_der(curve, algorithm, digest):
    """A DER signature, as key services return it, has the same numbers once it is converted."""
    der = key(curve).sign(b"data", ec.ECDSA(digest))
    raw = sign_with(Remote(der), algorithm, b"data")
    half = HALVES[algorithm]
    assert decode_dss_signature(der) == (int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))


@pytest.mark.parametrize(
    ("algorithm", "result", "words"),
    [
        ("ES256", None, "NoneType rather than bytes"),
        ("ES256", CANARY, "str rather than bytes"),
        ("ES256", b"", "0 bytes"),
        ("ES256", bytes(63), "63 bytes"),
        ("ES256", bytes(96), "96 bytes"),
        ("ES256", encode_dss_signature(2**384 - 1, 1), "bytes, which are not an ECDSA signature"),
        ("ES256", encode_dss_signature(1, 2) + b"x", "bytes, which are not an ECDSA signature"),
        ("EdDSA", bytes(65), "65 bytes, which are not a signature of EdDSA"),
        ("RS256", bytes(255), "255 bytes, which are not a signature of RS256"),
        ("RS256", ValueError(CANARY), "could not sign: ValueError."),
        ("ES256", TimeoutError(CANARY), "could not sign: TimeoutError."),
    ],
)
def test_signer_that_does_not_sign(algorithm, result, words):
    """The error says how a Signer failed or what it returned, and does not keep the Signer's own error."""
    with pytest.raises(ConfigurationError) as caught:
        sign_with(Remote(result), algorithm, b"data")
    assert words in caught.value.what
    assert CANARY not in repr(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", DEFAULTS)
def test_algorithm_fits_the_key(kind):
    """An algorithm that does not fit the key is refused with those that do; never `none`, never a shared secret."""
    fitting = RSA_ALGORITHMS if kind == "RSA" else [DEFAULTS[kind]]
    for algorithm in ("none", "HS256", "HS512", "ES256K", "es256", *DEFAULTS.values(), *RSA_ALGORITHMS):
        if algorithm in fitting:
            assert as_signer(key(kind), algorithm=algorithm).algorithm == algorithm
        else:
            error = refusal(key(kind), algorithm=algorithm)
            assert repr(algorithm) in error.what
            assert error.about == "algorithm"
            assert all(name in error.next_step for name in fitting)


def test_local_key_shows_nothing():
    """A LocalKey shows only its algorithm, and is neither pickled nor copied out of the process."""
    local = as_signer(pem(key("P-256")), key_id="kid-1")
    assert repr(local) == str(local) == f"{local}" == "<LocalKey ES256>"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(local, protocol)
    with pytest.raises(TypeError):
        vars(local)
    with pytest.raises(TypeError):
        json.dumps(local)
    with pytest.raises(TypeError):
        copy.deepcopy(local)
    assert isinstance(local, LocalKey)
