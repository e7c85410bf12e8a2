"""Asking below the cell for what would be typed into the panel, where a front end does not show its fields."""
# MERGE: How a panel connects: on a press, when the page hands over what was typed, or asking below a cell.

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.prompt import answer, ask_unseen, can_ask
from toolkit.core.document import Environment
from toolkit.core.errors import CassetteError, ConfigurationError, ToolkitError
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, display, problems
from toolkit.notebook.panel.audience import told_to_visitors
from toolkit.notebook.panel.choices import Field, Mode, New, Saved
from toolkit.notebook.panel.connection import Connection, connect
from toolkit.notebook.panel.controls import Controls
from toolkit.notebook.panel.problems import Problem

if TYPE_CHECKING:
    from toolkit.core.document import Environment
    from toolkit.core.secret import Secret


NOT_CONNECTED: Final = "Not connected."
_EDITED: Final = "Not connected to what is chosen above: press Connect. Below is still the session of before."


class Connecting:
    """Puts one session in place of another, as the form says; what goes wrong is said beside what it is about.

    Args:
        environment: the one chosen at first; None for a harmless one.
        mode: the mode chosen at first.
        cassette: the cassette that the notebook names.
        credentials: those that the notebook gives, or the name of saved ones.
        settings: addresses and folders.
        for_visitors: whether it is not the owner who chooses.
        say: called with a status in words, and its tone.
        changed: called when there is another session, or none any more.
        variable: what the notebook calls the panel.

    Attributes:
        controls: the form.
        connection: what the panel is connected to, or None.
        failure: what kept it from connecting last, or None.
        is_seen: whether a page shows the panel, and so hands over what is typed there.
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
        self.failure: Problem | None = None
        self.is_seen = False
        self._named = credentials
        self._settings = settings
        self._for_visitors = for_visitors
        self._say = say
        self._changed = changed
        self._variable = variable
        self._connected_to: tuple[object, ...] = ()
        self.controls = Controls(
            environment,
            mode,
            cassette=cassette,
            profile=credentials if isinstance(credentials, str) else None,
            held=[credentials] if isinstance(credentials, Credentials) else [],
            settings=settings,
            for_visitors=for_visitors,
            pressed=self._pressed,
            answered=self._answered,
            edited=self._edited,
        )

    def ask(self) -> None:
        """Connect with what is chosen, asking below the cell for what would be typed.

        Raises:
            ConfigurationError: nobody is there to be asked.
        """
        self.controls.clear()
        who = self.controls.who
        if self._check_form():
            if isinstance(who, New):
                self._connect_asking(who)
            else:
                self._connect_chosen(who)

    def connect_as(self, environment: Environment | None, credentials: Credentials | str | None) -> None:
        """Put a new session in place of the old one; what goes wrong is said on the panel."""
        mode = self.controls.mode
        self.disconnect()
        self._say("Opening the recording …" if mode is Mode.REPLAY else "Connecting …", "busy")
        self.controls.set_busy(is_busy=True)
        try:
            self.connection = connect(environment, mode, self.controls.cassette, credentials, self._settings)
        except ToolkitError as error:
            problem = problems.problem_of(error, mode=mode, fields=self.controls.fields)
            is_owners = self._for_visitors and isinstance(error, CassetteError | ConfigurationError)
            self._fail(told_to_visitors(problem) if is_owners else problem)
        except KeyboardInterrupt:
            self._fail(Problem("connect", "Connecting was interrupted."))
        except Exception as error:  # noqa: BLE001 - what a callback raises is shown nowhere
            self._fail(problems.unexpected(error))
        else:
            self.controls.environment = self.connection.session.environment
            self._connected_to = self.controls.choice
            self._say_connected()
            self._changed()
        finally:
            self.controls.set_busy(is_busy=False)

    def disconnect(self) -> None:
        """Close the session, if there is one."""
        connection, self.connection = self.connection, None
        self.failure = None
        self._connected_to = ()
        self._changed()
        if connection is not None:
            connection.session.close()

    def _pressed(self) -> None:
        """Connect with what the form holds, after asking the page for what was typed into it."""
        self.controls.clear()
        who = self.controls.who
        if not self._check_form():
            return
        if isinstance(who, New):
            self._say("Waiting for the page to hand over what was typed …", "busy")
            if not self.is_seen:
                self.controls.complain(self._ask_elsewhere("Waiting for the page to hand over what was typed."))
            self.controls.ask()
        else:
            self._connect_chosen(who)

    def _ask_elsewhere(self, what: str) -> Problem:
        """What to do where a page has no fields, or does not hand over what is in them; visitors have no cells."""
        step = f"Where there is nothing to type into, run {self._variable()}.connect() in a cell: it asks there."
        return Problem("connect", what, "" if self._for_visitors else step)

    def _check_form(self) -> bool:
        """Whether all is chosen that must be; what is not is said."""
        problem, name = None, self.controls.new_name
        if name is not None:
            problem = problems.wrong_name(name, self._settings)
        elif self.controls.mode is not Mode.LIVE and self.controls.cassette is None:
            problem = problems.NO_CASSETTE_NAMED
        if problem is not None:
            self._fail(problem)
        return problem is None

    def _connect_chosen(self, who: Credentials | Saved | None) -> None:
        environment = self.controls.environment
        if self.controls.mode is Mode.REPLAY:
            self.connect_as(environment, self._replayed_as(environment))
        else:
            self.connect_as(environment, who.name if isinstance(who, Saved) else who)

    def _connect_asking(self, who: New) -> None:
        texts: dict[str, Secret | Path] = {}
        while missing := [field for field in self.controls.fields if field.name not in texts]:
            texts |= ask(missing, self.controls.environment)
            self._connect_typed(who, texts)
            if self.connection is not None:
                return

    def _answered(self) -> None:
        """Connect with what the page handed over, unless something else was chosen meanwhile."""
        texts, who = self.controls.take(), self.controls.who
        if not isinstance(who, New):
            return
        self.controls.clear()
        if not texts:
            self._fail(self._ask_elsewhere("This front end does not hand over what was typed."))
        elif texts.keys() == {field.name for field in self.controls.fields}:
            self._connect_typed(who, texts)

    def _connect_typed(self, who: New, texts: Mapping[str, Secret | Path]) -> None:
        environment, fields = self.controls.environment, self.controls.fields
        name = self._named if isinstance(self._named, str) else choices.DEFAULT_NAME
        try:
            credentials = choices.make_credentials(who.kind, environment, texts, name=name)
        except ToolkitError as error:
            self._fail(problems.problem_of_text(error, fields))
        else:
            self.connect_as(environment, credentials)
            if self.connection is not None:
                self.controls.hold(credentials)
                self._connected_to = self.controls.choice

    def _edited(self) -> None:
        """Something was chosen: what was said of the session of before must not seem to be said of it."""
        if self.connection is None:
            self._say(NOT_CONNECTED, "idle")
        elif self.controls.choice == self._connected_to:
            self._say_connected()
        elif self._connected_to:
            self._say(_EDITED, "idle")

    def _replayed_as(self, environment: Environment) -> Credentials | str | None:
        """Whose recordings are replayed: those of the credentials that the notebook names, else anybody's."""
        if isinstance(self._named, Credentials) and self._named.environment is not environment:
            return None
        return self._named

    def _fail(self, problem: Problem) -> None:
        self.disconnect()
        self.failure = problem
        self.controls.complain(problem)
        self._say(NOT_CONNECTED, "bad")

    def _say_connected(self) -> None:
        if self.connection is not None:
            self._say(display.status_text(display.facts_of(self.connection)), "good")


def ask(
    fields: Sequence[Field], environment: Environment, prompt: Callable[[str], str] | None = None
) -> dict[str, Secret | Path]:
    """The texts of fields, by their names, typed unseen; of a private key the path of its file.

    Args:
        fields: what is asked for.
        environment: whose credentials, for the question.
        prompt: what to ask with, by default getpass.

    Raises:
        ConfigurationError: nobody is there to answer, or typing would be seen.
    """
    if prompt is None and not can_ask():
        raise ConfigurationError(
            "Nobody is there to type the credentials.", "Name saved ones, or set environment variables."
        )
    return {field.name: _answer(field, environment, prompt or ask_unseen) for field in fields}


def _answer(field: Field, environment: Environment, prompt: Callable[[str], str]) -> Secret | Path:
    asked = "Path of the private key file" if field.is_key else field.label
    given = answer(prompt, f"{asked} of {environment}: ")
    text = given.reveal().strip()
    return Path(text) if field.is_key and text and "-----" not in text else given
