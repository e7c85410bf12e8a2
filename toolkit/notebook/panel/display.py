"""Facts of a session as HTML and plain text: the same facts always give the same text.

What depends on the present, such as the age of a recording and the remaining lifetime of a live token, is computed in
the page, so that a saved notebook does not hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.document import Environment, Interface
from toolkit.core.ledger import instant_text
from toolkit.core.text import (
    PRACTICE,
    REAL_ACCOUNT,
    account_words,
    as_html,
    badge,
    card,
    count_text,
    date_text,
    excerpt,
    printable,
)
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.connection import Connection
from toolkit.notebook.panel.problems import PanelProblem, place_in_words
from toolkit.session.card import CLOSED, caller_text, no_token_text, remaining_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from toolkit.auth.destinations import Destination


SHOWN: Final = 5  # calls in the table
_LONGEST_PATH: Final = 60  # characters
_COLUMNS: Final = ("when (UTC)", "interface", "path", "status", "elapsed", "token")
_FIRST_ERROR: Final = 400  # statuses from here on are errors, RFC 9110 section 15.5

# An environment is called "live" too, so a mode is named by what it does.
_MODE_WORDS: Final = {Mode.LIVE: "calls the service", Mode.RECORD: "records", Mode.REPLAY: "replay"}
_CLOSED: Final = "This session is closed. Press Connect to open another."
_UNNAMED: Final = (
    "put the panel in a variable: after <code>panel = tk.panel()</code>, use <code>panel.session</code> in your cells"
)
# A front end that keeps styles and knows these classes shows the widget or, if the widget is missing, only these words
# instead of its own message about a missing widget.
_WORDS_OR_WIDGET: Final = (
    "<style>.jp-OutputArea-child:has(.toolkit-saved):has(+ .jp-OutputArea-child .toolkit-panel),"
    ".jp-OutputArea-child:has(.toolkit-saved) + .jp-OutputArea-child .jupyter-widgets:not(:has(*), .toolkit-panel *)"
    "{display:none}</style>"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that the panel shows about a connected session.

    Attributes:
        environment: the environment that is called.
        mode: live, record or replay.
        who: the caller in words.
        cassette: file name of the cassette; empty when live.
        interactions: number of interactions in the cassette.
        recorded_at: the instant at which the first interaction was recorded.
        accounts: number of accounts that the trial call returned; None in a replay.
        token: remaining lifetime of a replayed token, or why the session has no token, in words; empty while the page
            counts the token down.
        percent: remaining lifetime of a replayed token in percent of its whole lifetime; None without one.
        token_number: the number of the current token in the tables of the session; None without a token.
        name: how the notebook reaches the session, such as "panel.session"; empty if no variable holds the panel.
        is_practice: True if a practice service answers.
        is_closed: True if the session was closed.
    """

    environment: Environment
    mode: Mode
    who: str = ""
    cassette: str = ""
    interactions: int = 0
    recorded_at: datetime | None = None
    accounts: int | None = None
    token: str = ""
    percent: int | None = None
    token_number: int | None = None
    name: str = "panel.session"
    is_practice: bool = False
    is_closed: bool = False

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces that the user may call (section 1 of the service document), except the token endpoint."""
        return tuple(name for name in self.environment.rules.addresses if name is not Interface.AUTH)


def facts_of(connection: Connection, name: str = "panel.session") -> Facts:
    """Return the facts of a connection as of now; none of them is secret.

    Args:
        connection: the connection.
        name: how the notebook reaches its session; empty if it cannot.
    """
    session = connection.session
    cassette, token, words, percent = session.cassette, session.token, "", None
    if token is None:
        calls = session.calls(last=SHOWN)
        words = no_token_text(session, had_token=bool(calls["token"].notna().any()))
    elif session.replays_only:
        now = session.now()
        words = f"{remaining_text(token, session.token_number, now)} at the end of the last call"
        percent = round(100 * token.remaining(now) / token.lifetime)
    return Facts(
        environment=session.environment,
        mode=connection.mode,
        who=caller_text(session.environment, session.credentials),
        cassette=cassette.path.name if cassette else "",
        interactions=len(cassette) if cassette else 0,
        recorded_at=cassette.recorded_at if cassette else None,
        accounts=connection.accounts,
        token=words,
        percent=percent,
        token_number=session.token_number,
        name=name,
        is_practice=session.is_practice,
        is_closed=session.is_closed,
    )


def status_text(facts: Facts) -> str:
    """Return one line that says what the panel is connected to."""
    if facts.is_closed:
        return _CLOSED
    if facts.mode is Mode.REPLAY:
        return f"Replaying {facts.cassette}. Nothing is sent, and no credentials are needed."
    trial = f"The service accepts these credentials: {count_text(facts.accounts or 0, 'account')}."
    recording = f" Calls are recorded to {facts.cassette}." if facts.mode is Mode.RECORD else ""
    return f"Connected. {trial}{recording}"


def summary_text(facts: Facts) -> str:
    """Return the session in a few words, for a front end that shows only text."""
    words = [f"{facts.environment}", _MODE_WORDS[facts.mode]]
    if facts.cassette:
        words[-1] += f" {printable(facts.cassette)}"
    if facts.mode is Mode.REPLAY and facts.recorded_at:
        words[-1] += f", recorded {date_text(facts.recorded_at)}"
    is_real = facts.environment.rules.real_account and facts.mode is not Mode.REPLAY
    if account := account_words(is_real=is_real, is_practice=facts.is_practice):
        words.insert(1, account)
    if facts.is_closed:
        words.append(CLOSED)
    return " · ".join(words)


def summary_html(facts: Facts) -> str:
    """Return the session as badges and a list of facts."""
    rows = [
        ("Session", _badges_html(facts)),
        ("You are", as_html(facts.who)),
    ]
    if not facts.is_closed:
        rows.append(("You may call", ", ".join(_interface_html(facts, interface) for interface in facts.interfaces)))
    if not facts.name:
        rows.append(("To use it", _UNNAMED))
    if facts.cassette:
        rows.append(("Cassette", _cassette_html(facts)))
    rows.append(("Token", _token_html(facts)))
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="toolkit-facts">{items}</dl>'


def saved_html(text: str, to_use: str) -> str:
    """Return the HTML for places without widgets: a code-hosting site, a printed page, a page without a kernel.

    Args:
        text: the panel in a few words.
        to_use: what to do to use it.
    """
    words = card("Panel", [badge(text)], [("To use it", as_html(to_use))])
    return f'<div class="toolkit-saved">{words}</div>{_WORDS_OR_WIDGET}'


def account_html(environment: Environment, mode: Mode, *, is_practice: bool = False) -> str:
    """Return a badge if a practice service answers or calls reach a real account, and an empty text otherwise."""
    if is_practice:
        return f'<span class="toolkit-badge toolkit-practice">{PRACTICE}</span>'
    is_real = environment.rules.real_account and mode is not Mode.REPLAY
    return f'<span class="toolkit-badge toolkit-real">{REAL_ACCOUNT}</span>' if is_real else ""


def note_html(*lines: str) -> str:
    """Return words that only inform, one line each."""
    return f'<div class="toolkit-note">{"".join(f"<div>{as_html(line)}</div>" for line in lines)}</div>'


def problem_html(problem: PanelProblem) -> str:
    """Return a problem and its next step; a screen reader announces them when they appear."""
    lines = "".join(f"<div>{as_html(line)}</div>" for line in (problem.what, *problem.next_step.splitlines()) if line)
    return f'<div class="toolkit-problem" role="alert">{lines}</div>'


def destinations_html(destinations: Sequence[Destination], *, with_places: bool = True) -> str:
    """Return where typed texts are sent, one line each; nothing without destinations.

    Args:
        destinations: addresses, and the prefix of headers.
        with_places: True to say which files and variables name them.
    """
    if not destinations:
        return ""
    places = [f", from {place_in_words(destination)}" if with_places else "" for destination in destinations]
    common = places[0] if len({*places}) == 1 else ""
    first = f"What you type is sent only to these addresses{common}:"
    lines = [
        f"{as_html(destination.label)}: <code>{as_html(destination.text)}</code>" + as_html("" if common else place)
        for destination, place in zip(destinations, places, strict=True)
    ]
    return f'<div class="toolkit-sent">{"".join(f"<div>{line}</div>" for line in [as_html(first), *lines])}</div>'


def _badges_html(facts: Facts) -> str:
    mode = f'<span class="toolkit-badge">{CLOSED if facts.is_closed else _MODE_WORDS[facts.mode]}</span>'
    account = account_html(facts.environment, facts.mode, is_practice=facts.is_practice)
    return f'<span class="toolkit-badges"><strong>{facts.environment}</strong>{mode}{account}</span>'


def _interface_html(facts: Facts, interface: Interface) -> str:
    before = f"{facts.name}." if facts.name else ""
    return f"<code>{as_html(before)}{interface}</code>"


def _cassette_html(facts: Facts) -> str:
    words = f"{as_html(facts.cassette)} · {count_text(facts.interactions, 'interaction')}"
    if facts.recorded_at is None:
        return words
    instant = instant_text(facts.recorded_at)  # the page adds how long ago that was
    return f'{words}, recorded <time datetime="{instant}">{date_text(facts.recorded_at)}</time>'


def _token_html(facts: Facts) -> str:
    if facts.percent is not None:
        return _bar_html(facts.percent, facts.token)
    return facts.token or _bar_html(0, "…", counting=f"token {facts.token_number}")


def _bar_html(percent: int, text: str, *, counting: str = "") -> str:
    counting = f' data-counting="{counting}"' if counting else ""  # the page counts down
    return (
        f'<span class="toolkit-token"{counting}>'
        f'<span class="toolkit-bar" role="progressbar" aria-label="Remaining lifetime of the token" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></span>'
        f'<span class="toolkit-left">{text}</span></span>'
    )


def recent_calls_html(calls: pd.DataFrame, facts: Facts) -> str:
    """Return a table of the last calls, the latest at the bottom, and the number of calls; without calls, say so.

    Args:
        calls: the table that `Session.calls(last=SHOWN)` returns.
        facts: the facts of the session.
    """
    session = as_html(f"{facts.name}." if facts.name else "")
    if calls.empty:
        to_call = f"; for one, run <code>{session}accounts()</code>" if session else ""
        words = "No calls." if facts.is_closed else f"No calls yet{to_call}."
        return f'<div class="toolkit-calls"><div>{words}</div></div>'
    head = "".join(f'<th scope="col">{column}</th>' for column in _COLUMNS)
    body = "".join(_row_html(call) for call in calls.itertuples())
    more = f", the last {SHOWN} shown; all: <code>{session}calls()</code>"
    count = count_text(int(calls.index[-1]), "call") + (more if calls.index[0] > 1 else "")
    return (
        f'<div class="toolkit-calls"><div>{count}</div>'
        '<div class="toolkit-scroll" role="region" aria-label="Last calls" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def _row_html(call: Any) -> str:
    cells = (
        f"{call.when:%H:%M:%S}",
        call.interface,
        f"{call.method} {excerpt(call.path, _LONGEST_PATH)}",
        "" if _is_missing(call.status) else str(call.status),
        "" if _is_missing(call.elapsed) else f"{call.elapsed:,.3f} s",
        "" if _is_missing(call.token) else str(call.token),
    )
    failed = ' class="toolkit-failed"' if not _is_missing(call.status) and call.status >= _FIRST_ERROR else ""
    return f"<tr{failed}>{''.join(f'<td>{as_html(cell)}</td>' for cell in cells)}</tr>"


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(value))
