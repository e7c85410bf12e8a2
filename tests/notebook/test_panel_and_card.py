"""The panel and the card of its session say the same about account, token, name and end of the session."""

from __future__ import annotations

import pytest
from pages import Page

from toolkit.session.session import Session


def shown(user):
    """Return the words of the panel's summary and those of the session's card, as after a cell."""
    user.panel._after_cell(None)
    return Page(user.summary).words, Page(user.panel.session._repr_html_()).words


def assert_both(user, words):
    assert [words in text for text in shown(user)] == [True, True]


@pytest.mark.parametrize("environment", ["live", "broker-live"])
def test_a_replay_is_not_called_a_real_account(open_panel, service, settings, environment):
    """A recording does not say that a practice service answered, and a replay reaches no account."""
    name = {"live": "live", "broker-live": "broker-secret"}[environment]
    with Session(credentials=service.credentials[name], cassette="take", settings=settings) as session:
        session.accounts()
    user = open_panel(cassette="take")
    assert user.panel.environment == environment
    replay = user.panel.session
    words = [*shown(user), user.words, repr(user.panel), repr(replay)]
    words.append(replay.accounts().attrs["source"])
    assert [text for text in words if "real account" in text] == []


def test_the_token_of_a_replay(open_panel, tour):
    """Before the first call, between calls and once the recorded token has expired, both say the same."""
    user = open_panel(cassette="tour")
    assert_both(user, "none yet")
    user.panel.session.accounts()
    assert_both(user, "left at the end of the last call")
    assert "data-counting" not in user.summary  # which the page would count down
    text = tour.read_text()
    start = text.index("expires_at: '") + len("expires_at: '")
    expires, issued = text[start:].partition("'")[0], text.partition("issued_at: '")[2].partition("'")[0]
    tour.write_text(text.replace(expires, issued))
    user.press()
    user.panel.session.accounts()
    assert_both(user, "expired at the end of the last call")


def test_a_replay_without_recorded_tokens(open_panel, tour):
    """A recording of another tool does not say which token was used."""
    lines = tour.read_text().replace("# service-access-toolkit cassette 1\n", "").splitlines(keepends=True)
    own = ("  authorized_by:", "  token_obtained:", "    kind:", "    environment:", "    profile:", "    token:")
    own += "    issued_at:", "    expires_at:", "  recorded_at:", "  elapsed:", "  complete:"
    tour.write_text("".join(line for line in lines if not line.startswith(own)))
    user = open_panel("broker-sandbox", cassette="tour")
    user.panel.session.broker.get("/v1/accounts")
    assert_both(user, "Token none")


def test_the_token_of_a_live_session(open_panel, service):
    """Both number a live token; without one, both say what happens next."""
    user = open_panel(None, service.credentials["sandbox-key"])
    user.press()
    assert 'data-counting="token 1"' in user.summary
    assert "token 1" in shown(user)[1]
    pair = open_panel(None, service.credentials["paper"])
    pair.press()
    assert_both(pair, "none: the key pair goes with every call")


def test_the_name_of_the_session(open_panel, tour, shell):
    """Both name the session as the notebook does: through the panel, or by a variable of its own."""
    names = shell.user_ns
    user = open_panel(cassette="tour")
    names["desk"] = user.panel
    assert_both(user, "desk.session.broker")
    names["mine"] = user.panel.session
    assert_both(user, "mine.broker")
    assert "run  mine.accounts()" in shown(user)[0]
    del names["mine"]
    assert_both(user, "desk.session.broker")


@pytest.mark.parametrize("cassette", [None, "tour"])
def test_a_closed_session(open_panel, service, tour, cassette):
    """Whoever closes the session reads that it is closed, can still read its calls, and can connect again."""
    user = open_panel(None if cassette else "paper", None if cassette else service.credentials["paper"], cassette)
    if cassette is None:
        user.press()
    connected = user.status
    user.panel.session.accounts()
    user.panel.session.close()
    assert_both(user, "closed")
    assert user.status == "This session is closed. Press Connect to open another."
    assert repr(user.panel).endswith("· closed>")
    assert "You may call" not in "".join(shown(user))
    assert len(user.panel.session.calls()) > 0
    mode = user.chosen("mode")
    user.choose("mode", "record")
    user.choose("mode", mode)
    assert user.status.startswith("This session is closed.")
    user.press()
    assert user.status == connected
    assert not any("closed" in text for text in shown(user))
