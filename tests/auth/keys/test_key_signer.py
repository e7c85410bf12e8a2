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
from key_forms import DEFAULTS, KEYS_AND_ALGORITHMS, RSA_ALGORITHMS, identity, jwk, key, pem, refusal

from toolkit.auth.private_keys import as_signer
from toolkit.auth.signers import ALGORITHMS, LocalKey, Signer, describe_signer, sign_with
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


def test_signer_is_used_as_it_is():
    """A Signer is returned itself; its algorithm and key ID may be repeated."""
    remote = Remote()
    assert isinstance(remote, Signer)
    assert as_signer(remote) is as_signer(remote, algorithm="ES256", key_id="remote-1") is remote
    local = as_signer(key("P-256"))
    assert as_signer(local) is local


def test_algorithm_of_a_signer():
    """A Signer with an algorithm that does not sign with a private key is refused, and the error lists valid ones."""
    for algorithm in ("none", "HS256", "ES256K", "", None, ["ES256"], CANARY * 5):
        error = refusal(Remote(algorithm=algorithm))
        assert "does not sign with a private key" in error.what
        assert all(name in error.next_step for name in ALGORITHMS)
        assert CANARY * 2 not in error.what


def test_key_id_of_a_signer():
    """A key ID is text, or None."""
    for key_id in ("", 5, b"kid"):
        assert "key_id is not text" in refusal(Remote(key_id=key_id)).what
    assert as_signer(Remote(key_id=None)).key_id is None


def test_signer_with_contradicting_arguments():
    """An algorithm or key ID other than the Signer's own is refused rather than ignored, and so is a passphrase."""
    for argument, value in (("algorithm", "ES384"), ("key_id", "other"), ("passphrase", "a")):
        assert refusal(Remote(), **{argument: value}).about == argument


def test_incomplete_signer():
    """The error for an object that lacks a part of a Signer lists the parts."""

    class Half:
        algorithm = "ES256"

        def sign(self, data):
            return b""

    assert "Signer with algorithm, key_id and sign" in refusal(Half()).next_step


def test_signer_that_cannot_tell_its_algorithm():
    """If a Signer fails to return its algorithm, the error does not show the failure."""

    class Locked(Remote):
        @property
        def algorithm(self):
            raise PermissionError(CANARY)

        @algorithm.setter
        def algorithm(self, value): ...

    with pytest.raises(ConfigurationError, match="did not return its algorithm") as caught:
        describe_signer(Locked())
    assert CANARY not in repr(caught.value)
    assert caught.value.__context__ is None


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


@pytest.mark.parametrize("result", [bytearray(64), memoryview(bytes(64))])
def test_signature_in_other_types_of_bytes(result):
    """A bytearray or memoryview is taken as bytes."""
    assert sign_with(Remote(result), "EdDSA", b"data") == bytes(64)


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


def test_interrupted_signer():
    """Ctrl+C while a key service is slow remains a KeyboardInterrupt."""
    with pytest.raises(KeyboardInterrupt):
        sign_with(Remote(KeyboardInterrupt()), "ES256", b"data")


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


@pytest.mark.parametrize("kind", DEFAULTS)
def test_usual_algorithm(kind):
    """Each kind of key has a usual algorithm."""
    assert as_signer(key(kind)).algorithm == DEFAULTS[kind]


@pytest.mark.parametrize(("kind", "algorithm"), KEYS_AND_ALGORITHMS)
def test_local_key_is_a_signer(kind, algorithm):
    """A LocalKey is a Signer with the key, algorithm and key ID that it was made with."""
    local = as_signer(key(kind), algorithm=algorithm, key_id="kid-1")
    assert isinstance(local, Signer)
    assert (local.algorithm, local.key_id, local.identity()) == (algorithm, "kid-1", identity(kind))


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


@pytest.mark.parametrize("form", [pem, jwk])
def test_key_is_read_once(form, monkeypatch, tmp_path):
    """The key is parsed when it is given, so that neither the file nor a parser is needed to sign."""
    file = tmp_path / "key"
    file.write_text(form(key("RSA")))
    signer = as_signer(file)
    file.unlink()
    for parser in ("load_pem_private_key", "load_der_private_key"):
        monkeypatch.setattr(f"cryptography.hazmat.primitives.serialization.{parser}", None)
    monkeypatch.setattr("jwt.PyJWK.from_dict", None)
    assert len(signer.sign(b"data")) == 256
