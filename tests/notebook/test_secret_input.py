"""Secrets come from the page once, as the binary part of a message, are never in a trait, and become credentials."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.secret import Secret
from toolkit.notebook.secret_input import SecretInput, make_credentials


def test_the_module_of_the_page_keeps_texts_to_itself():
    """The page's module stores nothing, logs nothing, sets no trait and makes no request."""
    module = SecretInput._esm
    for forbidden in ("localStorage", "sessionStorage", "console.", "model.set", "save_changes", "innerHTML", "fetch("):
        assert forbidden not in module
    assert 'autocomplete: "off"' in module
    assert 'spellcheck: "false"' in module


SANDBOX = Environment.BROKER_SANDBOX
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
