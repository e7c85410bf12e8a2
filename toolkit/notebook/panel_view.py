"""The session on the panel: status, facts and latest calls.

`facts_of` returns the strings that the page (panel_view.js) shows; they are always the same for the same session.
Values that depend on the current time, such as the age of a recording and the remaining lifetime of a live token, are
computed in the page, so that they are not saved in the notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from toolkit.auth.tokens.token import Token
from toolkit.core.document import Environment, Interface
from toolkit.core.ledger import instant_text
from toolkit.core.text import as_html, badge, card, count_text, date_text, excerpt, printable
from toolkit.notebook.connecting import Connection, Mode, Problem
from toolkit.session.card import CLOSED, PRACTICE, REAL_ACCOUNT, caller_text, no_token_text, remaining_text

SHOWN: Final = 5  # calls in the table
_HERE: Final = Path(__file__)
_LONGEST_PATH: Final = 60  # characters
# There is an environment called "live", so modes are named by what they do.
_MODE_WORDS: Final = {Mode.LIVE: "calls the service", Mode.RECORD: "records", Mode.REPLAY: "replay"}


class SessionView(anywidget.AnyWidget):
    """A session's status line and facts.

    The remaining lifetime of a live token is sent to the page in a message and counted down there, so that the traits,
    and with them the saved notebook, do not depend on the current time. When a page shows this view, `greeted` is
    called; it replies with `send_token`.
    """

    _esm = _HERE.with_suffix(".js").read_text(encoding="utf-8")
    _css = _HERE.with_suffix(".css").read_text(encoding="utf-8")
    status = traitlets.Unicode().tag(sync=True)  # one line of text
    tone = traitlets.Unicode("idle").tag(sync=True)  # "idle", "busy", "good" or "bad"
    facts = traitlets.Dict().tag(sync=True)  # what `facts_of` returns; empty until the panel is connected

    def __init__(self, *, greeted: Callable[[], None], **traits: Any) -> None:
        self._greeted = greeted
        super().__init__(**traits)
        self.on_msg(self._receive)

    def say(self, status: str, tone: str) -> None:
        """Show a status line."""
        with self.hold_sync():
            self.status, self.tone = printable(status), tone

    def send_token(self, token: Token | None, now: datetime | None = None) -> None:
        """Send the live token's remaining and total lifetime in seconds to the page, or None if there is no token.

        Either message tells the page that the kernel still responds.
        """
        message: dict[str, object] = {"type": "token", "remaining": None}
        if token is not None and now is not None:
            message["remaining"] = token.remaining(now).total_seconds()
            message["lifetime"] = token.lifetime.total_seconds()
        self.send(message)

    def _receive(self, _: object, content: Mapping[str, object], __: object) -> None:
        if content.get("type") == "hello":
            self._greeted()


def status_text(connection: Connection) -> str:
    """Return one line that describes the panel's connection."""
    session, cassette = connection.session, connection.session.cassette
    name = cassette.path.name if cassette else ""
    if session.is_closed:
        return "This session is closed. Press Connect to open another."
    if connection.mode is Mode.REPLAY:
        return f"Replaying {name}. Nothing is sent, and no credentials are needed."
    recording = f" Calls are recorded to {name}." if connection.mode is Mode.RECORD else ""
    accounts = count_text(connection.accounts or 0, "account")
    return f"Connected. The service accepts these credentials and shows {accounts}.{recording}"


def summary_text(connection: Connection) -> str:
    """Describe the session in a few words, for a front end that shows only text."""
    session, cassette = connection.session, connection.session.cassette
    words = _MODE_WORDS[connection.mode]
    if cassette:
        words += f" {printable(cassette.path.name)}"
        if connection.mode is Mode.REPLAY and cassette.recorded_at:
            words += f", recorded {date_text(cassette.recorded_at)}"
    account = account_text(session.environment, connection.mode, is_practice=session.is_practice)
    parts = (str(session.environment), account, words, CLOSED if session.is_closed else "")
    return " · ".join(part for part in parts if part)


def account_text(environment: Environment, mode: Mode, *, is_practice: bool) -> str:
    """Return "practice" for a practice service, "real account" if calls go to a real account, else an empty string."""
    if is_practice:
        return PRACTICE
    return REAL_ACCOUNT if environment.rules.real_account and mode is not Mode.REPLAY else ""


def facts_of(connection: Connection, name: str) -> dict[str, Any]:
    """Return the facts that the panel shows about a session, as text that the page escapes; none of it is secret.

    `name` is the expression for the session in the notebook, such as "panel.session", or empty if there is none.
    """
    session, cassette, environment = connection.session, connection.session.cassette, connection.session.environment
    calls = session.calls(last=SHOWN)
    recorded = cassette.recorded_at if cassette else None
    token, number, percent = session.token, session.token_number, None
    words = "" if token else no_token_text(session)
    if token is not None and session.replays_only:
        now = session.now()
        percent = round(100 * token.remaining(now) / token.lifetime)
        words = f"{remaining_text(token, number, now)} at the end of the last call"
    return {
        "environment": str(environment),
        "mode": CLOSED if session.is_closed else _MODE_WORDS[connection.mode],
        "account": account_text(environment, connection.mode, is_practice=session.is_practice),
        "who": printable(caller_text(environment, session.credentials)),
        "name": name,
        "interfaces": [str(each) for each in environment.rules.addresses if each is not Interface.AUTH],
        "is_closed": session.is_closed,
        "cassette": f"{printable(cassette.path.name)} · {count_text(len(cassette), 'interaction')}" if cassette else "",
        "recorded": [instant_text(recorded), date_text(recorded)] if recorded else [],
        "token": words,  # empty while the page counts it down
        "percent": percent,
        "token_number": number,
        "count": int(calls.index[-1]) if len(calls) else 0,
        "calls": [_row(call) for call in calls.itertuples()],
    }


def _row(call: Any) -> list[str]:
    import pandas as pd

    return [
        f"{call.when:%H:%M:%S}",
        call.interface,
        f"{call.method} {excerpt(call.path, _LONGEST_PATH)}",
        "" if pd.isna(call.status) else str(call.status),
        "" if pd.isna(call.elapsed) else f"{call.elapsed:,.3f} s",
        "" if pd.isna(call.token) else str(call.token),
    ]


def saved_html(text: str, variable: str, label: str) -> str:
    """Return HTML that describes the panel where widgets are not shown, as in print or without a kernel.

    A page that shows the widget with the same `label` hides this text. Any other page shows it instead of the widget.
    """
    to_use = f"run this cell again; if no fields appear, {variable or 'panel'}.connect() asks for them below the cell"
    words = card("Panel", [badge(text)], [("To use it", as_html(to_use))])
    missing = ".jp-OutputArea-child:has(.toolkit-saved) + :not(:has(.toolkit-panel)) .jupyter-widgets"
    style = f"body:has(.toolkit-{label}) .toolkit-saved-{label},{missing}{{display:none}}"
    return f'<div class="toolkit-saved toolkit-saved-{label}">{words}</div><style>{style}</style>'


def badge_html(account: str) -> str:
    """Return the badge for an account label, or "" if the label is empty."""
    kind = "practice" if account == PRACTICE else "real"
    return f'<span class="toolkit-badge toolkit-{kind}">{as_html(account)}</span>' if account else ""


def problem_html(problem: Problem) -> str:
    """Return HTML for a problem and its advice; screen readers announce the text when it appears."""
    lines = "".join(f"<div>{as_html(line)}</div>" for line in (problem.what, *problem.next_step.splitlines()))
    return f'<div class="toolkit-problem" role="alert">{lines}</div>'
