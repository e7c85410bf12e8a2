"""What the panel shows of its session, alone and beside the session's card, and what a saved notebook keeps of it."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ipywidgets.widgets.widget import _instances as all_widgets
from pages import Page

from toolkit.auth.kinds import KeyPair
from toolkit.auth.profiles import saving
from toolkit.core.errors import ConfigurationError
from toolkit.notebook.connecting import Problem
from toolkit.notebook.panel_view import problem_html

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J"


def after_a_cell(user):
    """Return the facts on the panel and the words of the session's card, as after a cell."""
    user.panel._after_cell(None)
    return user.panel._view.facts, Page(user.panel.session._repr_html_()).words


def test_a_real_account_carries_a_badge(open_panel, service, monkeypatch):
    """A real account has a badge before and after connecting, and in the plain text."""
    pair = service.credentials["live"]
    real = KeyPair(pair.key_id, pair.secret_key, environment="live")
    monkeypatch.setattr(saving, "_SERVICES", [])  # as if the service ran elsewhere
    user = open_panel(None, real)
    assert "real account" in user.words
    user.press()
    facts, card = after_a_cell(user)
    assert facts["account"] == "real account"
    assert "real account" in card
    assert repr(user.panel) == "<Panel: live · real account · calls the service>"
    user.choose("environment", "paper")
    assert "real account" not in user.words


def test_the_token_of_a_replay(open_panel, tour, monkeypatch):
    """Before the first call, between calls and once the recorded token has expired, panel and card say the same."""
    user, sent = open_panel(cassette="tour"), []
    monkeypatch.setattr(user.panel._view, "send", sent.append)

    def assert_both(words):
        facts, card = after_a_cell(user)
        assert [words in text for text in (facts["token"], card)] == [True, True]

    assert_both("none now")
    user.panel.session.accounts()
    user.send(user.panel._view, {"type": "hello"})
    assert sent[-1]["remaining"] is None  # the page counts down live tokens only
    assert_both("left at the end of the last call")
    assert 0 < user.panel._view.facts["percent"] <= 100
    text = tour.read_text()
    start = text.index("expires_at: '") + len("expires_at: '")
    expires, issued = text[start:].partition("'")[0], text.partition("issued_at: '")[2].partition("'")[0]
    tour.write_text(text.replace(expires, issued))
    user.press()
    user.panel.session.accounts()
    assert_both("none now")


def test_the_lifetime_of_a_live_token_is_sent_to_the_page(open_panel, service, monkeypatch):
    """The lifetime of a live token is sent once for each token, and whenever a page greets; it is not saved."""
    user = open_panel(None, service.credentials["sandbox-key"])
    sent = []
    monkeypatch.setattr(user.panel._view, "send", sent.append)
    user.press()
    user.panel.session.accounts()
    assert after_a_cell(user)[0]["token_number"] == 1
    assert [message["type"] for message in sent] == ["token"]
    assert 0 < sent[0]["remaining"] <= sent[0]["lifetime"] <= 900
    assert sent[0].keys() == {"type", "remaining", "lifetime"}
    before = json.dumps(user.panel._view.get_state(), default=str)
    assert str(sent[0]["remaining"]) not in before
    for content in ({"type": "hello"}, {"type": "other"}, {}):
        user.send(user.panel._view, content)
    assert len(sent) == 2
    service.revoke_tokens()
    user.panel.session.accounts()
    assert after_a_cell(user)[0]["token_number"] == 2
    assert len(sent) == 3


def test_the_name_of_the_session(open_panel, tour, shell):
    """A panel names its session as the notebook does, and the card names one that has a variable of its own."""
    names = shell.user_ns
    user = open_panel(cassette="tour")
    assert after_a_cell(user)[0]["name"] == ""
    for variable, value, name in (("desk", user.panel, "desk.session"), ("mine", user.panel.session, "mine")):
        names[variable] = value
        facts, card = after_a_cell(user)
        assert facts["name"] == name
        assert variable == "desk" or f"{name}.broker" in card


def test_the_last_calls_are_shown(open_panel, tour):
    """Each call is a row with time, interface, path, status, duration and token; only the last are shown."""
    user = open_panel(cassette="tour")
    for _ in range(7):
        user.panel.session.accounts()
    facts, _ = after_a_cell(user)
    assert (facts["count"], len(facts["calls"])) == (8, 5)  # the first with its token request
    assert facts["interfaces"] == ["broker", "market_data"]
    assert re.fullmatch(r"\d\d:\d\d:\d\d broker GET /v1/accounts\S* 200 \d\.\d{3} s 1", " ".join(facts["calls"][-1]))


@pytest.mark.parametrize("cassette", [None, "tour"])
def test_a_closed_session(open_panel, service, tour, cassette):
    """Whoever closes the session reads that it is closed, can still read its calls, and can connect again."""
    user = open_panel(None if cassette else "paper", None if cassette else service.credentials["paper"], cassette)
    if cassette is None:
        user.press()
    connected = user.status
    user.panel.session.accounts()
    user.panel.session.close()
    facts, card = after_a_cell(user)
    assert (facts["mode"], facts["is_closed"]) == ("closed", True)
    assert facts["calls"]
    assert "closed" in card
    assert user.status == "This session is closed. Press Connect to open another."
    assert repr(user.panel).endswith("· closed>")
    user.press()
    assert user.status == connected


def test_the_status_says_when_another_choice_is_not_connected_yet(open_panel, service):
    """The status says when the form differs from the session, until the same choice is made again."""
    user = open_panel(None, service.credentials["paper"])
    user.press()
    connected = user.status
    user.choose("environment", "live")
    assert user.status.startswith("The choices above are not in use yet")
    assert user.panel._view.get_state()["tone"] == "idle"
    assert user.panel.session.environment == user.panel._view.facts["environment"] == "paper"
    user.choose("environment", "paper")
    assert (user.status, user.panel._view.tone) == (connected, "good")


def test_the_state_of_a_replay_is_the_same_each_time(open_panel, tour):
    """A saved notebook depends neither on the present nor on chance, apart from the names of widgets."""

    def run():
        before = set(all_widgets)
        user = open_panel(cassette="tour")
        user.panel.session.accounts()
        user.panel._after_cell(None)
        states = [widget.get_state() for name, widget in all_widgets.items() if name not in before]
        text = re.sub(r"IPY_MODEL_\w+", "", json.dumps(states))
        user.panel.close()
        return text

    first = run()
    assert len(first) < 45_000
    assert run() == first


def test_the_summary_follows_the_cells_until_the_panel_is_closed(open_panel, service, shell):
    """Closing closes the session and every widget, and leaves no callback; closing again does nothing."""
    before = set(all_widgets)
    user = open_panel(None, service.credentials["sandbox-key"], "growing")
    user.press()
    assert "0 interactions" in user.summary
    user.panel.session.accounts()
    shell.events.trigger("post_run_cell", None)
    assert "1 interaction" in user.summary
    session = user.panel.session
    user.panel.close()
    user.panel.close()
    assert session.is_closed
    assert shell.events.callbacks["post_run_cell"] == []
    kept = [widget for name, widget in all_widgets.items() if name not in before]
    assert all(type(widget).__name__.endswith("Style") for widget in kept)
    with pytest.raises(ConfigurationError):
        user.panel.session  # noqa: B018


def test_words_come_before_the_widget(open_panel, tour, monkeypatch):
    """The words are an output of their own, which a page that shows the widget hides."""
    outputs = []
    monkeypatch.setattr("toolkit.notebook.panel.show", lambda data, *, raw: outputs.append((data, raw)))
    panel = open_panel(cassette="tour").panel
    panel._ipython_display_()
    (words, _), (widget, _) = outputs
    assert [raw for _, raw in outputs] == [True, True]
    assert re.fullmatch(r"<Panel: broker-sandbox · replay tour\.yaml, recorded \d+ \w+ \d{4}>", words["text/plain"])
    assert "panel.connect() asks for them below the cell" in words["text/html"]
    assert f"body:has(.toolkit-{panel._label}) .toolkit-saved-{panel._label}" in words["text/html"]
    assert f"toolkit-{panel._label}" in panel._dom_classes
    assert [*widget] == ["application/vnd.jupyter.widget-view+json"]


@given(text=st.text(min_size=1) | st.sampled_from([HOSTILE, '" onmouseover="x', "</dl><script>"]))
def test_foreign_text_of_a_problem_stays_text(text):
    """Texts of servers are shown without elements and invisible characters, and announced to screen readers."""
    plain, hostile = Page(problem_html(Problem("x", "x"))), Page(problem_html(Problem(text, "x")))
    assert (hostile.tags, hostile.attributes) == (plain.tags, plain.attributes)
    assert not set("\x1b\u202e\u200b") & set(hostile.words)
    assert 'role="alert"' in problem_html(Problem(text))
