"""The lower part of the panel: status, facts of the session, and the token's countdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from toolkit.auth.tokens.token import Token
from toolkit.core.escaping import printable

_HERE: Final = Path(__file__)


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
    _css = _HERE.with_name("panel.css").read_text(encoding="utf-8")
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
        """Send the page the lifetime of the live token, in seconds, or that there is no token.

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
