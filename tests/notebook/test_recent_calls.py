"""The last calls as a small table, with nothing in it that runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization, Call
from toolkit.notebook.panel.display import SHOWN, recent_calls_html, renewals
from toolkit.tables.tabulation import calls_table

AT = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)


def call(number, *, path="/v1/accounts", status=200, elapsed=0.25, token=None):
    by = Authorization(CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "desk", token) if token else None
    took = None if elapsed is None else timedelta(seconds=elapsed)
    return Call(AT + timedelta(seconds=number), "broker", "GET", path, status, took, by)


def test_each_call_is_a_row_of_words():
    """When, where, what came of it, how long it took, and the token that it carried."""
    shown = recent_calls_html(calls_table([call(0, token=1)]), "desk")
    cells = ["09:30:00", "broker", "GET /v1/accounts", "200", "0.250 s", "1"]
    assert "".join(f"<td>{cell}</td>" for cell in cells) in shown
    assert "<div>1 call</div>" in shown
    assert "toolkit-failed" not in shown


def test_what_is_not_known_is_empty_and_what_failed_is_marked():
    """A call under way has no status, and one without a token none."""
    shown = recent_calls_html(calls_table([call(0, status=None, elapsed=None), call(1, status=503)]), "desk")
    assert "<td>GET /v1/accounts</td><td></td><td></td><td></td>" in shown
    assert shown.count("toolkit-failed") == 1


def test_only_the_last_are_shown():
    """With how many there were, and where all of them are."""
    calls = [call(number, path=f"/v1/{number}") for number in range(2, SHOWN + 2)]
    shown = recent_calls_html(calls_table(calls, first=3), "desk")
    assert shown.count("<tr>") == SHOWN + 1
    assert "/v1/1<" not in shown
    assert "/v1/2<" in shown
    assert f"{SHOWN + 2} calls, the last {SHOWN} shown; all: <code>desk.session.calls()</code>" in shown


def test_paths_are_text():
    """Whatever was called, and however long its path."""
    shown = recent_calls_html(calls_table([call(0, path="/<img src=x>" + "x" * 200)]), "<b>")
    assert "<img" not in shown
    assert "<b>" not in shown
    assert "x" * 61 not in shown


def test_renewals_are_the_tokens_after_the_first():
    """None without a token."""
    assert renewals(calls_table([])) == 0
    assert renewals(calls_table([call(0), call(1, token=1)])) == 0
    assert renewals(calls_table([call(0, token=1), call(1, token=3)])) == 2
    assert recent_calls_html(calls_table([]), "panel") == ""
