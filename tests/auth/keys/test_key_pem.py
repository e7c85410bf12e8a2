"""PEM and DER: every format, with and without a passphrase, however mangled."""

from __future__ import annotations

import functools
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, PrivateFormat
from hypothesis import example, given, settings
from hypothesis import strategies as st
from key_forms import (
    DEFAULTS,
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
# Form, key and passphrase of each.
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
def made(name):
    form, kind, passphrase = PEMS[name]
    return pem(key(kind), form, LOCK if passphrase else None)


@pytest.mark.parametrize("name", PEMS)
def test_formats(name):
    """PKCS#8, PKCS#1 and SEC 1 are taken, and their encrypted forms with the passphrase."""
    _, kind, passphrase = PEMS[name]
    assert as_signer(made(name), passphrase=passphrase).identity() == identity(kind)
    assert as_signer(Secret(made(name)), passphrase=passphrase and Secret(passphrase)).algorithm == DEFAULTS[kind]


@settings(max_examples=60)
@given(st.sampled_from(sorted(PEMS)), st.sampled_from(BREAKS), st.sampled_from(BEFORE), st.sampled_from(["", '"', ","]))
@example("encrypted PKCS#1", "", "", "")
@example("encrypted PKCS#1", " ", BEFORE[3], "")
@example("encrypted SEC 1", "\\n", BEFORE[4], "")
def test_mangled(name, line_break, before, after):
    """Whatever became of the line breaks and whatever stands around it, it is the same key."""
    _, kind, passphrase = PEMS[name]
    mangled = before + made(name).replace("\n", line_break) + after
    assert as_signer(mangled, passphrase=passphrase).identity() == identity(kind)


@pytest.mark.parametrize("line_break", ["\n", "", "\\n"])
def test_several_blocks(line_break):
    """Beside certificates and a public key, the private key is taken; the same key twice is one."""
    text = "".join((certificate_pem(), made("PKCS#8 P-256"), public_pem(key("P-256")), certificate_pem("P-384")))
    assert as_signer(text.replace("\n", line_break)).identity() == identity("P-256")
    assert as_signer((text + text).replace("\n", line_break)).identity() == identity("P-256")


def test_two_private_keys():
    """Two private keys are an error, rather than the first of them."""
    both = made("PKCS#8 P-256") + made("PKCS#8 RSA")
    error = refusal(both)
    assert error.what == "This PEM holds several private keys."
    assert_shows_nothing_of(error, both)


@pytest.mark.parametrize("cipher", ["aes128", "aes256", "des3"])
@pytest.mark.parametrize("command", ["ec", "rsa"])
def test_legacy_encryption_of_openssl(cipher, command):
    """What OpenSSL encrypts in its older form opens with the passphrase, without its line breaks too."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    kind = {"ec": "P-256", "rsa": "RSA"}[command]
    arguments = [
        "openssl",
        command,
        f"-{cipher}",
        "-passout",
        "pass:hunter22",
        *(["-traditional"] * (command == "rsa")),
    ]
    done = subprocess.run(arguments, input=pem(key(kind)).encode(), capture_output=True, check=True)
    text = done.stdout.decode()
    assert "DEK-Info" in text
    for line_break in ("\n", " ", "", "\\n"):
        assert as_signer(text.replace("\n", line_break), passphrase="hunter22").identity() == identity(kind)


@pytest.mark.parametrize("name", [name for name in PEMS if "encrypted" in name])
def test_passphrase(name):
    """Without the passphrase, and with a wrong one, an encrypted key is an error of its own that shows neither."""
    missing, wrong = refusal(made(name)), refusal(made(name), passphrase="QXZ0123456789QXZ0123456789")
    assert "encrypted with a passphrase" in missing.what
    assert "passphrase=" in missing.next_step
    assert wrong.what == "The private key cannot be decrypted with this passphrase."
    for error in (missing, wrong):
        assert_shows_nothing_of(error, made(name) + "\nQXZ0123456789QXZ0123456789")


@pytest.mark.parametrize("name", ["PKCS#8 P-256", "PKCS#8 RSA", "PKCS#1", "SEC 1"])
def test_passphrase_without_an_encrypted_key(name):
    """A passphrase that opens nothing is a slip, and said to be one."""
    error = refusal(made(name), passphrase="QXZ0123456789QXZ")
    assert error.what == "A passphrase was given, and the private key is not encrypted."
    assert_shows_nothing_of(error, made(name) + "\nQXZ0123456789QXZ")


@pytest.mark.parametrize(("passphrase", "words"), [("", "is empty"), (b"QXZ0123456789QXZ", "is bytes, not text")])
def test_no_passphrase(passphrase, words):
    """An empty passphrase, and one that is no text, are errors."""
    error = refusal(made("encrypted PKCS#1"), passphrase=passphrase)
    assert error.what == f"The passphrase {words}."
    assert_shows_nothing_of(error, "QXZ0123456789QXZ")


def test_unsupported_encryption():
    """A cipher that is not known is named as the reason, with the way to another."""
    text = made("encrypted PKCS#1").replace("AES-256-CBC", "ARIA-256-CBC")
    assert "cipher that is not supported" in refusal(text, passphrase=PASSPHRASE).what
    assert "openssl pkcs8" in refusal(text, passphrase=PASSPHRASE).next_step


@pytest.mark.parametrize("kind", DEFAULTS)
def test_der(kind, tmp_path):
    """DER is taken as bytes and from a file, encrypted too."""
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
    "public key": (lambda: public_pem(key("P-256")), "holds no private key: it is a public key"),
    "certificate": (certificate_pem, "holds no private key: it is a certificate"),
    "something else": (
        lambda: f"-----BEGIN X9.42 DH PARAMETERS-----\n{MII}\n-----END X9.42 DH PARAMETERS-----",
        "holds no private key.",
    ),
    "damaged": (lambda: made("PKCS#8 P-256").replace("\nMI", "\nIM"), "PEM of the private key cannot be read"),
    "no base64": (lambda: made("PKCS#8 P-256").replace("\nMI", "\n%I"), "PEM of the private key cannot be read"),
    "empty": (
        lambda: "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----",
        "PEM of the private key cannot be read",
    ),
    "cut within": (
        lambda: made("PKCS#8 RSA")[:600] + "\n-----END PRIVATE KEY-----",
        "PEM of the private key cannot be read",
    ),
    "cut at its end": (lambda: made("PKCS#8 RSA")[:-20], "is cut off"),
    "another end": (lambda: made("PKCS#8 RSA").replace("END PRIVATE", "END RSA PRIVATE"), "is cut off"),
    "OpenSSH": (
        lambda: f"-----BEGIN OPENSSH PRIVATE KEY-----\n{MII}\n-----END OPENSSH PRIVATE KEY-----",
        "in the format of OpenSSH",
    ),
    "damaged headers": (
        lambda: made("encrypted PKCS#1").replace("DEK-Info", "DEK-Nothing"),
        "lines Proc-Type and DEK-Info",
    ),
    "small RSA": (lambda: pem(key("small RSA")), "1024 bits"),
    "another curve": (lambda: pem(key("secp256k1")), "curve secp256k1, which signs no assertion"),
    "Ed448": (lambda: pem(key("Ed448")), "Ed448PrivateKey is no private key that signs"),
    "agreement": (lambda: pem(key("X25519")), "X25519PrivateKey is no private key that signs"),
    "DSA": (lambda: pem(key("DSA")), "DSAPrivateKey is no private key that signs"),
}


@pytest.mark.parametrize("bad", BAD_PEMS)
@pytest.mark.parametrize("in_a_file", [False, True])
def test_bad_pem(bad, in_a_file, tmp_path):
    """Each wrong PEM is an error of its own that says what is wrong and shows nothing of the key."""
    make, words = BAD_PEMS[bad]
    text, file = make(), tmp_path / "key"
    file.write_text(text)
    error = refusal(file if in_a_file else text)
    assert words in error.what
    assert_shows_nothing_of(error, text)


def test_bad_der():
    """DER of a public key, and of nothing, is refused as such."""
    import base64

    body = "".join(public_pem(key("P-256")).splitlines()[1:-1])
    assert refusal(base64.b64decode(body)).what == "This DER is a public key."
    assert "DER of the private key cannot be read" in refusal(der(key("P-256"))[:-9]).what


@pytest.mark.parametrize("name", [*PEMS, "block among others"])
def test_texts_to_look_for(name):
    """The block as it was given and as it is set in lines again are known as secrets, and the passphrase is."""
    _, kind, passphrase = PEMS.get(name, (None, "P-256", None))
    text = made(name) if name in PEMS else certificate_pem() + made("PKCS#8 P-256")
    block = text[text.index("-----BEGIN ", len(text) - len(text.split("-----END CERTIFICATE-----")[-1])) :].strip()
    mangled = block.replace("\n", "\\n")
    texts = [(name, secret.reveal()) for name, secret in as_signer(mangled, passphrase=passphrase).secrets()]
    assert ("PRIVATE_KEY", mangled) in texts
    assert ("PRIVATE_KEY", block) in texts
    assert (("SECRET", PASSPHRASE) in texts) is (passphrase is not None)
    assert ("PRIVATE_KEY", identity(kind)) == texts[0]


def test_a_short_passphrase_is_not_looked_for():
    """A passphrase that cannot be told from ordinary text does not count as a secret of recordings."""
    text = pem(key("P-256"), encryption=BestAvailableEncryption(b"pw"))
    assert {name for name, _ in as_signer(text, passphrase="pw").secrets()} == {"PRIVATE_KEY"}
