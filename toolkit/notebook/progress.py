"""`progress`: goes through items and shows how far it is."""
# MERGE: How far work is, in words: pure functions of counts and seconds.
# MERGE: Where progress is shown: in a notebook's output, at a terminal, or nowhere. No widget: what is saved with a notebook is a line of text, which reads the same everywhere.

from __future__ import annotations

import operator
import sys
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, SupportsIndex, TypeVar

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import as_html, printable
from toolkit.core.ledger import TRAFFIC, Traffic
from toolkit.local.settings import is_offline

if TYPE_CHECKING:
    from rich.live import Live


_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class HowFar:
    """Where work stands.

    Attributes:
        done: items that are done.
        total: items that there are, or None when nobody knows.
        elapsed: seconds since the first item was asked for.
        label: what the items are, as text; may be empty.
    """

    done: int
    total: int | None
    elapsed: float
    label: str = ""

    @property
    def left(self) -> float | None:
        """Seconds that it will take at the pace so far, or None when that cannot be told."""
        if self.total is None or not 0 < self.done <= self.total:
            return None
        return self.elapsed / self.done * (self.total - self.done)


def so_far(how_far: HowFar) -> str:
    """While it goes on: `accounts: 37 of 250 in 12 s, about 69 s left`."""
    left = how_far.left
    rest = "" if left is None else f", about {duration(left)} left"
    return f"{_labelled(how_far)}{_counted(how_far)} in {duration(how_far.elapsed)}{rest}"


def ended(how_far: HowFar) -> str:
    """When everything is done: `accounts: 250 in 80 s`."""
    return f"{_labelled(how_far)}{how_far.done:,} in {duration(how_far.elapsed)}"


def stopped(how_far: HowFar) -> str:
    """When it ended early, for whatever reason: `accounts: stopped after 37 of 250, 12 s`."""
    return f"{_labelled(how_far)}stopped after {_counted(how_far)}, {duration(how_far.elapsed)}"


def duration(seconds: float) -> str:
    """A duration to two figures or so: `0.4 s`, `37 s`, `12 min`, `3.5 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 2 * _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def _counted(how_far: HowFar) -> str:
    is_of_all = how_far.total is not None and how_far.done <= how_far.total
    return f"{how_far.done:,} of {how_far.total:,}" if is_of_all else f"{how_far.done:,}"


def _labelled(how_far: HowFar) -> str:
    return f"{how_far.label}: " if how_far.label else ""


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
        from IPython.display import display  # for notebooks only

        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(bundle, raw=True)


class Terminal:
    """A line of standard error, which lines that are printed meanwhile move down."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def show(self, how_far: HowFar) -> None:
        from rich.live import Live  # the same
        from rich.text import Text  # the same

        line = Text(printable(so_far(how_far)), overflow="ellipsis", no_wrap=True)
        if self._live is None:
            # What is printed goes above the line, through its stream; into a file it goes as ever.
            is_seen = sys.stdout is not None and sys.stdout.isatty()
            self._live = Live(line, console=_console(), auto_refresh=False, redirect_stdout=is_seen)
            self._live.start(refresh=True)
        else:
            self._live.update(line, refresh=True)

    def end(self, words: str) -> None:
        from rich.text import Text  # the same

        if self._live is not None:
            self._live.update(Text(printable(words)), refresh=True)
            self._live.stop()


@cache
def _console() -> Any:
    """One for all: lines of loops within loops stand below each other."""
    from rich.console import Console  # slow to load

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


Item = TypeVar("Item")
_SHORT: Final = 0.5  # seconds; work that takes less is not long
_PACE: Final = 0.2  # seconds between two showings
_NOWHERE: Final = Nowhere()


class Progress(Generic[Item]):
    """Items that show how far whoever goes through them is; for `for` and `async for`, again and again.

    Args:
        items: what to go through.
        total: how many there are, or None.
        label: what they are, as text.
        place: gives where it is shown; None for nowhere.
        seconds: a monotonic clock.
        traffic: counts of calls that went out and that were replayed.
    """

    def __init__(
        self,
        items: Iterable[Item] | AsyncIterable[Item],
        *,
        total: int | None = None,
        label: str = "",
        place: Callable[[], Place | None] = here,
        seconds: Callable[[], float] = time.monotonic,
        traffic: Traffic = TRAFFIC,
    ) -> None:
        self._items: Any = items
        self._total = total
        self._label = label
        self._place = place
        self._seconds = seconds
        self._traffic = traffic

    def __iter__(self) -> Iterator[Item]:
        # A loop that ends early, by an error, an interrupt or `break`, drops this generator, which ends the showing.
        with self._shown() as step:
            for item in self._items:
                yield item
                step()

    async def __aiter__(self) -> AsyncIterator[Item]:
        with self._shown() as step:
            async for item in self._items:
                yield item
                step()

    @contextmanager
    def _shown(self) -> Iterator[Callable[[], None]]:
        began = last = self._seconds()
        sent, played = self._traffic.sent, self._traffic.played
        done = 0
        place: Place | None = None

        def how_far() -> HowFar:
            return HowFar(done, self._total, self._seconds() - began, self._label)

        def step() -> None:
            nonlocal done, last, place
            done += 1
            now = self._seconds()
            is_replay = self._traffic.sent == sent and self._traffic.played > played
            if now - began < _SHORT or now - last < _PACE or is_replay or is_offline():
                return
            last = now
            place = place or self._place()
            if place is not None:
                try:
                    place.show(how_far())
                except Exception:  # noqa: BLE001 - a terminal that is gone is no reason to end the work
                    place = _NOWHERE

        words = stopped
        try:
            yield step
            words = ended
        finally:
            if place is not None:
                with suppress(Exception):
                    place.end(words(how_far()))


def progress(
    items: Iterable[Item] | AsyncIterable[Item], *, total: SupportsIndex | None = None, label: str = ""
) -> Progress[Item]:
    """Go through items and show how far it is: how many are done, and how long the rest will take.

    >>> for number in tk.progress(numbers, label="accounts"):
    ...     session.broker.get(f"/v1/accounts/{number}")

    It appears once half a second has passed, and leaves one line of text behind, also when the loop is
    stopped or fails. It is silent while every call of the loop is replayed, and with TOOLKIT_OFFLINE, so
    that a replayed notebook stays the same; and where nobody looks, such as in a log.

    Args:
        items: anything that `for` or, in an async cell, `async for` goes through.
        total: how many items there are, where they do not know it themselves, as with `frame.itertuples()`,
            `executor.map(...)` and `asyncio.as_completed(tasks)`.
        label: what they are.

    Raises:
        ConfigurationError: there is nothing to go through, or the total is no count.
    """
    if not hasattr(items, "__iter__") and not hasattr(items, "__aiter__") and not hasattr(items, "__getitem__"):
        raise ConfigurationError(
            f"Progress is through items, and {type(items).__name__} has none.",
            "Give a list or anything else that a for loop takes; to count to a number, give range(number).",
        )
    count = None if total is None else _count(total)
    if hasattr(items, "itertuples"):
        raise ConfigurationError(
            "A for loop goes through the columns of a table, not through its rows.",
            "For its rows, give frame.itertuples() and total=len(frame).",
        )
    return Progress(items, total=_length(items) if count is None else count, label=str(label))


def _count(total: SupportsIndex) -> int:
    """The total as an int, be it one of Python or of NumPy."""
    with suppress(TypeError):
        count = operator.index(total)
        if count >= 0 and not isinstance(total, bool):
            return count
    raise ConfigurationError(
        "The total of a progress is a count of items, such as total=len(frame).",
        "Leave it out if you do not know it.",
    )


def _length(items: Any) -> int | None:
    try:
        length = operator.length_hint(items, -1)
    except OverflowError:  # more than Python counts, such as range(2**70)
        return None
    return length if length >= 0 else None
