"""The lifetime of a token goes to the page in messages, so that nothing about the present is saved."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret
from toolkit.notebook.panel.widget import SessionView

NOW = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
TOKEN = Token(Secret("token-text-1234567890"), NOW, NOW + timedelta(seconds=890))


@pytest.fixture
def view():
    greetings = []
    made = SessionView(greeted=lambda: greetings.append(1))
    made.greetings = greetings
    yield made
    made.close()


def test_the_lifetime_of_a_token_is_sent_to_the_page(view, monkeypatch):
    """The remaining lifetime is sent in seconds, since the page has its own clock, and without the token."""
    sent = []
    monkeypatch.setattr(view, "send", sent.append)
    view.send_token(TOKEN, NOW + timedelta(seconds=90))
    view.send_token(None, NOW)
    view.send_token(None)
    nothing = {"type": "token", "remaining": None}
    assert sent == [{"type": "token", "remaining": 800.0, "lifetime": 890.0}, nothing, nothing]


def test_only_a_greeting_is_passed_on(view):
    """Only a greeting of the page is passed on; other messages are ignored."""
    for content in ({"type": "hello"}, {"type": "other"}, {}, None, "hello"):
        view._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    assert view.greetings == [1]


def test_sending_a_token_changes_no_trait(view):
    """Sending a token does not change what is saved with the notebook."""
    before = json.dumps(view.get_state(), default=str)
    view.send_token(TOKEN, NOW)
    assert json.dumps(view.get_state(), default=str) == before
    assert repr(view) == "<SessionView: >"
