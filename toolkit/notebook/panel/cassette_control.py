"""The control that a cassette is chosen with, or named if it is new."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import ipywidgets

from toolkit.local.settings import Settings
from toolkit.notebook.panel import choices, problems
from toolkit.notebook.panel.choices import Mode
from toolkit.notebook.panel.display import problem_html
from toolkit.notebook.panel.slot import Slot, set_options


class CassetteControl:
    """A dropdown of cassettes, and a field for the name of a new one. The widgets are made when they are needed.

    Args:
        named: the cassette that the notebook names.
        is_listed: True to offer the cassettes in the folder from the start; see `list_folder`.
        settings: where the cassettes folder is.
        for_visitors: True if the folder must stay hidden.
        look: layout and style of all widgets.
        changed: called when something was chosen or typed.

    Attributes:
        slot: the place of this control on the panel.
    """

    def __init__(
        self,
        named: str | Path | None,
        *,
        is_listed: bool,
        settings: Settings,
        for_visitors: bool,
        look: dict[str, Any],
        changed: Callable[[Any], None],
    ) -> None:
        self._named = named
        self._is_listed = is_listed and not for_visitors
        self._settings = settings
        self._for_visitors = for_visitors
        self._look = look
        self._changed = changed
        self.slot = Slot(layout=look["layout"])

    @property
    def value(self) -> str | Path | None:
        """The chosen or newly named cassette; None if none is named."""
        chosen: str | Path | None = self.dropdown.value
        return self.new_name or None if chosen == choices.NEW_CASSETTE else chosen

    @property
    def new_name(self) -> str | None:
        """The name that was typed for a new cassette; None if an existing cassette is chosen."""
        if self.dropdown.value != choices.NEW_CASSETTE:
            return None
        return str(self.name.value).strip().removesuffix(".yaml")

    def arrange(self, mode: Mode) -> None:
        """Show what this mode needs: nothing when live, else the cassettes that there are."""
        if mode is Mode.LIVE:
            self.slot.show()
            return
        self._offer(is_new=mode is Mode.RECORD)
        is_new = self.dropdown.value == choices.NEW_CASSETTE
        self.slot.show(self.dropdown, *([self.name] if is_new else []))

    def list_folder(self) -> None:
        """Offer the cassettes in the folder as well, except to visitors."""
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

    def close(self) -> None:
        """Remove the widgets from the page."""
        for widget in (vars(self).get("dropdown"), vars(self).get("name"), self.slot):
            if widget is not None:
                widget.close()

    def _offer(self, *, is_new: bool) -> None:
        options = choices.cassette_choices(self._settings, self._named, listed=self._is_listed or is_new, new=is_new)
        values = [value for _, value in options]
        # What a replay offered first was not the user's choice, and recording must not add to it by default.
        was_recording = any(value == choices.NEW_CASSETTE for _, value in self.dropdown.options)
        chosen = self.dropdown.value if was_recording or not is_new else None
        kept = [value for value in (chosen, self._named) if value is not None and value in values]
        first = [choices.NEW_CASSETTE] if is_new else values
        set_options(self.dropdown, options, next(iter([*kept, *first]), None), self._changed)

    @cached_property
    def dropdown(self) -> Any:
        """The dropdown of cassettes."""
        dropdown = ipywidgets.Dropdown(description="Cassette", options=(), value=None, **self._look)
        dropdown.observe(self._changed, "value")
        return dropdown

    @cached_property
    def name(self) -> Any:
        """The field for the name of a new cassette."""
        name = ipywidgets.Text(
            description="Name", placeholder="tour", continuous_update=False, layout=self._look["layout"]
        )
        name.observe(self._changed, "value")
        return name
