"""Facts of a session as HTML and plain text: the same facts always give the same text.

What depends on the present, such as the age of a recording and the remaining lifetime of a live token, is computed in
the page, so that a saved notebook does not hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.document import CredentialKind, Environment, Interface
from toolkit.core.escaping import as_html, excerpt, printable
from toolkit.core.html import badge, card
from toolkit.core.ledger import instant_text
from toolkit.core.words import PRACTICE, REAL_ACCOUNT, account_words, count_text, date_text
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.connection import Connection
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.session.card import KEY_PAIR_NOTE, caller_text, remaining_text

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
_NOTHING_REPLAYED: Final = "none yet: it comes with the first replayed call"
_UNNAMED: Final = "put the panel in a variable, such as <code>panel = tk.panel()</code>; its session is then there"
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
        has_tokens: True if this caller uses access tokens.
        cassette: file name of the cassette; empty when live.
        interactions: number of interactions in the cassette.
        recorded_at: the instant at which the first interaction was recorded.
        accounts: number of accounts that the trial call returned; None in a replay.
        token: remaining lifetime of a replayed token in words; empty without a token.
        percent: the same in percent of its whole lifetime.
        token_number: the number of the current token in the tables of the session; None without a token.
        variable: the name of the panel in the notebook; empty if no variable holds it.
        is_practice: True if a practice service answers.
    """

    environment: Environment
    mode: Mode
    who: str = ""
    has_tokens: bool = False
    cassette: str = ""
    interactions: int = 0
    recorded_at: datetime | None = None
    accounts: int | None = None
    token: str = ""
    percent: int = 0
    token_number: int | None = None
    variable: str = "panel"
    is_practice: bool = False

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interfaces that the user may call (section 1 of the service document), except the token endpoint."""
        return tuple(name for name in self.environment.rules.addresses if name is not Interface.AUTH)


def facts_of(connection: Connection) -> Facts:
    """Return the facts of a connection as of now; none of them is secret."""
    session = connection.session
    cassette, token = session.cassette, session.token if session.replays_only else None
    return Facts(
        environment=session.environment,
        mode=connection.mode,
        who=caller_text(session.environment, session.credentials),
        has_tokens=CredentialKind.KEY_PAIR not in session.environment.rules.credentials,
        cassette=cassette.path.name if cassette else "",
        interactions=len(cassette) if cassette else 0,
        recorded_at=cassette.recorded_at if cassette else None,
        accounts=connection.accounts,
        token=remaining_text(token, session.token_number, session.now()) if token else "",
        percent=round(100 * token.remaining(session.now()) / token.lifetime) if token else 0,
        token_number=session.token_number,
        is_practice=session.is_practice,
    )


def status_text(facts: Facts) -> str:
    """Return one line that says what the panel is connected to."""
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
    if account := account_words(is_real=facts.environment.rules.real_account, is_practice=facts.is_practice):
        words.insert(1, account)
    return " · ".join(words)


def summary_html(facts: Facts) -> str:
    """Return the session as badges and a list of facts."""
    rows = [
        ("Session", _badges_html(facts)),
        ("You are", as_html(facts.who)),
        ("You may call", " ".join(_interface_html(facts, interface) for interface in facts.interfaces)),
    ]
    if not facts.variable:
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


def account_html(environment: Environment, *, is_practice: bool = False) -> str:
    """Return a badge if a practice service answers or calls reach a real account, and an empty text otherwise."""
    if is_practice:
        return f'<span class="toolkit-badge toolkit-practice">{PRACTICE}</span>'
    return f'<span class="toolkit-badge toolkit-real">{REAL_ACCOUNT}</span>' if environment.rules.real_account else ""


def note_html(*lines: str) -> str:
    """Return words that only inform, one line each."""
    return f'<div class="toolkit-note">{"".join(f"<div>{as_html(line)}</div>" for line in lines)}</div>'


def problem_html(problem: PanelProblem) -> str:
    """Return a problem and its next step; a screen reader announces them when they appear."""
    lines = "".join(f"<div>{as_html(line)}</div>" for line in (problem.what, *problem.next_step.splitlines()) if line)
    return f'<div class="toolkit-problem" role="alert">{lines}</div>'


def destinations_html(destinations: Sequence[Destination], *, with_places: bool = True) -> str:
    """Return where typed texts are sent, one line each; nothing without destinations."""
    if not destinations:
        return ""
    lines = [
        f"<div>{as_html(destination.label)}: <code>{as_html(destination.text)}</code>"
        + (f" ({as_html(destination.place_in_words)})" if with_places else "")
        + "</div>"
        for destination in destinations
    ]
    return f'<div class="toolkit-sent">What you type is sent only to:{"".join(lines)}</div>'


def _badges_html(facts: Facts) -> str:
    mode = f'<span class="toolkit-badge">{_MODE_WORDS[facts.mode]}</span>'
    account = account_html(facts.environment, is_practice=facts.is_practice)
    return f'<span class="toolkit-badges"><strong>{facts.environment}</strong>{mode}{account}</span>'


def _interface_html(facts: Facts, interface: Interface) -> str:
    before = f"{facts.variable}.session." if facts.variable else ""
    return f"<code>{as_html(before)}{interface}</code>"


def _cassette_html(facts: Facts) -> str:
    words = f"{as_html(facts.cassette)} · {count_text(facts.interactions, 'interaction')}"
    if facts.recorded_at is None:
        return words
    instant = instant_text(facts.recorded_at)  # the page adds how long ago that was
    return f'{words}, recorded <time datetime="{instant}">{date_text(facts.recorded_at)}</time>'


def _token_html(facts: Facts) -> str:
    if not facts.has_tokens:
        return KEY_PAIR_NOTE
    if facts.mode is not Mode.REPLAY:
        return _bar_html(0, "…", counting=f"token {facts.token_number or 1}")
    return _bar_html(facts.percent, f"{facts.token} at the end of the last call") if facts.token else _NOTHING_REPLAYED


def _bar_html(percent: int, text: str, *, counting: str = "") -> str:
    counting = f' data-counting="{counting}"' if counting else ""  # the page counts down
    return (
        f'<span class="toolkit-token"{counting}>'
        f'<span class="toolkit-bar" role="progressbar" aria-label="Remaining lifetime of the token" '
        f'aria-valuemin="0" aria-valuemax="100" aria-valuenow="{percent}">'
        f'<span style="width:{percent}%"></span></span>'
        f'<span class="toolkit-left">{text}</span></span>'
    )


def recent_calls_html(calls: pd.DataFrame, variable: str) -> str:
    """Return a table of the last calls, the latest at the bottom, and the number of calls; without calls, say so.

    Args:
        calls: the table that `Session.calls(last=SHOWN)` returns.
        variable: the name of the panel in the notebook; empty if no variable holds it.
    """
    session = as_html(f"{variable}.session." if variable else "")
    if calls.empty:
        words = f"No calls yet; for one, run <code>{session}accounts()</code>."
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
