"""The line that `progress` shows: its words, and where it appears, in a notebook's output or at a terminal.

No widget is used: a saved notebook holds one line of text, which reads the same everywhere.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolkit.core.text import as_html, printable
from toolkit.core.tracebacks import shell

if TYPE_CHECKING:
    from rich.live import Live

_MINUTE: Final = 60.0  # seconds
_HOUR: Final = 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """The progress of a loop.

    Attributes:
        done: number of items that are done.
        total: number of all items, or None if unknown.
        elapsed: seconds since the loop began.
        label: what the items are; may be empty.
    """

    done: int
    total: int | None
    elapsed: float
    label: str = ""

    @property
    def remaining(self) -> float | None:
        """Seconds left at the pace so far, or None if that is unknown."""
        if self.total is None or not 0 < self.done <= self.total:
            return None
        return self.elapsed / self.done * (self.total - self.done)

    def running_text(self) -> str:
        """Return the line shown while the loop runs: `accounts: 37 of 250 in 12 s, about 69 s left`."""
        rest = "" if self.remaining is None else f", about {duration_text(self.remaining)} left"
        return f"{self._prefix}{self._counts} in {duration_text(self.elapsed)}{self._rate}{rest}{self._failures}"

    def finished_text(self) -> str:
        """Return the line that stays after the last item: `accounts: 250 in 80 s`."""
        return f"{self._prefix}{self.done:,} in {duration_text(self.elapsed)}{self._rate}{self._failures}"

    def stopped_text(self) -> str:
        """Return the line that stays after an early end: `accounts: stopped after 37 of 250, 12 s`."""
        return f"{self._prefix}stopped after {self._counts}, {duration_text(self.elapsed)}{self._failures}"

    @property
    def _rate(self) -> str:
        """The rate in words, from a subclass that shows it."""
        return ""

    @property
    def _failures(self) -> str:
        """The number of failures in words, from a subclass that counts them."""
        return ""

    @property
    def _prefix(self) -> str:
        return f"{self.label}: " if self.label else ""

    @property
    def _counts(self) -> str:
        has_total = self.total is not None and self.done <= self.total
        return f"{self.done:,} of {self.total:,}" if has_total else f"{self.done:,}"


def duration_text(seconds: float) -> str:
    """Return a duration with two significant figures or so: `0.4 s`, `37 s`, `12 min`, `3.5 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


class Line(Protocol):
    """A line of output that can change."""

    def show(self, status: LoopStatus) -> None:
        """Show the progress of the loop."""

    def end(self, text: str) -> None:
        """Replace the line with its final text."""


class _NotebookLine:
    """An output of the running cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, status: LoopStatus) -> None:
        text = printable(status.running_text())
        self._put({"text/plain": text, "text/html": f"{_bar_html(status)} {as_html(text)}"})

    def end(self, text: str) -> None:
        self._put({"text/plain": printable(text)})

    def _put(self, bundle: dict[str, str]) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)


class _TerminalLine:
    """The last line of standard error, with printed text above it."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def show(self, status: LoopStatus) -> None:
        from rich.live import Live
        from rich.text import Text

        line = Text(printable(status.running_text()), overflow="ellipsis", no_wrap=True)
        if self._live is None:
            # Redirecting lets rich keep printed text above the line; stdout in a file is left alone.
            is_seen = sys.stdout is not None and sys.stdout.isatty()
            self._live = Live(line, console=_console(), auto_refresh=False, redirect_stdout=is_seen)
            self._live.start(refresh=True)
        else:
            self._live.update(line, refresh=True)

    def end(self, text: str) -> None:
        from rich.text import Text

        if self._live is not None:
            self._live.update(Text(printable(text)), refresh=True)
            self._live.stop()


@cache
def _console() -> Any:
    """Return the console of all loops, so that the lines of nested loops appear below each other."""
    from rich.console import Console

    return Console(stderr=True)


def line_here() -> Line | None:
    """Return a line in the running cell or at the terminal, or None where nobody would see it, such as in a CI log."""
    if getattr(shell(), "kernel", None) is not None:
        return _NotebookLine()
    return _TerminalLine() if sys.stderr is not None and sys.stderr.isatty() else None


def _bar_html(status: LoopStatus) -> str:
    # HTML's own element: it has a role, follows the theme, and disappears in front ends that do not know it.
    if status.remaining is None:
        return ""
    name = as_html(status.label or "Progress")
    style = "width:16em;vertical-align:middle;accent-color:var(--jp-brand-color1, auto)"
    return f'<progress aria-label="{name}" value="{status.done}" max="{status.total}" style="{style}"></progress>'
