from __future__ import annotations

import functools
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, PrivateFormat
from hypothesis import example, given
from hypothesis import strategies as st
from key_forms import (
    DEFAULTS,
    assert_refused,
    assert_shows_nothing_of,
    certificate_pem,
    der,
    identity,
    key,
    pem,
    public_pem,
    refusal,
)

from toolkit.auth.keys import as_signer
from toolkit.core.secret import Secret

PASSPHRASE = "correct horse é"
LOCK = BestAvailableEncryption(PASSPHRASE.encode())
TRADITIONAL = PrivateFormat.TraditionalOpenSSL
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
BREAKS = ["\n", "\r\n", "\r", "\\n", "\\r\\n", "\\\\n", " ", "  \t", "\n    ", ""]
BEFORE = [
    "",
    "\ufeff",
    '"',
    "Bag Attributes\n    friendlyName: desk\n    localKeyID: 01 02\nKey Attributes: <No Attributes>\n",
    "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n",
    "-----BEGIN PRIVATE KEY----- is how it begins\n",
]


@functools.cache
def pem_of(name):
    form, kind, passphrase = PEMS[name]
    return pem(key(kind), form, LOCK if passphrase else None)


@pytest.mark.parametrize("name", PEMS)
def test_pem_formats(name):
    """PKCS#8, PKCS#1 and SEC 1 are taken, and their encrypted forms with the passphrase."""
    _, kind, passphrase = PEMS[name]
    assert as_signer(pem_of(name), passphrase=passphrase).identity() == identity(kind)
    assert as_signer(Secret(pem_of(name)), passphrase=passphrase and Secret(passphrase)).algorithm == DEFAULTS[kind]


@given(st.sampled_from(sorted(PEMS)), st.sampled_from(BREAKS), st.sampled_from(BEFORE), st.sampled_from(["", '"', ","]))
@example("encrypted PKCS#1", "", "", "")
@example("encrypted PKCS#1", " ", BEFORE[3], "")
@example("encrypted SEC 1", "\\n", BEFORE[4], "")
def test_mangled_pem(name, line_break, before, after):
    """The same key is read, whatever became of the line breaks and whatever stands around it."""
    _, kind, passphrase = PEMS[name]
    mangled = before + pem_of(name).replace("\n", line_break) + after
    assert as_signer(mangled, passphrase=passphrase).identity() == identity(kind)


@pytest.mark.parametrize("line_break", ["\n", "", "\\n"])
def test_pem_with_several_blocks(line_break):
    """The private key beside certificates and a public key is taken, also if it stands there twice."""
    text = "".join((certificate_pem(), pem_of("PKCS#8 P-256"), public_pem(key("P-256")), certificate_pem("P-384")))
    assert as_signer(text.replace("\n", line_break)).identity() == identity("P-256")
    assert as_signer((text + text).replace("\n", line_break)).identity() == identity("P-256")


def test_pem_with_two_private_keys():
    """A PEM with two private keys is refused."""
    both = pem_of("PKCS#8 P-256") + pem_of("PKCS#8 RSA")
    error = refusal(both)
    assert error.what == "This PEM holds several private keys."
    assert_shows_nothing_of(error, both)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
@pytest.mark.parametrize(("kind", "command"), [("P-256", "ec -aes256"), ("RSA", "rsa -des3 -traditional")])
def test_legacy_encryption_of_openssl(kind, command):
    """A key that OpenSSL encrypted in its older form is decrypted, also without its line breaks."""
    arguments = ["openssl", *command.split(), "-passout", "pass:hunter22"]
    result = subprocess.run(arguments, input=pem(key(kind)).encode(), capture_output=True, check=True)
    text = result.stdout.decode()
    assert "DEK-Info" in text
    for line_break in ("\n", " ", "", "\\n"):
        assert as_signer(text.replace("\n", line_break), passphrase="hunter22").identity() == identity(kind)


@pytest.mark.parametrize("name", [name for name in PEMS if "encrypted" in name])
def test_missing_and_wrong_passphrase(name):
    """The errors for a missing and for a wrong passphrase show neither key nor passphrase."""
    missing, wrong = refusal(pem_of(name)), refusal(pem_of(name), passphrase="QXZ0123456789QXZ0123456789")
    assert "encrypted with a passphrase" in missing.what
    assert "passphrase=" in missing.next_step
    assert wrong.what == "The private key cannot be decrypted with this passphrase."
    for error in (missing, wrong):
        assert error.about == "passphrase"
        assert_shows_nothing_of(error, pem_of(name) + "\nQXZ0123456789QXZ0123456789")


@pytest.mark.parametrize("name", ["PKCS#8 P-256", "PKCS#8 RSA", "PKCS#1", "SEC 1"])
def test_passphrase_with_an_unencrypted_pem(name):
    """A passphrase with a key that is not encrypted is refused."""
    error = refusal(pem_of(name), passphrase="QXZ0123456789QXZ")
    assert error.what == "A passphrase was given, but the private key is not encrypted."
    assert_shows_nothing_of(error, pem_of(name) + "\nQXZ0123456789QXZ")


def test_unsupported_encryption():
    """The error for an unknown cipher tells how to use another."""
    text = pem_of("encrypted PKCS#1").replace("AES-256-CBC", "ARIA-256-CBC")
    assert "cipher that is not supported" in refusal(text, passphrase=PASSPHRASE).what
    assert "openssl pkcs8" in refusal(text, passphrase=PASSPHRASE).next_step


@pytest.mark.parametrize("kind", ["P-256", "Ed25519", "RSA"])
def test_der(kind, tmp_path):
    """DER is taken as bytes and from a file, also encrypted."""
    file = tmp_path / "key.der"
    for data, passphrase in ((der(key(kind)), None), (der(key(kind), LOCK), PASSPHRASE)):
        file.write_bytes(data)
        assert as_signer(data, passphrase=passphrase).identity() == identity(kind)
        assert as_signer(file, passphrase=passphrase).identity() == identity(kind)
    assert "encrypted with a passphrase" in refusal(der(key(kind), LOCK)).what
    assert "not encrypted" in refusal(der(key(kind)), passphrase=PASSPHRASE).what
    assert "cannot be decrypted" in refusal(der(key(kind), LOCK), passphrase="other").what


MII = "QXZ0123456789QXZ0123456789"
BAD_PEMS = {
    "public key": (lambda: public_pem(key("P-256")), "holds a public key only"),
    "certificate": (certificate_pem, "holds a certificate only"),
    "something else": (
        lambda: f"-----BEGIN X9.42 DH PARAMETERS-----\n{MII}\n-----END X9.42 DH PARAMETERS-----",
        "does not hold a private key.",
    ),
    "damaged": (lambda: pem_of("PKCS#8 P-256").replace("\nMI", "\nIM"), "PEM of the private key cannot be read"),
    "no base64": (lambda: pem_of("PKCS#8 P-256").replace("\nMI", "\n%I"), "PEM of the private key cannot be read"),
    "empty": (
        lambda: "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
        "PEM of the private key cannot be read",
    ),
    "cut within": (
        lambda: pem_of("PKCS#8 RSA")[:600] + "\n-----END PRIVATE KEY-----",
        "PEM of the private key cannot be read",
    ),
    "cut at its end": (lambda: pem_of("PKCS#8 RSA")[:-20], "is cut off"),
    "another end": (lambda: pem_of("PKCS#8 RSA").replace("END PRIVATE", "END RSA PRIVATE"), "is cut off"),
    "OpenSSH": (
        lambda: f"-----BEGIN OPENSSH PRIVATE KEY-----\n{MII}\n-----END OPENSSH PRIVATE KEY-----",
        "in the format of OpenSSH",
    ),
    "damaged headers": (
        lambda: pem_of("encrypted PKCS#1").replace("DEK-Info", "DEK-Nothing"),
        "lines Proc-Type and DEK-Info",
    ),
    "small RSA": (lambda: pem(key("small RSA")), "1024 bits"),
    "another curve": (lambda: pem(key("secp256k1")), "curve secp256k1, which does not sign"),
    "Ed448": (lambda: pem(key("Ed448")), "Ed448PrivateKey is not a private key that signs"),
    "agreement": (lambda: pem(key("X25519")), "X25519PrivateKey is not a private key that signs"),
    "DSA": (lambda: pem(key("DSA")), "DSAPrivateKey is not a private key that signs"),
}


@pytest.mark.parametrize("bad", BAD_PEMS)
def test_bad_pem(bad, tmp_path):
    """Each bad PEM is refused, as text and from a file; the error says what is wrong and does not show the key."""
    make, words = BAD_PEMS[bad]
    assert_refused(make(), words, tmp_path / "key")


def test_bad_der():
    """DER of a public key is recognized; DER that is cut off cannot be read."""
    import base64

    body = "".join(public_pem(key("P-256")).splitlines()[1:-1])
    assert refusal(base64.b64decode(body)).what == "This DER is a public key."
    assert "DER of the private key cannot be read" in refusal(der(key("P-256"))[:-9]).what


@pytest.mark.parametrize("name", [*PEMS, "block among others"])
def test_secrets_of_a_pem(name):
    """The block as it was given and as it was rebuilt count as secrets, and so does the passphrase."""
    _, kind, passphrase = PEMS.get(name, (None, "P-256", None))
    text = pem_of(name) if name in PEMS else certificate_pem() + pem_of("PKCS#8 P-256")
    block = text[text.index("-----BEGIN ", len(text) - len(text.split("-----END CERTIFICATE-----")[-1])) :].strip()
    mangled = block.replace("\n", "\\n")
    texts = [(name, secret.reveal()) for name, secret in as_signer(mangled, passphrase=passphrase).secrets()]
    assert ("PRIVATE_KEY", mangled) in texts
    assert ("PRIVATE_KEY", block) in texts
    assert (("SECRET", PASSPHRASE) in texts) is (passphrase is not None)
    assert ("PRIVATE_KEY", identity(kind)) == texts[0]


def test_short_passphrase_is_not_a_secret_of_recordings():
    """A short passphrase, which could be ordinary text, is not searched for in recordings."""
    text = pem(key("P-256"), encryption=BestAvailableEncryption(b"pw"))
    assert {name for name, _ in as_signer(text, passphrase="pw").secrets()} == {"PRIVATE_KEY"}
