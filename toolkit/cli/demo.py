"""`toolkit demo`: replay the bundled recording as tables."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.cassette import Cassette
from toolkit.cli import bundled, terminal
from toolkit.core.errors import how_to_install
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
    extra = "" if find_spec("jupyterlab") else f". {how_to_install('lab')}"
    terminal.print_next_steps(
        console,
        [
            ("toolkit lab", f"open the same in a notebook, with a panel{extra}"),
            ("toolkit practice", "start a local service to call live, with throwaway credentials"),
            ("toolkit record mine --practice", "make a recording of your own"),
        ],
    )
