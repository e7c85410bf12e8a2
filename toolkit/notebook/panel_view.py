"""The session on the panel: status, facts and last calls, as HTML and plain text.

The same session always gives the same text. What depends on the present, such as the age of a recording and the
remaining lifetime of a live token, is computed in the page, so that a saved notebook does not hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anywidget
import traitlets

from toolkit.auth.tokens.token import Token
from toolkit.core.document import Environment, Interface
from toolkit.core.ledger import instant_text
from toolkit.core.text import (
    PRACTICE,
    REAL_ACCOUNT,
    account_words,
    as_html,
    badge,
    card,
    code,
    count_text,
    date_text,
    excerpt,
    printable,
)
from toolkit.notebook.connecting import Connection, Mode, Problem
from toolkit.session.card import CLOSED, caller_text, no_token_text, remaining_text

if TYPE_CHECKING:
    import pandas as pd

_HERE: Final = Path(__file__)
SHOWN: Final = 5  # calls in the table
_LONGEST_PATH: Final = 60  # characters
_COLUMNS: Final = ("when (UTC)", "interface", "path", "status", "elapsed", "token")
_FIRST_ERROR: Final = 400  # statuses from here on are errors, RFC 9110 section 15.5
# An environment is called "live" too, so a mode is named by what it does.
_MODE_WORDS: Final = {Mode.LIVE: "calls the service", Mode.RECORD: "records", Mode.REPLAY: "replay"}
_UNNAMED: Final = (
    "put the panel in a variable: after <code>panel = tk.panel()</code>, use <code>panel.session</code> in your cells"
)


class SessionView(anywidget.AnyWidget):
    """Status line and summary of a session.

    The remaining lifetime of a live token is sent to the page in a message and counted down there. So the traits, and
    with them the saved notebook, do not depend on the present.

    Args:
        greeted: called when a page shows this view; answer it with `send_token`.
        traits: traits of any widget, such as `layout`.

    Attributes:
        status: one line of words.
        tone: "idle", "busy", "good" or "bad".
        html: the summary; empty until the panel is connected.
    """

    _esm = _HERE.with_suffix(".js").read_text(encoding="utf-8")
    _css = _HERE.with_suffix(".css").read_text(encoding="utf-8")
    status = traitlets.Unicode().tag(sync=True)
    tone = traitlets.Unicode("idle").tag(sync=True)
    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, *, greeted: Callable[[], None], **traits: Any) -> None:
        self._greeted = greeted
        super().__init__(**traits)
        self.on_msg(self._receive)

    def say(self, status: str, tone: str) -> None:
        """Show a status line."""
        with self.hold_sync():
            self.status, self.tone = printable(status), tone

    def send_token(self, token: Token | None, now: datetime | None = None) -> None:
        """Send the page the lifetime of the live token in seconds; without a token, say so.

        Either message tells the page that the kernel still answers.
        """
        message: dict[str, object] = {"type": "token", "remaining": None}
        if token is not None and now is not None:
            message["remaining"] = token.remaining(now).total_seconds()
            message["lifetime"] = token.lifetime.total_seconds()
        self.send(message)

    def __repr__(self) -> str:
        return f"<SessionView: {self.status}>"

    def _receive(self, _: object, content: object, __: object) -> None:
        if isinstance(content, Mapping) and content.get("type") == "hello":
            self._greeted()


def status_text(connection: Connection) -> str:
    """Return one line that says what the panel is connected to."""
    session, cassette = connection.session, connection.session.cassette
    name = cassette.path.name if cassette else ""
    if session.is_closed:
        return "This session is closed. Press Connect to open another."
    if connection.mode is Mode.REPLAY:
        return f"Replaying {name}. Nothing is sent, and no credentials are needed."
    trial = f"The service accepts these credentials: {count_text(connection.accounts or 0, 'account')}."
    recording = f" Calls are recorded to {name}." if connection.mode is Mode.RECORD else ""
    return f"Connected. {trial}{recording}"


def summary_text(connection: Connection) -> str:
    """Return the session in a few words, for a front end that shows only text."""
    session, cassette, mode = connection.session, connection.session.cassette, connection.mode
    words = _MODE_WORDS[mode]
    if cassette:
        words += f" {printable(cassette.path.name)}"
        if mode is Mode.REPLAY and cassette.recorded_at:
            words += f", recorded {date_text(cassette.recorded_at)}"
    is_real = session.environment.rules.real_account and mode is not Mode.REPLAY
    account = account_words(is_real=is_real, is_practice=session.is_practice)
    parts = (str(session.environment), account, words, CLOSED if session.is_closed else "")
    return " · ".join(part for part in parts if part)


def session_html(connection: Connection, name: str = "panel.session") -> str:
    """Return the session as badges, a list of facts and the last calls; none of them is secret.

    Args:
        connection: the connection.
        name: how the notebook reaches its session, such as "panel.session"; empty if no variable holds the panel.
    """
    session, cassette = connection.session, connection.session.cassette
    before = f"{name}." if name else ""
    calls = session.calls(last=SHOWN)
    who = caller_text(session.environment, session.credentials)
    rows = [("Session", _badges_html(connection)), ("You are", as_html(who))]
    if not session.is_closed:
        interfaces = [interface for interface in session.environment.rules.addresses if interface is not Interface.AUTH]
        rows.append(("You may call", ", ".join(code(f"{before}{interface}") for interface in interfaces)))
    if not name:
        rows.append(("To use it", _UNNAMED))
    if cassette:
        words = f"{as_html(cassette.path.name)} · {count_text(len(cassette), 'interaction')}"
        if cassette.recorded_at:  # the page adds how long ago that was
            at = cassette.recorded_at
            words += f', recorded <time datetime="{instant_text(at)}">{date_text(at)}</time>'
        rows.append(("Cassette", words))
    rows.append(("Token", _token_html(connection, calls)))
    items = "".join(f"<dt>{title}</dt><dd>{value}</dd>" for title, value in rows)
    return f'<dl class="toolkit-facts">{items}</dl>{_calls_html(calls, before, is_closed=session.is_closed)}'


def saved_html(text: str, variable: str, model_id: str) -> str:
    """Return the HTML for places without widgets: a code-hosting site, a printed page, a page without a kernel.

    A page that shows the widget too hides these words; a page that cannot shows them instead of its own message.

    Args:
        text: the panel in a few words.
        variable: the name of the panel in the notebook.
        model_id: the ID of the widget.
    """
    to_use = f"run this cell again; if no fields appear, {variable or 'panel'}.connect() asks below the cell"
    words = card("Panel", [badge(text)], [("To use it", as_html(to_use))])
    missing = ".jp-OutputArea-child:has(.toolkit-saved) + .jp-OutputArea-child .jupyter-widgets:not(:has(*))"
    style = f"body:has(.toolkit-{model_id}) .toolkit-saved-{model_id},{missing}{{display:none}}"
    return f'<div class="toolkit-saved toolkit-saved-{model_id}">{words}</div><style>{style}</style>'


def account_html(environment: Environment, mode: Mode, *, is_practice: bool = False) -> str:
    """Return a badge if a practice service answers or calls reach a real account, and an empty text otherwise."""
    if is_practice:
        return f'<span class="toolkit-badge toolkit-practice">{PRACTICE}</span>'
    is_real = environment.rules.real_account and mode is not Mode.REPLAY
    return f'<span class="toolkit-badge toolkit-real">{REAL_ACCOUNT}</span>' if is_real else ""


def note_html(words: str) -> str:
    """Return words that only inform."""
    return f'<div class="toolkit-note">{as_html(words)}</div>'


def problem_html(problem: Problem) -> str:
    """Return a problem and its next step; a screen reader announces them when they appear."""
    lines = "".join(f"<div>{as_html(line)}</div>" for line in (problem.what, *problem.next_step.splitlines()) if line)
    return f'<div class="toolkit-problem" role="alert">{lines}</div>'


def _badges_html(connection: Connection) -> str:
    session, mode = connection.session, connection.mode
    badge = f'<span class="toolkit-badge">{CLOSED if session.is_closed else _MODE_WORDS[mode]}</span>'
    account = account_html(session.environment, mode, is_practice=session.is_practice)
    return f'<span class="toolkit-badges"><strong>{session.environment}</strong>{badge}{account}</span>'


def _token_html(connection: Connection, calls: pd.DataFrame) -> str:
    """Return the lifetime that was left in a recording, or the place where the page counts it down."""
    session = connection.session
    token, number = session.token, session.token_number
    if token is None:
        return no_token_text(session, had_token=bool(calls["token"].notna().any()))
    percent, text, counting = 0, "…", f' data-counting="token {number}"'
    if session.replays_only:
        now, counting = session.now(), ""
        percent = round(100 * token.remaining(now) / token.lifetime)
        text = f"{remaining_text(token, number, now)} at the end of the last call"
    return (
        f'<span class="toolkit-token"{counting}>'
        f'<span class="toolkit-bar" role="progressbar" aria-label="Remaining lifetime of the token" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></span>'
        f'<span class="toolkit-left">{text}</span></span>'
    )


def _calls_html(calls: pd.DataFrame, before: str, *, is_closed: bool) -> str:
    """Return a table of the last calls, the latest at the bottom, and the number of calls; without calls, say so."""
    if calls.empty:
        to_call = f"; for one, run {code(f'{before}accounts()')}" if before and not is_closed else ""
        return f'<div class="toolkit-calls"><div>No calls{"" if is_closed else " yet"}{to_call}.</div></div>'
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    body = "".join(_row_html(call) for call in calls.itertuples())
    more = f", the last {SHOWN} shown; all: {code(f'{before}calls()')}" if calls.index[0] > 1 else ""
    return (
        f'<div class="toolkit-calls"><div>{count_text(int(calls.index[-1]), "call")}{more}</div>'
        '<div class="toolkit-scroll" role="region" aria-label="Last calls" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def _row_html(call: Any) -> str:
    import pandas as pd

    status, elapsed, token = (None if pd.isna(value) else value for value in (call.status, call.elapsed, call.token))
    cells = (
        f"{call.when:%H:%M:%S}",
        call.interface,
        f"{call.method} {excerpt(call.path, _LONGEST_PATH)}",
        "" if status is None else str(status),
        "" if elapsed is None else f"{elapsed:,.3f} s",
        "" if token is None else str(token),
    )
    failed = ' class="toolkit-failed"' if status is not None and status >= _FIRST_ERROR else ""
    return f"<tr{failed}>{''.join(f'<td>{as_html(cell)}</td>' for cell in cells)}</tr>"
