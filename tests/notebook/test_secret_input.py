"""Secrets come from the page once, as the binary part of a message, are never in a trait, and become credentials."""

from __future__ import annotations

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


SECRET = {"client_id": "fake-client", "client_secret": "fake-client-secret"}
OPTIONS = {"key_id": "k-1", "algorithm": "PS512", "audience": "issuer", "scope": "  a.read   b.write\n"}


def test_options_are_as_typed_or_the_usual_ones():
    """A scope is a field of the token request (RFC 6749 section 4.4.2); an empty field stands for the usual option."""
    private = rsa.generate_private_key(65537, 2048)  # which several algorithms fit
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    key = {"client_id": "fake-client", "private_key": pem}

    def made(kind, **texts):
        secrets = {name: Secret(text) for name, text in texts.items()}
        return make_credentials(kind, Environment.BROKER_SANDBOX, secrets, name="desk")

    own = made(CredentialKind.CLIENT_KEY, **key, **OPTIONS)
    usual = made(CredentialKind.CLIENT_KEY, **key, **dict.fromkeys(OPTIONS, ""))
    assert (own.key_id, own.algorithm, own.audience) == ("k-1", "PS512", "issuer")
    assert (usual.key_id, usual.algorithm, usual.audience) == (None, "RS256", "token-endpoint")
    for credentials in (own, made(CredentialKind.CLIENT_SECRET, **SECRET, scope=OPTIONS["scope"])):
        assert dict(credentials.form_fields) == {"scope": "a.read b.write"}
    for credentials in (usual, made(CredentialKind.CLIENT_SECRET, **SECRET, scope="")):
        assert dict(credentials.form_fields) == {}
