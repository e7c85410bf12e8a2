"""The panel's form: the choice in one control decides what the controls below it offer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import is_practice
from toolkit.core.document import Environment
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, problems
from toolkit.notebook.panel.cassette_control import CassetteControl
from toolkit.notebook.panel.choices import CredentialsChoice, Mode
from toolkit.notebook.panel.credentials_control import CredentialsControl
from toolkit.notebook.panel.display import account_html, problem_html
from toolkit.notebook.panel.fields import PASSPHRASE, Field
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.notebook.panel.slots import Slot

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change
    from toolkit.core.secret import Secret


class Controls:
    """The controls of one panel. A control that a replay does not need is made when it is first shown.

    Args:
        environment: the environment to start with; None for one without a real account.
        mode: the mode to start with.
        cassette: the cassette that the notebook names.
        profile: the saved profile that the notebook names.
        in_notebook: credentials that the notebook passes.
        settings: where saved profiles and cassettes are.
        for_visitors: True to hide saved profiles and the cassettes folder, and to record nothing.
        pressed: called when Connect or Enter was pressed.
        answered: called when the page has sent the typed texts.
        edited: called when something was chosen.

    Attributes:
        slots: what to show, from top to bottom, by the places that a `PanelProblem` names.
        layout: the layout that all widgets share; ipywidgets saves each layout as a thousand bytes of nulls.
    """

    def __init__(
        self,
        environment: Environment | None,
        mode: Mode,
        *,
        cassette: str | Path | None,
        profile: str | None,
        in_notebook: Sequence[Credentials],
        settings: Settings,
        for_visitors: bool = False,
        pressed: Callable[[], None],
        answered: Callable[[], None],
        edited: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._for_visitors = for_visitors
        self._is_busy = False
        self.layout = ipywidgets.Layout()
        self._environment = ipywidgets.Dropdown(
            options=choices.environment_choices(), description="Environment", layout=self.layout
        )
        look = {"layout": self.layout, "style": self._environment.style}
        modes = choices.mode_choices(named=cassette, for_visitors=for_visitors)
        self._mode = ipywidgets.Dropdown(description="Mode", options=modes, value=mode, **look)
        # A panel that replays the named cassette looks for others only when a page shows it.
        is_listed = cassette is None or mode is not Mode.REPLAY
        self._cassette = CassetteControl(
            cassette,
            is_listed=is_listed,
            settings=settings,
            for_visitors=for_visitors,
            look=look,
            changed=self._choice_changed,
        )
        self._credentials = CredentialsControl(
            profile,
            in_notebook,
            settings=settings,
            for_visitors=for_visitors,
            look=look,
            changed=self._choice_changed,
            submitted=pressed,
            answered=answered,
        )
        if environment is None and mode is not Mode.REPLAY:
            environment = choices.first_environment(self._credentials.profiles)
        self._environment.value = str(environment or Environment.PAPER)
        self._button = ipywidgets.Button(description="Connect", button_style="primary", layout=self.layout)
        self.slots = {
            "environment": Slot(self._environment, layout=self.layout),
            "mode": Slot(self._mode, layout=self.layout),
            "cassette": self._cassette.slot,
            "credentials": self._credentials.slot,
            "connect": Slot(self._button, layout=self.layout),
        }
        self._edited: Callable[[], None] = lambda: None  # until the form is complete
        self._environment.observe(self._environment_changed, "value")
        self._mode.observe(self._choice_changed, "value")
        self._button.on_click(lambda _: pressed())
        self._choice_changed()
        self._edited = edited

    @property
    def environment(self) -> Environment:
        """The chosen environment."""
        return Environment(self._environment.value)

    @environment.setter
    def environment(self, environment: Environment) -> None:
        self._environment.value = str(environment)

    @property
    def mode(self) -> Mode:
        """The chosen mode."""
        return Mode(self._mode.value)

    @property
    def cassette(self) -> str | Path | None:
        """The chosen cassette, or the name typed for a new one; None without either, and when live."""
        return None if self.mode is Mode.LIVE else self._cassette.value

    @property
    def new_name(self) -> str | None:
        """The name that was typed for a new cassette; None when live, and if an existing cassette is chosen."""
        return None if self.mode is Mode.LIVE else self._cassette.new_name

    @property
    def credentials(self) -> CredentialsChoice | None:
        """The chosen credentials; None in a replay."""
        return None if self.mode is Mode.REPLAY else self._credentials.value

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that are shown to type credentials into."""
        return () if self.mode is Mode.REPLAY else self._credentials.fields

    @property
    def untrusted(self) -> list[Change]:
        """The destinations that the user must trust before anything is typed or sent."""
        return [] if self.mode is Mode.REPLAY else self._credentials.destinations.untrusted

    @property
    def settings(self) -> Settings:
        """The settings to connect with: practice credentials go to their own service while it runs."""
        return self._settings if self.mode is Mode.REPLAY else self._credentials.settings

    @property
    def obstacle(self) -> PanelProblem | None:
        """Why connecting cannot work now: a practice service that has ended, a missing address, or no cassette."""
        if self.mode is Mode.REPLAY:
            return self._cassette.empty_problem if self._cassette.is_empty else None
        return self._credentials.obstacle

    @property
    def incompleteness(self) -> PanelProblem | None:
        """What must be chosen or typed before the panel can connect, apart from credentials; None if nothing."""
        if self.obstacle is not None:
            return self.obstacle
        name = self.new_name
        wrong = None if name is None else problems.wrong_name(name, self._settings)
        if wrong is None and self.mode is not Mode.LIVE and self.cassette is None:
            wrong = problems.UNNAMED_CASSETTE
        return wrong or (problems.NOT_TRUSTED if self.untrusted else None)

    def note_recording(self) -> None:
        """Remember the cassette that is recorded now, which a replay starts with."""
        if self.mode is Mode.RECORD:
            self._cassette.recorded = self._cassette.value

    def accept(self) -> None:
        """Trust the destinations, and show the fields."""
        self._credentials.destinations.accept()
        self._choice_changed()

    @property
    def choice(self) -> tuple[object, ...]:
        """All choices in the form, to compare with earlier choices."""
        return self.environment, self.mode, self.cassette, self.credentials

    def ask(self) -> None:
        """Ask the page for the typed texts."""
        self._credentials.inputs.ask()

    def take(self) -> dict[str, Secret]:
        """Return the texts that the page sent, by the names of the fields, and forget them."""
        return self._credentials.inputs.take()

    def add(self, credentials: Credentials) -> None:
        """Offer credentials that were typed and accepted, and choose them."""
        self._credentials.add(credentials)
        self._arrange(credentials)
        self.clear()

    def list_cassettes(self) -> None:
        """Offer the cassettes that are in the folder now; words about problems stay."""
        before = self._standing_html("cassette")
        self._cassette.list_folder()
        self._arrange(self.credentials)
        after = self._standing_html("cassette")
        if after != before:
            self.slots["cassette"].say(after)

    def list_credentials(self) -> None:
        """Offer the credentials of the practice services that run now; without an address, choose their first."""
        self._arrange(None if self.obstacle else self.credentials)
        self.clear()

    def clear(self) -> None:
        """Remove the words about problems."""
        for place, slot in self.slots.items():
            slot.say(self._standing_html(place))
        if self.fields:
            self._credentials.inputs.problems = {}

    def complain(self, problem: PanelProblem) -> None:
        """Show a problem beside its field or control; a problem with the passphrase adds the field for it."""
        if problem.place == PASSPHRASE.name:
            self._credentials.ask_for_passphrase()
            self._arrange(self.credentials)
        if not (self.fields and self._credentials.complain(problem)):
            slot = self.slots.get(problem.place, self.slots["connect"])
            standing, words = self._standing_html(problem.place), problem_html(problem)
            slot.say(standing if words in standing else standing + words)

    def set_busy(self, *, is_busy: bool) -> None:
        """Disable the button while the panel connects, and while there is an obstacle."""
        self._is_busy = is_busy
        self._button.disabled = is_busy or self.obstacle is not None

    def close(self) -> None:
        """Remove all controls from the page."""
        self._cassette.close()
        self._credentials.close()
        parts: tuple[Any, ...] = (self._environment, self._mode, self._button, *self.slots.values())
        for widget in (*parts, self._environment.style, self.layout):
            widget.close()

    def _environment_changed(self, _: object) -> None:
        """Forget the texts for the previous environment, and offer the choices of the new environment."""
        self._credentials.forget()
        self._arrange(None)
        self.clear()
        self._edited()

    def _choice_changed(self, _: object = None) -> None:
        """Offer what can be chosen now, and remove the words about earlier choices."""
        self._arrange(self.credentials)
        self.clear()
        self._edited()

    def _arrange(self, credentials: CredentialsChoice | None) -> None:
        self._cassette.arrange(self.mode)
        if self.mode is Mode.REPLAY:
            self.slots["credentials"].show()
        else:
            self._credentials.arrange(self.environment, credentials)
        self.set_busy(is_busy=self._is_busy)

    def _standing_html(self, place: str) -> str:
        """Return the words that stand beside a control whether or not connecting failed."""
        if place == "environment":
            obstacle = self.obstacle
            if obstacle is not None and obstacle.place == place:
                return problem_html(obstacle)
            return account_html(self.environment, self.mode, is_practice=self._is_practice)
        if place == "cassette" and self.mode is not Mode.LIVE:
            return self._cassette.standing_html(self.mode)
        if place == "credentials" and self.mode is not Mode.REPLAY:
            return self._credentials.standing_html(self.environment)
        return ""

    @property
    def _is_practice(self) -> bool:
        chosen = self.credentials
        known = chosen if isinstance(chosen, Credentials) else None
        return is_practice(self.environment, known, None if self.mode is Mode.REPLAY else self.settings)
