"""The view tells its page of a token in messages, so that nothing of the present is saved."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from toolkit.auth.tokens.token import Token
from toolkit.core.secret import Secret
from toolkit.notebook.panel.session_view import SessionView

NOW = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
TOKEN = Token(Secret("token-text-1234567890"), NOW, NOW + timedelta(seconds=890))


@pytest.fixture
def view():
    greetings = []
    made = SessionView(greeted=lambda: greetings.append(1))
    made.greetings = greetings
    yield made
    made.close()


def test_a_page_is_told_how_long_a_token_lasts(view, monkeypatch):
    """In seconds from now, as its clock may be another; never the token itself."""
    told = []
    monkeypatch.setattr(view, "send", told.append)
    view.send_token(TOKEN, NOW + timedelta(seconds=90))
    view.send_token(None, NOW)
    view.send_token(None)
    nothing = {"type": "token", "remaining": None}
    assert told == [{"type": "token", "remaining": 800.0, "lifetime": 890.0}, nothing, nothing]


def test_a_greeting_is_passed_on_and_nothing_else(view):
    """A page that shows the view says hello; other messages mean nothing."""
    for content in ({"type": "hello"}, {"type": "other"}, {}, None, "hello"):
        view._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    assert view.greetings == [1]


def test_telling_changes_no_trait(view):
    """What is saved with the notebook stays as it was."""
    before = json.dumps(view.get_state(), default=str)
    view.send_token(TOKEN, NOW)
    assert json.dumps(view.get_state(), default=str) == before
    assert repr(view) == "<SessionView: >"
