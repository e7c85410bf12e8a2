"""The control that credentials are chosen with, or typed into."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.core.document import Environment
from toolkit.core.errors import ToolkitError
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, problems
from toolkit.notebook.panel.choices import PASSPHRASE, CredentialsChoice, Field, NewChoice
from toolkit.notebook.panel.display import problem_html
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.notebook.panel.secret_input import SecretInput
from toolkit.notebook.panel.slot import Slot, set_options

if TYPE_CHECKING:
    from toolkit.auth.profiles.fields import Profile


class CredentialsControl:
    """A dropdown of credentials, and fields to type new ones. The widgets are made when they are needed.

    Args:
        profile: the saved profile that the notebook names.
        in_notebook: credentials that the notebook gives.
        settings: where saved profiles are.
        for_visitors: True if saved profiles must stay hidden.
        look: layout and style of all widgets.
        changed: called when something was chosen.
        submitted: called when Enter was pressed in a field.
        answered: called when the page has sent what was typed.

    Attributes:
        slot: the place of this control on the panel.
    """

    def __init__(
        self,
        profile: str | None,
        in_notebook: Sequence[Credentials],
        *,
        settings: Settings,
        for_visitors: bool,
        look: dict[str, Any],
        changed: Callable[[Any], None],
        submitted: Callable[[], None],
        answered: Callable[[], None],
    ) -> None:
        self._profile = profile
        self._in_notebook = [*in_notebook]
        self._settings = settings
        self._for_visitors = for_visitors
        self._look = look
        self._changed = changed
        self._submitted = submitted
        self._answered = answered
        self._is_passphrase_needed = False
        self._profiles_problem: PanelProblem | None = None
        self.slot = Slot(layout=look["layout"])

    @property
    def value(self) -> CredentialsChoice:
        """The chosen credentials."""
        chosen: CredentialsChoice = self.dropdown.value
        return chosen

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields for the chosen kind; empty unless new credentials are chosen."""
        if not isinstance(self.value, NewChoice):
            return ()
        fields = choices.FIELDS[self.value.kind]
        takes_passphrase = self._is_passphrase_needed and any(field.is_key for field in fields)
        return (*fields, PASSPHRASE) if takes_passphrase else fields

    def arrange(self, environment: Environment, chosen: CredentialsChoice | None = None) -> None:
        """Offer the credentials of an environment, and choose these or else the first ones."""
        options = choices.credential_choices(environment, self.profiles, self._in_notebook)
        if chosen not in [value for _, value in options]:
            chosen = choices.first_credentials(options, self._profile)
        set_options(self.dropdown, options, chosen, self._changed)
        if self.fields:
            self.inputs.show(self.fields)
            self.slot.show(self.dropdown, self.inputs)
        else:
            self.slot.show(self.dropdown)

    def add(self, credentials: Credentials) -> None:
        """Offer credentials that were typed and accepted, until the kernel ends, and forget their text."""
        others = (old for old in self._in_notebook if not choices.replaces(credentials, old))
        self._in_notebook = [*others, credentials]
        self.forget()

    def ask_for_passphrase(self) -> None:
        """Show the field for a passphrase from the next `arrange` on."""
        self._is_passphrase_needed = True

    def complain(self, problem: PanelProblem) -> bool:
        """Show a problem beside its field, and empty that field if it holds a secret that was refused.

        What was not refused stays in the page. Returns False if the problem is about none of the fields.
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
        missing = problems.missing_profile(environment, self.profiles, self._profile)
        if missing and self._for_visitors:
            missing = problems.NOT_FOR_VISITORS
        problem = self._profiles_problem or (missing if isinstance(self.value, NewChoice) else None)
        return problem_html(problem) if problem else ""

    def close(self) -> None:
        """Remove the widgets from the page."""
        for widget in (vars(self).get("dropdown"), vars(self).get("inputs"), self.slot):
            if widget is not None:
                widget.close()

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
    def dropdown(self) -> Any:
        """The dropdown of credentials."""
        dropdown = ipywidgets.Dropdown(description="Credentials", options=(), value=None, **self._look)
        dropdown.observe(self._changed, "value")
        return dropdown

    @cached_property
    def inputs(self) -> SecretInput:
        """The fields for new credentials."""
        return SecretInput(answered=self._answered, submitted=self._submitted, layout=self._look["layout"])
