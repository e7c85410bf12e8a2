"""The control to choose credentials with, and the fields to type new ones. Widgets are made when they are needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import is_over, running_services
from toolkit.core.document import Environment
from toolkit.core.errors import ToolkitError
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, problems
from toolkit.notebook.panel.choices import CredentialsChoice, NewChoice
from toolkit.notebook.panel.display import destinations_html, note_html, problem_html
from toolkit.notebook.panel.fields import FIELDS, PASSPHRASE, Field
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.notebook.panel.secret_input import SecretInput
from toolkit.notebook.panel.sending import ChosenDestinations, missing_addresses, settings_for
from toolkit.notebook.panel.slots import DropdownControl

if TYPE_CHECKING:
    from toolkit.auth.profiles.fields import Profile


class CredentialsControl(DropdownControl):
    """A dropdown of credentials, and below its words the fields to type new ones.

    Args:
        profile: the saved profile that the notebook names.
        in_notebook: credentials that the notebook passes.
        settings: where saved profiles are, and the addresses.
        for_visitors: True if saved profiles must stay hidden.
        submitted: called when Enter was pressed in a field.
        answered: called when the page has sent the typed texts.
        more: the look of a `DropdownControl`, and what it calls.

    Attributes:
        destinations: where the chosen credentials would be sent.
        settings: the settings to connect with.
        obstacle: why the chosen credentials cannot connect now, whatever is typed; None if they can.
    """

    def __init__(
        self,
        profile: str | None,
        in_notebook: Sequence[Credentials],
        *,
        settings: Settings,
        for_visitors: bool,
        submitted: Callable[[], None],
        answered: Callable[[], None],
        **more: Any,
    ) -> None:
        super().__init__("Credentials", **more)
        self._profile = profile
        self._in_notebook = [*in_notebook]
        self._settings = settings
        self._for_visitors = for_visitors
        self._submitted = submitted
        self._answered = answered
        self._is_passphrase_needed = False
        self._profiles_problem: PanelProblem | None = None
        self.destinations = ChosenDestinations(settings, for_visitors=for_visitors)
        self.settings = settings
        self.obstacle: PanelProblem | None = None

    @property
    def value(self) -> CredentialsChoice:
        """The chosen credentials."""
        chosen: CredentialsChoice = self.dropdown.value
        return chosen

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields for the chosen kind; empty unless new credentials are chosen, and may go where they would."""
        if not isinstance(self.value, NewChoice) or self.obstacle or self.destinations.untrusted:
            return ()
        fields = FIELDS[self.value.kind]
        takes_passphrase = self._is_passphrase_needed and any(field.is_key for field in fields)
        return (*fields[:2], PASSPHRASE, *fields[2:]) if takes_passphrase else fields

    def arrange(self, environment: Environment, chosen: CredentialsChoice | None = None) -> None:
        """Offer the credentials of an environment, and choose these or else the first ones."""
        practice = [] if self._for_visitors else running_services()
        options = choices.credential_choices(environment, self.profiles, self._in_notebook, practice)
        self.offer(options, choices.kept_or_first(options, chosen, self._profile))
        self.settings = self._settings_for(environment)
        self.obstacle = self._obstacle_in(environment)
        self.destinations.look(environment, self.value)
        if self.fields:
            self.inputs.show(self.fields)
            self.slot.show(self.dropdown, below=(self.inputs,))
        elif self.destinations.untrusted and not self.obstacle:
            self.slot.show(self.dropdown, below=(self.trust,))
        else:
            self.slot.show(self.dropdown)

    def _settings_for(self, environment: Environment) -> Settings:
        """Return the panel's settings, or for practice credentials those of their service.

        If a notebook passes both practice credentials and settings with addresses, its word counts.
        """
        is_passed = any(self.value is own for own in self._in_notebook) and self._settings.file is None
        if is_passed and not missing_addresses(environment, self._settings):
            return self._settings
        return settings_for(self.value, self._settings)

    def _obstacle_in(self, environment: Environment) -> PanelProblem | None:
        if is_over(environment, self.settings):
            return problems.PRACTICE_OVER
        missing = missing_addresses(environment, self.settings)
        if not missing:
            return None
        return problems.no_address(environment, missing, self._settings, for_visitors=self._for_visitors)

    def _ticked(self, change: Any) -> None:
        if change["new"]:
            self.destinations.accept()
            self.trust.value = False
            self._changed(change)

    def add(self, credentials: Credentials) -> None:
        """Offer credentials that were typed and accepted, until the kernel ends, and forget their text."""

        def key(credentials: Credentials) -> tuple[object, ...]:
            return credentials.environment, credentials.kind, credentials.name

        self._in_notebook = [old for old in self._in_notebook if key(old) != key(credentials)] + [credentials]
        self.forget()

    def ask_for_passphrase(self) -> None:
        """Show the field for a passphrase from the next `arrange` on."""
        self._is_passphrase_needed = True

    def complain(self, problem: PanelProblem) -> bool:
        """Show a problem beside its field, and empty that field if it holds a secret that was refused.

        Return False if the problem is not about any of the fields.
        """
        field = next((field for field in self.fields if field.name == problem.place), None)
        if field is None:
            return False
        self.inputs.problems = {problem.place: f"{problem.what} {problem.next_step}".strip()}
        if field.is_key:
            self.inputs.forget([field.name for field in self.fields if field.is_proof])
        elif field.is_proof:
            self.inputs.forget([field.name])
        return True

    def forget(self) -> None:
        """Empty all fields in the page."""
        self._is_passphrase_needed = False
        if "inputs" in vars(self):
            self.inputs.forget()

    def standing_html(self, environment: Environment) -> str:
        """Return the words that stand here whether or not connecting failed."""
        if self.destinations.untrusted and not self.obstacle:
            return problem_html(problems.untrusted(self.destinations.untrusted))
        if not isinstance(self.value, NewChoice):
            return problem_html(self._profiles_problem) if self._profiles_problem else ""
        missing = problems.missing_profile(environment, self.profiles, self._profile)
        if missing and self._for_visitors:
            missing = problems.NOT_FOR_VISITORS
        problem = self._profiles_problem or missing
        if problem:
            words = problem_html(problem)
        else:
            words = note_html(problems.nothing_saved(environment)) if self.fields and self._offers_only_new else ""
        places = self.destinations.places if self.fields else []
        return words + destinations_html(places, with_places=not self._for_visitors)

    @property
    def _offers_only_new(self) -> bool:
        return not self._for_visitors and all(isinstance(value, NewChoice) for _, value in self.dropdown.options)

    @cached_property
    def profiles(self) -> list[Profile]:
        """The saved profiles, read when something is to be sent; a replay needs none."""
        if self._for_visitors:
            return []
        from toolkit.auth.profiles.saving import saved_credentials

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about unreadable profiles; `tk.saved_credentials()` shows them
                return saved_credentials(settings=self._settings)
        except ToolkitError as error:
            self._profiles_problem = PanelProblem("credentials", error.what, error.next_step)
            return []

    @cached_property
    def trust(self) -> Any:
        """The box to tick before secrets go to a new destination."""
        box = ipywidgets.Checkbox(description=problems.TRUST, indent=False, layout=self._look["layout"])
        box.observe(self._ticked, "value")
        return box

    @cached_property
    def inputs(self) -> SecretInput:
        """The fields for new credentials."""
        return SecretInput(answered=self._answered, submitted=self._submitted, layout=self._look["layout"])
