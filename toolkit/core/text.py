"""Make text from a server, a cassette or a notebook safe to show, and format counts, dates and HTML for display.

Untrusted text is made safe for a terminal (`printable`), an error message (`excerpt`), a web page (`as_html`) or the
log of a CI job (`annotation`); `masked` masks known secrets. Counts and dates have the same format everywhere.

HTML cards are readable in light and dark themes and on code-hosting sites, which strip style sheets and classes: styles
are inline, and colours come from the theme's variables if it has any.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import AnyStr, Final, Literal

from toolkit.core.secret import REGISTER, SHORTEST_SECRET

# Characters that can move a terminal's cursor, reorder a line or hide text in it: C0 and C1 controls except tab
# and newline, bidirectional controls, line separators, lone surrogates, and all invisible characters of
# Unicode (Default_Ignorable_Code_Point of DerivedCoreProperties.txt), including tags and variation selectors,
# which can carry a whole hidden message.
_UNPRINTABLE = (
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)


def printable(text: str) -> str:
    """Return the text without control, bidirectional and invisible characters; tabs and newlines are kept."""
    return re.compile(_UNPRINTABLE).sub("", text)


def masked(text: str) -> str:
    """Return the text with each known secret replaced by its kind, such as `<ACCESS_TOKEN>`.

    Secrets are matched regardless of case, because a host name may be shown in lower case.
    """
    folded = text.lower()
    for kind, secret in REGISTER.since(0):
        plain = secret.reveal()
        if len(plain) >= SHORTEST_SECRET and plain.lower() in folded:
            text = f"<{kind}>".join(re.split(re.escape(plain), text, flags=re.IGNORECASE))
            folded = text.lower()
    return text


def excerpt(text: str, limit: int = 200) -> str:
    """Return untrusted text on one line, with known secrets masked, and cut to `limit` characters (1 or more)."""
    line = masked(" ".join(printable(text).split()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def as_html(text: str) -> str:
    """Return HTML that shows the text literally, in an element or an attribute."""
    return html.escape(printable(text), quote=True)


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun: `1 account`, `1,200 accounts`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def date_text(instant: datetime) -> str:
    """Return the date of a datetime, always in English: `12 May 2026`."""
    return f"{instant.day} {_MONTHS[instant.month - 1]} {instant.year}"


def instant_words(instant: datetime) -> str:
    """Return a datetime as text in UTC, to the second: `12 May 2026, 09:30:07 UTC`."""
    utc = instant.astimezone(UTC)
    return f"{date_text(utc)}, {utc.hour:02}:{utc.minute:02}:{utc.second:02} UTC"


def minutes_text(left: timedelta) -> str:
    """Return a remaining lifetime as minutes and seconds, such as `12:07`, rounded up so that `0:00` means expired."""
    minutes, seconds = divmod(max(0, math.ceil(left.total_seconds())), 60)
    return f"{minutes}:{seconds:02}"


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the valid name closest to a misspelt one, or None; `cutoff` is the minimum similarity, from 0 to 1."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(names), n=1, cutoff=cutoff)), None)


_MONTHS: Final = "January February March April May June July August September October November December".split()

_ALARM: Final = "var(--vscode-errorForeground, var(--jp-error-color1, #d64545))"
_CARD: Final = (
    "display:inline-block;max-width:100%;padding:.5em .9em;line-height:1.5;border-radius:6px;"
    "border:1px solid var(--vscode-panel-border, var(--jp-border-color2, #8886));"
    "color:var(--vscode-editor-foreground, var(--jp-ui-font-color1, inherit))"
)
_BADGE: Final = "display:inline-block;border:1px solid currentColor;border-radius:1em;padding:0 .55em;font-size:.9em"
# Opacity keeps the theme's own text colour, which is readable on any background.
_MUTED: Final = "opacity:.75"
# JupyterLab would align table cells to the right.
_CELL: Final = "text-align:left;padding:.1em 1.2em .1em 0"


def badge(text: str, *, alarming: bool = False) -> str:
    """Return HTML for a short framed label, in the error colour if `alarming`."""
    colour = f"font-weight:600;color:{_ALARM}" if alarming else _MUTED
    return f'<span style="{_BADGE};{colour}">{as_html(text)}</span>'


def code(text: str) -> str:
    """Return HTML that shows the text literally, formatted as code."""
    return f"<code>{as_html(text)}</code>"


def card(title: str, badges: Iterable[str], rows: Iterable[tuple[str, str]]) -> str:
    """Return HTML for a card with a title, badges (HTML), and rows, each with a name (text) and a value (HTML)."""
    head = " · ".join([f"<strong>{as_html(title)}</strong>", *badges])
    name = f"{_CELL};vertical-align:top;white-space:nowrap;font-weight:normal;{_MUTED}"
    body = "".join(
        f'<tr style="background:none"><th scope="row" style="{name}">{as_html(label)}</th>'
        f'<td style="{_CELL}">{value}</td></tr>'
        for label, value in rows
    )
    table = f'<table style="margin:.4em 0 0;border:none"><tbody>{body}</tbody></table>' if body else ""
    return f'<div style="{_CARD}"><div>{head}</div>{table}</div>'


def list_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a plain-text table with aligned columns."""
    lines = [tuple(columns), *(tuple(printable(cell).replace("\n", " ") for cell in row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


SLICE: Final = 1 << 18  # maximum characters per search, since a search blocks all other threads


def matches_in(pattern: AnyStr, text: AnyStr, *, longest: int) -> Iterator[re.Match[AnyStr]]:
    """Yield the matches of a pattern in a text, searching it slice by slice.

    A match can extend up to `longest` characters beyond the end of the slice in which it starts.
    """
    done = 0
    for start in range(0, len(text), SLICE):
        end = start + SLICE
        for match in re.compile(pattern).finditer(text, max(start, done), end + longest):
            if match.start() >= end:
                break
            yield match
            done = match.end()


def annotation(level: Literal["error", "warning", "notice"], message: str, **properties: str | int | None) -> str:
    """Return a log line that makes GitHub annotate a `file` and `line`, or the whole run if they are not given."""
    pairs = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in properties.items() if value)
    return f"::{level}{f' {pairs}' if pairs else ''}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    for sign in f"%\n{more}":
        text = printable(text).replace(sign, f"%{ord(sign):02X}")
    return text
