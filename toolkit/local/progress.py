"""Show the progress of a loop as a rich progress bar in a terminal, or as the text of that bar in a notebook cell."""

from __future__ import annotations

import operator
import sys
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, Generic, SupportsIndex, TypeVar

from toolkit.core.errors import as_count, wrong_type
from toolkit.core.ledger import TRAFFIC
from toolkit.core.text import printable
from toolkit.core.tracebacks import shell
from toolkit.local.settings import is_offline

Item = TypeVar("Item")
_INTERVAL: Final = 0.5  # seconds between two updates; a loop that takes less shows nothing
_WIDTH: Final = 88  # characters of the line in a notebook


def progress(
    items: Iterable[Item] | AsyncIterable[Item], *, total: SupportsIndex | None = None, label: str = ""
) -> Loop[Item]:
    """Iterate over items and show how many are done, and how long the remaining ones will take.

    >>> for number in tk.progress(numbers, label="accounts"):
    ...     session.broker.get(f"/v1/accounts/{number}")

    A rich progress bar appears after half a second, and its last line stays, even if the loop is stopped or fails.
    Nothing is shown while all calls in the loop are replayed or if TOOLKIT_OFFLINE is set, so that a replayed notebook
    stays the same. The bar is also hidden where nobody would see it, such as in a log.

    Args:
        items: anything that `for` or, in an async cell, `async for` can iterate over.
        total: number of items, for `items` without a length, such as `frame.itertuples()`, `executor.map(...)` and
            `asyncio.as_completed(tasks)`.
        label: a name for the items, shown before the bar.

    Raises:
        ConfigurationError: if `items` cannot be iterated over, or `total` is not a count.
    """
    if not isinstance(items, Iterable | AsyncIterable):
        raise wrong_type("items", "something to loop over", items, "To loop a number of times, pass range(number).")
    count = operator.length_hint(items, -1) if total is None else as_count(total, about="total")
    return Loop(items, count if count >= 0 else None, str(label))


class Loop(Generic[Item]):
    """An iterable that shows the progress of each `for` or `async for` loop over it."""

    def __init__(self, items: Iterable[Item] | AsyncIterable[Item], total: int | None, label: str) -> None:
        self._items: Any = items
        self._total = total
        self._label = label

    def __iter__(self) -> Iterator[Item]:
        # A loop that ends early, by an error, an interrupt or `break`, drops this generator, which ends the bar.
        with progress_bar(self._label, self._total) as show:
            for done, item in enumerate(self._items, start=1):
                yield item
                show(done)

    async def __aiter__(self) -> AsyncIterator[Item]:
        done = 0
        with progress_bar(self._label, self._total) as show:
            async for item in self._items:
                yield item
                done += 1
                show(done)


@contextmanager
def progress_bar(
    label: str, total: int | None, *, seconds: Callable[[], float] = time.monotonic, traffic: SimpleNamespace = TRAFFIC
) -> Iterator[Callable[..., None]]:
    """Provide the function `show(done, note="")`, which updates the bar at most twice a second."""
    started = shown_at = seconds()
    sent, played = traffic.sent, traffic.played
    bar: Bar | None = None
    latest = (0, "")

    def show(done: int, note: str = "") -> None:
        nonlocal shown_at, bar, latest
        latest, now = (done, printable(note)), seconds()
        is_replay = traffic.sent == sent and traffic.played > played
        if now - shown_at >= _INTERVAL and not is_replay and not is_offline():
            shown_at = now
            bar = bar or Bar(printable(label), total, started, seconds)
            bar.show(*latest)

    try:
        yield show
    finally:
        if bar is not None:
            bar.show(*latest)
            bar.end()


class Bar:
    """A rich progress bar in a terminal, or its text as output of the running cell, without a widget."""

    def __init__(self, label: str, total: int | None, started: float, seconds: Callable[[], float]) -> None:
        from rich import progress
        from rich.console import Console

        self._is_in_cell = getattr(shell(), "kernel", None) is not None
        self._output: Any = None
        options: dict[str, Any] = {"width": _WIDTH, "force_terminal": False} if self._is_in_cell else {}
        self._console = Console(stderr=True, force_jupyter=False, **options)
        self._progress = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[note]}", markup=False),
            console=self._console,
            auto_refresh=False,
            redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),  # output to a file is not redirected
            get_time=seconds,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task(label, total=total, note="")
        self._progress.tasks[0].start_time = started
        self._progress.start()

    def show(self, done: int, note: str) -> None:
        """Show how many items are done, and a note."""
        self._progress.update(self._task, completed=done, note=note, refresh=True)
        if self._is_in_cell:
            from IPython.display import display

            with self._console.capture() as text:
                self._console.print(self._progress)
            bundle = {"text/plain": text.get().rstrip()}
            if self._output is None:
                self._output = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            else:
                self._output.update(bundle, raw=True)

    def end(self) -> None:
        """Stop the bar, and leave its last line on the screen."""
        self._progress.stop()
