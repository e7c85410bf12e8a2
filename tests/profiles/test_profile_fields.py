from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path

import pytest

from toolkit.credentials import ClientKey, ClientSecret, KeyPair
from toolkit.errors import ConfigurationError, CredentialsMismatch
from toolkit.profiles.fields import FIELDS, Given, decompose, fields_of
from toolkit.secret import Secret
from toolkit.service import CredentialKind, Environment


def give(environment, folder=Path(), **values):
    secrets = {field: Secret(text) for field, text in values.items()}
    return Given(Environment(environment), "a", "the source", secrets, str.upper, folder)


def refusal(given, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        given.credentials()
    assert caught.value.next_step
    assert "the source" in str(caught.value)
    return str(caught.value)


def test_fields_of_environments():
    """An account holder has the fields of a key pair, a broker partner those of a client."""
    assert fields_of(Environment.LIVE) == {"key_id", "secret_key", "secret_key_file", "scheme"}
    assert fields_of(Environment.BROKER_LIVE).isdisjoint(fields_of(Environment.LIVE))
    assert fields_of(Environment.LIVE) | fields_of(Environment.BROKER_SANDBOX) == FIELDS


@pytest.mark.parametrize(
    ("environment", "values", "missing"),
    [
        ("live", {"key_id": "k"}, ["KEY_ID without SECRET_KEY."]),
        ("live", {"secret_key": "s"}, ["SECRET_KEY without KEY_ID."]),
        ("paper", {"scheme": "basic"}, ["SCHEME without KEY_ID and SECRET_KEY."]),
        ("broker-live", {"client_id": "c"}, ["without one of CLIENT_SECRET, PRIVATE_KEY, PRIVATE_KEY_FILE."]),
        ("broker-live", {"client_secret": "s"}, ["CLIENT_SECRET without CLIENT_ID."]),
        ("broker-live", {"client_secret_file": "s"}, ["CLIENT_SECRET_FILE without CLIENT_ID."]),
        ("broker-live", {"private_key": "p"}, ["PRIVATE_KEY without CLIENT_ID."]),
        ("broker-live", {"audience": "issuer"}, ["AUDIENCE without CLIENT_ID and PRIVATE_KEY."]),
    ],
)
def test_half_given(environment, values, missing):
    """Half of the credentials is an error that names what is missing."""
    told = refusal(give(environment, **values))
    for each in missing:
        assert each in told


@pytest.mark.parametrize(
    "values",
    [
        {"client_secret": "s", "private_key": "p"},
        {"client_secret": "s", "private_key_file": "p"},
        {"client_secret_file": "s", "private_key_file": "p"},
        {"private_key": "s", "private_key_file": "p"},
        {"client_secret": "s", "client_secret_file": "p"},
    ],
)
def test_given_twice(values):
    """Two secrets, or a secret and a file of it, are an error that names both."""
    told = refusal(give("broker-live", client_id="c", **values))
    for field in values:
        assert field.upper() in told


def test_useless():
    """What belongs to a private key has no use with a client secret."""
    told = refusal(give("broker-live", client_id="c", client_secret="s", audience="issuer"))
    assert "AUDIENCE in the source has no use with a client secret" in told


def test_foreign():
    """What the environment does not take is a mismatch that says what it takes."""
    told = refusal(give("paper", key_id="k", secret_key="s", client_id="c"), CredentialsMismatch)
    assert "CLIENT_ID" in told
    assert "key pair" in told


def test_key_pair():
    """A scheme is taken over; a bad one is refused with its source."""
    assert give("live", key_id="k", secret_key="s").credentials().scheme == "headers"
    assert give("live", key_id="k", secret_key="s", scheme="basic").credentials().scheme == "basic"
    assert "From the source:" in refusal(give("live", key_id="k", secret_key="s", scheme="digest"))


def test_client_key(keys, key_text):
    """A private key may be text on one line, or a file; what is said of it is taken over."""
    whole = ClientKey("c", keys["p256"], environment="broker-live", key_id="kid", audience="issuer", algorithm="ES256")
    given = give(
        "broker-live",
        client_id="c",
        private_key=key_text.replace("\n", "\\n"),
        private_key_id="kid",
        audience="issuer",
        algorithm="ES256",
    )
    assert given.kind() is CredentialKind.CLIENT_KEY
    assert given.credentials().fingerprint() == whole.fingerprint()


def test_algorithm(key_text):
    """A wrong algorithm is named, if it can be one; what is too long for one may be a secret and is not."""
    given = partial(give, "broker-live", client_id="c", private_key=key_text)
    assert given(algorithm="ES256").credentials().algorithm == "ES256"
    assert "'RS256' does not fit" in refusal(given(algorithm="RS256"))
    assert "hush" not in refusal(given(algorithm="hush-hush"))


@pytest.mark.parametrize("written", ["key.pem", "./sub/../key.pem", "~/key.pem", "{folder}/key.pem"])
def test_files(home, key_text, keys, written):
    """A file is found beside what names it, under the home folder, or by its full path."""
    (home / "key.pem").write_text(key_text, encoding="utf-8-sig")
    (home / "sub").mkdir()
    given = give("broker-live", home, client_id="c", private_key_file=written.format(folder=home))
    assert given.credentials().fingerprint() == ClientKey("c", keys["p256"], environment="broker-live").fingerprint()


def test_file_of_a_secret(home):
    """The line end that editors add to a file is no part of the secret."""
    (home / "secret").write_text("a-secret\n")
    assert give(
        "broker-live", home, client_id="c", client_secret_file="secret"
    ).credentials().client_secret.reveal() == ("a-secret")
    assert give("live", home, key_id="k", secret_key_file="secret").credentials().secret_key.reveal() == "a-secret"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, os.strerror(2)),
        (b"\n", "it is empty"),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"x" * (2 << 20), "1 MiB"),
    ],
)
def test_unreadable_file(home, content, reason):
    """A file that cannot be read is an error that names the setting and the reason, not what the setting says."""
    if content is not None:
        (home / "key.pem").write_bytes(content)
    told = refusal(give("broker-live", home, client_id="c", private_key_file="key.pem"))
    assert "the file that PRIVATE_KEY_FILE in the source names" in told
    assert reason in told
    assert "key.pem" not in told


@pytest.mark.parametrize("written", ["~nobody-of-that-name/key.pem", "a\x00b", "x" * 5000])
def test_file_of_no_name(home, written):
    """What names no file is an error like any other."""
    assert "Cannot read the file" in refusal(give("broker-live", home, client_id="c", private_key_file=written))


def test_confined(home, project, key_text):
    """A confined file may not lie elsewhere, by whatever way it is reached."""
    (home / "key.pem").write_text(key_text)
    (project / "own.pem").write_text(key_text)
    (project / "link.pem").symlink_to(home / "key.pem")
    (project / "loop").symlink_to(project / "loop")

    def confined(written):
        values = {"client_id": Secret("c"), "private_key_file": Secret(written)}
        return Given(Environment.BROKER_LIVE, "a", "the source", values, str, project, confined=True)

    for written in ("../key.pem", "~/key.pem", str(home / "key.pem"), "link.pem", "loop/key.pem"):
        assert "beyond the folder" in refusal(confined(written)) or written == "loop/key.pem"
    assert confined("own.pem").credentials().client_id == "c"
    assert confined(str(project / "own.pem")).credentials().client_id == "c"


def test_values_are_not_shown():
    """What was given shows no value."""
    assert "hush" not in repr(give("live", key_id="hush", secret_key="hush"))


@pytest.mark.parametrize("kind", ["rsa", "p256", "p384", "p521", "ed25519"])
def test_decompose_key(keys, kind):
    """A private key is given as PKCS#8 PEM, whatever it was made from."""
    credentials = ClientKey("c", keys[kind], environment="broker-live")
    text = decompose(credentials)["private_key"].reveal()
    assert max(map(len, text.splitlines())) == 64
    again = ClientKey("c", text, environment="broker-live")
    assert again.fingerprint() == credentials.fingerprint()


def test_decompose_jwk(keys):
    """A JWK comes back with its key ID and algorithm."""
    import jwt

    jwk = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(keys["rsa"])), "kid": "k1", "alg": "PS256"}
    credentials = ClientKey("c", json.dumps(jwk), environment="broker-live")
    fields = {field: text.reveal() for field, text in decompose(credentials).items()}
    again = give("broker-live", **fields).credentials()
    assert (again.key_id, again.algorithm) == ("k1", "PS256")
    assert again.fingerprint() == credentials.fingerprint()


@pytest.mark.parametrize(
    "credentials",
    [KeyPair("k", "s", environment="live", scheme="basic"), ClientSecret("c", "s", environment="broker-sandbox")],
)
def test_decompose(credentials):
    """What credentials are taken apart into makes them again, and holds no more than their fields."""
    fields = decompose(credentials)
    assert fields.keys() <= fields_of(credentials.environment)
    again = Given(credentials.environment, "a", "the source", fields, str, Path()).credentials()
    assert again.fingerprint() == credentials.fingerprint()
