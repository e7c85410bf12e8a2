"""The form of the panel: environment, mode, cassette and credentials; the choice in one decides what the others offer.

All controls are made at once, and those that the present choices do not need are hidden. A control is never made anew,
so the keyboard focus stays where the person is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.practice_profiles import is_practice, running_services
from toolkit.core.document import DEFAULT_HEADER_PREFIX, CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, ToolkitError
from toolkit.local.settings import Settings
from toolkit.local.variables import is_offline
from toolkit.notebook.connecting import NOT_TRUSTED, TRUST, Mode, Problem, obstacle, untrusted, wrong_name
from toolkit.notebook.panel_view import account_html, note_html, problem_html
from toolkit.notebook.secret_input import FIELDS, Field, SecretInput

if TYPE_CHECKING:
    from toolkit.auth.destinations import Change
    from toolkit.auth.profiles.fields import Profile

NEW_CASSETTE: Final = ""  # the value of the choice "new …"
DEFAULT_NAME: Final = "default"
# An environment is called "live" too, so the panel names this mode by what it does.
_MODE_LABELS: Final = {
    Mode.LIVE: "call the service",
    Mode.RECORD: "record · call and keep the answers",
    Mode.REPLAY: "replay · nothing is sent",
}

# Credentials, the name of saved ones, or the kind of those that are still to be typed.
CredentialsChoice = Credentials | str | CredentialKind


class Form:
    """The controls of one panel.

    Args:
        environment: the environment to start with; None for that of a saved profile without a real account, or paper.
        mode: the mode to start with.
        cassette: the cassette that the notebook names.
        credentials: credentials that the notebook passes, or the name of saved ones.
        settings: addresses, and where profiles and cassettes are.
        for_visitors: True to hide saved profiles and the cassettes folder, and to record nothing.
        pressed: called when Connect or Enter was pressed.
        answered: called when the page has sent the typed texts.
        saving: called when Save was pressed.
        edited: called when something was chosen.

    Attributes:
        controls: all widgets, from top to bottom.
        settings: the settings to connect with: practice credentials go to their own service while it runs.
        obstacle: why connecting cannot work now, whatever is typed; None if it can.
        untrusted: the destinations that the user must trust before anything is typed or sent.
        recorded: the cassette that the panel recorded last.
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
        saving: Callable[[], None],
        edited: Callable[[], None],
    ) -> None:
        self.settings = self._own_settings = settings
        self.named_profile = credentials if isinstance(credentials, str) else None
        self.untrusted: list[Change] = []
        self.obstacle: Problem | None = None
        self.recorded: str | Path | None = None
        self._named_cassette = cassette
        self._in_notebook = [credentials] if isinstance(credentials, Credentials) else []
        self._for_visitors = for_visitors
        self._is_busy = self._is_arranging = False
        self._arranged_mode: Mode | None = None
        self._profiles_problem: Problem | None = None
        self._trusted: set[tuple[Environment, CredentialsChoice | None]] = set()
        self._edited = edited
        if environment is None and mode is not Mode.REPLAY:
            saved = (profile.environment for profile in self.profiles)
            environment = next((each for each in saved if not each.rules.real_account), None)
        self.layout = ipywidgets.Layout()  # shared: ipywidgets saves each layout as a thousand bytes of nulls
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
        places = ("environment", "mode", "cassette", "credentials", "connect", "save")
        self._words = {place: ipywidgets.HTML(**look).add_class("toolkit-words") for place in places}
        self.controls = [
            *(self._environment, self._words["environment"], self._mode, self._words["mode"]),
            *(self._cassette, self._name, self._words["cassette"]),
            *(self._credentials, self._words["credentials"], self._trust, self.inputs),
            *(self._button, self._words["connect"], self.save_name, self._save, self._words["save"]),
        ]
        self.offer_saving(is_offered=False)
        self.arrange(None)
        self._environment.observe(self._environment_changed, "value")
        for control in (self._mode, self._cassette, self._credentials, self._name):
            control.observe(self._choice_changed, "value")
        self._trust.observe(self._ticked, "value")
        self._button.on_click(lambda _: pressed())
        self._save.on_click(lambda _: saving())

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
        """The fields that are shown to type credentials into; none before the destination is known and trusted."""
        kind = None if self.untrusted or self.obstacle else self.kind
        return FIELDS[kind] if kind else ()

    @property
    def kind(self) -> CredentialKind | None:
        """The kind of the credentials that are to be typed; None if others are chosen."""
        return self.credentials if isinstance(self.credentials, CredentialKind) else None

    @property
    def choice(self) -> tuple[object, ...]:
        """All choices in the form, to compare with earlier choices."""
        return self.environment, self.mode, self.cassette, self.credentials

    @property
    def incompleteness(self) -> Problem | None:
        """What must be chosen or typed before the panel can connect, apart from credentials; None if nothing."""
        problem = self.obstacle
        if problem is None and self.mode is Mode.RECORD and self._cassette.value == NEW_CASSETTE:
            problem = wrong_name(str(self.cassette or ""), self._own_settings)
        return problem or (NOT_TRUSTED if self.untrusted else None)

    def accept(self) -> None:
        """Trust the destinations, and show the fields."""
        from toolkit.auth.destination_memory import DestinationMemory, note_destinations

        self._trusted.add((self.environment, self.credentials))  # the folder may be read-only
        destinations = [change.destination for change in self.untrusted]
        profile = self._unbound_profile()
        if profile is None:
            note_destinations(self.environment, destinations)
        else:
            with suppress(ConfigurationError):  # then connecting says how to allow them
                DestinationMemory().add(profile, destinations)
        self._trust.value = False
        self._choice_changed()

    def add(self, credentials: Credentials) -> None:
        """Offer credentials that were typed and accepted until the kernel ends, choose them, and forget their text."""

        def key(one: Credentials) -> tuple[object, ...]:
            return one.environment, one.kind, one.name

        self._in_notebook = [old for old in self._in_notebook if key(old) != key(credentials)] + [credentials]
        self.inputs.forget()
        self.arrange(credentials)

    def offer_saving(self, *, is_offered: bool) -> None:
        """Show or hide the name and the button to save the typed credentials."""
        for control in (self.save_name, self._save):
            _show(control, is_shown=is_offered and not self._for_visitors)

    def arrange(self, credentials: CredentialsChoice | None) -> None:
        """Offer what can be chosen now, choose these credentials or else the first, and say what is in the way."""
        self._is_arranging = True
        try:
            self.list_cassettes()
            if self.mode is not Mode.REPLAY:
                options = self._credential_options()
                _offer(self._credentials, options, self._kept_or_first([value for _, value in options], credentials))
            self.settings = self._settings_to_use()
            # At once: a kernel may handle what a page sends in a thread of its own.
            self.untrusted, self.obstacle = self._new_destinations(), self._obstacle()
        finally:
            self._is_arranging = False
        _show(self._credentials, is_shown=self.mode is not Mode.REPLAY)
        _show(self._trust, is_shown=bool(self.untrusted) and self.obstacle is None)
        _show(self.inputs, is_shown=bool(self.fields))
        if self.fields:
            self.inputs.show(self.fields)
        self.set_busy(is_busy=self._is_busy)
        self.clear()

    def list_cassettes(self) -> None:
        """Offer the cassettes that there are now; after a recording, a replay starts with it."""
        mode, before, self._arranged_mode = self.mode, self._arranged_mode, self.mode
        named = [name for name in dict.fromkeys((self.recorded, self._named_cassette)) if name is not None]
        files = [] if self._for_visitors else sorted(self._own_settings.cassettes_folder.glob("*.yaml"))
        names = [file.stem for file in files if not file.stem.endswith(".part")]
        options = [(Path(name).name, name) for name in named if name not in names] + [(name, name) for name in names]
        # The cassette of another mode was not chosen for this one.
        kept = [self._cassette.value] if mode is before else []
        if mode is Mode.RECORD:
            options.append(("new …", NEW_CASSETTE))
            starts = [*kept, self._named_cassette, NEW_CASSETTE]
        else:
            starts = [*kept, *named, *names]
        values = [value for _, value in options]
        chosen = next((value for value in starts if value is not None and value in values), None)
        _offer(self._cassette, options, chosen)
        _show(self._cassette, is_shown=mode is not Mode.LIVE and bool(options))
        _show(self._name, is_shown=mode is Mode.RECORD and chosen == NEW_CASSETTE)

    def clear(self) -> None:
        """Remove the words about problems of the last attempt."""
        for place, words in self._words.items():
            words.value = self._standing_html(place)
        self.inputs.problems = {}

    def complain(self, problem: Problem) -> None:
        """Show a problem beside its field or control, and empty a field if it holds a secret that was refused."""
        field = next((field for field in self.fields if field.name == problem.place), None)
        if field is None:
            words = self._words.get(problem.place, self._words["connect"])
            html = problem_html(problem)
            words.value = words.value if html in words.value else words.value + html
            return
        self.inputs.problems = {problem.place: f"{problem.what} {problem.next_step}".strip()}
        if field.is_proof:  # with a key goes its passphrase
            self.inputs.forget([one.name for one in self.fields if one == field or (field.is_key and one.is_proof)])

    def note(self, place: str, words: str) -> None:
        """Show words beside a control until the next choice."""
        self._words[place].value = note_html(words)

    def set_busy(self, *, is_busy: bool) -> None:
        """Disable the button while the panel connects, and while there is an obstacle."""
        self._is_busy = is_busy
        self._button.disabled = is_busy or self.obstacle is not None

    def close(self) -> None:
        """Remove all controls from the page."""
        for widget in (*self.controls, self.layout):
            if hasattr(widget, "style"):
                widget.style.close()
            widget.close()

    def reload_profiles(self) -> None:
        """Read the saved profiles again, and offer them."""
        vars(self).pop("profiles", None)
        self.arrange(self.credentials)

    @cached_property
    def profiles(self) -> list[Profile]:
        """The saved profiles, read when something is to be sent; a replay needs none, and visitors get none."""
        if self._for_visitors:
            return []
        from toolkit.auth.profiles.saving import saved_credentials

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about unreadable profiles; `tk.saved_credentials()` shows them
                return saved_credentials(settings=self._own_settings)
        except ToolkitError as error:
            self._profiles_problem = Problem("credentials", error.what, error.next_step)
            return []

    def _environment_changed(self, _: object) -> None:
        """Forget the texts for the previous environment, and offer the choices of the new one."""
        self.inputs.forget()
        self.arrange(None)
        self._edited()

    def _choice_changed(self, _: object = None) -> None:
        if not self._is_arranging:
            self.arrange(self.credentials)
            self._edited()

    def _ticked(self, change: Any) -> None:
        if change["new"]:
            self.accept()

    def _modes(self) -> list[tuple[str, Mode]]:
        modes = {Mode.REPLAY} if is_offline() else {*Mode}
        if self._for_visitors and not is_offline():
            modes = {Mode.LIVE} if self._named_cassette is None else {Mode.LIVE, Mode.REPLAY}
        return [(label, mode) for mode, label in _MODE_LABELS.items() if mode in modes]

    def _credential_options(self) -> list[tuple[str, CredentialsChoice]]:
        """Return the credentials of the environment: in this notebook, saved, of practice services, and to be typed."""
        environment = self.environment
        kinds = [kind for kind in CredentialKind if kind in environment.rules.credentials]

        def label(name: str, place: str, kind: CredentialKind) -> str:
            return " · ".join([name, place, *([kind] if len(kinds) > 1 else [])])

        options: list[tuple[str, CredentialsChoice]] = [
            (label(own.name, "practice service" if own.is_practice else "this notebook", own.kind), own)
            for own in self._in_notebook
            if own.environment is environment
        ]
        saved = [profile for profile in self.profiles if profile.environment is environment]
        options += [(label(item.name, item.source, item.kind), item.name) for item in saved]
        for service in [] if self._for_visitors else running_services():
            for own in service.credentials.values():
                if own.environment is environment and not _is_in(own, self._in_notebook):
                    options.append((label(own.name, "practice service", own.kind), own))
        return [*options, *((f"new {kind} …", kind) for kind in kinds)]

    def _kept_or_first(
        self, values: Sequence[CredentialsChoice], chosen: CredentialsChoice | None
    ) -> CredentialsChoice:
        """Return the choice if it is still there, else the named profile, else the first, among saved ones `default`.

        If the named profile is not there, no other saved profile is chosen in its place.
        """
        saved = [profile.name for profile in self.profiles if profile.environment is self.environment]
        wanted = self.named_profile or (DEFAULT_NAME if values[0] in saved else None)
        if chosen is not None and chosen in values:
            return chosen
        if wanted in saved:
            return str(wanted)
        return next(value for value in values if self.named_profile is None or value not in saved)

    def _settings_to_use(self) -> Settings:
        for service in running_services():
            if _is_in(self.credentials, service.credentials.values()):
                addresses = service.addresses
                return replace(self._own_settings, addresses=addresses, header_prefix=DEFAULT_HEADER_PREFIX)
        return self._own_settings

    def _obstacle(self) -> Problem | None:
        if self.mode is not Mode.REPLAY:
            return obstacle(self.environment, self.settings, for_visitors=self._for_visitors)
        if self._cassette.options:
            return None
        if self._for_visitors:
            return Problem("cassette", "This notebook does not name a cassette to replay.")
        what = f"No cassettes in the folder {Path(self._own_settings.cassettes).name} yet."
        step = "Record one while online." if is_offline() else "Choose the mode “record” to make one."
        return Problem("cassette", what, step)

    def _new_destinations(self) -> list[Change]:
        """Return where a file of the project would send the credentials, if that is not allowed yet."""
        from toolkit.auth.destination_memory import new_in_environment, not_allowed

        chosen = self.credentials
        if self._for_visitors or (self.environment, chosen) in self._trusted:
            return []  # what the owner of the machine allowed is not shown to visitors
        with suppress(ToolkitError):  # an unreadable .env, profile or memory is an error when something is to be sent
            if self.kind is not None:
                return new_in_environment(self.environment, self.kind, self._own_settings)
            profile = self._unbound_profile()
            return [] if profile is None else not_allowed(profile, self._own_settings)
        return []

    def _unbound_profile(self) -> Credentials | None:
        """Return the chosen profile if it is from variables or `.env`, which are not bound to a destination."""
        from toolkit.auth.profiles.saving import unbound_credentials

        chosen = self.credentials
        if not isinstance(chosen, str) or self.kind is not None:
            return None
        return unbound_credentials(self.environment, chosen, settings=self._own_settings)

    def _standing_html(self, place: str) -> str:
        """Return the words that stand beside a control whether or not connecting failed."""
        environment, mode, chosen = self.environment, self.mode, self.credentials
        if self.obstacle is not None and self.obstacle.place == place:
            return problem_html(self.obstacle)
        if place == "environment":
            known = chosen if isinstance(chosen, Credentials) else None
            practice = is_practice(environment, known, None if mode is Mode.REPLAY else self.settings)
            return account_html(environment, mode, is_practice=practice)
        if place != "credentials" or mode is Mode.REPLAY:
            return ""
        problem, named = self._profiles_problem, self.named_profile
        if self.untrusted and self.obstacle is None:
            problem = untrusted(self.untrusted)
        elif self.kind is not None and named is not None and problem is None:
            # The name is not quoted: a secret typed in its place would be saved with the notebook's widgets.
            where = "offered to visitors" if self._for_visitors else f"saved here for {environment}"
            what = f"The credentials that this notebook names are not {where}."
            is_saved = any((one.environment, one.name) == (environment, named) for one in self.profiles)
            problem = None if is_saved else Problem("credentials", what, "Choose others, or type them.")
        return problem_html(problem) if problem else ""


def _offer(dropdown: Any, options: Sequence[tuple[str, Any]], value: Any) -> None:
    """Give a dropdown other options and choose one."""
    if tuple(dropdown.options) != tuple(options) or dropdown.value != value:
        with dropdown.hold_sync():
            dropdown.options = tuple(options)
            dropdown.value = value


def _show(widget: Any, *, is_shown: bool) -> None:
    if is_shown:
        widget.remove_class("toolkit-hidden")
    else:
        widget.add_class("toolkit-hidden")


def _is_in(value: object, values: Iterable[object]) -> bool:
    return any(value is one for one in values)
