"""Connect the panel: when Connect is pressed, when the page sends typed texts, or with questions below a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import is_over, running_services
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteError, ConfigurationError, ToolkitError, UnsafeAddress
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, display, problems
from toolkit.notebook.panel.asking import ask, is_trusted
from toolkit.notebook.panel.choices import CredentialsChoice, Mode, NewChoice, SavedChoice
from toolkit.notebook.panel.connection import Connection, connect
from toolkit.notebook.panel.controls import Controls
from toolkit.notebook.panel.fields import make_credentials
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.notebook.panel.turns import Turns

if TYPE_CHECKING:
    from toolkit.core.secret import Secret
    from toolkit.session.session import Session

NOT_CONNECTED: Final = "Not connected."
_PRACTICE_ENDED: Final = "Not connected. The practice service has ended, and its credentials with it."
_SESSION_ENDED: Final = "The practice service has ended: this session can send nothing more."
_NOT_THERE: Final = "The cassette of this notebook does not exist yet. Tell the owner of this page."
_KEPT: Final = "The choices above could not be connected. The session below is the earlier session."
_EDITED: Final = "The choices above are not connected yet: press Connect. The session below is the earlier session."


class Connecting:
    """Replaces one session with another, as the form says, and shows problems beside the controls that they are about.

    Args:
        environment: the environment to start with; None for one without a real account.
        mode: the mode to start with.
        cassette: the cassette that the notebook names.
        credentials: credentials that the notebook passes, or the name of saved credentials.
        settings: addresses and folders.
        for_visitors: True if the owner of the machine is not the user.
        say: called with a status in words, and its tone.
        changed: called when the session changes or ends.
        variable: returns the name of the panel in the notebook.

    Attributes:
        controls: the form.
        connection: the current connection, or None.
        failure: the problem that the last attempt failed with, or None.
        is_seen: True once a page shows the panel and can send what is typed into it.
    """

    def __init__(
        self,
        environment: Environment | None,
        mode: Mode,
        *,
        cassette: str | Path | None,
        credentials: Credentials | str | None,
        settings: Settings,
        for_visitors: bool,
        say: Callable[[str, str], None],
        changed: Callable[[], None],
        variable: Callable[[], str],
    ) -> None:
        self.connection: Connection | None = None
        self.failure: PanelProblem | None = None
        self._practice = running_services()
        self.is_seen = False
        self._named = credentials
        self._settings = settings
        self._for_visitors = for_visitors
        self._say = say
        self._changed = changed
        self._variable = variable
        self._connected_choice: tuple[object, ...] = ()
        self._closed: Session | None = None  # the session that is known to be closed
        self._turns = Turns()
        self.controls = Controls(
            environment,
            mode,
            cassette=cassette,
            profile=credentials if isinstance(credentials, str) else None,
            in_notebook=[credentials] if isinstance(credentials, Credentials) else [],
            settings=settings,
            for_visitors=for_visitors,
            pressed=self._turns.waiting(self._pressed),
            answered=self._turns.waiting(self._answered),
            edited=self._edited,
        )

    def ask(self) -> None:
        """Connect with the choices in the form, and ask below the cell for texts to type.

        Raises:
            ConfigurationError: if questions cannot be answered here.
        """
        self._turns.waiting(self._ask)()

    def _ask(self) -> None:
        self.controls.clear()
        chosen = self.controls.credentials
        if self.controls.untrusted and is_trusted(self.controls.untrusted):
            self.controls.accept()
        if self._check_form():
            if isinstance(chosen, NewChoice):
                self._connect_asking(chosen)
            else:
                self._connect_chosen(chosen)

    def connect_as(
        self,
        environment: Environment | None,
        credentials: Credentials | str | None,
        *,
        keep: Callable[[], None] = lambda: None,
    ) -> None:
        """Replace the session with a new one; if that fails, keep the session and say why on the panel.

        Args:
            environment: the environment to connect to; None for that of the recording.
            credentials: the credentials, or the name of saved credentials.
            keep: called once the credentials are accepted, before the panel says that it is connected: whoever reads
                that may choose something else at once.
        """
        mode, earlier = self.controls.mode, self.connection
        self.failure = None
        if mode is Mode.REPLAY and self._is_missing():
            return
        self._say("Opening the recording …" if mode is Mode.REPLAY else "Connecting …", "busy")
        self.controls.set_busy(is_busy=True)
        try:
            settings = self.controls.settings
            self.connection = connect(environment, mode, self.controls.cassette, credentials, settings)
        except ToolkitError as error:
            problem = problems.problem_of(error, mode=mode, fields=self.controls.fields)
            is_about_files = isinstance(error, CassetteError | ConfigurationError | UnsafeAddress)
            self._fail(problems.without_paths(problem) if self._for_visitors and is_about_files else problem)
        except KeyboardInterrupt:
            self._fail(PanelProblem("connect", "Connecting was interrupted."))
        except Exception as error:  # noqa: BLE001 - an error in a callback of a widget is shown nowhere
            self._fail(problems.problem_of_bug(error))
        else:
            self._connected_choice = ()
            self.controls.environment = self.connection.session.environment
            keep()
            self.controls.note_recording()
            self._connected_choice = self.controls.choice
            self._say_connected()
            self._changed()
            if earlier is not None:
                earlier.session.close()
        finally:
            self.controls.set_busy(is_busy=False)

    def _is_missing(self) -> bool:
        """Return True, and say so, if the cassette to replay does not exist."""
        cassette = self.controls.cassette
        problem = problems.missing_cassette(cassette, self._settings) if cassette is not None else None
        if problem is not None:
            # Visitors must not learn which cassettes there are.
            self._fail(PanelProblem("cassette", _NOT_THERE) if self._for_visitors else problem)
        return problem is not None

    def greet(self) -> None:
        """Note that a page shows the panel, and offer what there is now."""
        self.is_seen = True
        self._turns.if_free(self.controls.list_cassettes)
        self.follow()

    def follow(self) -> None:
        """Say if the session was closed, or its practice service ended; offer the credentials of those that run now."""
        self._turns.if_free(self._follow_session, self._follow_practice)

    def _follow_session(self) -> None:
        session = self.connection.session if self.connection else None
        if session is not None and session.is_closed and session is not self._closed:
            self._closed = session
            self._edited()

    def _follow_practice(self) -> None:
        before, self._practice = self._practice, running_services()
        if before == self._practice or self.controls.mode is Mode.REPLAY:
            return
        self.controls.list_credentials()
        if all(service in self._practice for service in before):
            return
        session = self.connection.session if self.connection else None
        if session is None:
            self._say(_PRACTICE_ENDED, "idle")
        elif is_over(session.environment, session.settings) and not session.is_closed:
            self._say(_SESSION_ENDED, "idle")

    def disconnect(self) -> None:
        """Close the session, if there is one."""
        connection, self.connection = self.connection, None
        self._changed()
        if connection is not None:
            connection.session.close()

    def _pressed(self) -> None:
        """Connect with the choices in the form, or first ask the page for typed texts."""
        self.controls.clear()
        chosen = self.controls.credentials
        if not self._check_form():
            return
        if isinstance(chosen, NewChoice):
            self._say("Waiting for the page to send what was typed …", "busy")
            if not self.is_seen:
                self.controls.complain(self._no_fields("The page has not sent what was typed."))
            self.controls.ask()
        else:
            self._connect_chosen(chosen)

    def _no_fields(self, what: str) -> PanelProblem:
        """Return the problem of a front end that shows no fields, or does not send their texts."""
        call = f"{self._variable() or 'panel'}.connect()"
        step = f"If you see no fields to type into, run {call} in a cell and answer there."
        return PanelProblem("connect", what, "" if self._for_visitors else step)  # visitors have no cells

    def _check_form(self) -> bool:
        """Return True if the form is complete; otherwise say what is missing."""
        problem = self.controls.incompleteness
        if problem is not None:
            self._fail(problem)
        return problem is None

    def _connect_chosen(self, chosen: CredentialsChoice | None) -> None:
        environment = self.controls.environment
        if self.controls.mode is Mode.REPLAY:
            self.connect_as(environment, self._replayed_as(environment))
        elif isinstance(chosen, SavedChoice):
            self.connect_as(environment, chosen.name)
        elif not isinstance(chosen, NewChoice):
            self.connect_as(environment, chosen)

    def _connect_asking(self, chosen: NewChoice) -> None:
        texts: dict[str, Secret | Path] = {}
        # A second round asks for the passphrase, if the private key turned out to be encrypted.
        while missing := [field for field in self.controls.fields if not (field.is_option or field.name in texts)]:
            texts |= ask(missing, self.controls.environment)
            self._connect_typed(chosen, texts)
            if self.failure is None:
                return

    def _answered(self) -> None:
        """Connect with what the page sent, unless another choice was made since."""
        texts, chosen = self.controls.take(), self.controls.credentials
        if not isinstance(chosen, NewChoice):
            return
        self.controls.clear()
        if not texts:
            self._fail(self._no_fields("This front end does not send what is typed here."))
        elif texts.keys() == {field.name for field in self.controls.fields}:
            self._connect_typed(chosen, texts)

    def _connect_typed(self, chosen: NewChoice, texts: Mapping[str, Secret | Path]) -> None:
        environment, fields = self.controls.environment, self.controls.fields
        name = self._named if isinstance(self._named, str) else choices.DEFAULT_NAME
        try:
            credentials = make_credentials(chosen.kind, environment, texts, name=name)
        except ToolkitError as error:
            self._fail(problems.problem_of_text(error, fields))
        else:
            self.connect_as(environment, credentials, keep=lambda: self.controls.add(credentials))

    def _edited(self) -> None:
        """Say whether the session matches the choices in the form."""
        if self.connection is None:
            self._say(NOT_CONNECTED, "idle")
        elif self.controls.choice == self._connected_choice:
            self._say_connected()
        elif self._connected_choice:
            self._say(_EDITED, "idle")

    def _replayed_as(self, environment: Environment) -> Credentials | str | None:
        """Return the credentials that the notebook names, or None to replay the calls of any."""
        if isinstance(self._named, Credentials) and self._named.environment is not environment:
            return None
        return self._named

    def _fail(self, problem: PanelProblem) -> None:
        self.failure = problem
        self.controls.complain(problem)
        self._say(NOT_CONNECTED if self.connection is None else _KEPT, "bad")

    def _say_connected(self) -> None:
        if self.connection is not None:
            facts = display.facts_of(self.connection)
            self._say(display.status_text(facts), "idle" if facts.is_closed else "good")
