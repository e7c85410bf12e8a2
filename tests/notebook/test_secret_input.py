"""Secrets come from the page once, as the binary part of a message, are never in a trait, and become credentials."""

from __future__ import annotations

import json
import secrets

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.notebook.connecting import problem_of
from toolkit.notebook.secret_input import FIELDS, LONGEST_TEXT, SecretInput, make_credentials

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


def test_no_trait_ever_holds_a_text(page):
    """No trait and no repr holds a typed text, before or after it is taken."""
    text = secrets.token_hex(20)
    page.input.ask()
    page.receive({"type": "texts", "number": 1}, text.encode(), text.encode())
    for _ in range(2):
        shown = json.dumps(page.input.get_state(), default=str) + repr(page.input) + repr(vars(page.input))
        assert text not in shown
        page.input.take()


@pytest.mark.parametrize(
    "content",
    [
        {"type": "texts", "number": 1},
        {"type": "texts"},
        {"type": "other", "number": 0},
        {},
    ],
    ids=str,
)
def test_what_was_not_asked_for_is_dropped(page, content):
    """An answer that was not asked for is dropped."""
    page.receive(content, b"a", b"b")
    assert page.events == []
    assert page.input.take() == {}


def test_an_answer_to_fields_that_are_gone_is_dropped(page):
    """An answer to fields that are no longer shown is dropped."""
    page.input.ask()
    page.input.show(FIELDS[CredentialKind.CLIENT_SECRET])
    page.receive({"type": "texts", "number": 1}, b"a", b"b")
    assert "answered" not in page.events


def test_a_malformed_answer_is_empty(page):
    """Texts that are too long or missing become empty, and text that is not UTF-8 is no error."""
    page.input.ask()
    page.receive({"type": "texts", "number": 1}, b"x" * (LONGEST_TEXT + 1))
    assert page.input.take() == {"key_id": Secret(""), "secret_key": Secret("")}
    page.input.ask()
    page.receive({"type": "texts", "number": 2}, b"\xff", b"b", b"c")
    assert page.input.take() == {"key_id": Secret("\ufffd"), "secret_key": Secret("b")}


def test_the_same_fields_again_keep_what_is_typed(page):
    """Showing the same fields again keeps their texts; other fields drop texts and problems."""
    changes = []
    page.input.observe(changes.append, "fields")
    page.input.problems = {"key_id": "empty"}
    page.input.show(KEY_PAIR)
    assert changes == []
    assert page.input.problems == {"key_id": "empty"}
    page.input.show(FIELDS[CredentialKind.CLIENT_SECRET])
    assert len(changes) == 1
    assert page.input.problems == {}


def test_the_page_is_told_what_to_forget(page):
    """The page is told to forget some fields or all; forgetting all also drops an answer on its way."""
    page.input.ask()
    page.input.forget(["secret_key"])
    assert page.events[-1] == {"type": "forget", "names": ["secret_key"]}
    page.input.forget()
    assert page.events[-1] == {"type": "forget", "names": ["key_id", "secret_key"]}
    page.receive({"type": "texts", "number": 1}, b"a", b"b")
    assert "answered" not in page.events
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


@pytest.mark.parametrize(("option", "text"), [("algorithm", "ES256"), ("audience", "a\nb")])
def test_a_malformed_option_is_reported_beside_it(key, option, text):
    """A malformed option is reported beside its field, and not quoted: a secret may have been typed there."""
    with pytest.raises(ConfigurationError) as caught:
        made(CredentialKind.CLIENT_KEY, {**key, option: text})
    problem = problem_of(caught.value, FIELDS[CredentialKind.CLIENT_KEY])
    assert problem.field == option
    assert text not in problem.what + problem.next_step or option == "algorithm"
