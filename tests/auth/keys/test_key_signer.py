"""Signers of others: what is asked of them, and what becomes of their failures."""

from __future__ import annotations

import traceback

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st
from key_forms import key, refusal

from toolkit.auth.keys import Signer, as_signer
from toolkit.auth.keys.signer import ALGORITHMS, described, signature
from toolkit.core.problem import Problem

CANARY = "QXZ0123456789QXZ"
HALVES = {"ES256": 32, "ES384": 48, "ES512": 66}


class Remote:
    """A Signer that keeps its key elsewhere, and signs or fails as it is told."""

    def __init__(self, made=b"", algorithm="ES256", key_id="remote-1"):
        self._made, self.algorithm, self.key_id = made, algorithm, key_id

    def sign(self, data):
        if isinstance(self._made, BaseException):
            raise self._made
        return self._made


def test_signer_is_used_as_it_is():
    """An object that signs is returned itself; algorithm and key ID may be repeated."""
    remote = Remote()
    assert isinstance(remote, Signer)
    assert as_signer(remote) is as_signer(remote, algorithm="ES256", key_id="remote-1") is remote
    local = as_signer(key("P-256"))
    assert as_signer(local) is local


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256K", "", None, ["ES256"], CANARY * 5])
def test_algorithm(algorithm):
    """A Signer without a private key's algorithm is refused, with those that there are."""
    error = refusal(Remote(algorithm=algorithm))
    assert "is not a signature with a private key" in error.what
    assert all(name in error.next_step for name in ALGORITHMS)
    assert CANARY * 2 not in error.what


@pytest.mark.parametrize("key_id", ["", 5, b"kid"])
def test_key_id(key_id):
    """A key ID is text, or None."""
    assert "key_id is no text" in refusal(Remote(key_id=key_id)).what
    assert as_signer(Remote(key_id=None)).key_id is None


def test_disagreement():
    """An algorithm or key ID other than the Signer's own is refused rather than ignored, and so is a passphrase."""
    assert "algorithm is 'ES256', not 'ES384'" in refusal(Remote(), algorithm="ES384").what
    assert "key_id is 'remote-1', not 'other'" in refusal(Remote(), key_id="other").what
    assert "passphrase" in refusal(Remote(), passphrase="a").what


def test_half_a_signer():
    """An object that lacks a part of a Signer is told the parts."""

    class Half:
        algorithm = "ES256"

        def sign(self, data):
            return b""

    assert "Signer with algorithm, key_id and sign" in refusal(Half()).next_step


def test_a_signer_that_cannot_be_asked():
    """A failure to say its algorithm is an error that holds nothing of the failure."""

    class Locked(Remote):
        @property
        def algorithm(self):
            raise PermissionError(CANARY)

        @algorithm.setter
        def algorithm(self, value): ...

    found = described(Locked())
    assert isinstance(found, Problem)
    assert CANARY not in repr(found)


@given(st.sampled_from(sorted(HALVES)), st.data())
def test_ecdsa_signatures(algorithm, data):
    """R and S of fixed length are taken as they are; DER of any length is converted to them (RFC 7518 section 3.4)."""
    half = HALVES[algorithm]
    numbers = st.integers(1, 2 ** (8 * half) - 1) | st.integers(1, 300)
    r, s = data.draw(numbers), data.draw(numbers)
    plain = r.to_bytes(half, "big") + s.to_bytes(half, "big")
    assert signature(Remote(plain), algorithm, b"data") == plain
    in_der = encode_dss_signature(r, s)
    if len(in_der) != 2 * half:  # one in 2^48 of real signatures
        assert signature(Remote(in_der), algorithm, b"data") == plain


@pytest.mark.parametrize(
    ("curve", "algorithm", "digest"),
    [("P-256", "ES256", hashes.SHA256()), ("P-384", "ES384", hashes.SHA384()), ("P-521", "ES512", hashes.SHA512())],
)
def test_a_key_service_that_returns_der(curve, algorithm, digest):
    """A DER signature, as key services return it, says the same in the form of JWS."""
    made = key(curve).sign(b"data", ec.ECDSA(digest))
    found = signature(Remote(made), algorithm, b"data")
    half = HALVES[algorithm]
    assert decode_dss_signature(made) == (int.from_bytes(found[:half], "big"), int.from_bytes(found[half:], "big"))


@pytest.mark.parametrize("made", [bytearray(64), memoryview(bytes(64))])
def test_bytes_of_other_types(made):
    """What is as good as bytes is taken."""
    assert signature(Remote(made), "EdDSA", b"data") == bytes(64)


@pytest.mark.parametrize(
    ("algorithm", "made", "words"),
    [
        ("ES256", None, "NoneType rather than bytes"),
        ("ES256", CANARY, "str rather than bytes"),
        ("ES256", b"", "0 bytes"),
        ("ES256", bytes(63), "63 bytes"),
        ("ES256", bytes(96), "96 bytes"),
        ("ES256", encode_dss_signature(2**384 - 1, 1), "bytes, which are no ECDSA signature"),
        ("ES256", encode_dss_signature(1, 2) + b"x", "bytes, which are no ECDSA signature"),
        ("EdDSA", bytes(65), "65 bytes, which are no signature of EdDSA"),
        ("RS256", bytes(255), "255 bytes, which are no signature of RS256"),
        ("RS256", ValueError(CANARY), "could not sign: ValueError."),
        ("ES256", TimeoutError(CANARY), "could not sign: TimeoutError."),
    ],
)
def test_no_signature(algorithm, made, words):
    """A signer that fails or returns what is no signature is named for it, and nothing that it said is kept."""
    found = signature(Remote(made), algorithm, b"data")
    assert isinstance(found, Problem)
    assert words in found.what
    assert CANARY not in repr(found)


def test_interrupt():
    """Ctrl+C while a key service is slow stays what it is."""
    with pytest.raises(KeyboardInterrupt) as caught:
        signature(Remote(KeyboardInterrupt()), "ES256", b"data")
    assert traceback.extract_tb(caught.value.__traceback__)
