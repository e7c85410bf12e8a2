"""Options of credentials can be typed, and are left out where they are empty."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.notebook.panel.fields import FIELDS, make_credentials
from toolkit.notebook.panel.problems import problem_of_text

SANDBOX = Environment.BROKER_SANDBOX
PAIR = {"key_id": "fake-key-id", "secret_key": "fake-secret-key"}
SECRET = {"client_id": "fake-client", "client_secret": "fake-client-secret"}


def made(kind, texts, environment=SANDBOX):
    secrets = {name: Secret(text) for name, text in texts.items()}
    return make_credentials(kind, environment, secrets, name="desk")


@pytest.fixture(scope="module")
def key():
    """Return the texts of a client key: an RSA key, which several algorithms fit."""
    private = rsa.generate_private_key(65537, 2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return {"client_id": "fake-client", "private_key": pem}


@pytest.mark.parametrize(("typed", "scheme"), [("", "headers"), ("basic", "basic")])
def test_the_scheme_of_a_key_pair(typed, scheme):
    """A key pair is sent in two headers unless HTTP Basic is chosen."""
    assert made(CredentialKind.KEY_PAIR, {**PAIR, "scheme": typed}, Environment.PAPER).scheme == scheme


@pytest.mark.parametrize(("typed", "fields"), [("", {}), ("  a.read   b.write\n", {"scope": "a.read b.write"})])
def test_a_scope_is_a_field_of_the_token_request(key, typed, fields):
    """A scope goes into the token request (RFC 6749 section 4.4.2), its parts one space apart."""
    for kind, texts in ((CredentialKind.CLIENT_SECRET, SECRET), (CredentialKind.CLIENT_KEY, key)):
        assert dict(made(kind, {**texts, "scope": typed}).form_fields) == fields


def test_the_options_of_a_client_key(key):
    """Key ID, algorithm and audience are as typed, or as the key and the document have them."""
    usual = made(CredentialKind.CLIENT_KEY, {**key, "key_id": "", "algorithm": "", "audience": ""})
    assert (usual.key_id, usual.algorithm, usual.audience) == (None, "RS256", "token-endpoint")
    options = {"key_id": "k-1", "algorithm": "PS512", "audience": "issuer"}
    own = made(CredentialKind.CLIENT_KEY, {**key, **options})
    assert (own.key_id, own.algorithm, own.audience) == ("k-1", "PS512", "issuer")


@pytest.mark.parametrize(
    ("option", "text"), [("algorithm", "ES256"), ("audience", "a\nb"), ("scope", "fake-client-secret é")]
)
def test_a_malformed_option_is_reported_beside_it(key, option, text):
    """A malformed option is reported beside its field, and not quoted: a secret may have been typed there."""
    with pytest.raises(ConfigurationError) as caught:
        made(CredentialKind.CLIENT_KEY, {**key, option: text})
    problem = problem_of_text(caught.value, FIELDS[CredentialKind.CLIENT_KEY])
    assert problem.place == option
    assert text not in problem.what + problem.next_step or option == "algorithm"
