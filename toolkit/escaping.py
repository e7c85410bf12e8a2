"""Text from a server, a cassette or a notebook, made safe to show.

The one place where foreign text is escaped: for a terminal (`printable`), for an error message
(`excerpt`) and for a page (`as_html`).
"""

from __future__ import annotations

import html
import re

# C0 and C1 controls but tab and newline, the bidirectional controls, invisible separators and lone
# surrogates: what can move a terminal's cursor, reorder a line, or hide text in it.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    """The text without control, bidirectional and invisible characters; tabs and newlines stay."""
    return _UNPRINTABLE.sub("", text)


def excerpt(text: str, limit: int = 200) -> str:
    """Foreign text on one line of at most `limit` characters, safe to put into a message."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def as_html(text: str) -> str:
    """The text as HTML that shows it literally, in an element or an attribute."""
    return html.escape(printable(text), quote=True)
