"""Places on the panel whose content changes while they stay."""
# MERGE: The panel's form as ipywidgets: what is chosen in one control decides what those below it offer.

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets

from toolkit.auth.credentials import Credentials
from toolkit.core.document import Environment
from toolkit.core.errors import ToolkitError
from toolkit.local.settings import Settings
from toolkit.notebook.panel import audience, choices
from toolkit.notebook.panel.choices import PASSPHRASE, Field, Mode, New, Who
from toolkit.notebook.panel.display import problem_html, real_account_html
from toolkit.notebook.panel.problems import NOT_FOR_VISITORS, Problem, missing_profile, nearly_called, no_cassettes
from toolkit.notebook.panel.secret_input import SecretInput

if TYPE_CHECKING:
    from toolkit.auth.profiles.saving import Profile
    from toolkit.core.secret import Secret


class Controls:
    """The controls of one panel. Those that a replay does not need are made when they are first shown.

    Args:
        environment: the one chosen at first; None for a harmless one.
        mode: the mode chosen at first.
        cassette: the cassette that the notebook names.
        profile: the saved profile that the notebook names.
        held: credentials that the notebook gives.
        settings: where saved profiles and cassettes are.
        for_visitors: whether it is not the owner who chooses: then saved profiles and the cassettes folder
            are not shown, and nothing is written into it.
        pressed: called when the form is to be connected with.
        answered: called when the texts that were asked for have come.
        edited: called when something was chosen.

    Attributes:
        slots: what to show, from top to bottom, by the places that a `Problem` names.
        layout: what all of them share.
    """

    def __init__(
        self,
        environment: Environment | None,
        mode: Mode,
        *,
        cassette: str | Path | None,
        profile: str | None,
        held: Sequence[Credentials],
        settings: Settings,
        for_visitors: bool = False,
        pressed: Callable[[], None],
        answered: Callable[[], None],
        edited: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._named_cassette = cassette
        self._named_profile = profile
        self._held = [*held]
        self._for_visitors = for_visitors
        self._takes_passphrase = False
        self._pressed = pressed
        self._answered = answered
        # A panel that replays what its notebook names looks for others only once somebody sees it.
        self._lists_cassettes = not for_visitors and (cassette is None or mode is not Mode.REPLAY)
        if environment is None:
            environment = Environment.PAPER if mode is Mode.REPLAY else choices.first_environment(self._profiles)
        # One of each for all: an ipywidgets layout is saved as a thousand bytes of nulls.
        self.layout = ipywidgets.Layout()
        self._environment = ipywidgets.Dropdown(
            options=choices.environment_choices(), value=str(environment), description="Environment", layout=self.layout
        )
        modes = choices.mode_choices(named=cassette, for_visitors=for_visitors)
        self._mode = self._dropdown("Mode", modes, mode)
        self._button = ipywidgets.Button(description="Connect", button_style="primary", layout=self.layout)
        self.slots = {
            "environment": Slot(self._environment, layout=self.layout),
            "mode": Slot(self._mode, layout=self.layout),
            "cassette": Slot(layout=self.layout),
            "credentials": Slot(layout=self.layout),
            "connect": Slot(self._button, layout=self.layout),
        }
        self._edited: Callable[[], None] = lambda: None  # nothing is edited before there is a form
        self._environment.observe(self._moved, "value")
        self._mode.observe(self._changed, "value")
        self._button.on_click(lambda _: pressed())
        self._changed()
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
        """The chosen or newly named cassette; None when live, and when none is named."""
        if self.mode is Mode.LIVE:
            return None
        chosen: str | Path | None = self._cassette.value
        return self.new_name or None if chosen == choices.NEW_CASSETTE else chosen

    @property
    def new_name(self) -> str | None:
        """The name of a new cassette as it was typed; None when one was chosen, or none is asked for."""
        if self.mode is Mode.LIVE or self._cassette.value != choices.NEW_CASSETTE:
            return None
        return str(self._new_cassette.value).strip().removesuffix(".yaml")

    @property
    def who(self) -> Who | None:
        """The chosen credentials; None in a replay."""
        return None if self.mode is Mode.REPLAY else self._who.value

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields that are shown to type credentials into."""
        if not isinstance(self.who, New):
            return ()
        fields = choices.FIELDS[self.who.kind]
        return (*fields, PASSPHRASE) if self._takes_passphrase and any(each.is_key for each in fields) else fields

    @property
    def choice(self) -> tuple[object, ...]:
        """All that is chosen, to tell whether it is something else than before."""
        return self.environment, self.mode, self.cassette, self.who

    def ask(self) -> None:
        """Ask the page for what was typed."""
        self._inputs.ask()

    def take(self) -> dict[str, Secret]:
        """What was typed, by field; once."""
        return self._inputs.take()

    def hold(self, credentials: Credentials) -> None:
        """Offer credentials that were typed and accepted, for as long as the kernel lives, and choose them."""
        self._held = [*(each for each in self._held if not choices.is_replaced(each, credentials)), credentials]
        self._forget()
        self._arrange(credentials)
        self.clear()

    def list_cassettes(self) -> None:
        """Offer the cassettes of the folder as it is now; what was said of problems stays."""
        self._lists_cassettes = not self._for_visitors
        before = self._standing_words("cassette")
        self._arrange()
        if self._standing_words("cassette") != before:
            self.slots["cassette"].say(self._standing_words("cassette"))

    def clear(self) -> None:
        """Take back what was said of problems."""
        for place, slot in self.slots.items():
            slot.say(self._standing_words(place))
        if self.fields:
            self._inputs.problems = {}

    def complain(self, problem: Problem) -> None:
        """Say what is wrong beside the control that it is about; of what was typed, a refused secret goes.

        What is no mistake stays where it is, in the page. A problem with the passphrase asks for one.
        """
        if problem.place == PASSPHRASE.name and not self._takes_passphrase:
            self._takes_passphrase = True
            self._arrange()
        field = next((each for each in self.fields if each.name == problem.place), None)
        if field is not None:
            self._inputs.problems = {problem.place: f"{problem.what} {problem.next_step}".strip()}
            if field.is_key:
                self._inputs.forget([each.name for each in self.fields if each.is_proof])
            elif field.is_proof:
                self._inputs.forget([field.name])
        else:
            slot = self.slots.get(problem.place, self.slots["connect"])
            slot.say(self._standing_words(problem.place) + problem_html(problem))

    def set_busy(self, *, is_busy: bool) -> None:
        """Whether the button waits for what was started with it."""
        self._button.disabled = is_busy

    def close(self) -> None:
        """Take all controls off the page."""
        late = (self.__dict__.get(name) for name in ("_cassette", "_new_cassette", "_who", "_inputs"))
        parts = (self._environment, self._mode, self._button, *late, *self.slots.values())
        for widget in (*parts, self._environment.style, self.layout):
            if widget is not None:
                widget.close()

    def _dropdown(self, description: str, options: Sequence[tuple[str, Any]] = (), value: Any = None) -> Any:
        return ipywidgets.Dropdown(
            description=description, options=options, value=value, layout=self.layout, style=self._environment.style
        )

    @cached_property
    def _cassette(self) -> Any:
        cassette = self._dropdown("Cassette")
        cassette.observe(self._changed, "value")
        return cassette

    @cached_property
    def _new_cassette(self) -> Any:
        name = ipywidgets.Text(description="Name", placeholder="tour", continuous_update=False, layout=self.layout)
        name.observe(self._changed, "value")
        return name

    @cached_property
    def _who(self) -> Any:
        who = self._dropdown("Credentials")
        who.observe(self._changed, "value")
        return who

    @cached_property
    def _inputs(self) -> SecretInput:
        return SecretInput(answered=self._answered, submitted=self._pressed, layout=self.layout)

    @cached_property
    def _profiles(self) -> list[Profile]:
        """Saved profiles, looked for when something is to be sent; a replay needs none of it."""
        if self._for_visitors:
            return []
        from toolkit.auth.profiles.saving import saved_credentials

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about profiles left out; `tk.saved_credentials()` says them
                return saved_credentials(settings=self._settings)
        except ToolkitError as error:
            self._profiles_problem = Problem("credentials", error.what, error.next_step)
            return []

    _profiles_problem: Problem | None = None

    def _moved(self, _: object) -> None:
        """Another environment was chosen: what was typed for the one before does not belong to it."""
        self._forget()
        self._arrange(anew=True)
        self.clear()
        self._edited()

    def _changed(self, _: object = None) -> None:
        """Something was chosen: what can be chosen now is offered, and words about before are gone."""
        self._arrange()
        self.clear()
        self._edited()

    def _forget(self) -> None:
        self._takes_passphrase = False
        if "_inputs" in vars(self):
            self._inputs.forget()

    def _arrange(self, chosen: Who | None = None, *, anew: bool = False) -> None:
        if self.mode is Mode.LIVE:
            self.slots["cassette"].show()
        else:
            self._offer_cassettes()
            is_new = self._cassette.value == choices.NEW_CASSETTE
            self.slots["cassette"].show(self._cassette, *([self._new_cassette] if is_new else []))
        if self.mode is Mode.REPLAY:
            self.slots["credentials"].show()
            return
        self._offer_credentials(None if anew else chosen or self._who.value)
        if self.fields:
            self._inputs.show(self.fields)
            self.slots["credentials"].show(self._who, self._inputs)
        else:
            self.slots["credentials"].show(self._who)

    def _offer_cassettes(self) -> None:
        new = self.mode is Mode.RECORD
        options = choices.cassette_choices(
            self._settings, self._named_cassette, listed=self._lists_cassettes or new, new=new
        )
        values = [value for _, value in options]
        # What replay offered first was nobody's choice: a recording is added to only where somebody chose it.
        recorded_before = any(value == choices.NEW_CASSETTE for _, value in self._cassette.options)
        chosen = self._cassette.value if recorded_before or not new else None
        kept = [one for one in (chosen, self._named_cassette) if one is not None and one in values]
        first = [choices.NEW_CASSETTE] if new else values
        set_options(self._cassette, options, next(iter([*kept, *first]), None), self._changed)

    def _offer_credentials(self, chosen: Who | None) -> None:
        options = choices.credential_choices(self.environment, self._profiles, self._held)
        if chosen not in [value for _, value in options]:
            chosen = choices.chosen_at_first(options, self._named_profile)
        set_options(self._who, options, chosen, self._changed)

    def _standing_words(self, place: str) -> str:
        """What is said of a control whether or not anything went wrong."""
        if place == "environment":
            return real_account_html(self.environment)
        if place == "cassette" and self.mode is Mode.REPLAY and not self._cassette.options:
            return problem_html(audience.NO_CASSETTE_NAMED if self._for_visitors else no_cassettes(self._settings))
        is_named = self._named_cassette is not None and self.cassette == self._named_cassette
        if place == "cassette" and self.mode is Mode.RECORD and is_named and not self._for_visitors:
            problem = nearly_called(self._named_cassette or "", self._settings)
            return problem_html(problem) if problem else ""
        if place == "credentials" and self.mode is not Mode.REPLAY:
            missing = missing_profile(self.environment, self._profiles, self._named_profile)
            if missing and self._for_visitors:
                missing = NOT_FOR_VISITORS
            problem = self._profiles_problem or (missing if isinstance(self.who, New) else None)
            return problem_html(problem) if problem else ""
        return ""


class Slot(ipywidgets.VBox):  # type: ignore[misc]
    """A place that shows some controls, and words below them when there are any.

    Controls before the first that changes keep their views in the page, and with them the keyboard's focus.
    """

    def __init__(self, *controls: ipywidgets.Widget, layout: ipywidgets.Layout) -> None:
        self._controls = controls
        self._words: ipywidgets.HTML | None = None  # made when there is something to say
        super().__init__(children=controls, layout=layout)

    def show(self, *controls: ipywidgets.Widget) -> None:
        """Show these controls."""
        self._controls = controls
        self._arrange()

    def say(self, html: str) -> None:
        """Show words below the controls, or none."""
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


def set_options(control: Any, options: Sequence[tuple[str, Any]], value: Any, observer: Callable[[Any], None]) -> None:
    """Give a selection other options and choose one, without a word to its observer about the steps between."""
    if tuple(control.options) == tuple(options) and control.value == value:
        return
    control.unobserve(observer, "value")
    with control.hold_sync():
        control.options = tuple(options)
        control.value = value
    control.observe(observer, "value")
