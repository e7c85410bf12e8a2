"""The page counts the token down, notices a kernel that is gone, and handles the keyboard."""

from __future__ import annotations

import pytest
from bare_page import BareWidget

from toolkit.notebook.panel_view import SessionView

HOSTILE = "<img src=x onerror=alert(1)>"
LIVE = {
    "environment": "broker-sandbox",
    "mode": "calls the service",
    "account": "practice",
    "who": f"desk {HOSTILE}",
    "name": "panel.session",
    "interfaces": ["broker", "market_data"],
    "is_closed": False,
    "cassette": "",
    "recorded": [],
    "token": "",
    "percent": None,
    "token_number": 1,
    "count": 0,
    "calls": [],
}
START = "2026-05-12T09:30:00Z"
ABSENT = "The kernel does not answer"


@pytest.fixture
def view(page):
    """Show a connected session, in a page with a clock that the test moves."""
    page.clock.install(time=START)
    page.clock.pause_at("2026-05-12T09:31:00Z")
    widget = BareWidget(page, SessionView, status="Connected.", tone="good", facts=LIVE)
    page.clock.run_for(10)
    return widget


def test_a_live_token_is_counted_down(view):
    """A live token is counted down in the page, which then says that the next call gets a new one."""
    left = view.page.locator(".toolkit-left")
    assert view.sent == [[{"type": "hello"}, []]]
    assert left.inner_text() == "…"
    view.receive(type="token", remaining=94.5, lifetime=890)
    assert left.inner_text() == "token 1 · 1:35 of 14:50 left"
    view.page.clock.run_for(30_000)
    assert left.inner_text() == "token 1 · 1:05 of 14:50 left"
    assert view.page.get_by_role("progressbar").get_attribute("aria-valuenow") == "7"
    view.page.clock.run_for(70_000)
    assert left.inner_text() == "expired; the next call gets a new one"


def test_facts_are_drawn_as_text(view):
    """Facts of a session, its last calls and how to make one are shown, with foreign text as text."""
    page = view.page
    assert page.get_by_role("definition").filter(has_text=HOSTILE).count() == 1
    assert page.get_by_text("No calls yet; for one, run panel.session.accounts().").is_visible()
    calls = [["09:30:00", "broker", f"GET /{HOSTILE}", status, "0.250 s", "1"] for status in ("200", "503")]
    view.change(facts=LIVE | {"calls": calls, "count": 1234, "name": "", "token": "none yet"})
    assert page.get_by_text("1,234 calls, the last 2 shown; all: calls()").is_visible()
    assert page.locator(".toolkit-failed").inner_text().split("\t") == calls[1]
    assert page.get_by_text("put the panel in a variable").is_visible()
    assert page.locator("img").count() == 0


def test_the_age_of_a_recording_is_added(view):
    """The page adds the age of a recording to the saved instant."""
    view.change(facts=LIVE | {"cassette": "tour", "recorded": ["2026-02-11T09:30:00Z", "11 February 2026"]})
    view.page.get_by_text("11 February 2026 (2 months ago)").wait_for()


def test_a_kernel_that_does_not_answer_is_noticed(view):
    """The page asks the kernel when the user points at the panel, and says if it does not answer."""
    absent = view.page.get_by_text(ABSENT)
    view.page.clock.run_for(3_000)
    assert not absent.is_visible()
    view.page.clock.run_for(2_000)
    assert absent.is_visible()
    view.receive(type="token", remaining=None)
    assert not absent.is_visible()
    view.page.evaluate("() => { window.isClosed = true }")
    view.page.get_by_label("Mode").focus()
    view.page.clock.run_for(10)
    assert absent.is_visible()


def test_a_panel_of_an_earlier_kernel_says_so(view):
    """A panel of an earlier kernel says so, and its token is no longer counted down."""
    view.receive(type="token", remaining=95, lifetime=890)
    view.page.evaluate("() => document.querySelector('.toolkit-panel').classList.add('jupyter-widgets-disconnected')")
    view.page.evaluate("() => widget.emit('comm_live_update')")
    view.page.clock.run_for(10)
    assert view.page.get_by_role("status").first.inner_text().startswith("This panel belongs to an earlier kernel.")
    assert not view.page.get_by_role("progressbar").is_visible()
    assert not view.page.get_by_text(ABSENT).is_visible()


def test_the_focus_stays_where_the_user_is(view):
    """A button that was disabled gets the focus back, a control that is hidden hands it to the button."""
    page, button, mode = view.page, view.page.get_by_role("button", name="Connect"), view.page.get_by_label("Mode")
    is_focused = "(element) => document.activeElement === element"
    button.focus()
    button.evaluate("(button) => { button.disabled = true; button.blur() }")
    assert page.evaluate("() => document.activeElement === document.body")
    button.evaluate("(button) => { button.disabled = false }")
    page.clock.run_for(50)
    assert button.evaluate(is_focused)
    mode.focus()
    mode.evaluate("(select) => { select.style.display = 'none'; select.blur(); select.className = 'hidden' }")
    page.clock.run_for(50)
    assert button.evaluate(is_focused)
    elsewhere = page.get_by_role("button", name="Elsewhere")
    elsewhere.focus()
    elsewhere.evaluate("(element) => element.blur()")
    button.evaluate("(button) => { button.className = 'other' }")
    page.clock.run_for(50)
    assert page.evaluate("() => document.activeElement === document.body")


def test_a_press_counts_though_the_button_moves(view):
    """A press counts even if words above the button are removed before the release."""
    button = view.page.get_by_role("button", name="Connect")
    button.evaluate("(button) => button.addEventListener('click', () => { window.isPressed = true })")
    view.page.locator(".words").evaluate("(words) => { words.style.height = '300px' }")
    button.hover()
    view.page.mouse.down()
    view.page.locator(".words").evaluate("(words) => words.remove()")
    view.page.mouse.up()
    assert view.page.evaluate("() => window.isPressed")
