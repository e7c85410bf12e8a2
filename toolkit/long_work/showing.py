"""Where progress is shown: in a notebook's output, at a terminal, or nowhere.

No widget: what is saved with a notebook is a line of text, which reads the same everywhere.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from toolkit.escaping import as_html, printable
from toolkit.long_work.words import HowFar, so_far

if TYPE_CHECKING:
    from rich.live import Live


class Place(Protocol):
    """Shows how far work is, in one place that changes."""

    def show(self, how_far: HowFar) -> None:
        """Show how far it is now."""

    def end(self, words: str) -> None:
        """Leave these words behind."""


class Nowhere:
    """Shows nothing."""

    def show(self, how_far: HowFar) -> None:
        pass

    def end(self, words: str) -> None:
        pass


class Notebook:
    """An output of the running cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, how_far: HowFar) -> None:
        text = printable(so_far(how_far))
        self._put({"text/plain": text, "text/html": f"{_bar_html(how_far)} {as_html(text)}"})

    def end(self, words: str) -> None:
        self._put({"text/plain": printable(words)})

    def _put(self, bundle: dict[str, str]) -> None:
        from IPython.display import display  # noqa: PLC0415 - for notebooks only

        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)


class Terminal:
    """A line of standard error, which lines that are printed meanwhile move down."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def show(self, how_far: HowFar) -> None:
        from rich.live import Live  # noqa: PLC0415 - the same
        from rich.text import Text  # noqa: PLC0415 - the same

        line = Text(printable(so_far(how_far)), overflow="ellipsis", no_wrap=True)
        if self._live is None:
            # What is printed goes above the line, through its stream; into a file it goes as ever.
            is_seen = sys.stdout is not None and sys.stdout.isatty()
            self._live = Live(line, console=_console(), auto_refresh=False, redirect_stdout=is_seen)
            self._live.start(refresh=True)
        else:
            self._live.update(line, refresh=True)

    def end(self, words: str) -> None:
        from rich.text import Text  # noqa: PLC0415 - the same

        if self._live is not None:
            self._live.update(Text(printable(words)), refresh=True)
            self._live.stop()


@cache
def _console() -> Any:
    """One for all: lines of loops within loops stand below each other."""
    from rich.console import Console  # noqa: PLC0415 - slow to load

    return Console(stderr=True)


def here() -> Place | None:
    """Where progress is shown here; None where nobody would see it, such as in a log of CI."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is not None:
        return Notebook()
    return Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


def _bar_html(how_far: HowFar) -> str:
    # The element of HTML itself: it has a role, follows the theme, and is left out where it is not known.
    if how_far.left is None:
        return ""
    name = as_html(how_far.label or "Progress")
    style = "width:16em;vertical-align:middle;accent-color:var(--jp-brand-color1, auto)"
    return f'<progress aria-label="{name}" value="{how_far.done}" max="{how_far.total}" style="{style}"></progress>'
