"""Text from a server, a cassette or a notebook, made safe to show.

The one place where foreign text is escaped: for a terminal (`printable`), for an error message
(`excerpt`) and for a page (`as_html`).
"""

from __future__ import annotations

import html
import re

# What can move a terminal's cursor, reorder a line, or hide text in it: C0 and C1 controls but tab and
# newline, bidirectional controls, line separators, lone surrogates, and the characters that Unicode draws
# as nothing at all (Default_Ignorable_Code_Point of DerivedCoreProperties.txt), tags and variation
# selectors included, which can carry a whole hidden message.
_UNPRINTABLE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "]"
)


def printable(text: str) -> str:
    """The text without control, bidirectional and invisible characters; tabs and newlines stay."""
    return _UNPRINTABLE.sub("", text)


def excerpt(text: str, limit: int = 200) -> str:
    """Foreign text on one line of at most `limit` characters (1 or more), safe to put into a message."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def as_html(text: str) -> str:
    """The text as HTML that shows it literally, in an element or an attribute."""
    return html.escape(printable(text), quote=True)
