"""Tables of the commands: folded rather than cut, so that nothing that matters is missing."""
# MERGE: Tables and messages on a terminal, through rich; foreign text is made safe first.

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

from toolkit.core.escaping import excerpt, printable
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from toolkit.cli.commands.probe import Trial


_CELL: Final = 40  # characters
_MISSING: Final = frozenset({"None", "nan", "NaT", "<NA>"})


def escape(text: str) -> str:
    """Text that rich shows as it is, without control characters and without markup of its own."""
    return escape_markup(printable(text))


def print_opening(console: Console, session: Session) -> None:
    """What is shown, and whether it is live or of when."""
    rules = session.environment.rules
    console.print(
        f"[bold]{session.environment}[/]: a {rules.holder}{' - a real account' if rules.real_account else ''}"
    )
    console.print(f"[green]{escape(session.describe())}[/]", highlight=False)


def print_table(
    console: Console, title: str, frame: pd.DataFrame, *, rows: int, first: Iterable[str] = (), only: Iterable[str] = ()
) -> None:
    """The first rows of a table and as many columns as fit the terminal; says what is left out.

    Args:
        first: columns that people look for, shown before the others; those that are missing are passed over.
        only: columns to show instead of all.
    """
    console.print()
    console.print(f"[bold]{escape(title)}[/]", highlight=False)
    if frame.index.name:
        frame = frame.reset_index()
    if only := list(only):
        frame = frame[only]
    leading = [name for name in first if name in frame]
    frame = frame[[*leading, *(name for name in frame if name not in leading)]]
    shown = frame.head(rows)
    columns: list[tuple[str, bool, list[str]]] = []
    width = 0
    for name in frame.columns:
        cells = [_cell(value) for value in shown[name]]
        wide = max(map(len, (str(name), *cells)), default=0) + 2
        if columns and width + wide > console.width:
            break
        width += wide
        columns.append((str(name), frame[name].dtype.kind in "iuf", cells))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True)
    for name, numeric, _ in columns:
        table.add_column(escape(name), justify="right" if numeric else "left", no_wrap=True)
    for row in zip(*(cells for _, _, cells in columns), strict=True):
        table.add_row(*map(escape, row))
    console.print(table, highlight=False)
    left_out = [
        f"{count} more {noun}{'' if count == 1 else 's'}"
        for count, noun in ((len(frame) - len(shown), "row"), (len(frame.columns) - len(columns), "column"))
        if count > 0
    ]
    if left_out:
        console.print(f"[dim]… {' and '.join(left_out)}[/]", highlight=False)


def print_next_steps(console: Console, steps: Iterable[tuple[str, str]]) -> None:
    """What to do next: commands and what each does."""
    console.print()
    console.print("[bold]Next[/]")
    steps = list(steps)
    width = max(len(command) for command, _ in steps)
    for command, what in steps:
        console.print(f"  [cyan]{escape(command.ljust(width))}[/]  {escape(what)}", highlight=False, soft_wrap=True)


def _cell(value: Any) -> str:
    if str(value) in _MISSING:
        return ""
    if isinstance(value, datetime):
        return f"{value.day} {value:%b %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 1 else f"{value:,.2f}"
    return excerpt(str(value), _CELL)


def examples(*lines: str) -> str:
    """Examples below a command's help, one paragraph each, as the help's markup wants them."""
    return "\n\n".join(("Examples:", *(f"`{line}`" for line in lines)))


def table(*columns: str) -> Table:
    """An empty table; what goes into it is escaped by whoever adds it."""
    empty = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False, collapse_padding=True)
    for column in columns:
        empty.add_column(column, overflow="fold")
    return empty


def print_trials(console: Console, trials: list[Trial]) -> None:
    """What became of each call, and below what to do where something went wrong."""
    rows = table("interface", "call", "status", "elapsed", "meaning")
    colours = {True: "green", False: "red", None: "yellow"}
    for each in trials:
        elapsed = "" if each.elapsed is None else f"{each.elapsed:.3f} s"
        meaning = f"[{colours[each.works]}]{escape(each.meaning)}[/]"
        rows.add_row(each.interface, each.call, str(each.status or ""), elapsed, meaning)
    console.print(rows, highlight=False)
    for step in dict.fromkeys(each.next_step for each in trials if each.next_step):
        console.print(escape(step), highlight=False)
