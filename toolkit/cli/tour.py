"""The tour: a handful of calls, which give the same results live, recorded and replayed.

`toolkit demo` replays it, the first notebook explains it, and `cassettes/record.py` records it against the practice
service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

CASSETTE: Final = "tour"
NOTEBOOK: Final = "01-tour.ipynb"
QUOTES_PATH: Final = "/v2/practice/quotes"  # a path of the practice service; the document shows no market data path
SYMBOLS: Final = "ALFA,BRVO,CHRL"


class Step(NamedTuple):
    """One step of the tour.

    Attributes:
        title: a heading for its table.
        run: makes the call and returns its table.
    """

    title: str
    run: Callable[[Session], pd.DataFrame]


def _quotes(session: Session) -> pd.DataFrame:
    from toolkit.tables.tabulation import tabulate

    return tabulate(session.market_data.get(QUOTES_PATH, params={"symbols": SYMBOLS}), records="quotes")


ACCOUNTS: Final = Step("Accounts", lambda session: session.accounts())
QUOTES: Final = Step("Quotes, with the same token", _quotes)
LATER: Final = Step(
    "Open accounts, 20 minutes later: with a new token", lambda session: session.accounts(status="open")
)
STEPS: Final = (ACCOUNTS, QUOTES, LATER)


def take(session: Session, *, before_later: Callable[[], None] = lambda: None) -> Iterator[tuple[Step, pd.DataFrame]]:
    """Make the calls of the tour and yield each step with its table; `before_later` runs before the last step."""
    for step in STEPS:
        if step is LATER:
            before_later()
        yield step, step.run(session)
