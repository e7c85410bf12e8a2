"""Make text from a server, a cassette or a notebook safe to show.

All foreign text is escaped here: for a terminal (`printable`), an error message (`excerpt`) or a page (`as_html`).
"""

from __future__ import annotations

import html

from toolkit.core.patterns import compiled

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
    """Return the text without control, bidirectional and invisible characters; tabs and newlines stay."""
    return compiled(_UNPRINTABLE).sub("", text)


def excerpt(text: str, limit: int = 200) -> str:
    """Return foreign text on one line, safe for a message and cut to `limit` characters (1 or more)."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def as_html(text: str) -> str:
    """Return HTML that shows the text literally, in an element or an attribute."""
    return html.escape(printable(text), quote=True)
