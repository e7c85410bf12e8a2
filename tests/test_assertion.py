# ruff: noqa: DTZ001 - hypothesis makes aware instants of naive bounds

from __future__ import annotations

import base64
import copy
import functools
import json
import pickle
import traceback
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, HMACAlgorithm, OKPAlgorithm, RSAAlgorithm

from toolkit.assertion import ASSERTION_LIFETIME, LocalKey, Signer, as_signer, client_assertion
from toolkit.errors import ConfigurationError
from toolkit.secret import Secret

NOW = datetime(2026, 5, 12, 9, 30, 0, 999_999, tzinfo=UTC)
RSA_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
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
    "DSA": lambda: dsa.generate_private_key(2048),
}
DEFAULTS = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA", "RSA": "RS256"}
KEYS_AND_ALGORITHMS = [*((key, DEFAULTS[key]) for key in DEFAULTS), *(("RSA", name) for name in RSA_ALGORITHMS[1:])]


@functools.cache
def key(kind):
    return MAKERS[kind]()


def pem(private_key, form=PrivateFormat.PKCS8, encryption=None):
    return private_key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


def public_pem(private_key):
    return private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def jwk(private_key, **more):
    kinds = {rsa.RSAPrivateKey: RSAAlgorithm, ec.EllipticCurvePrivateKey: ECAlgorithm}
    algorithm = next((found for kind, found in kinds.items() if isinstance(private_key, kind)), OKPAlgorithm)
    return json.dumps({**algorithm.to_jwk(private_key, as_dict=True), **more})


def assertion(signer, **changes):
    values = {"client_id": "client-1", "audience": "https://auth.example.com/v1/oauth2/token", "now": NOW}
    return client_assertion(signer, **{**values, "new_jti": lambda: "jti-1", **changes}).reveal()


def verified(token, private_key, algorithm, audience="https://auth.example.com/v1/oauth2/token"):
    """The claims of an assertion as the service would read them at any hour."""
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


def refusal(given_key, **options):
    with pytest.raises(ConfigurationError) as caught:
        as_signer(given_key, **options)
    assert caught.value.next_step
    return caught.value


def assert_shows_nothing_of(error, material):
    """No run of 16 characters of the key is anywhere in the error or in what it hangs on to."""
    assert error.__context__ is None
    assert error.__cause__ is None
    shown = "".join([*traceback.format_exception(error), repr(error), repr(vars(error)), repr(pickle.dumps(error))])
    for line in [line for line in material.splitlines() if "-----" not in line and len(line) >= 16]:
        assert not [line[at : at + 16] for at in range(len(line) - 15) if line[at : at + 16] in shown]


@pytest.mark.parametrize(("kind", "algorithm"), KEYS_AND_ALGORITHMS)
def test_signature(kind, algorithm):
    """An assertion of every algorithm is verified by the public key, and by no other algorithm of it."""
    token = assertion(as_signer(key(kind), algorithm=algorithm))
    assert verified(token, key(kind), algorithm)
    with pytest.raises(jwt.InvalidTokenError):
        verified(token[:-8] + ("AAAAAAAA" if token[-8:] != "AAAAAAAA" else "BBBBBBBB"), key(kind), algorithm)
    for other in {name for name in RSA_ALGORITHMS if kind == "RSA"} - {algorithm}:
        with pytest.raises(jwt.InvalidTokenError):
            verified(token, key(kind), other)


@pytest.mark.parametrize(("kind", "algorithm"), KEYS_AND_ALGORITHMS)
def test_claims(kind, algorithm):
    """Header and claims are exactly those of RFC 7523 and no more: integer times, 60 seconds, no `nbf`."""
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
    """Whatever identifiers and instant it is made of, an assertion carries them, and begins before it is sent."""
    signer = as_signer(key("P-256"))
    token = assertion(signer, client_id=client_id, audience=audience, now=now, new_jti=lambda: jti)
    claims = verified(token, key("P-256"), "ES256", audience)
    assert (claims["iss"], claims["sub"], claims["aud"], claims["jti"]) == (client_id, client_id, audience, jti)
    assert timedelta(0) <= now - datetime.fromtimestamp(claims["iat"], UTC) < timedelta(seconds=1)


def test_jti_is_fresh():
    """Each assertion asks for an identifier of its own."""
    numbers = iter(range(10))
    signer = as_signer(key("Ed25519"))
    tokens = [assertion(signer, new_jti=lambda: f"jti-{next(numbers)}") for _ in range(3)]
    assert [parts(token)[1]["jti"] for token in tokens] == ["jti-0", "jti-1", "jti-2"]


def test_assertion_is_a_secret():
    """An assertion is a Secret: whoever has it has a token for a minute."""
    made = client_assertion(as_signer(key("P-256")), client_id="c", audience="a", now=NOW, new_jti=lambda: "jti")
    assert isinstance(made, Secret)


FORMS = {
    "object": lambda private_key: private_key,
    "PEM": pem,
    "PEM bytes": lambda private_key: pem(private_key).encode(),
    "PEM with space around": lambda private_key: f"\n  {pem(private_key)}\n\n",
    "PEM with Windows line ends": lambda private_key: pem(private_key).replace("\n", "\r\n"),
    "PEM on one line": lambda private_key: pem(private_key).replace("\n", "\\n"),
    "PEM after other text": lambda private_key: "Bag Attributes\n    friendlyName: key\n" + pem(private_key),
    "PEM after its public key": lambda private_key: public_pem(private_key) + pem(private_key),
    "JWK": jwk,
    "JWK bytes": lambda private_key: jwk(private_key).encode(),
    "Secret": lambda private_key: Secret(pem(private_key)),
    "Secret JWK": lambda private_key: Secret(jwk(private_key)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", DEFAULTS)
def test_forms(kind, form):
    """A key is taken in every form that people have it in, and is the same key in each."""
    signer = as_signer(FORMS[form](key(kind)))
    assert signer.algorithm == DEFAULTS[kind]
    assert signer.identity() == as_signer(key(kind)).identity()
    assert verified(assertion(signer), key(kind), DEFAULTS[kind])


@pytest.mark.parametrize("kind", ["RSA", "P-256"])
def test_traditional_pem(kind):
    """A PEM of OpenSSL's older form is taken, with the parameters that `openssl ecparam` puts before it."""
    parameters = (
        "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" if kind == "P-256" else ""
    )
    signer = as_signer(parameters + pem(key(kind), PrivateFormat.TraditionalOpenSSL))
    assert signer.identity() == as_signer(key(kind)).identity()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("form", [pem, jwk])
def test_file(tmp_path, form, encoding):
    """A key is read from a file, also from one with the byte order mark of Windows editors."""
    file = tmp_path / "key"
    file.write_text(form(key("P-256")), encoding=encoding)
    assert as_signer(file).identity() == as_signer(key("P-256")).identity()


def test_file_at_home(tmp_path, monkeypatch):
    """A path may begin with `~`."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / "key.pem").write_text(pem(key("P-256")))
    assert as_signer(Path("~/key.pem")).algorithm == "ES256"


def test_key_id():
    """`kid` is what the caller says, else what the JWK says, else absent."""
    named = jwk(key("P-256"), kid="from-jwk")
    for signer, expected in [
        (as_signer(named), "from-jwk"),
        (as_signer(named, key_id="given"), "given"),
        (as_signer(pem(key("P-256")), key_id="given"), "given"),
        (as_signer(jwk(key("P-256"), kid=5)), None),
    ]:
        assert signer.key_id == expected
        assert parts(assertion(signer))[0].get("kid") == expected
        assert ("kid" in parts(assertion(signer))[0]) is (expected is not None)


def test_algorithm_of_a_jwk():
    """The algorithm is what the caller says, else what the JWK says it is for (RFC 7517 section 4.4)."""
    named = jwk(key("RSA"), alg="PS384")
    assert as_signer(named).algorithm == "PS384"
    assert as_signer(named, algorithm="RS512").algorithm == "RS512"
    assert "does not fit" in str(refusal(jwk(key("RSA"), alg="RSA-OAEP")))


@pytest.mark.parametrize("kind", DEFAULTS)
@pytest.mark.parametrize(
    "algorithm", ["none", "HS256", "HS512", "ES256K", "es256", "", *DEFAULTS.values(), *RSA_ALGORITHMS]
)
def test_algorithm_fits(kind, algorithm):
    """An algorithm that does not fit the key is refused, with those that do; never `none`, never a shared secret."""
    fitting = RSA_ALGORITHMS if kind == "RSA" else [DEFAULTS[kind]]
    if algorithm in fitting:
        assert as_signer(key(kind), algorithm=algorithm).algorithm == algorithm
    elif algorithm:
        error = refusal(key(kind), algorithm=algorithm)
        assert repr(algorithm) in error.what
        assert all(name in error.next_step for name in fitting)


BAD_KEYS = {
    "public PEM": (lambda: public_pem(key("P-256")), "holds no private key"),
    "encrypted PEM": (
        lambda: pem(key("P-256"), encryption=BestAvailableEncryption(b"pw")),
        "encrypted with a passphrase",
    ),
    "encrypted traditional PEM": (
        lambda: pem(key("RSA"), PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"pw")),
        "encrypted with a passphrase",
    ),
    "broken PEM": (lambda: pem(key("P-256")).replace("\nMI", "\nIM"), "PEM of the private key cannot be read"),
    "cut PEM": (lambda: pem(key("RSA"))[:600] + "\n-----END PRIVATE KEY-----", "PEM of the private key cannot be read"),
    "OpenSSH": (
        lambda: "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAAAAAA\n-----END OPENSSH PRIVATE KEY-----",
        "PEM of the private key cannot be read",
    ),
    "public JWK": (lambda: ECAlgorithm.to_jwk(key("P-256").public_key()), "JWK holds no private key"),
    "symmetric JWK": (lambda: HMACAlgorithm.to_jwk(b"QXZ0123456789QXZ0123456789"), "symmetric"),
    "JWK set": (lambda: json.dumps({"keys": [json.loads(jwk(key("P-256")))]}), "set of JWKs"),
    "broken JWK": (lambda: jwk(key("P-256"))[:-3], "JWK of the private key cannot be read"),
    "JWK of wrong numbers": (
        lambda: jwk(key("P-256"), d="QXZ0123456789QXZ0123456789QXZ"),
        "JWK of the private key cannot be read",
    ),
    "JWK of wrong types": (
        lambda: jwk(key("P-256"), d=["QXZ0123456789QXZ0123456789QXZ"]),
        "JWK of the private key cannot be read",
    ),
    "JWK of no kind": (lambda: '{"d": "QXZ0123456789QXZ0123456789QXZ"}', "JWK of the private key cannot be read"),
    "JWK of another curve": (lambda: jwk(key("secp256k1")), "curve that signs no assertion"),
    "JWK for agreement": (
        lambda: '{"kty": "OKP", "crv": "X25519", "d": "QXZ0123456789QXZ0123456789"}',
        "curve that signs no assertion",
    ),
    "JWK of Ed448": (lambda: jwk(key("Ed448")), "curve that signs no assertion"),
    "other text": (lambda: "QXZ0123456789QXZ0123456789", "neither PEM nor JWK"),
    "body of a PEM": (lambda: "".join(pem(key("P-256")).splitlines()[1:-1]), "neither PEM nor JWK"),
    "empty text": (lambda: "", "neither PEM nor JWK"),
    "DER": (
        lambda: key("P-256").private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        "neither PEM nor JWK",
    ),
    "Path of a PEM": (lambda: Path(pem(key("P-256"))), "The key itself was given as a Path"),
    "Path of a JWK": (lambda: Path(jwk(key("P-256"))), "The key itself was given as a Path"),
    "small RSA PEM": (lambda: pem(key("small RSA")), "1024 bits"),
    "small RSA JWK": (lambda: jwk(key("small RSA")), "1024 bits"),
    "another curve": (lambda: pem(key("secp256k1")), "no private key that signs"),
    "Ed448": (lambda: pem(key("Ed448")), "no private key that signs"),
    "agreement": (lambda: pem(key("X25519")), "no private key that signs"),
    "DSA": (lambda: pem(key("DSA")), "no private key that signs"),
    "public key object": (lambda: key("P-256").public_key(), "no private key that signs"),
    "None": (lambda: None, "NoneType is no private key that signs"),
    "number": (lambda: 5, "int is no private key that signs"),
}


@pytest.mark.parametrize("bad", BAD_KEYS)
def test_bad_key(bad):
    """Each wrong kind of key is an error of its own that says what is wrong and shows nothing of the key."""
    make, words = BAD_KEYS[bad]
    given_key = make()
    error = refusal(given_key)
    assert words in error.what
    material = given_key.decode("latin-1") if isinstance(given_key, bytes) else str(given_key)
    assert_shows_nothing_of(error, material if isinstance(given_key, str | bytes | Path) else "")


@pytest.mark.parametrize("bad", ["public PEM", "encrypted PEM", "broken PEM", "broken JWK", "JWK set", "other text"])
def test_bad_key_in_a_file(tmp_path, bad):
    """A wrong key in a file is the same error."""
    make, words = BAD_KEYS[bad]
    file = tmp_path / "key"
    file.write_text(make())
    error = refusal(file)
    assert words in error.what
    assert_shows_nothing_of(error, make())


def test_unreadable_files(tmp_path):
    """A file that is missing, a folder, no text or no file name is an error that names it."""
    der = tmp_path / "key.der"
    der.write_bytes(b"\xff\xfe" + key("P-256").private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))
    for file, reason in [
        (tmp_path / "missing.pem", ""),
        (tmp_path, ""),
        (der, "it is not text"),
        (Path("~nobody-of-that-name/key.pem"), ""),
        (Path("key\0.pem"), "names no file"),
    ]:
        error = refusal(file)
        assert error.what.startswith(f"Cannot read the private key file {str(file).replace(chr(0), '')}: ")
        assert reason in error.what
        assert error.__context__ is None


@given(st.text(), st.sampled_from(["{}", "-----BEGIN PRIVATE KEY-----{}", "{{{}", "{{{}}}", '{{"d": "{}"}}']))
def test_any_text_as_key(text, form):
    """Whatever text is given as a key, it is refused as one: no other error escapes."""
    refusal(form.format(text))


class Remote:
    """A Signer that keeps its key elsewhere, made without PyJWT."""

    def __init__(self, private_key, algorithm="ES256", key_id="remote-1"):
        self._key, self.algorithm, self.key_id = private_key, algorithm, key_id

    def sign(self, data):
        r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def test_signer_elsewhere():
    """An object that signs is used as it is, and its assertion verifies."""
    remote = Remote(key("P-256"))
    assert isinstance(remote, Signer)
    assert as_signer(remote) is remote
    token = assertion(as_signer(remote, algorithm="ES256", key_id="remote-1"))
    assert parts(token)[0] == {"alg": "ES256", "typ": "JWT", "kid": "remote-1"}
    assert verified(token, key("P-256"), "ES256")


def test_signer_of_ours():
    """A LocalKey is a Signer and is taken as one."""
    local = as_signer(key("P-256"))
    assert isinstance(local, Signer)
    assert as_signer(local) is local


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256K", ""])
def test_signer_algorithm(algorithm):
    """A Signer without a private key's algorithm is refused."""
    assert repr(algorithm) in refusal(Remote(key("P-256"), algorithm)).what


def test_signer_disagrees():
    """An algorithm or key ID other than the Signer's own is refused rather than ignored."""
    assert "algorithm is 'ES256', not 'ES384'" in refusal(Remote(key("P-256")), algorithm="ES384").what
    assert "key_id is 'remote-1', not 'other'" in refusal(Remote(key("P-256")), key_id="other").what


def test_half_a_signer():
    """An object that lacks a part of a Signer is told the parts."""

    class Half:
        algorithm = "ES256"

        def sign(self, data):
            return b""

    assert "Signer with algorithm, key_id and sign" in refusal(Half()).next_step


@pytest.mark.parametrize("form", ["object", "PEM", "PEM on one line", "JWK"])
@pytest.mark.parametrize("kind", DEFAULTS)
def test_secrets(kind, form):
    """The texts to look for before writing are the key's DER in base64, the text given and the JWK's private part."""
    given_key = FORMS[form](key(kind))
    texts = {secret.reveal() for name, secret in as_signer(given_key).secrets() if name == "PRIVATE_KEY"}
    der = key(kind).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    expected = {base64.b64encode(der).decode()}
    if isinstance(given_key, str):
        expected.add(given_key.strip())
    if form.startswith("PEM"):
        expected.add(pem(key(kind)) if form != "PEM" else pem(key(kind)).strip())
    if form == "JWK":
        expected.add(json.loads(given_key)["d"])
    assert texts == expected
    assert len(as_signer(given_key).secrets()) == len(texts)


def test_local_key_shows_nothing():
    """A LocalKey shows its algorithm, and is neither pickled nor copied out of the process."""
    local = as_signer(pem(key("P-256")), key_id="kid-1")
    assert repr(local) == str(local) == f"{local}" == "<LocalKey ES256>"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(local, protocol)
    with pytest.raises(TypeError):
        vars(local)
    with pytest.raises(TypeError):
        json.dumps(local)
    with pytest.raises(TypeError):
        copy.deepcopy(local)
    assert isinstance(local, LocalKey)


def test_key_is_loaded_once(monkeypatch, tmp_path):
    """The key is parsed when it is given: a file gone later, or a parser, is not needed to sign."""
    file = tmp_path / "key.pem"
    file.write_text(pem(key("P-256")))
    signer = as_signer(file)
    file.unlink()
    monkeypatch.setattr("cryptography.hazmat.primitives.serialization.load_pem_private_key", None)
    assert verified(assertion(signer), key("P-256"), "ES256")
