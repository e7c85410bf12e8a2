"""The panel's form: environment, mode, cassette and credentials. Each choice determines the options for the others.

All controls are created at the start, and those that the current choices do not need are hidden. Controls are never
recreated, so the keyboard focus stays where it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.auth.destinations import Change, new_in_environment, note_destinations
from toolkit.auth.profiles.saving import is_over, is_practice, running_services
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind, Environment
from toolkit.core.errors import ToolkitError
from toolkit.local.settings import Settings, is_offline
from toolkit.notebook.connecting import TRUST, Mode, Problem, obstacle, untrusted, wrong_name
from toolkit.notebook.panel_view import account_text, badge_html, problem_html
from toolkit.notebook.secret_input import FIELDS, Field, SecretInput

if TYPE_CHECKING:
    from toolkit.auth.profiles.fields import Profile

NEW_CASSETTE: Final = ""  # the value of the choice "new …"
DEFAULT_NAME: Final = "default"
# There is an environment called "live", so the panel names this mode by what it does.
_MODE_LABELS: Final = {
    Mode.LIVE: "call the service",
    Mode.RECORD: "record · call and keep the responses",
    Mode.REPLAY: "replay · nothing is sent",
}

# Credentials, the name of saved ones, or the kind of credentials that still have to be typed.
CredentialsChoice = Credentials | str | CredentialKind


class Form:
    """The controls of one panel.

    Visitors do not see saved profiles or the cassettes folder, and cannot record. `pressed` is called when Connect or
    Enter is pressed, `answered` when the page has sent the typed values, `saved` when Save is pressed, and `edited`
    when something is chosen.
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
        pressed: Callable[[], None],
        answered: Callable[[], None],
        saved: Callable[[], None],
        edited: Callable[[], None],
    ) -> None:
        self.settings = self._own_settings = settings  # for connecting; may be a practice service's
        self.named_profile = credentials if isinstance(credentials, str) else None
        self.untrusted: list[Change] = []  # the destinations that the user must trust before anything is typed
        self.obstacle: Problem | None = None  # why connecting cannot work now, whatever is typed
        self.recorded: str | Path | None = None  # the cassette that the panel recorded last
        self._named_cassette = cassette
        self._in_notebook = [credentials] if isinstance(credentials, Credentials) else []
        self._for_visitors = for_visitors
        self._is_busy = self._is_arranging = False
        self._arranged_mode: Mode | None = None
        self._trusted: set[tuple[Environment, CredentialKind | None]] = set()
        self._edited = edited
        if environment is None and mode is not Mode.REPLAY:
            harmless = (each.environment for each in self.profiles if not each.environment.rules.real_account)
            environment = next(harmless, None)
        self.layout = ipywidgets.Layout()  # shared, because ipywidgets saves each layout as a thousand bytes of nulls
        look = {"layout": self.layout}
        environments = [(f"{each} · {each.rules.holder}", str(each)) for each in Environment]
        self._environment = ipywidgets.Dropdown(description="Environment", options=environments, **look)
        self._environment.value = str(environment or Environment.PAPER)
        self._mode = ipywidgets.Dropdown(description="Mode", options=self._modes(), value=mode, **look)
        self._cassette = ipywidgets.Dropdown(description="Cassette", options=(), **look)
        self._name = ipywidgets.Text(description="Name", placeholder="my-recording", continuous_update=False, **look)
        self._credentials = ipywidgets.Dropdown(description="Credentials", options=(), **look)
        self._trust = ipywidgets.Checkbox(description=TRUST, indent=False, **look)
        self.inputs = SecretInput(answered=answered, submitted=pressed, **look)
        self._button = ipywidgets.Button(description="Connect", button_style="primary", **look)
        self.save_name = ipywidgets.Text(description="Save as", value=self.named_profile or DEFAULT_NAME, **look)
        self._save = ipywidgets.Button(description="Save", **look)
        # The account's badge, what prevents connecting, and how the last attempt ended.
        self._account, self._standing, self._words = (
            ipywidgets.HTML(**look).add_class("toolkit-words") for _ in range(3)
        )
        self.controls = [
            *(self._environment, self._account, self._mode, self._cassette, self._name, self._credentials),
            *(self._standing, self._trust, self.inputs, self._button, self.save_name, self._save, self._words),
        ]
        self.offer_saving(is_offered=False)
        self.arrange(credentials)
        self._environment.observe(self._environment_changed, "value")
        for control in (self._mode, self._cassette, self._credentials, self._name):
            control.observe(self._choice_changed, "value")
        self._trust.observe(lambda change: self.accept() if change["new"] else None, "value")
        self._button.on_click(lambda _: pressed())
        self._save.on_click(lambda _: saved())

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
        """The chosen cassette, or the name typed for a new one; None if there is neither, or in a live session."""
        chosen: str | Path | None = self._cassette.value
        if self.mode is not Mode.LIVE and chosen == NEW_CASSETTE:
            return str(self._name.value).strip().removesuffix(".yaml") or None
        return None if self.mode is Mode.LIVE else chosen

    @property
    def credentials(self) -> CredentialsChoice | None:
        """The chosen credentials; None in a replay."""
        chosen: CredentialsChoice | None = self._credentials.value
        return None if self.mode is Mode.REPLAY else chosen

    @property
    def fields(self) -> tuple[Field, ...]:
        """The input fields to show for credentials; empty until the destination is known and trusted."""
        return FIELDS[self.kind] if self.kind and self.obstacle is None else ()

    @property
    def kind(self) -> CredentialKind | None:
        """The kind of credentials to type; None if nothing has to be typed."""
        return self.credentials if isinstance(self.credentials, CredentialKind) else None

    @property
    def choice(self) -> tuple[object, ...]:
        """All choices in the form, for comparison with earlier ones."""
        return self.environment, self.mode, self.cassette, self.credentials

    @property
    def problem(self) -> Problem | None:
        """The problem that the user must solve before the panel can connect, or None."""
        is_named = self.mode is Mode.RECORD and self._cassette.value == NEW_CASSETTE
        return self.obstacle or (wrong_name(str(self.cassette or ""), self._own_settings) if is_named else None)

    def accept(self) -> None:
        """Trust the destinations, and show the fields."""
        self._trusted.add((self.environment, self.kind))  # kept here too, because the folder may be read-only
        note_destinations(self.environment, [change.destination for change in self.untrusted])
        self._trust.value = False
        self._choice_changed()

    def add(self, credentials: Credentials) -> None:
        """Offer accepted typed credentials for as long as the kernel runs; select them, and empty their fields."""
        new = (credentials.environment, credentials.kind, credentials.name)
        self._in_notebook = [own for own in self._in_notebook if (own.environment, own.kind, own.name) != new]
        self._in_notebook.append(credentials)
        self.inputs.forget()
        self.arrange(credentials)

    def offer_saving(self, *, is_offered: bool) -> None:
        """Show or hide the name and the button to save the typed credentials."""
        for control in (self.save_name, self._save):
            _show(control, is_shown=is_offered and not self._for_visitors)

    def arrange(self, credentials: CredentialsChoice | None) -> None:
        """Update the options, select these credentials or the first option, and show any problem."""
        self._arrange_cassettes()
        if self.mode is not Mode.REPLAY:
            options = self._credential_options()
            self._offer(self._credentials, options, self._kept_or_first(options, credentials))
        self.settings = self._settings_to_use()
        self.obstacle = self._obstacle()
        self.untrusted = [] if self.obstacle else self._new_destinations()
        if self.untrusted:
            self.obstacle = untrusted(self.untrusted)
        _show(self._credentials, is_shown=self.mode is not Mode.REPLAY)
        _show(self._trust, is_shown=bool(self.untrusted))
        self.inputs.show(self.fields)
        self.set_busy(is_busy=self._is_busy)
        self.clear()

    def _arrange_cassettes(self) -> None:
        """Offer the current cassettes; in replay mode, preselect the last recording."""
        mode, before, self._arranged_mode = self.mode, self._arranged_mode, self.mode
        named = [name for name in dict.fromkeys((self.recorded, self._named_cassette)) if name is not None]
        files = [] if self._for_visitors else sorted(self._own_settings.cassettes_folder.glob("*.yaml"))
        names = [file.stem for file in files if not file.stem.endswith(".part")]
        options = [(Path(name).name, name) for name in named if name not in names] + [(name, name) for name in names]
        # A cassette that was chosen for another mode is not kept.
        kept = [self._cassette.value] if mode is before else []
        if mode is Mode.RECORD:
            options.append(("new …", NEW_CASSETTE))
            starts = [*kept, self._named_cassette, NEW_CASSETTE]
        else:
            starts = [*kept, *named, *names]
        values = [value for _, value in options]
        chosen = next((value for value in starts if value is not None and value in values), None)
        self._offer(self._cassette, options, chosen)
        _show(self._cassette, is_shown=mode is not Mode.LIVE and bool(options))
        _show(self._name, is_shown=mode is Mode.RECORD and chosen == NEW_CASSETTE)

    def clear(self) -> None:
        """Remove the message about the last attempt, and show any problem that prevents connecting."""
        problem = self.obstacle or self._profile_problem()
        chosen = self.credentials if isinstance(self.credentials, Credentials) else None
        settings = None if self.mode is Mode.REPLAY else self.settings
        practice = is_practice(self.environment, chosen, settings) or is_over(self.environment, self.settings)
        self._account.value = badge_html(account_text(self.environment, self.mode, is_practice=practice))
        self._standing.value = problem_html(problem) if problem else ""
        self._words.value = ""
        self.inputs.problems = {}

    def complain(self, problem: Problem) -> None:
        """Show a problem beside its field or below the button, and empty the field if its secret was refused."""
        field = next((field for field in self.fields if field.name == problem.field), None)
        if field is None:
            html = problem_html(problem)
            self._words.value = "" if html == self._standing.value else html
            return
        self.inputs.problems = {field.name: f"{problem.what} {problem.next_step}".strip()}
        if field.is_proof:  # a key's passphrase is emptied with it
            self.inputs.forget([one.name for one in self.fields if one == field or (field.is_key and one.is_proof)])

    def set_busy(self, *, is_busy: bool) -> None:
        """Disable the button while the panel connects, and while there is an obstacle."""
        self._is_busy = is_busy
        self._button.disabled = is_busy or self.obstacle is not None

    def close(self) -> None:
        """Remove all controls from the page."""
        for widget in (*self.controls, self.layout):
            widget.close()

    @cached_property
    def profiles(self) -> list[Profile]:
        """The saved profiles, read only when needed: a replay does not need them, and visitors do not see them."""
        if self._for_visitors:
            return []
        from toolkit.auth.profiles.saving import saved_credentials

        with warnings.catch_warnings(), suppress(ToolkitError):
            warnings.simplefilter("ignore")  # about unreadable profiles; `tk.saved_credentials()` shows them
            return saved_credentials(settings=self._own_settings)
        return []

    def _environment_changed(self, _: object) -> None:
        """Forget the values for the previous environment, and offer the choices for the new one."""
        self.inputs.forget()
        self.arrange(None)
        self._edited()

    def _choice_changed(self, _: object = None) -> None:
        if not self._is_arranging:
            self.arrange(self.credentials)
            self._edited()

    def _modes(self) -> list[tuple[str, Mode]]:
        modes = {Mode.REPLAY} if is_offline() else {*Mode}
        if self._for_visitors and not is_offline():
            modes = {Mode.LIVE} if self._named_cassette is None else {Mode.LIVE, Mode.REPLAY}
        return [(label, mode) for mode, label in _MODE_LABELS.items() if mode in modes]

    def _credential_options(self) -> list[tuple[str, CredentialsChoice]]:
        """Return the credentials to offer: from this notebook, saved, from practice services, and new ones to type."""
        environment = self.environment
        kinds = [kind for kind in CredentialKind if kind in environment.rules.credentials]

        def label(own: Credentials | Profile, place: str) -> str:
            return " · ".join([own.name, place, *([own.kind] if len(kinds) > 1 else [])])

        here = [own for own in self._in_notebook if own.environment is environment]
        saved = [profile for profile in self.profiles if profile.environment is environment]
        options: list[tuple[str, CredentialsChoice]] = [
            *((label(own, "practice service" if own.is_practice else "this notebook"), own) for own in here),
            *((label(profile, profile.source), profile.name) for profile in saved),
        ]
        services = [] if self._for_visitors else running_services()
        for number, service in enumerate(services, start=1):
            place = "practice service" if len(services) == 1 else f"practice service {number}"
            others = [own for own in service.credentials.values() if own.environment is environment and own not in here]
            options += [(label(own, place), own) for own in others]
        return [*options, *((f"new {kind} …", kind) for kind in kinds)]

    def _kept_or_first(self, options: Sequence[tuple[str, CredentialsChoice]], chosen: object) -> CredentialsChoice:
        """Return the choice if it is still available, else the named profile or `default`, else the first option.

        If the named profile does not exist, no other saved profile is chosen instead.
        """
        others = [value for _, value in options if self.named_profile is None or type(value) is not str]
        starts = [chosen, self.named_profile or DEFAULT_NAME, *others]
        return next(value for start in starts for _, value in options if value == start)

    def _offer(self, dropdown: Any, options: Sequence[tuple[str, Any]], value: Any) -> None:
        """Replace the options of a dropdown and select one, without treating it as the user's choice."""
        if tuple(dropdown.options) != tuple(options) or dropdown.value != value:
            self._is_arranging = True
            with dropdown.hold_sync():
                dropdown.options = tuple(options)
                dropdown.value = value
            self._is_arranging = False

    def _settings_to_use(self) -> Settings:
        for service in running_services():
            if self.credentials in service.credentials.values():
                addresses = service.addresses
                return replace(self._own_settings, addresses=addresses, header_prefix=DEFAULT_HEADER_PREFIX)
        return self._own_settings

    def _obstacle(self) -> Problem | None:
        if self.mode is not Mode.REPLAY:
            return obstacle(self.environment, self.settings, for_visitors=self._for_visitors)
        if self._cassette.options:
            return None
        step = "Record one while online." if is_offline() else "Choose the mode “record” to make one."
        return Problem("There are no cassettes to replay.", "" if self._for_visitors else step)

    def _new_destinations(self) -> list[Change]:
        """Return the destinations that project files set for typed credentials and that are not yet trusted."""
        if self.kind is None or self._for_visitors or (self.environment, self.kind) in self._trusted:
            return []  # what the owner of the machine allowed is not shown to visitors
        with suppress(ToolkitError):  # an unreadable list of them is an error only when something has to be sent
            return new_in_environment(self.environment, self.kind, self._own_settings)
        return []

    def _profile_problem(self) -> Problem | None:
        """Return a problem if the saved profile that the notebook names does not exist."""
        named = (self.environment, self.named_profile)
        if self.kind is None or None in named or named in [(one.environment, one.name) for one in self.profiles]:
            return None
        # The name is not quoted: a secret typed in its place would be saved with the notebook's widgets.
        where = "offered to visitors" if self._for_visitors else f"saved here for {self.environment}"
        return Problem(f"The credentials that this notebook names are not {where}.", "Choose others, or type them.")


def _show(widget: Any, *, is_shown: bool) -> None:
    (widget.remove_class if is_shown else widget.add_class)("toolkit-hidden")
