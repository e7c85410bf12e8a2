"""`panel()` and the widget that it returns: a form at the top, and the session below."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ipywidgets
from IPython.display import display as show

from toolkit.auth.credentials import Credentials, can_ask
from toolkit.auth.profiles.saving import is_over
from toolkit.cassettes.selection import find_cassette
from toolkit.core import tracebacks
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError
from toolkit.local.settings import Settings, as_settings, is_offline
from toolkit.notebook import panel_view
from toolkit.notebook.connecting import Connection, Mode, Problem, ask, connect, problem_of
from toolkit.notebook.panel_form import DEFAULT_NAME, Form
from toolkit.notebook.panel_view import SessionView
from toolkit.notebook.secret_input import make_credentials
from toolkit.session.session import Session

if TYPE_CHECKING:
    from toolkit.auth.tokens.token import Token
    from toolkit.core.secret import Secret

_NOT_CONNECTED: Final = "Not connected."
_ENDED: Final = "The practice service has stopped, so the session cannot send anything."
_KEPT: Final = "Could not connect with the choices above. The session below is the previous one."
_EDITED: Final = "The choices above are not in use yet: press Connect. The session below is the previous one."
_PRESS_CONNECT: Final = "Press Connect, then run this cell again."
_NO_SCREEN: Final = (
    "Nobody can make choices in the panel here: name an existing cassette, or open a tk.Session with saved credentials."
)
_EARLIER: Final = "Change the choices and connect again; until then, panel.session is the previous session."


def panel(
    environment: Environment | str | None = None,
    credentials: Credentials | str | None = None,
    cassette: str | Path | None = None,
    *,
    settings: Settings | None = None,
) -> Panel:
    """Show a form for connecting; once connected, `panel.session` is the session.

    The arguments are the initial choices in the form. If the cassette exists, the panel replays it at once, which sends
    nothing and needs no credentials. In Voila, whose visitors do not own the machine, neither saved credentials nor
    other cassettes are offered, and nothing is recorded.

    Args:
        environment: "live", "paper", "broker-live" or "broker-sandbox".
        credentials: credentials, or the name of saved credentials.
        cassette: name or path of a cassette.
        settings: defaults to the settings of the project and the TOOLKIT_* variables.

    Raises:
        ConfigurationError: if an argument or a setting is invalid.
        CredentialsMismatch: if the credentials belong to another environment.
    """
    return Panel(environment, credentials, cassette, settings=as_settings(settings))


class Panel(ipywidgets.VBox):  # type: ignore[misc]
    """The widget that `panel()` returns; it is displayed if it is the last expression of a cell."""

    def __init__(
        self,
        environment: Environment | str | None,
        credentials: Credentials | str | None,
        cassette: str | Path | None,
        *,
        settings: Settings,
    ) -> None:
        chosen = _chosen_environment(environment, credentials)
        self._for_visitors = is_for_visitors(os.environ)
        mode = _first_mode(cassette, settings, for_visitors=self._for_visitors)
        # A kernel may handle the messages of a page in several threads. They take turns.
        self._turn = threading.RLock()
        self._named = credentials
        self._connection: Connection | None = None
        self._failure: Problem | None = None  # of the last attempt
        self._connected_choice: tuple[object, ...] = ()
        self._typed: Credentials | None = None  # typed and accepted, but not saved yet
        self._saved = ""  # where the credentials of the session were saved
        self._sent_token: Token | None = None  # the token that the page counts down
        self._shell = tracebacks.shell()
        self._label = f"panel-{getattr(self._shell, 'execution_count', 0)}"  # names its outputs; the same in every run
        self._form = Form(
            chosen,
            mode,
            cassette=cassette,
            credentials=credentials,
            settings=settings,
            for_visitors=self._for_visitors,
            pressed=self._pressed,
            answered=self._answered,
            saved=self._save,
            edited=self._edited,
        )
        self._view = SessionView(greeted=self._greeted, layout=self._form.layout)
        super().__init__([*self._form.controls, self._view], layout=self._form.layout)
        self.add_class("toolkit-panel").add_class(f"toolkit-{self._label}")
        self._edited()
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._after_cell)
        if cassette is not None and mode is Mode.REPLAY:
            self._connect_as(chosen, credentials)

    @property
    def session(self) -> Session:
        """The panel's session, for use in the cells below.

        Raises:
            ConfigurationError: if the panel is not connected.
        """
        session = self.connected_session
        if session is None:
            obstacle = self._form.obstacle
            problem = obstacle or self._failure
            why = f": {problem.what}" if problem else "."
            is_screen = self._shell is None or can_ask()  # papermill and nbconvert cannot answer questions
            next_step = obstacle.next_step if obstacle else _PRESS_CONNECT
            raise ConfigurationError(f"The panel is not connected{why}", next_step if is_screen else _NO_SCREEN)
        return session

    @property
    def connected_session(self) -> Session | None:
        """The panel's session, or None if the panel is not connected."""
        return self._connection.session if self._connection else None

    def connect(self) -> Session:
        """Connect with the choices in the form, as the Connect button does, and return the session.

        Use it in a front end that does not show the panel's fields: it asks for their values below the cell and hides
        what is typed. For a private key, it asks for the path of the file.

        Raises:
            ConfigurationError: if the panel cannot connect, or questions cannot be answered here. An earlier session
                stays connected.
        """
        with self._turn:
            self._start(lambda: self._connect_typed(ask(self._form.fields, self._form.environment)))
        if self._failure is not None and self._connection is not None:
            raise ConfigurationError(f"The panel could not connect: {self._failure.what}", _EARLIER)
        return self.session

    def close(self) -> None:
        """Close the session and remove the panel from the page."""
        if getattr(self, "comm", None) is not None:
            session, self._connection = self.connected_session, None
            if session is not None:
                session.close()
            if self._shell is not None:
                self._shell.events.unregister("post_run_cell", self._after_cell)
            self._view.close()
            self._form.close()
        super().close()

    def __repr__(self) -> str:
        return f"<Panel: {self._words()}>"

    def _ipython_display_(self) -> None:
        """Show text, and the widget as a second output; the text remains if the widget cannot be shown later."""
        html = panel_view.saved_html(self._words(), self._variable(), self._label)
        show({"text/plain": repr(self), "text/html": html}, raw=True)  # type: ignore[no-untyped-call]
        bundle = self._repr_mimebundle_() or {}
        show({kind: data for kind, data in bundle.items() if kind != "text/plain"}, raw=True)  # type: ignore[no-untyped-call]

    def _words(self) -> str:
        connection = self._connection
        return panel_view.summary_text(connection) if connection else f"{self._form.environment}, not connected"

    def _start(self, ask_for_texts: Callable[[], None]) -> None:
        """Connect with the choices in the form, after asking for any values that have to be typed."""
        self._form.clear()
        problem = self._form.problem
        if problem is not None:
            self._fail(problem)
        elif self._form.fields:
            ask_for_texts()
        else:
            self._connect_chosen()

    def _pressed(self) -> None:
        with self._turn:
            self._start(self._ask_page)

    def _ask_page(self) -> None:
        self._view.say(f"Waiting for the page to send what was typed. If you see no fields, {self._way_out()}", "busy")
        self._form.inputs.ask()

    def _answered(self) -> None:
        """Connect with the values that the page sent, unless the choices have changed since."""
        with self._turn:
            texts, names = self._form.inputs.take(), {field.name for field in self._form.fields}
            if names:
                self._form.clear()
            if names and not texts:
                self._fail(Problem("This front end did not send what was typed.", f"Instead, {self._way_out()}"))
            elif names and texts.keys() == names:
                self._connect_typed(texts)

    def _save(self) -> None:
        """Save the credentials that were typed and accepted."""
        from toolkit.auth.profiles.saving import save_credentials

        with self._turn:
            credentials, name, form = self._typed, str(self._form.save_name.value).strip(), self._form
            if credentials is None:
                return
            try:
                if any((one.environment, one.name) == (credentials.environment, name) for one in form.profiles):
                    raise ConfigurationError("Credentials with that name are already saved.", "Choose another name.")
                with warnings.catch_warnings(record=True) as notes:  # such as one about a missing keyring
                    warnings.simplefilter("always")
                    saved = save_credentials(credentials, name, settings=form.settings)
            except ToolkitError as error:
                form.clear()
                form.complain(problem_of(error))
            else:
                self._typed = None
                del form.profiles  # read again
                form.arrange(form.credentials)
                places = [str(note.message) for note in notes] or [f"They are in the {saved.source}."]
                self._saved = " ".join(["", f"Saved as {saved.name}.", *places])
                self._edited()

    def _edited(self) -> None:
        """Show whether the session matches the choices in the form; its credentials can be saved only if it does."""
        is_session = self._connection is not None and self._form.choice == self._connected_choice
        self._form.offer_saving(is_offered=is_session and self._typed is not None)
        if self._connection is None:
            self._view.say(_NOT_CONNECTED, "idle")
        elif is_over(self._connection.session.environment, self._connection.session.settings):
            self._view.say(_ENDED, "idle")
        elif is_session:
            is_closed = self._connection.session.is_closed
            words = panel_view.status_text(self._connection) + self._saved
            self._view.say(words, "idle" if is_closed else "good")
        elif self._connected_choice:
            self._view.say(_EDITED, "idle")

    def _greeted(self) -> None:
        """Send the token's lifetime to a page that has just shown the panel, and offer the current choices."""
        self._follow()
        self._send_token()

    def _after_cell(self, _: object) -> None:
        """Show the calls that the cell made, and whether it closed the session or started practice services."""
        self._refresh()
        self._follow()

    def _follow(self) -> None:
        """Offer the current cassettes and practice credentials, and say if the session was closed."""
        if not self._turn.acquire(blocking=False):
            return  # another thread has its turn, which may take as long as a slow service
        try:
            if self._failure is None:  # a failure's message stays
                is_stuck = self._form.obstacle is not None and not self._form.untrusted
                self._form.arrange(None if is_stuck else self._form.credentials)
                self._edited()
        finally:
            self._turn.release()

    def _connect_chosen(self) -> None:
        environment, chosen = self._form.environment, self._form.credentials
        if self._form.mode is Mode.REPLAY:
            is_others = isinstance(self._named, Credentials) and self._named.environment is not environment
            chosen = None if is_others else self._named  # None replays calls made with any credentials
        self._connect_as(environment, chosen)

    def _connect_typed(self, texts: Mapping[str, Secret | Path]) -> None:
        kind, environment = self._form.kind, self._form.environment
        if kind is None:
            return
        try:
            credentials = make_credentials(kind, environment, texts, name=self._form.named_profile or DEFAULT_NAME)
        except ToolkitError as error:
            self._fail(problem_of(error, self._form.fields))
        else:
            self._connect_as(environment, credentials, is_typed=True)

    def _connect_as(
        self, environment: Environment | None, credentials: Credentials | str | None, *, is_typed: bool = False
    ) -> None:
        """Replace the session with a new one; if that fails, keep the session and show the reason on the panel."""
        form, earlier = self._form, self._connection
        self._failure = None
        self._view.say("Opening the recording …" if form.mode is Mode.REPLAY else "Connecting …", "busy")
        form.set_busy(is_busy=True)
        try:
            self._connection = connect(environment, form.mode, form.cassette, credentials, form.settings)
        except KeyboardInterrupt:
            self._fail(Problem("Connecting was interrupted."))
        except Exception as error:  # noqa: BLE001 - an error in a callback of a widget is shown nowhere
            self._fail(problem_of(error, form.fields, for_visitors=self._for_visitors))
        else:
            self._connected_choice = ()
            form.environment = self._connection.session.environment
            self._typed = credentials if is_typed and isinstance(credentials, Credentials) else None
            self._saved = ""
            if self._typed is not None:
                form.add(self._typed)
            if form.mode is Mode.RECORD:
                form.recorded = form.cassette
            # The status is set last, because the user may choose something else as soon as it appears.
            self._connected_choice = form.choice
            self._refresh()
            self._edited()
            if earlier is not None:
                earlier.session.close()
        finally:
            form.set_busy(is_busy=False)

    def _way_out(self) -> str:
        return f"run {self._variable() or 'panel'}.connect() in a cell and answer there."

    def _fail(self, problem: Problem) -> None:
        self._failure = problem
        self._form.complain(problem)
        self._view.say(_NOT_CONNECTED if self._connection is None else _KEPT, "bad")

    def _refresh(self) -> None:
        """Show the session as it is now, and send each token's lifetime once; the page counts down by itself."""
        connection = self._connection
        if connection is not None:
            session = connection.session
            own = f"{self._variable()}.session" if self._variable() else ""
            self._view.facts = panel_view.facts_of(connection, tracebacks.name_of(session) or own)
            if not session.replays_only and session.token is not self._sent_token:
                self._send_token()

    def _send_token(self) -> None:
        session = self.connected_session
        is_live = session is not None and not session.replays_only
        self._sent_token = session.token if session and is_live else None
        self._view.send_token(self._sent_token, session.now() if session else None)

    def _variable(self) -> str:
        """Return the name of the variable that holds this panel; if none does, "panel" for visitors, else ""."""
        return tracebacks.name_of(self) or ("panel" if self._for_visitors else "")


def is_for_visitors(environ: Mapping[str, str]) -> bool:
    """Return True if this kernel serves visitors to a Voila server, who do not own the machine.

    A kernel that Voila starts before a visitor arrives is given neither the request URL nor the server name, so any
    VOILA_* variable counts.
    """
    server = environ.get("SERVER_SOFTWARE", "").lower()
    return server.startswith("voila/") or any(name.upper().startswith("VOILA_") for name in environ)


def _first_mode(cassette: str | Path | None, settings: Settings, *, for_visitors: bool) -> Mode:
    """Return the mode to start with: replay for an existing cassette, record for a new one, live without one."""
    if is_offline() or (cassette is not None and find_cassette(cassette, settings).is_file()):
        return Mode.REPLAY
    return Mode.LIVE if cassette is None or for_visitors else Mode.RECORD


def _chosen_environment(named: Environment | str | None, credentials: Credentials | str | None) -> Environment | None:
    chosen = None if named is None else Environment(named)
    own = credentials.environment if isinstance(credentials, Credentials) else None
    if chosen is not None and own is not None and chosen is not own:
        next_step = "Credentials for one environment are not accepted by another (service document, section 1, rule 5)."
        raise CredentialsMismatch(f"These credentials are for {own}, not for {chosen}.", next_step, about="credentials")
    return own or chosen
