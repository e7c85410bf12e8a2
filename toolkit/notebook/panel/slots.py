"""Places on the panel with controls that come and go, and dropdowns in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import ipywidgets


class Slot(ipywidgets.VBox):  # type: ignore[misc]
    """A place on the panel with controls that come and go, words below them, and further controls below the words.

    Controls that stay keep their views in the page, and with them the keyboard focus.
    """

    def __init__(self, *controls: ipywidgets.Widget, layout: ipywidgets.Layout) -> None:
        self._controls = controls
        self._below: tuple[ipywidgets.Widget, ...] = ()
        self._words: ipywidgets.HTML | None = None  # made when there is something to say
        super().__init__(children=controls, layout=layout)

    def show(self, *controls: ipywidgets.Widget, below: tuple[ipywidgets.Widget, ...] = ()) -> None:
        """Show these controls, and those below the words, in place of the present ones."""
        self._controls = controls
        self._below = below
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
        self.children = (*self._controls, *words, *self._below)


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
