from __future__ import annotations

import base64
import functools
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm
from key_forms import (
    DEFAULTS,
    KEYS_AND_ALGORITHMS,
    assert_refused,
    assert_shows_nothing_of,
    certificate_pem,
    der,
    frames_of,
    identity,
    jwk,
    key,
    pem,
    public_pem,
    refusal,
    thumbprint,
)

from toolkit.auth.private_keys import ASSERTION_LIFETIME, as_signer, client_assertion, new_key, write_key_file
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

CANARY = "QXZ0123456789QXZ0123456789QXZ"
PASSPHRASE = "correct horse é"
LOCK = BestAvailableEncryption(PASSPHRASE.encode())
TRADITIONAL = PrivateFormat.TraditionalOpenSSL
PUBLIC = {"kty", "crv", "x", "y", "n", "e", "kid", "alg", "use", "key_ops"}
FORMS = {
    "object": lambda private_key: private_key,
    "PEM": pem,
    "PEM with space around": lambda private_key: f"\n  {pem(private_key)}\n\n",
    "PEM of Windows": lambda private_key: pem(private_key).replace("\n", "\r\n"),
    "PEM of OpenSSL": lambda private_key: f"Bag Attributes\n    localKeyID: 01\n{pem(private_key)}",
    "PEM among others": lambda private_key: f"{certificate_pem()}{pem(private_key)}{public_pem(key('P-384'))}",
    "JWK": jwk,
    "JWK with space around": lambda private_key: f"\n {jwk(private_key)}\n",
    "Secret": lambda private_key: Secret(pem(private_key)),
    "Secret JWK": lambda private_key: Secret(jwk(private_key)),
}
# Format, kind of key and passphrase.
PEMS = {
    **{f"PKCS#8 {kind}": (PrivateFormat.PKCS8, kind, None) for kind in DEFAULTS},
    **{f"encrypted PKCS#8 {kind}": (PrivateFormat.PKCS8, kind, PASSPHRASE) for kind in DEFAULTS},
    "PKCS#1": (TRADITIONAL, "RSA", None),
    "SEC 1": (TRADITIONAL, "P-256", None),
    "SEC 1 of P-521": (TRADITIONAL, "P-521", None),
    "encrypted PKCS#1": (TRADITIONAL, "RSA", PASSPHRASE),
    "encrypted SEC 1": (TRADITIONAL, "P-384", PASSPHRASE),
}


@functools.cache
def pem_of(name):
    form, kind, passphrase = PEMS[name]
    return pem(key(kind), form, LOCK if passphrase else None)


def jwks(*members):
    return json.dumps({"keys": [json.loads(member) if isinstance(member, str) else member for member in members]})


def public(private_key, **more):
    return {name: value for name, value in json.loads(jwk(private_key, **more)).items() if name in PUBLIC - {"key_ops"}}


def private_parts(text):
    """Return the members of the private half, one on each line."""
    return "\n".join(str(value) for name, value in json.loads(text).items() if name not in PUBLIC)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", DEFAULTS)
def test_forms(kind, form):
    """A key is taken in every form, and is the same key in each."""
    signer = as_signer(FORMS[form](key(kind)))
    assert signer.algorithm == DEFAULTS[kind]
    assert signer.identity() == identity(kind)


@pytest.mark.parametrize("name", PEMS)
def test_pem_formats(name):
    """PKCS#8, PKCS#1 and SEC 1 are taken, and encrypted ones with the passphrase; text and passphrase are secret."""
    _, kind, passphrase = PEMS[name]
    signer = as_signer(pem_of(name), passphrase=passphrase)
    assert as_signer(Secret(pem_of(name)), passphrase=passphrase and Secret(passphrase)).identity() == identity(kind)
    secrets = [("PRIVATE_KEY", identity(kind)), ("PRIVATE_KEY", pem_of(name).strip())]
    assert [(name, secret.reveal()) for name, secret in signer.secrets()] == [
        *secrets,
        *([("SECRET", PASSPHRASE)] if passphrase else []),
    ]


def test_unreadable_key_files(tmp_path):
    """The error for a file that cannot be read says why, and shows neither its content nor a key given as its path."""
    (tmp_path / "der").write_bytes(der(key("P-256")))
    text = pem(key("P-256"))
    for file, reason in [
        (tmp_path / "der", "not UTF-8 text"),
        (Path("key\0.pem"), "invalid character"),
        (Path(text), ""),
        (Path("".join(text.splitlines()[1:-1])), ""),
    ]:
        error = refusal(file)
        assert reason in error.what
        assert_shows_nothing_of(error, text)


def test_keys_of_a_set():
    """`key_id` names a key of a JWK set; without it the set must hold one private key. Nothing is guessed."""
    both = jwks(jwk(key("P-256"), kid="spring"), jwk(key("RSA"), kid="autumn", alg="PS256"), jwk(key("P-384")))
    assert as_signer(both, key_id="spring").identity() == identity("P-256")
    assert as_signer(both, key_id="autumn").algorithm == "PS256"
    for error in (refusal(both), refusal(both, key_id="winter")):
        assert (error.about, "private keys" in error.what) == ("key_id", True)
        assert_shows_nothing_of(error, "\n".join(private_parts(jwk(key(kind))) for kind in ("P-256", "RSA", "P-384")))
    twice = jwks(jwk(key("P-256"), kid="a"), jwk(key("RSA"), kid="a"))
    assert "2 private keys with this key ID" in refusal(twice, key_id="a").what
    one = jwks(public(key("P-384", 1), kid="p"), {"kty": "new"}, jwk(key("RSA"), kid="one"))
    assert (as_signer(one).identity(), as_signer(one).key_id) == (identity("RSA"), "one")


def test_key_id_and_algorithm_of_a_jwk():
    """They are the JWK's own (RFC 7517 sections 4.4 and 4.5), else the arguments; others are refused, not preferred."""
    named = jwk(key("RSA"), kid="from-jwk", alg="PS384")
    signer = as_signer(named, key_id="from-jwk", algorithm="PS384")
    assert (signer.key_id, signer.algorithm) == (as_signer(named).key_id, as_signer(named).algorithm)
    assert (signer.key_id, signer.algorithm) == ("from-jwk", "PS384")
    assert refusal(named, key_id="given").about == "key_id"
    assert refusal(named, algorithm="RS512").about == "algorithm"
    assert as_signer(jwk(key("P-256"))).key_id is None
    assert as_signer(jwk(key("P-256")), key_id="given").key_id == "given"
    for algorithm in ("RSA-OAEP", "HS256", "none", "ES256", CANARY):
        error = refusal(jwk(key("RSA"), alg=algorithm))
        assert error.about == "algorithm"
        assert_shows_nothing_of(error, CANARY)


UNREADABLE_PEM, UNREADABLE_JWK = "PEM private key cannot be read", "JWK private key cannot be read"
NO_KEY = "contains no complete private keys"
BAD_TEXTS = {
    "public key": (lambda: public_pem(key("P-256")), "contains a public key"),
    "certificate": (certificate_pem, "or a certificate"),
    "two private keys": (lambda: pem_of("PKCS#8 P-256") + pem_of("PKCS#8 RSA"), "contains 2 complete private keys"),
    "written out line breaks": (lambda: pem_of("PKCS#8 P-256").replace("\n", "\\n"), UNREADABLE_PEM),
    "cut within": (lambda: pem_of("PKCS#8 RSA")[:600] + "\n-----END PRIVATE KEY-----", UNREADABLE_PEM),
    "cut at its end": (lambda: pem_of("PKCS#8 RSA")[:-20], NO_KEY),
    "many beginnings": (lambda: "-----BEGIN PRIVATE KEY-----\n" * 20_000, NO_KEY),
    "empty text": (lambda: " ", NO_KEY),
    "of OpenSSH": (lambda: pem(key("P-256"), PrivateFormat.OpenSSH), UNREADABLE_PEM),
    "DSA": (lambda: pem(key("DSA")), "DSAPrivateKey cannot be used"),
    "small RSA": (lambda: pem(key("small RSA")), "1024-bit"),
    "public JWK": (lambda: ECAlgorithm.to_jwk(key("P-256").public_key()), "a public or a symmetric key"),
    "symmetric JWK": (lambda: json.dumps({"kty": "oct", "k": CANARY}), "a public or a symmetric key"),
    "broken JWK": (lambda: jwk(key("P-256"))[:-3], UNREADABLE_JWK),
    "JWK of wrong numbers": (lambda: jwk(key("P-256"), d=CANARY), UNREADABLE_JWK),
    "JWK of two halves": (lambda: jwk(key("P-256"), x=json.loads(jwk(key("P-256", 1)))["x"]), UNREADABLE_JWK),
    "set of public keys": (lambda: jwks(public(key("P-256"))), "has no private keys"),
    "very deep JSON": (lambda: '{"keys": ' + "[" * 100_000, UNREADABLE_JWK),
}


@pytest.mark.parametrize("bad", BAD_TEXTS)
def test_bad_text(bad, tmp_path):
    """Text that is not a private key is refused, also from a file; the error says what is wrong and shows no key."""
    make, words = BAD_TEXTS[bad]
    assert_refused(make(), words, tmp_path / "key")


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "EdDSA", "PS256"])
def test_halves_of_a_new_key_belong_together(algorithm):
    """Both forms of the public half verify what the private half signs; nothing private is in the JWK."""
    pair = new_key(algorithm)
    signer = as_signer(pair.private_pem, algorithm=algorithm)
    implementation = jwt.get_algorithm_by_name(algorithm)
    for public in (
        implementation.prepare_key(pair.public_pem.encode()),
        jwt.PyJWK.from_dict(dict(pair.public_jwk)).key,
    ):
        assert implementation.verify(b"data", public, signer.sign(b"data"))
        assert not implementation.verify(b"other", public, signer.sign(b"data"))
    assert set(pair.public_jwk) <= {"kty", "crv", "x", "y", "n", "e", "kid", "alg", "use"}
    assert (pair.public_jwk["alg"], pair.public_jwk["use"]) == (algorithm, "sig")
    assert pair.public_jwk["kid"] == pair.thumbprint == thumbprint(pair.public_jwk)
    assert "PRIVATE" not in repr(pair)


TEXT = Secret("QXZ0123456789QXZ\n")


def refused(file):
    with pytest.raises(ConfigurationError) as caught:
        write_key_file(file, TEXT)
    assert caught.value.next_step
    assert_shows_nothing_of(caught.value, TEXT.reveal())
    return caught.value.what


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_key_file_is_private(tmp_path):
    """Only the user may use the new file and its new folders, whatever the umask."""
    before = os.umask(0)
    try:
        write_key_file(tmp_path / "a" / "b" / "key.pem", TEXT)
    finally:
        os.umask(before)
    assert (tmp_path / "a" / "b" / "key.pem").read_text() == TEXT.reveal()
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/key.pem")]
    assert modes == [0o700, 0o700, 0o600]


@pytest.mark.parametrize("is_worktree", [False, True])
def test_key_file_in_a_repository(tmp_path, is_worktree, monkeypatch):
    """No key is written below a folder with `.git`, a folder or a worktree's file, nor through a link into one."""
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    (repository / "deep").mkdir(parents=True)
    if is_worktree:
        (repository / ".git").write_text("gitdir: elsewhere")
    else:
        (repository / ".git").mkdir()
    outside.symlink_to(repository / "deep")
    monkeypatch.chdir(repository)
    for file in (repository / "key.pem", repository / "deep" / "new" / "key.pem", outside / "key.pem", Path("key.pem")):
        assert "git repository" in refused(file)
    assert sorted(path.name for path in repository.rglob("*")) == [".git", "deep"]
    write_key_file(tmp_path / "key.pem", TEXT)


def test_key_file_is_never_overwritten(tmp_path):
    """A file that exists keeps its content, and is not a folder for others."""
    (tmp_path / "key.pem").write_text("mine")
    assert "never overwritten" in refused(tmp_path / "key.pem")
    assert "not a regular file" in refused(tmp_path / "key.pem" / "key.pem")
    assert (tmp_path / "key.pem").read_text() == "mine"


NOW = datetime(2026, 5, 12, 9, 30, 0, 999_999, tzinfo=UTC)
HALVES = {"ES256": 32, "ES384": 48, "ES512": 66}


def assertion(signer, **changes):
    values = {"client_id": "client-1", "audience": "https://auth.example.com/v1/oauth2/token", "now": NOW}
    return client_assertion(signer, **{**values, "new_jti": lambda: "jti-1", **changes}).reveal()


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
    public, options = key(kind).public_key(), {"verify_exp": False, "verify_iat": False}  # whatever the time
    verified = jwt.decode(token, public, algorithms=[algorithm], audience=expected["aud"], options=options)
    assert claims == expected == verified
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
        ("ES256", bytes(63), "not a valid signature"),
        ("ES256", encode_dss_signature(2**384 - 1, 1), "not a valid signature"),
        ("ES256", encode_dss_signature(1, 2) + b"x", "not a valid signature"),
        ("EdDSA", bytes(65), "not a valid signature"),
        ("RS256", bytes(255), "not a valid signature"),
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
    with pytest.raises(ConfigurationError, match="is not supported"):
        assertion(Remote(b"", "none"))
    signer = Remote()
    assert as_signer(signer, algorithm="ES256", key_id="remote-1") is signer
