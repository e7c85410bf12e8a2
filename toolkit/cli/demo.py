"""`toolkit demo`: the tour, replayed from the bundled recording.

The tour is a handful of calls: the command replays them, the first notebook explains them, and `cassettes/record.py`
records them against the practice service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolkit.cassettes.cassette import Cassette
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES: Final = terminal.examples("toolkit demo", "toolkit demo --rows 20")
TOUR_CASSETTE: Final = "tour"
QUOTES_PATH: Final = "/v2/practice/quotes"  # a path of the practice service; the document shows no market data path
_PACKAGE: Final = Path(__file__).resolve().parents[1]


def demo(rows: Annotated[int, typer.Option(min=1, help="Number of rows to print of a long table.")] = 5) -> None:
    """Show accounts, calls and token lifetimes from a recording.

    Nothing is sent.
    """
    cassette = Cassette(bundled_files() / "cassettes" / f"{TOUR_CASSETTE}.yaml", mode="none")
    with Session(cassette=cassette) as session:
        terminal.say(repr(session))
        terminal.say("No network, no credentials and no configuration were used.")
        for title, table in take_tour(session):
            terminal.print_frame(title, table, rows=rows)
        terminal.print_calls(session)
    terminal.print_next_steps(
        ("toolkit lab", "open the same tour in a notebook, with a panel"),
        ("toolkit practice", "start a local service to call live, with throwaway credentials"),
        ("toolkit record mine --practice", "make a recording of your own"),
    )


def take_tour(session: Session, *, pause: Callable[[], None] = lambda: None) -> Iterator[tuple[str, pd.DataFrame]]:
    """Make the calls of the tour, and yield the title and table of each; `pause` runs before the last call."""
    from toolkit.tables.tabulation import tabulate

    yield "Accounts", session.accounts()
    quotes = session.market_data.get(QUOTES_PATH, params={"symbols": "ALFA,BRVO,CHRL"})
    yield "Quotes, with the same token", tabulate(quotes, records="quotes")
    pause()
    yield "Open accounts, requested 20 minutes later with a new token", session.accounts(status="open")


def bundled_files() -> Path:
    """Return the folder that has `notebooks` and `cassettes`: the checkout, or a folder in the installed package."""
    for folder in (_PACKAGE.parent, _PACKAGE / "_shipped"):
        if (folder / "notebooks").is_dir() and (folder / "cassettes").is_dir():
            return folder
    raise ConfigurationError("The notebooks are missing from this installation.", "Install the toolkit again.")
