"""`panel()` and the widget that it returns: a form above, the session below."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anywidget
import ipywidgets
import traitlets
from IPython.display import display as show

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.auth.tokens.token import Token
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.text import printable
from toolkit.core.tracebacks import name_of, note_name, shell
from toolkit.local.settings import Settings, as_settings
from toolkit.notebook.front_end import FrontEnd, front_end, how_to_use
from toolkit.notebook.panel import choices, display
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.connecting import NOT_CONNECTED, Connecting
from toolkit.notebook.panel.display import SHOWN, recent_calls_html
from toolkit.session.session import Session

_HERE: Final = Path(__file__)
_PRESS_CONNECT: Final = "Press Connect, then run this cell again."
_EARLIER: Final = "Change the choices and connect again; until then panel.session is the earlier session."


def panel(
    environment: Environment | str | None = None,
    credentials: Credentials | str | None = None,
    cassette: str | Path | None = None,
    *,
    settings: Settings | None = None,
) -> Panel:
    """Show a form to connect with; the session is then `panel.session`.

    The arguments are chosen when the form appears. If the cassette exists, the panel replays it at once, which sends
    nothing and needs no credentials. In Voila, whose visitors do not own the machine, neither saved credentials nor
    other cassettes are offered, and nothing is recorded.

    Args:
        environment: "live", "paper", "broker-live" or "broker-sandbox".
        credentials: credentials, or the name of saved credentials.
        cassette: name or path of a cassette.
        settings: by default those of the project and the TOOLKIT_* variables.

    Raises:
        ConfigurationError: if an argument or a setting is malformed.
        CredentialsMismatch: if the credentials belong to another environment.
    """
    return Panel(environment, credentials, cassette, settings=as_settings(settings))


class Panel(ipywidgets.VBox):  # type: ignore[misc]
    """The widget that `panel()` returns; it shows itself at the end of a cell."""

    def __init__(
        self,
        environment: Environment | str | None,
        credentials: Credentials | str | None,
        cassette: str | Path | None,
        *,
        settings: Settings,
    ) -> None:
        chosen = _chosen_environment(environment, credentials)
        self._for_visitors = for_visitors = choices.is_for_visitors(os.environ)
        mode = choices.first_mode(cassette, settings, for_visitors=for_visitors)
        self._sent_token: Token | None = None  # the token that the page counts down
        self._shell = shell()
        self._is_cell_over = False  # until then, the variable may still come
        self._connecting = Connecting(
            chosen,
            mode,
            cassette=cassette,
            credentials=credentials,
            settings=settings,
            for_visitors=for_visitors,
            say=self._say,
            changed=self._refresh,
            variable=self._variable,
        )
        self._controls = self._connecting.controls
        self._view = SessionView(greeted=self._greeted, layout=self._controls.layout)
        super().__init__([*self._controls.slots.values(), self._view], layout=self._controls.layout)
        self.add_class("toolkit-panel")
        self._say(NOT_CONNECTED, "idle")
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._after_cell)
        if cassette is not None and mode is Mode.REPLAY:
            self._connecting.connect_as(chosen, credentials)

    @property
    def session(self) -> Session:
        """The session of this panel, for the cells below.

        Raises:
            ConfigurationError: if the panel is not connected.
        """
        session, failure = self.connected_session, self._connecting.failure
        if session is None:
            why = f": {failure.what}" if failure else "."
            raise ConfigurationError(f"The panel is not connected{why}", _PRESS_CONNECT)
        return session

    @property
    def connected_session(self) -> Session | None:
        """The session of this panel, or None if it is not connected."""
        connection = self._connecting.connection
        return connection.session if connection else None

    @property
    def environment(self) -> Environment:
        """The environment of the session; until the panel is connected, the chosen one."""
        session = self.connected_session
        return session.environment if session else self._controls.environment

    def connect(self) -> Session:
        """Connect with the choices in the form, as the button does, and return the session.

        Use it in a front end that does not show the panel's fields: it asks for their texts below the cell, without
        echo, and for the path of the file if a private key is needed.

        Raises:
            ConfigurationError: if the panel cannot connect, or questions cannot be answered here. An earlier session
                stays connected.
        """
        self._connecting.ask()
        failure = self._connecting.failure
        if failure is not None and self.connected_session is not None:
            raise ConfigurationError(f"The panel could not connect: {failure.what}", _EARLIER)
        return self.session

    def close(self) -> None:
        """Close the session and remove the panel from the page."""
        if getattr(self, "comm", None) is not None:
            self._connecting.disconnect()
            if self._shell is not None:
                self._shell.events.unregister("post_run_cell", self._after_cell)
            self._controls.close()
            self._view.close()
        super().close()

    def __repr__(self) -> str:
        return f"<Panel: {self._words()}>"

    def _repr_mimebundle_(self, **more: Any) -> Any:
        """Return the widget, and words for a front end without widgets."""
        bundle = super()._repr_mimebundle_(**more)
        return bundle and bundle | self._words_bundle()

    def _ipython_display_(self) -> None:
        """Show words, and the widget as a second output; the words help where the widget is missing later.

        VS Code and Colab would show both, so they get a single output and show the words only if the widget is missing.
        """
        if self._front_end() is not FrontEnd.OTHER:
            show(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]
            return
        show(self._words_bundle(), raw=True)  # type: ignore[no-untyped-call]
        bundle = super()._repr_mimebundle_()
        if bundle is not None:
            show({kind: data for kind, data in bundle.items() if kind != "text/plain"}, raw=True)  # type: ignore[no-untyped-call]

    def _words_bundle(self) -> dict[str, str]:
        to_use = how_to_use(self._front_end(), self._variable())
        return {"text/plain": repr(self), "text/html": display.saved_html(self._words(), to_use)}

    def _front_end(self) -> FrontEnd:
        return front_end(getattr(self._shell, "user_ns", {}), os.environ)

    def _words(self) -> str:
        connection = self._connecting.connection
        if connection is None:
            return f"{self.environment}, not connected"
        return display.summary_text(display.facts_of(connection))

    def _say(self, status: str, tone: str) -> None:
        self._view.say(status, tone)

    def _refresh(self) -> None:
        """Show the session as it is now, and send the page each token once; the page counts down by itself."""
        connection = self._connecting.connection
        if connection is None:
            self._view.html, self._sent_token = "", None
            return
        session, variable = connection.session, self._variable()
        note_name(session, self._session_name)
        name = name_of(session) or (f"{variable}.session" if variable else "")
        facts = display.facts_of(connection, name)
        self._view.html = display.summary_html(facts) + recent_calls_html(session.calls(last=SHOWN), facts)
        if not connection.session.replays_only and connection.session.token is not self._sent_token:
            self._send_token()

    def _send_token(self) -> None:
        connection = self._connecting.connection
        is_live = connection is not None and not connection.session.replays_only
        self._sent_token = connection.session.token if connection and is_live else None
        self._view.send_token(self._sent_token, connection.session.now() if connection else None)

    def _greeted(self) -> None:
        """Answer a page that shows the panel."""
        self._connecting.greet()
        self._send_token()

    def _variable(self) -> str:
        """Return the name of this panel in the notebook: a variable, or "" if none holds it after the cell."""
        may_be_unnamed = self._is_cell_over and not self._for_visitors  # visitors have no cells
        return name_of(self) or ("" if may_be_unnamed else "panel")

    def _session_name(self) -> str:
        name = name_of(self)
        return f"{name}.session" if name else ""

    def _after_cell(self, _: object) -> None:
        """Show the calls that the cell made, and the session and practice services that it closed or started."""
        self._is_cell_over = True
        self._refresh()
        self._connecting.follow()


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

    _esm = _HERE.with_name("session_view.js").read_text(encoding="utf-8")
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


def _chosen_environment(
    environment: Environment | str | None, credentials: Credentials | str | None
) -> Environment | None:
    chosen = None if environment is None else as_environment(environment)
    if not isinstance(credentials, Credentials):
        return chosen
    if chosen is not None and chosen is not credentials.environment:
        raise CredentialsMismatch(
            f"These credentials are for {credentials.environment}, not for {chosen}.",
            "Credentials of one environment are not accepted by another (section 1, rule 5).",
            about="credentials",
        )
    return credentials.environment
