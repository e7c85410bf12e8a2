from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, PrivateFormat
from hypothesis import example, given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm
from key_forms import (
    DEFAULTS,
    RSA_ALGORITHMS,
    assert_refused,
    assert_shows_nothing_of,
    certificate_pem,
    der,
    identity,
    jwk,
    key,
    pem,
    public_pem,
    refusal,
)

from toolkit.auth.private_keys import as_signer
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


@pytest.mark.parametrize("name", [name for name in PEMS if "encrypted" in name])
def test_missing_and_wrong_passphrase(name):
    """The errors for a missing and for a wrong passphrase show neither key nor passphrase."""
    missing, wrong = refusal(pem_of(name)), refusal(pem_of(name), passphrase=CANARY)
    assert "encrypted" in missing.what
    assert "passphrase=" in missing.next_step
    assert "cannot be decrypted with this passphrase" in wrong.what
    for error in (missing, wrong):
        assert error.about == "passphrase"
        assert_shows_nothing_of(error, f"{pem_of(name)}\n{CANARY}")


def test_key_file(tmp_path, monkeypatch):
    """A key is read from a file, which may begin with a byte order mark; a path may begin with `~`."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    for form in (pem, jwk):
        (tmp_path / "key").write_text(form(key("P-256")), "utf-8-sig")
        assert as_signer(tmp_path / "key").identity() == as_signer(Path("~/key")).identity() == identity("P-256")


def test_unreadable_key_files(tmp_path):
    """The error for a file that cannot be read says why, and shows neither its content nor a key given as its path."""
    (tmp_path / "der").write_bytes(der(key("P-256")))
    text = pem(key("P-256"))
    for file, reason in [
        (tmp_path / "missing.pem", "No such file"),
        (tmp_path, ""),
        (tmp_path / "der", "not UTF-8 text"),
        (Path("~nobody-of-that-name/key.pem"), "home folder"),
        (Path("key\0.pem"), "null character"),
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


@pytest.mark.parametrize("kind", DEFAULTS)
def test_algorithm_fits_the_key(kind):
    """An algorithm that does not fit the key is refused with those that do; never `none`, never a shared secret."""
    fitting = RSA_ALGORITHMS if kind == "RSA" else [DEFAULTS[kind]]
    for algorithm in ("none", "HS256", "ES256K", "es256", *DEFAULTS.values(), *RSA_ALGORITHMS):
        if algorithm in fitting:
            assert as_signer(key(kind), algorithm=algorithm).algorithm == algorithm
        else:
            assert refusal(key(kind), algorithm=algorithm).about == "algorithm"


UNREADABLE_PEM, UNREADABLE_JWK = "PEM of the private key cannot be read", "JWK of the private key cannot be read"
NO_KEY = "holds no whole private keys"
BAD_TEXTS = {
    "public key": (lambda: public_pem(key("P-256")), "holds a public key"),
    "certificate": (certificate_pem, "or a certificate"),
    "two private keys": (lambda: pem_of("PKCS#8 P-256") + pem_of("PKCS#8 RSA"), "holds 2 whole private keys"),
    "damaged": (lambda: pem_of("PKCS#8 P-256").replace("\nMI", "\nIM"), UNREADABLE_PEM),
    "written out line breaks": (lambda: pem_of("PKCS#8 P-256").replace("\n", "\\n"), UNREADABLE_PEM),
    "no ASCII": (lambda: pem_of("PKCS#8 P-256").replace("\nMI", "\nüI"), UNREADABLE_PEM),
    "cut within": (lambda: pem_of("PKCS#8 RSA")[:600] + "\n-----END PRIVATE KEY-----", UNREADABLE_PEM),
    "cut at its end": (lambda: pem_of("PKCS#8 RSA")[:-20], NO_KEY),
    "many beginnings": (lambda: "-----BEGIN PRIVATE KEY-----\n" * 20_000, NO_KEY),
    "body of a PEM": (lambda: "".join(pem(key("P-256")).splitlines()[1:-1]), NO_KEY),
    "name of a file": (lambda: "desk.pem", NO_KEY),
    "empty text": (lambda: " ", NO_KEY),
    "of OpenSSH": (lambda: pem(key("P-256"), PrivateFormat.OpenSSH), UNREADABLE_PEM),
    "DSA": (lambda: pem(key("DSA")), "DSAPrivateKey does not sign"),
    "small RSA": (lambda: pem(key("small RSA")), "1024 bits"),
    "another curve": (lambda: pem(key("secp256k1")), "does not sign"),
    "agreement": (lambda: pem(key("X25519")), "X25519PrivateKey does not sign"),
    "public JWK": (lambda: ECAlgorithm.to_jwk(key("P-256").public_key()), "a public or a symmetric key"),
    "symmetric JWK": (lambda: json.dumps({"kty": "oct", "k": CANARY}), "a public or a symmetric key"),
    "broken JWK": (lambda: jwk(key("P-256"))[:-3], UNREADABLE_JWK),
    "JWK of wrong numbers": (lambda: jwk(key("P-256"), d=CANARY), UNREADABLE_JWK),
    "JWK of wrong types": (lambda: jwk(key("P-256"), d=[CANARY]), UNREADABLE_JWK),
    "JWK of no kind": (lambda: json.dumps({"d": CANARY}), UNREADABLE_JWK),
    "JWK of two halves": (lambda: jwk(key("P-256"), x=json.loads(jwk(key("P-256", 1)))["x"]), UNREADABLE_JWK),
    "set of nothing": (lambda: '{"keys": []}', "holds no private keys"),
    "set of public keys": (lambda: jwks(public(key("P-256"))), "holds no private keys"),
    "set of no list": (lambda: '{"keys": 5}', UNREADABLE_JWK),
    "very deep JSON": (lambda: '{"keys": ' + "[" * 100_000, UNREADABLE_JWK),
}


@pytest.mark.parametrize("bad", BAD_TEXTS)
def test_bad_text(bad, tmp_path):
    """Text that is not a private key is refused, also from a file; the error says what is wrong and shows no key."""
    make, words = BAD_TEXTS[bad]
    assert_refused(make(), words, tmp_path / "key")


@pytest.mark.parametrize("make", [lambda: key("P-256").public_key(), lambda: None, lambda: [CANARY], lambda: b"{"])
def test_not_a_private_key(make):
    """The error for a value that is not a private key names its type, but does not show it."""
    error = refusal(make())
    assert "is not a private key" in error.what
    assert_shows_nothing_of(error, CANARY)


@given(
    st.text(), st.sampled_from(["{}", "-----BEGIN PRIVATE KEY-----{}", "{{{}", "{{{}}}", '{{"d": "{}"}}', "0\x02{}"])
)
@example("\ud800", "{}")
@example("\ud800", "-----BEGIN PRIVATE KEY-----{}-----END PRIVATE KEY-----")
@example("\x00", "{}")
def test_any_text_as_key(text, form):
    """Any text that is not a key is refused with a ConfigurationError; no other error escapes."""
    refusal(form.format(text))
    refusal(form.format(text), passphrase="a")
