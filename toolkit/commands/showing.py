"""Tables of the commands: folded rather than cut, so that nothing that matters is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from toolkit import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from toolkit.commands.trial import Trial


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
        meaning = f"[{colours[each.works]}]{terminal.escape(each.meaning)}[/]"
        rows.add_row(each.interface, each.call, str(each.status or ""), elapsed, meaning)
    console.print(rows, highlight=False)
    for step in dict.fromkeys(each.next_step for each in trials if each.next_step):
        console.print(terminal.escape(step), highlight=False)
