from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from key_forms import jwk

from toolkit.auth.kinds import ClientKey
from toolkit.auth.profiles.fields import ProfileFields, decompose
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret


def make_fields(environment, folder=Path(), **values):
    secrets = {field: Secret(text) for field, text in values.items()}
    return ProfileFields(Environment(environment), "a", "the source", secrets, str.upper, folder)


def encrypted(key, passphrase):
    form = BestAvailableEncryption(passphrase.encode())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, form).decode()


def refusal(fields, kind=ConfigurationError):
    with pytest.raises(kind) as caught:
        fields.credentials()
    assert caught.value.next_step
    assert "the source" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("environment", "values", "missing"),
    [
        ("live", {"key_id": "k"}, "live without SECRET_KEY."),
        ("paper", {"scheme": "basic"}, "paper without KEY_ID and SECRET_KEY."),
        ("broker-live", {"client_id": "c"}, "broker-live without CLIENT_SECRET or PRIVATE_KEY."),
        ("broker-live", {"client_secret": "s"}, "broker-live without CLIENT_ID."),
        ("broker-live", {"client_secret_file": "s"}, "broker-live without CLIENT_ID."),
        ("broker-live", {"private_key": "p"}, "broker-live without CLIENT_ID."),
        ("broker-live", {"audience": "issuer"}, "broker-live without CLIENT_ID and PRIVATE_KEY."),
        ("broker-live", {"form_fields": "a=b"}, "without CLIENT_ID and CLIENT_SECRET or CLIENT_ID and PRIVATE_KEY."),
    ],
)
def test_incomplete(environment, values, missing):
    """Incomplete credentials are an error that names what is missing."""
    message = refusal(make_fields(environment, **values))
    assert missing in message
    assert all(field.upper() in message for field in values)


@pytest.mark.parametrize(
    "values",
    [
        {"client_secret": "s", "private_key": "p"},
        {"client_secret": "s", "private_key_file": "p"},
        {"client_secret_file": "s", "private_key_file": "p"},
        {"private_key": "s", "private_key_file": "p"},
        {"client_secret": "s", "client_secret_file": "p"},
        {"private_key_passphrase": "s", "private_key_passphrase_file": "p"},
    ],
)
def test_both_set(values):
    """Two secrets, or a secret and its file, are an error that names both."""
    message = refusal(make_fields("broker-live", client_id="c", **values))
    for field in values:
        assert field.upper() in message


@pytest.mark.parametrize(
    "field", ["audience", "algorithm", "assertion_typ", "assertion_lifetime", "private_key_passphrase"]
)
def test_field_without_use(field):
    """An option of a private key is refused beside a client secret."""
    message = refusal(make_fields("broker-live", client_id="c", client_secret="s", **{field: "x"}))
    assert field.upper() in message
    assert "cannot be used together" in message


def test_decompose_jwk(keys):
    """A JWK is saved as PKCS#8 PEM, with its key ID and algorithm."""
    credentials = ClientKey("c", jwk(keys["rsa"], kid="k1", alg="PS256"), environment="broker-live")
    fields = decompose(credentials)
    assert max(map(len, fields["private_key"].reveal().splitlines())) == 64
    again = ProfileFields(Environment.BROKER_LIVE, "a", "the source", fields, str, Path()).credentials()
    assert (again.key_id, again.algorithm) == ("k1", "PS256")
    assert again.fingerprint() == credentials.fingerprint()


def test_passphrase(home, keys):
    """An encrypted key opens with a passphrase in a value or in a file, whose line break does not count."""
    whole = ClientKey("c", keys["p256"], environment="broker-live")
    (home / "key.pem").write_text(encrypted(keys["p256"], " hush hush "))
    (home / "passphrase").write_text(" hush hush \r\n")
    make = partial(make_fields, "broker-live", home, client_id="c", private_key_file="key.pem")
    for more in ({"private_key_passphrase": " hush hush "}, {"private_key_passphrase_file": "passphrase"}):
        assert make(**more).kind() is CredentialKind.CLIENT_KEY
        assert make(**more).credentials().fingerprint() == whole.fingerprint()
    assert "hush" not in refusal(make(private_key_passphrase="hush hush"))
    assert "passphrase" in refusal(make())


def test_options_of_a_client_key(key_text):
    """Type and lifetime of assertions, and form fields, are used."""
    make = partial(make_fields, "broker-live", client_id="c", private_key=key_text)
    credentials = make(
        assertion_typ="client-authentication+jwt",
        assertion_lifetime="120",
        form_fields="scope=accounts.read+orders&resource=https%3A%2F%2Fa.example",
    ).credentials()
    assert (credentials.assertion_typ, credentials.assertion_lifetime) == ("client-authentication+jwt", 120)
    assert credentials.form_fields == {"scope": "accounts.read orders", "resource": "https://a.example"}
    plain = make().credentials()
    assert (plain.assertion_typ, plain.assertion_lifetime, plain.form_fields) == ("JWT", 60, {})
    assert make(assertion_typ="none").credentials().assertion_typ is None


def test_confined(home, project, key_text):
    """A confined file must lie in the folder, by whatever path it is reached."""
    (home / "key.pem").write_text(key_text)
    (project / "own.pem").write_text(key_text)
    (project / "link.pem").symlink_to(home / "key.pem")
    (project / "loop").symlink_to(project / "loop")

    def confined(written):
        values = {"client_id": Secret("c"), "private_key_file": Secret(written)}
        return ProfileFields(Environment.BROKER_LIVE, "a", "the source", values, str, project, confined=True)

    for written in ("../key.pem", "~/key.pem", str(home / "key.pem"), "link.pem", "loop/key.pem"):
        assert "outside the folder" in refusal(confined(written)) or written == "loop/key.pem"
    assert confined("own.pem").credentials().client_id == "c"
    assert confined(str(project / "own.pem")).credentials().client_id == "c"
