from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.auth.credentials import ClientKey, ClientSecret, KeyPair
from toolkit.auth.profiles.fields import ProfileFields, decompose, fields_of
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

form_fields = st.dictionaries(
    st.from_regex(r"x[A-Za-z0-9._-]{0,10}", fullmatch=True),
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=20),
    max_size=3,
)


def restored(credentials):
    fields = decompose(credentials)
    assert fields.keys() <= fields_of(credentials.environment)
    return ProfileFields(credentials.environment, "a", "the source", fields, str, Path()).credentials()


@pytest.mark.parametrize("kind", ["rsa", "p256", "p384", "p521", "ed25519"])
def test_decompose_key(keys, kind):
    """A private key is saved as PKCS#8 PEM, whatever it was made from."""
    credentials = ClientKey("c", keys[kind], environment="broker-live")
    text = decompose(credentials)["private_key"].reveal()
    assert max(map(len, text.splitlines())) == 64
    again = ClientKey("c", text, environment="broker-live")
    assert again.fingerprint() == credentials.fingerprint()


def test_decompose_jwk(keys):
    """A JWK is restored with its key ID and algorithm."""
    import jwt

    jwk = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(keys["rsa"])), "kid": "k1", "alg": "PS256"}
    credentials = ClientKey("c", json.dumps(jwk), environment="broker-live")
    again = restored(credentials)
    assert (again.key_id, again.algorithm) == ("k1", "PS256")
    assert again.fingerprint() == credentials.fingerprint()


@pytest.mark.parametrize(
    "credentials",
    [KeyPair("k", "s", environment="live", scheme="basic"), ClientSecret("c", "s", environment="broker-sandbox")],
)
def test_decompose(credentials):
    """The fields of credentials make equal credentials."""
    assert restored(credentials).fingerprint() == credentials.fingerprint()


@given(
    typ=st.none() | st.sampled_from(["JWT", "client-authentication+jwt", "None"]),
    lifetime=st.integers(1, 3600),
    fields=form_fields,
)
def test_options(keys, typ, lifetime, fields):
    """Type and lifetime of assertions and form fields are restored, whatever their characters."""
    options = {"assertion_typ": typ, "assertion_lifetime": lifetime, "form_fields": fields}
    again = restored(ClientKey("c", keys["p256"], environment="broker-live", **options))
    assert {name: getattr(again, name) for name in options} == options
    again = restored(ClientSecret("c", "secret-1", environment="broker-live", form_fields=fields))
    assert again.form_fields == fields


def test_type_none(keys):
    """A type with the name "none" is refused, because it would be restored as no type."""
    with pytest.raises(ConfigurationError, match="read as no type"):
        decompose(ClientKey("c", keys["p256"], environment="broker-live", assertion_typ="none"))


def test_no_value_in_a_frame(locals_of):
    """The frames of an error hold no value outside of a Secret, because a verbose traceback shows local variables."""
    values = {"client_id": "c", "client_secret": "kanari-5f1d", "form_fields": "kanari-5f1d"}
    secrets = {name: Secret(text) for name, text in values.items()}
    fields = ProfileFields(Environment.BROKER_LIVE, "a", "it", secrets, str, Path())
    with pytest.raises(ConfigurationError) as caught:
        fields.credentials()
    assert caught.value.about == "form_fields"
    assert "kanari" not in repr(locals_of(caught.value))
