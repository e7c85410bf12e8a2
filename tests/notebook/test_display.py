"""The same facts always give the same HTML and text, without active content."""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from pages import Page

from toolkit.core.document import CredentialKind, Environment, Interface
from toolkit.core.ledger import Authorization, Call
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.connection import connect
from toolkit.notebook.panel.display import (
    SHOWN,
    Facts,
    facts_of,
    problem_html,
    recent_calls_html,
    status_text,
    summary_html,
    summary_text,
)
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.tables import calls_table

RECORDED = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
REPLAY = Facts(
    Environment.BROKER_SANDBOX,
    Mode.REPLAY,
    who="sandbox broker partner, as recorded",
    token="none yet",
    cassette="tour.yaml",
    interactions=12,
    recorded_at=RECORDED,
)
LIVE = Facts(
    Environment.LIVE,
    Mode.LIVE,
    who="desk · key pair · live account",
    accounts=1,
    token="none: the key pair goes with every call",
)


def test_a_replay_says_when_it_was_recorded():
    """Status, summary and plain text of a replay say when it was recorded; the page adds the age."""
    assert status_text(REPLAY) == "Replaying tour.yaml. Nothing is sent, and no credentials are needed."
    assert summary_text(REPLAY) == "broker-sandbox · replay tour.yaml, recorded 12 May 2026"
    shown = summary_html(REPLAY)
    assert '12 interactions, recorded <time datetime="2026-05-12T09:30:00.000000Z">12 May 2026</time>' in shown
    assert "sandbox broker partner, as recorded" in shown


def test_the_status_is_one_line():
    """The status says how many accounts the service returned, and where calls are recorded."""
    assert status_text(LIVE) == "Connected. The service accepts these credentials: 1 account."
    recording = replace(LIVE, mode=Mode.RECORD, cassette="a.yaml", accounts=1200)
    assert status_text(recording).endswith("1,200 accounts. Calls are recorded to a.yaml.")


def test_interfaces_are_those_of_the_environment():
    """The interfaces are those of the service document's section 1, without the auth interface."""
    assert LIVE.interfaces == (Interface.TRADING, Interface.MARKET_DATA)
    assert "session.broker" in summary_html(REPLAY)
    assert "session.trading" not in summary_html(REPLAY)


def test_a_live_token_is_counted_down_by_the_page_only():
    """The HTML of a live session holds no time of day and no lifetime; that of a replay holds the recorded lifetime."""
    left = "token 1 · 12:07 of 14:50 left at the end of the last call"
    replayed = summary_html(replace(REPLAY, token=left, percent=82))
    assert left in replayed
    assert 'aria-valuenow="82"' in replayed
    live = summary_html(replace(REPLAY, mode=Mode.LIVE, cassette="", recorded_at=None, token="", token_number=1))
    assert "data-counting" in live
    assert "left" not in Page(live).words
    assert "none yet" in summary_html(REPLAY)
    assert "the key pair goes with every call" in summary_html(LIVE)


def test_a_problem_is_announced():
    """A screen reader announces a problem when it appears."""
    shown = problem_html(PanelProblem("cassette", "What.", "What next."))
    assert 'role="alert"' in shown
    assert Page(shown).words.split() == "What. What next.".split()


@given(
    text=st.text(min_size=1)
    | st.sampled_from(["<img src=x onerror=alert(1)>", '" onmouseover="x', "</dl><script>", "\x1b[2J\u202e"])
)
def test_foreign_text_stays_text(text):
    """Names of cassettes and texts of servers are shown as text, without elements and invisible characters."""
    plain, hostile = (
        Page(problem_html(PanelProblem("", "x", "x"))),
        Page(problem_html(PanelProblem("", text, "x"))),
    )
    assert (hostile.tags, hostile.attributes) == (plain.tags, plain.attributes)
    facts = replace(REPLAY, cassette=text, who=text)
    plain, hostile = Page(summary_html(replace(REPLAY, cassette="x", who="x"))), Page(summary_html(facts))
    assert (hostile.tags, hostile.attributes) == (plain.tags, plain.attributes)
    assert not set("\x1b\u202e\u200b") & set(html.unescape(summary_html(facts) + summary_text(facts)))


def test_the_facts_of_a_session_hold_no_secret(service, settings, tour):
    """The facts of a live, recording or replaying session hold no secret."""
    credentials = service.credentials["sandbox-secret"]
    for mode, given_credentials in ((Mode.LIVE, credentials), (Mode.RECORD, credentials), (Mode.REPLAY, None)):
        cassette = None if mode is Mode.LIVE else "tour"
        connection = connect(credentials.environment, mode, cassette, given_credentials, settings)
        facts = facts_of(connection)
        assert facts.who.endswith("as recorded") is (given_credentials is None)
        assert credentials.client_secret.reveal() not in repr(facts)
        token = connection.session.token
        assert token is None or token.access_token.reveal() not in repr(facts)
        assert facts.token == ("none yet" if mode is Mode.REPLAY else "")
        connection.session.close()


DESK = replace(LIVE, name="desk.session")


def call(number, *, path="/v1/accounts", status=200, elapsed=0.25, token=None):
    by = Authorization(CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "desk", token) if token else None
    took = None if elapsed is None else timedelta(seconds=elapsed)
    return Call(RECORDED + timedelta(seconds=number), "broker", "GET", path, status, took, by)


def test_each_call_is_a_row():
    """Each call is a row with its time, interface, path, status, duration and token."""
    shown = recent_calls_html(calls_table([call(0, token=1)]), DESK)
    cells = ["09:30:00", "broker", "GET /v1/accounts", "200", "0.250 s", "1"]
    assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    assert "<div>1 call</div>" in shown
    assert "toolkit-failed" not in shown


def test_unknown_values_are_empty_and_failed_calls_are_marked():
    """Unknown values are empty cells, and failed calls are marked."""
    shown = recent_calls_html(calls_table([call(0, status=None, elapsed=None), call(1, status=503)]), DESK)
    assert "<td>GET /v1/accounts</td><td></td><td></td><td></td>" in shown
    assert shown.count("toolkit-failed") == 1


def test_only_the_last_calls_are_shown():
    """Only the last calls are shown, with the number of all calls and how to see them."""
    calls = [call(number, path=f"/v1/{number}") for number in range(2, SHOWN + 2)]
    shown = recent_calls_html(calls_table(calls, first=3), DESK)
    assert shown.count("<tr>") == SHOWN + 1
    assert "/v1/1<" not in shown
    assert "/v1/2<" in shown
    assert f"{SHOWN + 2} calls, the last {SHOWN} shown; all: <code>desk.session.calls()</code>" in shown


def test_paths_are_escaped_and_shortened():
    """Paths and the name of the panel are escaped, and long paths are shortened."""
    shown = recent_calls_html(calls_table([call(0, path="/<img src=x>" + "x" * 200)]), replace(DESK, name="<b>"))
    assert "<img" not in shown
    assert "<b>" not in shown
    assert "x" * 61 not in shown


def test_a_session_without_calls_says_how_to_make_one():
    """Without calls, one line says so, and names the session as the notebook does, unless it is closed."""
    words = "No calls yet; for one, run desk.session.accounts() ."
    assert Page(recent_calls_html(calls_table([]), DESK)).words.split() == words.split()
    assert Page(recent_calls_html(calls_table([]), replace(DESK, name=""))).words == "No calls yet. "
    assert Page(recent_calls_html(calls_table([]), replace(DESK, is_closed=True))).words == "No calls. "
