"""Secrets come from the page once, as the binary part of a message, are never in a trait, and become credentials."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.secret import Secret
from toolkit.notebook.secret_input import FIELDS, SecretInput, make_credentials

KEY_PAIR = FIELDS[CredentialKind.KEY_PAIR][:2]


class Page:
    """A secret input, and what it sends to its page and reports to the panel."""

    def __init__(self, monkeypatch):
        self.events = []
        self.input = SecretInput(
            answered=lambda: self.events.append("answered"), submitted=lambda: self.events.append("submitted")
        )
        monkeypatch.setattr(self.input, "send", self.events.append)
        self.input.show(KEY_PAIR)

    def receive(self, content, *texts):
        data = {"method": "custom", "content": content}
        self.input._handle_msg({"content": {"data": data}, "buffers": [memoryview(text) for text in texts]})


@pytest.fixture
def page(monkeypatch):
    made = Page(monkeypatch)
    yield made
    made.input.close()


def test_the_page_is_asked_and_its_answer_taken_once(page):
    """The page's answer can be taken once, as secrets by the names of the fields."""
    page.input.ask()
    page.receive({"type": "texts", "number": 1}, b"one", "zwö".encode())
    assert page.events == [{"type": "ask", "number": 1}, "answered"]
    assert page.input.take() == {"key_id": Secret("one"), "secret_key": Secret("zwö")}
    assert page.input.take() == {}


def test_the_module_of_the_page_keeps_texts_to_itself():
    """The page's module stores nothing, logs nothing, sets no trait and makes no request."""
    module = SecretInput._esm
    for forbidden in ("localStorage", "sessionStorage", "console.", "model.set", "save_changes", "innerHTML", "fetch("):
        assert forbidden not in module
    assert 'autocomplete: "off"' in module
    assert 'spellcheck: "false"' in module


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
