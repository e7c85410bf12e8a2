"""Keys of every kind, the forms in which people have them, and checks that errors show nothing of them."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import pickle
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

import toolkit
from toolkit.auth.private_keys import as_signer
from toolkit.core.errors import ConfigurationError

RSA_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
DEFAULTS = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA", "RSA": "RS256"}
KEYS_AND_ALGORITHMS = [*DEFAULTS.items(), *(("RSA", name) for name in RSA_ALGORITHMS[1:])]
ROOT = str(Path(toolkit.__file__).parent)
MAKERS = {
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "small RSA": lambda: rsa.generate_private_key(65537, 1024),  # noqa: S505 - to be refused
    "secp256k1": lambda: ec.generate_private_key(ec.SECP256K1()),
    "Ed448": ed448.Ed448PrivateKey.generate,
    "X25519": x25519.X25519PrivateKey.generate,
    "DSA": lambda: dsa.generate_private_key(1024),  # noqa: S505
}


@functools.cache
def key(kind, number=0):
    return MAKERS[kind]()


def pem(private_key, form=PrivateFormat.PKCS8, encryption=None):
    return private_key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


def der(private_key, encryption=None):
    return private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, encryption or NoEncryption())


def public_pem(private_key):
    return private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def jwk(private_key, **more):
    kinds = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((kinds[kind] for kind in kinds if isinstance(private_key, kind)), OKPAlgorithm)
    return json.dumps({**algorithm.to_jwk(private_key, as_dict=True), **more})


def thumbprint(public):
    """Return the SHA-256 thumbprint of a JWK (RFC 7638): its required members in order, without space."""
    required = {name: public[name] for name in sorted({"crv", "e", "kty", "n", "x", "y"} & public.keys())}
    digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@functools.cache
def certificate(kind="P-256"):
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "desk")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key(kind).public_key(), 1, start, start + timedelta(days=9))
    return builder.sign(key(kind), hashes.SHA256())


def certificate_pem(kind="P-256"):
    return certificate(kind).public_bytes(Encoding.PEM).decode()


def identity(kind):
    return as_signer(key(kind)).identity()


def runs(material):
    """Every run of 16 characters of key material, without the BEGIN and END lines of a PEM."""
    lines = [line for line in material.splitlines() if "-----" not in line and len(line) >= 16]
    return {line[at : at + 16] for line in lines for at in range(len(line) - 15)}


def frames_of(error):
    """Local variables of every frame of the toolkit that an error went through, as verbose tracebacks show them."""
    shown = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(ROOT):
            shown += [f"{name}={value!r}" for name, value in frame.f_locals.items() if name != "self"]
    assert shown
    return "".join(shown)


def assert_shows_nothing_of(error, material):
    """Check that no run of key material is in the error, in its chain, or in frames of the toolkit."""
    assert error.__context__ is None
    assert error.__cause__ is None
    shown = [*traceback.format_exception(error), repr(error), repr(vars(error)), repr(pickle.dumps(error))]
    text = "".join([*shown, frames_of(error)])
    assert not [run for run in runs(material) if run in text]


def refusal(private_key, **options):
    """Return the error for a private key that is refused."""
    with pytest.raises(ConfigurationError) as caught:
        as_signer(private_key, **options)
    assert caught.value.next_step
    assert caught.value.about
    return caught.value


def assert_refused(text, words, file):
    """Check that bad key text is refused in these words, as text and from a file, and that no error shows it."""
    file.write_text(text)
    for source in (text, file):
        error = refusal(source)
        assert words in error.what
        assert_shows_nothing_of(error, text)
