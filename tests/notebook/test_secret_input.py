"""Secrets come from the page once, as the binary part of a message, and are never in a trait."""

from __future__ import annotations

import json
import secrets

import pytest

from toolkit.core.document import CredentialKind
from toolkit.core.secret import Secret
from toolkit.notebook.panel.fields import FIELDS
from toolkit.notebook.panel.secret_input import LONGEST_TEXT, SecretInput

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


def test_asking_twice_is_one_question(page):
    """Asking twice repeats the question; after an answer, the next question has the next number."""
    page.input.ask()
    page.input.ask()
    page.receive({"type": "texts", "number": 1}, b"a", b"b")
    page.input.ask()
    assert [event["number"] for event in page.events if event != "answered"] == [1, 1, 2]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "texts", "number": 1},
        {"type": "texts"},
        {"type": "other", "number": 0},
        {},
        "texts",
        None,
        [1],
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
