"""The tour: a handful of calls, which give the same results live, recorded and replayed.

`toolkit demo` replays it, the first notebook explains it, and `cassettes/record.py` records it against the practice
service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

CASSETTE: Final = "tour"
NOTEBOOK: Final = "01-tour.ipynb"
QUOTES_PATH: Final = "/v2/practice/quotes"  # a path of the practice service; the document shows no market data path


def take(session: Session, *, before_later: Callable[[], None] = lambda: None) -> Iterator[tuple[str, pd.DataFrame]]:
    """Make the calls of the tour and yield title and table of each; `before_later` runs before the last call."""
    from toolkit.tables.tabulation import tabulate

    yield "Accounts", session.accounts()
    quotes = session.market_data.get(QUOTES_PATH, params={"symbols": "ALFA,BRVO,CHRL"})
    yield "Quotes, with the same token", tabulate(quotes, records="quotes")
    before_later()
    yield "Open accounts, 20 minutes later: with a new token", session.accounts(status="open")
