"""Make text from a server, a cassette or a notebook safe to show.

All foreign text is escaped here: for a terminal (`printable`), an error message (`excerpt`) or a page (`as_html`).
Known secrets are masked in messages (`masked`), and an excerpt never ends within one.
"""

from __future__ import annotations

import html
import re

from toolkit.core.patterns import compiled
from toolkit.core.register import REGISTER
from toolkit.core.secret import SHORTEST_SECRET

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


def masked(text: str) -> str:
    """Return the text with the kind of each known secret, such as `<ACCESS_TOKEN>`, in place of the secret.

    Letters may be in another case, as in a host name.
    """
    folded = text.lower()
    for kind, secret in REGISTER.since(0):
        plain = secret.reveal()
        if len(plain) >= SHORTEST_SECRET and plain.lower() in folded:
            text = f"<{kind}>".join(re.split(re.escape(plain), text, flags=re.IGNORECASE))
            folded = text.lower()
    return text


def excerpt(text: str, limit: int = 200) -> str:
    """Return foreign text on one line, without known secrets, safe for a message and cut to `limit` (1 or more)."""
    line = " ".join(printable(text).split())
    if len(line) <= limit:
        return masked(line)[:limit]
    return masked(line[: _end_before_secret(line, limit - 1)])[: limit - 1] + "…"


def _end_before_secret(line: str, end: int) -> int:
    """Return where to cut a line at or before `end`, so that no known secret is cut in two."""
    for _, secret in REGISTER.since(0):
        plain = secret.reveal().lower()
        if len(plain) >= SHORTEST_SECRET:
            start = max(0, end - len(plain) + 1)
            place = line[start : end + len(plain) - 1].lower().find(plain)
            end = end if place < 0 else start + place
    return end


def as_html(text: str) -> str:
    """Return HTML that shows the text literally, in an element or an attribute."""
    return html.escape(printable(text), quote=True)
