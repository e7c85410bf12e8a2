"""The panel: choose an environment, credentials and a mode, connect, and go on with `panel.session`.

The widgets hold what may be seen. What is computed is computed in plain functions (`form`,
`connection`, `display`); what is secret goes from the page to the credentials and nowhere else.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import display as show

from toolkit.auth.credentials import Credentials, as_environment
from toolkit.auth.tokens.token import Token
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, display
from toolkit.notebook.panel.audience import is_for_visitors
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.connecting import NOT_CONNECTED, Connecting
from toolkit.notebook.panel.display import SHOWN, recent_calls_html, renewals
from toolkit.notebook.panel.session_view import SessionView
from toolkit.session.session import Session

_PRESS_CONNECT: Final = "Press Connect, then run this cell again."
_VS_CODE: Final = "__vsc_ipynb_file__"  # a variable that VS Code sets in the kernels of its notebooks


def panel(
    environment: Environment | str | None = None,
    credentials: Credentials | str | None = None,
    cassette: str | Path | None = None,
    *,
    settings: Settings | None = None,
) -> Panel:
    """A form to connect with; the session is then `panel.session`.

    Whatever is given is chosen beforehand. If the cassette exists, the panel connects by itself: it
    replays, which sends nothing and needs no credentials. In Voila, whose visitors are not the owner of the
    machine, neither saved credentials nor other cassettes are offered, and nothing is recorded.

    Args:
        environment: "live", "paper", "broker-live" or "broker-sandbox".
        credentials: credentials, or the name of saved ones.
        cassette: name or path of a cassette.
        settings: by default those of the project and the TOOLKIT_* variables.

    Raises:
        ConfigurationError: an argument or a setting is malformed.
        CredentialsMismatch: the credentials belong to another environment.
    """
    return Panel(environment, credentials, cassette, settings=settings or Settings.load())


class Panel(ipywidgets.VBox):  # type: ignore[misc]
    """What `panel()` gives: a widget, which shows itself at the end of a cell."""

    def __init__(
        self,
        environment: Environment | str | None,
        credentials: Credentials | str | None,
        cassette: str | Path | None,
        *,
        settings: Settings,
    ) -> None:
        asked = _asked_environment(environment, credentials)
        for_visitors = is_for_visitors(os.environ)
        mode = choices.first_mode(cassette, settings, for_visitors=for_visitors)
        self._token_told: Token | None = None
        self._shell = get_ipython()
        self._connecting = Connecting(
            asked,
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
            self._connecting.connect_as(asked, credentials)

    @property
    def session(self) -> Session:
        """The session of this panel, for the cells below.

        Raises:
            ConfigurationError: the panel is not connected.
        """
        connection, failure = self._connecting.connection, self._connecting.failure
        if connection is None:
            why = f": {failure.what}" if failure else "."
            raise ConfigurationError(f"The panel is not connected{why}", _PRESS_CONNECT)
        return connection.session

    @property
    def environment(self) -> Environment:
        """The environment of the session; before connecting, the one that is chosen."""
        connection = self._connecting.connection
        return connection.session.environment if connection else self._controls.environment

    def connect(self) -> Session:
        """Connect with what is chosen, as the button does, and give the session.

        What would be typed into the panel is asked for below the cell, unseen: for a front end that does
        not show its fields. A private key is asked for by the path of its file.

        Raises:
            ConfigurationError: what keeps the panel from connecting, or nobody is there to be asked.
        """
        self._connecting.ask()
        return self.session

    def close(self) -> None:
        """Close the session and take the panel off the page."""
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
        """The widget, and words for a front end that has none."""
        bundle = super()._repr_mimebundle_(**more)
        return bundle and bundle | self._saved()

    def _ipython_display_(self) -> None:
        """Words first, the widget after them: where it is missing later, the words tell what to do.

        VS Code takes the words of one output in place of a widget that it misses; of two it shows both.
        """
        if _VS_CODE in getattr(self._shell, "user_ns", {}):
            show(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]
            return
        show(self._saved(), raw=True)  # type: ignore[no-untyped-call]
        bundle = super()._repr_mimebundle_()
        if bundle is not None:
            show({kind: data for kind, data in bundle.items() if kind != "text/plain"}, raw=True)  # type: ignore[no-untyped-call]

    def _saved(self) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": display.saved_html(self._words())}

    def _words(self) -> str:
        connection = self._connecting.connection
        if connection is None:
            return f"{self.environment}, not connected"
        return display.summary_text(display.facts_of(connection))

    def _say(self, status: str, tone: str) -> None:
        self._view.say(status, tone)

    def _refresh(self) -> None:
        """Show the session as it is now; a page is told of a token once, and counts down by itself."""
        connection = self._connecting.connection
        if connection is None:
            self._view.html, self._token_told = "", None
            return
        calls, variable = connection.session.calls(last=SHOWN), self._variable()
        facts = replace(display.facts_of(connection), renewals=renewals(calls), variable=variable)
        self._view.html = display.summary_html(facts) + recent_calls_html(calls, variable)
        if not connection.session.replays_only and connection.token is not self._token_told:
            self._tell()

    def _tell(self) -> None:
        connection = self._connecting.connection
        is_live = connection is not None and not connection.session.replays_only
        self._token_told = connection.token if connection and is_live else None
        self._view.tell(self._token_told, connection.session.now() if connection else None)

    def _greeted(self) -> None:
        """Somebody looks at the panel in a page."""
        self._connecting.is_seen = True
        self._controls.list_cassettes()
        self._tell()

    def _variable(self) -> str:
        """What the notebook calls this panel."""
        names = getattr(self._shell, "user_ns", {})
        return next((name for name, value in [*names.items()] if value is self and not name.startswith("_")), "panel")

    def _after_cell(self, _: object) -> None:
        """After each cell, which may have made calls."""
        self._refresh()


def _asked_environment(
    environment: Environment | str | None, credentials: Credentials | str | None
) -> Environment | None:
    asked = None if environment is None else as_environment(environment)
    if not isinstance(credentials, Credentials):
        return asked
    if asked is not None and asked is not credentials.environment:
        raise CredentialsMismatch(
            f"These credentials are for {credentials.environment}, not for {asked}.",
            "Credentials of one environment are not accepted by another (section 1, rule 5).",
        )
    return credentials.environment
