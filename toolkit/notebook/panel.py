"""The panel: choose an environment, credentials and a mode, connect, and go on with `panel.session`.

The widgets hold what may be seen. What is computed is computed in plain functions (`form`,
`connection`, `display`); what is secret goes from the page to the credentials and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import display as show

from toolkit.credentials import Credentials, as_environment
from toolkit.errors import CassetteError, ConfigurationError, CredentialsMismatch, ToolkitError
from toolkit.escaping import printable
from toolkit.notebook import asking, display, form, problems
from toolkit.notebook.audience import is_for_visitors, told_to_visitors
from toolkit.notebook.connection import Connection, connect
from toolkit.notebook.controls import Controls
from toolkit.notebook.form import Mode, New, Saved
from toolkit.notebook.problems import Problem
from toolkit.notebook.recent_calls import SHOWN, recent_calls_html, renewals
from toolkit.notebook.session_view import SessionView
from toolkit.service import Environment
from toolkit.session import Session
from toolkit.settings import Settings

if TYPE_CHECKING:
    from toolkit.secret import Secret

_PRESS_CONNECT: Final = "Press Connect, then run this cell again."
_NOT_CONNECTED: Final = "Not connected."
_EDITED: Final = "Not connected to what is chosen above: press Connect. Below is still the session of before."
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
        self._for_visitors = is_for_visitors(os.environ)
        mode = form.first_mode(cassette, settings, for_visitors=self._for_visitors)
        self._settings = settings
        self._named = credentials
        self._connection: Connection | None = None
        self._failure: Problem | None = None
        self._token_told: Any = None
        self._is_seen = False
        self._connected_to: tuple[object, ...] = ()
        self._shell = get_ipython()
        self._controls = Controls(
            asked,
            mode,
            cassette=cassette,
            profile=credentials if isinstance(credentials, str) else None,
            held=[credentials] if isinstance(credentials, Credentials) else [],
            settings=settings,
            for_visitors=self._for_visitors,
            pressed=self._pressed,
            answered=self._answered,
            edited=self._edited,
        )
        self._view = SessionView(greeted=self._greeted, layout=self._controls.layout)
        super().__init__([*self._controls.slots.values(), self._view], layout=self._controls.layout)
        self.add_class("toolkit-panel")
        self._say(_NOT_CONNECTED, "idle")
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._after_cell)
        if cassette is not None and mode is Mode.REPLAY:
            self._connect(asked, credentials)

    @property
    def session(self) -> Session:
        """The session of this panel, for the cells below.

        Raises:
            ConfigurationError: the panel is not connected.
        """
        if self._connection is None:
            why = f": {self._failure.what}" if self._failure else "."
            raise ConfigurationError(f"The panel is not connected{why}", _PRESS_CONNECT)
        return self._connection.session

    @property
    def environment(self) -> Environment:
        """The environment of the session; before connecting, the one that is chosen."""
        return self._connection.session.environment if self._connection else self._controls.environment

    def connect(self) -> Session:
        """Connect with what is chosen, as the button does, and give the session.

        What would be typed into the panel is asked for below the cell, unseen: for a front end that does
        not show its fields. A private key is asked for by the path of its file.

        Raises:
            ConfigurationError: what keeps the panel from connecting, or nobody is there to be asked.
        """
        self._controls.clear()
        who = self._controls.who
        if self._check_form():
            if isinstance(who, New):
                self._connect_asking(who)
            else:
                self._connect_chosen(who)
        return self.session

    def close(self) -> None:
        """Close the session and take the panel off the page."""
        if getattr(self, "comm", None) is not None:
            self._disconnect()
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
        if self._connection is None:
            return f"{self.environment}, not connected"
        return display.summary_text(display.facts_of(self._connection))

    def _pressed(self) -> None:
        """Connect with what the form holds, after asking the page for what was typed into it."""
        self._controls.clear()
        who = self._controls.who
        if not self._check_form():
            return
        if isinstance(who, New):
            self._say("Waiting for the page to hand over what was typed …", "busy")
            if not self._is_seen:
                self._controls.complain(self._ask_elsewhere("Waiting for the page to hand over what was typed."))
            self._controls.ask()
        else:
            self._connect_chosen(who)

    def _ask_elsewhere(self, what: str) -> Problem:
        """What to do where a page has no fields, or does not hand over what is in them; visitors have no cells."""
        step = f"Where there is nothing to type into, run {self._variable()}.connect() in a cell: it asks there."
        return Problem("connect", what, "" if self._for_visitors else step)

    def _check_form(self) -> bool:
        """Whether all is chosen that must be; what is not is said."""
        if self._controls.mode is not Mode.LIVE and self._controls.cassette is None:
            self._fail(problems.NO_CASSETTE_NAMED)
            return False
        return True

    def _connect_chosen(self, who: Credentials | Saved | None) -> None:
        environment = self._controls.environment
        if self._controls.mode is Mode.REPLAY:
            self._connect(environment, self._replayed_as(environment))
        else:
            self._connect(environment, who.name if isinstance(who, Saved) else who)

    def _connect_asking(self, who: New) -> None:
        texts: dict[str, Secret | Path] = {}
        while missing := [field for field in self._controls.fields if field.name not in texts]:
            texts |= asking.ask(missing, self._controls.environment)
            self._connect_typed(who, texts)
            if self._connection is not None:
                return

    def _answered(self) -> None:
        """Connect with what the page handed over, unless something else was chosen meanwhile."""
        texts, who = self._controls.take(), self._controls.who
        if not isinstance(who, New):
            return
        self._controls.clear()
        if not texts:
            self._fail(self._ask_elsewhere("This front end does not hand over what was typed."))
        elif texts.keys() == {field.name for field in self._controls.fields}:
            self._connect_typed(who, texts)

    def _connect_typed(self, who: New, texts: Mapping[str, Secret | Path]) -> None:
        environment, fields = self._controls.environment, self._controls.fields
        name = self._named if isinstance(self._named, str) else form.DEFAULT_NAME
        try:
            credentials = form.make_credentials(who.kind, environment, texts, name=name)
        except ToolkitError as error:
            self._fail(problems.problem_of_text(error, fields))
        else:
            self._connect(environment, credentials)
            if self._connection is not None:
                self._controls.hold(credentials)
                self._connected_to = self._controls.choice

    def _edited(self) -> None:
        """Something was chosen: what was said of the session of before must not seem to be said of it."""
        if self._connection is None:
            self._say(_NOT_CONNECTED, "idle")
        elif self._controls.choice == self._connected_to:
            self._say_connected()
        elif self._connected_to:
            self._say(_EDITED, "idle")

    def _replayed_as(self, environment: Environment) -> Credentials | str | None:
        """Whose recordings are replayed: those of the credentials that the notebook names, else anybody's."""
        if isinstance(self._named, Credentials) and self._named.environment is not environment:
            return None
        return self._named

    def _connect(self, environment: Environment | None, credentials: Credentials | str | None) -> None:
        """Put a new session in place of the old one; what goes wrong is said on the panel."""
        mode = self._controls.mode
        self._disconnect()
        self._say("Opening the recording …" if mode is Mode.REPLAY else "Connecting …", "busy")
        self._controls.set_busy(is_busy=True)
        try:
            self._connection = connect(environment, mode, self._controls.cassette, credentials, self._settings)
        except ToolkitError as error:
            problem = problems.problem_of(error, mode=mode, fields=self._controls.fields)
            is_owners = self._for_visitors and isinstance(error, CassetteError | ConfigurationError)
            self._fail(told_to_visitors(problem) if is_owners else problem)
        except KeyboardInterrupt:
            self._fail(Problem("connect", "Connecting was interrupted."))
        except Exception as error:  # noqa: BLE001 - what a callback raises is shown nowhere
            self._fail(problems.unexpected(error))
        else:
            self._controls.environment = self._connection.session.environment
            self._connected_to = self._controls.choice
            self._say_connected()
            self._refresh()
        finally:
            self._controls.set_busy(is_busy=False)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._failure = self._token_told = None
        self._connected_to = ()
        self._view.html = ""
        if connection is not None:
            connection.session.close()

    def _fail(self, problem: Problem) -> None:
        self._disconnect()
        self._failure = problem
        self._controls.complain(problem)
        self._say(_NOT_CONNECTED, "bad")

    def _say_connected(self) -> None:
        if self._connection is not None:
            self._say(display.status_text(display.facts_of(self._connection)), "good")

    def _say(self, status: str, tone: str) -> None:
        with self._view.hold_sync():
            self._view.status, self._view.tone = printable(status), tone

    def _refresh(self) -> None:
        """Show the session as it is now; a page is told of a token once, and counts down by itself."""
        connection = self._connection
        if connection is None:
            return
        calls, variable = connection.session.calls(last=SHOWN), self._variable()
        facts = replace(display.facts_of(connection), renewals=renewals(calls), variable=variable)
        self._view.html = display.summary_html(facts) + recent_calls_html(calls, variable)
        if not connection.session.replays_only and connection.token is not self._token_told:
            self._tell()

    def _tell(self) -> None:
        connection = self._connection
        is_live = connection is not None and not connection.session.replays_only
        self._token_told = connection.token if connection and is_live else None
        self._view.tell(self._token_told, connection.session.now() if connection else None)

    def _greeted(self) -> None:
        """Somebody looks at the panel in a page."""
        self._is_seen = True
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
