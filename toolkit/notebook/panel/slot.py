"""A place on the panel with controls that come and go, and words below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets


class Slot(ipywidgets.VBox):  # type: ignore[misc]
    """Shows some controls, and words below them when there are any.

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


def set_options(dropdown: Any, options: Sequence[tuple[str, Any]], value: Any, observer: Callable[[Any], None]) -> None:
    """Give a dropdown other options and choose one, without telling its observer about the steps between."""
    if tuple(dropdown.options) == tuple(options) and dropdown.value == value:
        return
    dropdown.unobserve(observer, "value")
    with dropdown.hold_sync():
        dropdown.options = tuple(options)
        dropdown.value = value
    dropdown.observe(observer, "value")
