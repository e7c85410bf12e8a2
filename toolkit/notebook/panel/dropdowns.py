"""The controls to choose a cassette and credentials with, and the slots that hold the panel's controls.

Widgets are made when they are first needed, so that a replay saves none for credentials.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, problems
from toolkit.notebook.panel.choices import PASSPHRASE, CredentialsChoice, Field, Mode, NewChoice
from toolkit.notebook.panel.display import destinations_html, problem_html
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.notebook.panel.secret_input import SecretInput

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change, Destination
    from toolkit.auth.profiles.fields import Profile


class Slot(ipywidgets.VBox):  # type: ignore[misc]
    """A place on the panel with controls that come and go, and words below them.

    Controls that stay keep their views in the page, and with them the keyboard focus.
    """

    def __init__(self, *controls: ipywidgets.Widget, layout: ipywidgets.Layout) -> None:
        self._controls = controls
        self._words: ipywidgets.HTML | None = None  # made when there is something to say
        super().__init__(children=controls, layout=layout)

    def show(self, *controls: ipywidgets.Widget) -> None:
        """Show these controls in place of the present ones."""
        self._controls = controls
        self._arrange()

    def say(self, html: str) -> None:
        """Show words below the controls; an empty text removes them."""
        if self._words is None and html:
            self._words = ipywidgets.HTML(layout=self.layout)
            self._words.add_class("toolkit-words")
        if self._words is not None:
            self._words.value = html
        self._arrange()

    def close(self) -> None:
        words = getattr(self, "_words", None)
        if words is not None:
            words.close()
        super().close()

    def _arrange(self) -> None:
        words = (self._words,) if self._words is not None and self._words.value else ()
        self.children = (*self._controls, *words)


class DropdownControl:
    """A dropdown in a slot.

    Args:
        label: the label of the dropdown.
        look: layout and style of all widgets.
        changed: called when something was chosen or typed.

    Attributes:
        slot: the place of this control on the panel.
    """

    def __init__(self, label: str, *, look: dict[str, Any], changed: Callable[[Any], None]) -> None:
        self._label = label
        self._look = look
        self._changed = changed
        self.slot = Slot(layout=look["layout"])

    @cached_property
    def dropdown(self) -> Any:
        """The dropdown."""
        dropdown = ipywidgets.Dropdown(description=self._label, options=(), value=None, **self._look)
        dropdown.observe(self._changed, "value")
        return dropdown

    def offer(self, options: Sequence[tuple[str, Any]], value: Any) -> None:
        """Give the dropdown other options and choose one, without reporting the choices in between."""
        if tuple(self.dropdown.options) == tuple(options) and self.dropdown.value == value:
            return
        self.dropdown.unobserve(self._changed, "value")
        with self.dropdown.hold_sync():
            self.dropdown.options = tuple(options)
            self.dropdown.value = value
        self.dropdown.observe(self._changed, "value")

    def close(self) -> None:
        """Remove the widgets from the page."""
        for widget in [*vars(self).values()]:
            if isinstance(widget, ipywidgets.Widget):
                widget.close()


class CassetteControl(DropdownControl):
    """A dropdown of cassettes, and a field for the name of a new one.

    Args:
        named: the cassette that the notebook names.
        is_listed: True to offer the cassettes in the folder from the start; see `list_folder`.
        settings: where the cassettes folder is.
        for_visitors: True if the folder must stay hidden.
        more: the look of a `DropdownControl`, and what it calls.
    """

    def __init__(
        self, named: str | Path | None, *, is_listed: bool, settings: Settings, for_visitors: bool, **more: Any
    ) -> None:
        super().__init__("Cassette", **more)
        self._named = named
        self._is_listed = is_listed and not for_visitors
        self._settings = settings
        self._for_visitors = for_visitors

    @property
    def value(self) -> str | Path | None:
        """The chosen cassette, or the name typed for a new one; None without either."""
        chosen: str | Path | None = self.dropdown.value
        return self.new_name or None if chosen == choices.NEW_CASSETTE else chosen

    @property
    def new_name(self) -> str | None:
        """The name that was typed for a new cassette; None if an existing cassette is chosen."""
        if self.dropdown.value != choices.NEW_CASSETTE:
            return None
        return str(self.name.value).strip().removesuffix(".yaml")

    def arrange(self, mode: Mode) -> None:
        """Show what this mode needs: nothing when live, else the cassettes to choose from."""
        if mode is Mode.LIVE:
            self.slot.show()
            return
        self._offer_cassettes(is_new=mode is Mode.RECORD)
        is_new = self.dropdown.value == choices.NEW_CASSETTE
        self.slot.show(self.dropdown, *([self.name] if is_new else []))

    def list_folder(self) -> None:
        """Offer the cassettes in the folder too, except to visitors."""
        self._is_listed = not self._for_visitors

    def standing_html(self, mode: Mode) -> str:
        """Return the words that stand here whether or not connecting failed."""
        problem = None
        if mode is Mode.REPLAY and not self.dropdown.options:
            problem = problems.no_cassettes(self._settings)
            if self._for_visitors:
                problem = problems.NO_CASSETTE_FOR_VISITORS
        elif mode is Mode.RECORD and self._named is not None and self.value == self._named and not self._for_visitors:
            problem = problems.nearly_called(self._named, self._settings)
        return problem_html(problem) if problem else ""

    def _offer_cassettes(self, *, is_new: bool) -> None:
        options = choices.cassette_choices(self._settings, self._named, listed=self._is_listed or is_new, new=is_new)
        values = [value for _, value in options]
        # The first cassette of a replay was not the user's choice, and recording must not add to it by default.
        was_recording = any(value == choices.NEW_CASSETTE for _, value in self.dropdown.options)
        chosen = self.dropdown.value if was_recording or not is_new else None
        kept = [value for value in (chosen, self._named) if value is not None and value in values]
        first = [choices.NEW_CASSETTE] if is_new else values
        self.offer(options, next(iter([*kept, *first]), None))

    @cached_property
    def name(self) -> Any:
        """The field for the name of a new cassette."""
        layout = self._look["layout"]
        name = ipywidgets.Text(description="Name", placeholder="tour", continuous_update=False, layout=layout)
        name.observe(self._changed, "value")
        return name


class CredentialsControl(DropdownControl):
    """A dropdown of credentials, and fields to type new ones.

    Args:
        profile: the saved profile that the notebook names.
        in_notebook: credentials that the notebook passes.
        settings: where saved profiles are.
        for_visitors: True if saved profiles must stay hidden.
        submitted: called when Enter was pressed in a field.
        answered: called when the page has sent the typed texts.
        more: the look of a `DropdownControl`, and what it calls.

    Attributes:
        destinations: where typed texts would be sent, if a file of the project names one of these places.
        untrusted: the destinations to trust first, because no credentials of the environment went there. Until then
            the fields are hidden.
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
        self._trusted: set[tuple[Destination, ...]] = set()
        self.destinations: list[Destination] = []
        self.untrusted: list[Change] = []

    @property
    def value(self) -> CredentialsChoice:
        """The chosen credentials."""
        chosen: CredentialsChoice = self.dropdown.value
        return chosen

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields for the chosen kind; empty unless new credentials are chosen, and may go where they would."""
        if not isinstance(self.value, NewChoice) or self.untrusted:
            return ()
        fields = choices.FIELDS[self.value.kind]
        takes_passphrase = self._is_passphrase_needed and any(field.is_key for field in fields)
        return (*fields, PASSPHRASE) if takes_passphrase else fields

    def arrange(self, environment: Environment, chosen: CredentialsChoice | None = None) -> None:
        """Offer the credentials of an environment, and choose these or else the first ones."""
        options = choices.credential_choices(environment, self.profiles, self._in_notebook)
        if chosen not in [value for _, value in options]:
            chosen = choices.first_credentials(options, self._profile)
        self.offer(options, chosen)
        self._look_where(environment)
        if self.fields:
            self.inputs.show(self.fields)
            self.slot.show(self.dropdown, self.inputs)
        elif self.untrusted:
            self.slot.show(self.dropdown, self.trust)
        else:
            self.slot.show(self.dropdown)

    def _look_where(self, environment: Environment) -> None:
        """Note where texts that are typed now would be sent."""
        self._environment = environment
        self.destinations, self.untrusted = [], []
        chosen = self.value
        if not isinstance(chosen, NewChoice):
            return
        from toolkit.auth.destination_memory import new_in_environment
        from toolkit.auth.destinations import destinations_of, without_loopback

        with suppress(ConfigurationError):  # an unreadable .env or memory is an error when something is to be sent
            destinations = without_loopback(destinations_of(environment, chosen.kind, self._settings))
            if any(isinstance(destination.place, Path) for destination in destinations):
                self.destinations = destinations
            # What the owner of the machine used before is not shown to visitors.
            if not self._for_visitors and tuple(destinations) not in self._trusted:
                self.untrusted = new_in_environment(environment, chosen.kind, self._settings)

    def accept(self) -> None:
        """Trust the destinations of what is typed."""
        from toolkit.auth.destination_memory import note_destinations

        self._trusted.add(tuple(self.destinations))  # the folder may be read-only
        note_destinations(self._environment, self.destinations)

    def _ticked(self, change: Any) -> None:
        if change["new"]:
            self.accept()
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
        missing = problems.missing_profile(environment, self.profiles, self._profile)
        if missing and self._for_visitors:
            missing = problems.NOT_FOR_VISITORS
        problem = self._profiles_problem or (missing if isinstance(self.value, NewChoice) else None)
        if self.untrusted:
            problem = problems.untrusted(self.untrusted)
        words = destinations_html(self.destinations, with_places=not self._for_visitors) if self.fields else ""
        return (problem_html(problem) if problem else "") + words

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
        """The box to tick before secrets are typed for a new destination."""
        box = ipywidgets.Checkbox(description=problems.TRUST, indent=False, layout=self._look["layout"])
        box.observe(self._ticked, "value")
        return box

    @cached_property
    def inputs(self) -> SecretInput:
        """The fields for new credentials."""
        return SecretInput(answered=self._answered, submitted=self._submitted, layout=self._look["layout"])
