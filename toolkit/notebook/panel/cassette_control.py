"""The control to choose a cassette with, or to name a new one. Its widgets are made when they are first needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import ipywidgets

from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, problems
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.display import note_html, problem_html
from toolkit.notebook.panel.problems import PanelProblem
from toolkit.notebook.panel.slots import DropdownControl


class CassetteControl(DropdownControl):
    """A dropdown of cassettes, and a field for the name of a new one.

    Args:
        named: the cassette that the notebook names.
        is_listed: True to offer the cassettes in the folder from the start; see `list_folder`.
        settings: where the cassettes folder is.
        for_visitors: True if the folder must stay hidden.
        more: the look of a `DropdownControl`, and what it calls.

    Attributes:
        recorded: the cassette that the panel recorded last, which a replay starts with; None if there is none.
    """

    def __init__(
        self, named: str | Path | None, *, is_listed: bool, settings: Settings, for_visitors: bool, **more: Any
    ) -> None:
        super().__init__("Cassette", **more)
        self.recorded: str | Path | None = None
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
        self.slot.show(*([] if self.is_empty else [self.dropdown]), *([self.name] if is_new else []))

    @property
    def is_empty(self) -> bool:
        """True if there is no cassette to choose."""
        return not self.dropdown.options

    def list_folder(self) -> None:
        """Offer the cassettes in the folder too, except to visitors."""
        self._is_listed = not self._for_visitors

    def standing_html(self, mode: Mode) -> str:
        """Return the words that stand here whether or not connecting failed."""
        if mode is Mode.REPLAY and self.is_empty:
            empty = self.empty_problem
            return note_html(f"{empty.what} {empty.next_step}".strip())
        problem = None
        if mode is Mode.RECORD and self._named is not None and self.value == self._named and not self._for_visitors:
            problem = problems.nearly_called(self._named, self._settings)
        return problem_html(problem) if problem else ""

    @property
    def empty_problem(self) -> PanelProblem:
        """What to say if there is no cassette to choose."""
        return problems.NO_CASSETTE_FOR_VISITORS if self._for_visitors else problems.no_cassettes(self._settings)

    def _offer_cassettes(self, *, is_new: bool) -> None:
        named = [name for name in dict.fromkeys((self.recorded, self._named)) if name is not None]
        options = choices.cassette_choices(self._settings, named, listed=self._is_listed or is_new, new=is_new)
        values = [value for _, value in options]
        # The first cassette of a replay was not the user's choice, and recording must not add to it by default.
        was_recording = any(value == choices.NEW_CASSETTE for _, value in self.dropdown.options)
        chosen = self.dropdown.value if was_recording or not is_new else None
        starts = (chosen, self._named, choices.NEW_CASSETTE) if is_new else (chosen, *named, *values)
        self.offer(options, next((value for value in starts if value is not None and value in values), None))

    @cached_property
    def name(self) -> Any:
        """The field for the name of a new cassette."""
        layout = self._look["layout"]
        name = ipywidgets.Text(description="Name", placeholder="my-recording", continuous_update=False, layout=layout)
        name.observe(self._changed, "value")
        return name
