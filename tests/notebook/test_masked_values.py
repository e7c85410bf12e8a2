"""Known secrets are replaced in every value of a message, and everything else passes unchanged."""

from __future__ import annotations

import base64
import html
import json
import secrets
import threading
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.secret import REGISTER, Secret
from toolkit.notebook.masked_values import masked
from toolkit.scrubbing.known import PROCESS_SECRETS
from toolkit.scrubbing.pieces import Pieces

MARK = "<ACCESS_TOKEN>"
UNCHECKED = "<not shown: it could not be checked for secrets>"


@pytest.fixture
def secret():
    """Return a secret that the process knows."""
    text = secrets.token_urlsafe(24) + "&'/+"
    REGISTER.add("ACCESS_TOKEN", Secret(text))
    return text


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    )
)
def test_a_value_without_secrets_passes_unchanged(value):
    """A value without secrets is equal and of the same type; a container is the same object."""
    shown = masked(value)
    assert shown == value
    assert type(shown) is type(value)
    assert shown is value or isinstance(value, str | bytes)


def test_a_secret_is_masked_in_every_form(secret):
    """A secret is masked in plain text, JSON, URLs, HTML and base64, in text, bytes and keys."""
    forms = [secret, json.dumps(secret), quote(secret), html.escape(secret), base64.b64encode(secret.encode()).decode()]
    for form in forms:
        assert form not in masked(f"a {form} b")
    assert masked({secret: [secret.encode(), (secret,)]}) == {MARK: [MARK.encode(), (MARK,)]}


@pytest.mark.parametrize("written", [html.escape, repr, json.dumps])
def test_pieces_of_an_escaped_secret_are_masked(written):
    """Of a secret that pages, code and JSON escape in many places, a display shows no twelve characters either."""
    text = "".join(secrets.choice("<>&\"'\\ab") for _ in range(60))
    REGISTER.add("CLIENT_SECRET", Secret(text))
    shown = masked(f"a {written(text)[8:-8]}...")
    assert shown == "a <CLIENT_SECRET>..."


def test_what_cannot_be_checked_is_not_shown(monkeypatch):
    """A text that cannot be checked is left out, and containers keep their types."""

    def fail(text):
        if "bad" in text:
            raise ValueError("cannot be read")
        return text

    monkeypatch.setattr(PROCESS_SECRETS, "scrub_text", fail)
    assert masked("bad") == UNCHECKED
    assert masked({"a": "bad", "b": ["good", ("bad", 3)]}) == {"a": UNCHECKED, "b": ["good", (UNCHECKED, 3)]}
    endless = {}
    endless["itself"] = endless
    assert masked(endless) == {}


def test_text_may_be_masked_while_pieces_are_added(monkeypatch):
    """Text can be masked while pieces are added, as when the garbage collector runs and prints."""
    add = Pieces.add

    def printing(self, secret, stand_in):
        masked("meanwhile")
        add(self, secret, stand_in)

    monkeypatch.setattr(Pieces, "add", printing)
    REGISTER.add("ACCESS_TOKEN", Secret(secrets.token_urlsafe(24)))
    thread = threading.Thread(target=masked, args=("text",), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
