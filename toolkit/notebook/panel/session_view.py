"""The part of the panel that says what the session is: status, badges, facts and the token's lifetime."""

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

    The lifetime of a live token is told to the page in a message and counted down there: the traits,
    and with them the saved notebook, hold no present time.

    Args:
        greeted: called when a page shows this view; answer it with `tell`.
        traits: those of any widget, such as `layout`.

    Attributes:
        status: one line in words.
        tone: "idle", "busy", "good" or "bad".
        html: the summary; empty before connecting.
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
        """Say how things stand, in one line."""
        with self.hold_sync():
            self.status, self.tone = printable(status), tone

    def tell(self, token: Token | None, now: datetime | None = None) -> None:
        """Tell the page of the live token, or that there is none; either way that the kernel is there."""
        told: dict[str, object] = {"type": "token", "remaining": None}
        if token is not None and now is not None:
            told |= {
                "remaining": token.remaining(now).total_seconds(),
                "lifetime": token.lifetime.total_seconds(),
            }
        self.send(told)

    def __repr__(self) -> str:
        return f"<SessionView: {self.status}>"

    def _receive(self, _: object, content: object, __: object) -> None:
        if isinstance(content, Mapping) and content.get("type") == "hello":
            self._greeted()
