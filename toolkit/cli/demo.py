"""`toolkit demo`: replay the bundled recording as tables."""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.cassette import Cassette
from toolkit.cli import bundled, terminal
from toolkit.core.installation import Installation
from toolkit.session.session import Session

EPILOG: Final = terminal.examples("toolkit demo", "toolkit demo --rows 20")


def demo(
    rows: Annotated[int, typer.Option(min=1, help="Rows to print of a long table.")] = 5,
) -> None:
    """Replay the bundled recording: calls, accounts and token lifetimes. Nothing is sent."""
    console = Console()
    cassette = Cassette(bundled.bundled_folder("cassettes") / f"{bundled.TOUR_CASSETTE}.yaml", mode="none")
    with Session(cassette=cassette) as session:
        terminal.print_opening(console, session)
        console.print("No network, no credentials and no configuration were used.")
        for title, table in bundled.take_tour(session):
            terminal.print_frame(console, title, table, rows=rows, first=terminal.ACCOUNT_COLUMNS)
        terminal.print_calls(console, session)
    toolkit = _command_name()
    extra = "" if find_spec("jupyterlab") else f"; first: {Installation().command('lab')}"
    terminal.print_next_steps(
        console,
        [
            (f"{toolkit} lab", f"open the same in a notebook, with a panel{extra}"),
            (f"{toolkit} practice", "start a local service to call live, with throwaway credentials"),
            (f"{toolkit} record mine --practice", "make a recording of your own"),
        ],
    )


def _command_name() -> str:
    """Return what to type for this command: its name if a shell finds it, else its path."""
    program = Path(sys.argv[0])
    if shutil.which("toolkit") or program.stem != "toolkit":
        return "toolkit"
    try:
        return os.path.relpath(program)
    except ValueError:  # on another drive of Windows
        return str(program)
