from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from key_forms import (
    DEFAULTS,
    assert_shows_nothing_of,
    certificate,
    der,
    identity,
    jwk,
    key,
    pem,
    public_pem,
    refusal,
)

from toolkit.auth.keys import as_signer
from toolkit.auth.keys.sources import LARGEST_KEY_FILE, as_secret
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.core.secret import Secret

CANARY = "QXZ0123456789QXZ0123456789"
FORMS = {
    "object": lambda private_key: private_key,
    "PEM": pem,
    "PEM bytes": lambda private_key: pem(private_key).encode(),
    "PEM bytearray": lambda private_key: bytearray(pem(private_key).encode()),
    "PEM with space around": lambda private_key: f"\n  {pem(private_key)}\n\n",
    "JWK": jwk,
    "JWK bytes": lambda private_key: jwk(private_key).encode(),
    "Secret": lambda private_key: Secret(pem(private_key)),
    "Secret JWK": lambda private_key: Secret(jwk(private_key)),
    "DER": der,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", DEFAULTS)
def test_forms(kind, form):
    """A key is taken in every form, and is the same key in each."""
    signer = as_signer(FORMS[form](key(kind)))
    assert signer.algorithm == DEFAULTS[kind]
    assert signer.identity() == identity(kind)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("form", [pem, jwk])
def test_key_file(tmp_path, form, encoding):
    """A key is read from a file, also in the encodings that editors and shells of Windows write."""
    file = tmp_path / "key"
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    file.write_bytes(mark + form(key("P-256")).encode(encoding))
    assert as_signer(file).identity() == identity("P-256")


def test_key_file_at_home(tmp_path, monkeypatch):
    """A path may begin with `~`."""
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / "key.pem").write_text(pem(key("P-256")))
    assert as_signer(Path("~/key.pem")).algorithm == "ES256"


def test_unreadable_key_files(tmp_path):
    """The error for a file that cannot be read names the file and the reason, but does not show its content."""
    binary, large = tmp_path / "binary", tmp_path / "large"
    binary.write_bytes(b"\x80\x81" + CANARY.encode())
    large.write_text(pem(key("P-256")) + "x" * LARGEST_KEY_FILE)
    for file, reason in [
        (tmp_path / "missing.pem", ""),
        (tmp_path, ""),
        (binary, "it is not text"),
        (large, "it is too large for a key"),
        (Path("~nobody-of-that-name/key.pem"), ""),
        (Path("key\0.pem"), "does not name a file"),
    ]:
        error = refusal(file)
        assert error.what.startswith(f"Cannot read the private key file {str(file).replace(chr(0), '')}: ")
        assert reason in error.what
        assert_shows_nothing_of(error, CANARY + "\n" + pem(key("P-256")))


def test_file_name_as_text(tmp_path, monkeypatch):
    """Text is taken as the key itself, so text that names a file is refused, and the file is not read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "desk").write_text(pem(key("P-256")))
    for name in ("desk", str(tmp_path / "desk"), "missing.pem", "~/keys/desk.PEM", " desk\n", Secret("keys.jwks")):
        error = refusal(name)
        assert "text that names a file" in error.what
        assert "Path(" in error.next_step
    assert as_signer(Path("desk")).identity() == identity("P-256")


@pytest.mark.parametrize("kind", DEFAULTS)
def test_key_text_as_path(kind):
    """Key text wrapped in a Path is refused, and not quoted as the name of a file."""
    for text in (pem(key(kind)), jwk(key(kind)), "".join(pem(key(kind)).splitlines()[1:-1])):
        error = refusal(Path(text))
        assert error.what == "The key itself was given as a Path."
        assert_shows_nothing_of(error, text)


OTHERS = {
    "other text": (lambda: CANARY, "neither PEM nor JWK"),
    "other bytes": (lambda: b"\x80" + CANARY.encode(), "neither PEM nor JWK"),
    "body of a PEM": (lambda: "".join(pem(key("P-256")).splitlines()[1:-1]), "neither PEM nor JWK"),
    "empty text": (lambda: "", "neither PEM nor JWK"),
    "public key object": (lambda: key("P-256").public_key(), "This is a public key"),
    "public RSA key object": (lambda: key("RSA").public_key(), "This is a public key"),
    "certificate object": (certificate, "This is a certificate"),
    "small RSA key object": (lambda: key("small RSA"), "1024 bits"),
    "key object of another curve": (lambda: key("secp256k1"), "secp256k1"),
    "key object for agreement": (lambda: key("X25519"), "X25519PrivateKey is not a private key that signs"),
    "None": (lambda: None, "NoneType is not a private key that signs"),
    "number": (lambda: 5, "int is not a private key that signs"),
    "list": (lambda: [CANARY], "list is not a private key that signs"),
    "class": (lambda: Secret, "The class Secret was given"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_not_a_private_key(other):
    """The error for a value that is not a private key says what it is, but does not show it."""
    make, words = OTHERS[other]
    error = refusal(make())
    assert words in error.what
    assert_shows_nothing_of(error, CANARY + "\n" + "".join(pem(key("P-256")).splitlines()[1:-1]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: key("P-256"), "not encrypted"),
        (lambda: jwk(key("P-256")), "not encrypted"),
        (lambda: public_pem(key("P-256")), "holds a public key only"),
    ],
)
def test_passphrase_without_an_encrypted_key(make, words):
    """A passphrase with a key that does not need it is refused; a public key is refused first."""
    error = refusal(make(), passphrase=CANARY)
    assert words in error.what
    assert_shows_nothing_of(error, CANARY)


def test_key_object_that_keeps_its_key():
    """The error for a key object that does not give its private half out suggests a Signer."""
    from cryptography.hazmat.primitives.asymmetric import ed25519

    class Token(ed25519.Ed25519PrivateKey):
        def private_bytes(self, encoding, format, encryption_algorithm):  # noqa: A002
            raise NotImplementedError

        def sign(self, data): ...
        def public_key(self): ...
        def private_bytes_raw(self): ...
        def __copy__(self): ...
        def __deepcopy__(self, memo): ...

    error = refusal(Token())
    assert "does not export its private key" in error.what
    assert "Signer" in error.next_step


@given(
    st.text(), st.sampled_from(["{}", "-----BEGIN PRIVATE KEY-----{}", "{{{}", "{{{}}}", '{{"d": "{}"}}', "0\x02{}"])
)
@example("\ud800", "{}")
@example("\x00", "{}")
@example("x" * 5000, "{}")
def test_any_text_as_key(text, form):
    """Any text that is not a key is refused with a ConfigurationError; no other error escapes."""
    refusal(form.format(text))
    refusal(form.format(text), passphrase="a")


@given(st.binary(), st.sampled_from([b"", b"0\x82\x01", b"0.\x02\x01\x00", b"\xff\xfe", b"-----BEGIN "]))
def test_any_bytes_as_key(data, start):
    """Any bytes that are not a key are refused with a ConfigurationError."""
    refusal(start + data)


@pytest.mark.parametrize("value", [CANARY, CANARY.encode(), {CANARY: CANARY}, Secret(CANARY)])
def test_as_secret(value):
    """Key text in any form becomes a Secret, which is returned as it is."""
    secret = as_secret(value)
    assert isinstance(secret, Secret)
    assert CANARY in secret.reveal()
    assert as_secret(secret) is secret


def test_as_secret_refuses_other_values():
    """A value that is not a private key in any form is refused."""
    for value in (None, 5, [CANARY], Secret, b"\x80"):
        with pytest.raises(ConfigurationError):
            as_secret(value)


def test_unforeseen_error(monkeypatch):
    """An unforeseen error is replaced by one that names its type and does not show the key."""

    def fail(text, passphrase):
        raise RuntimeError(text)

    monkeypatch.setattr("toolkit.auth.keys.sources.load_pem", fail)
    with pytest.raises(ToolkitError, match="as_signer failed with RuntimeError") as caught:
        as_signer(pem(key("P-256")))
    assert_shows_nothing_of(caught.value, pem(key("P-256")))
