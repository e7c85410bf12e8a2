"""The tour: the main job as a handful of calls, the same live, recorded and replayed.

`toolkit demo` replays it, the first notebook walks through it, and `cassettes/record.py` records it
against the practice service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.session.session import Session

if TYPE_CHECKING:
    import pandas as pd

CASSETTE: Final = "tour"
NOTEBOOK: Final = "01-tour.ipynb"
QUOTES_PATH: Final = "/v2/practice/quotes"  # of the practice service's own making
QUOTED: Final = "ALFA,BRVO,CHRL"


class Step(NamedTuple):
    """One step of the tour.

    Attributes:
        title: what it shows, as a heading.
        run: makes the call; the table it gives.
    """

    title: str
    run: Callable[[Session], pd.DataFrame]


def _quotes(session: Session) -> pd.DataFrame:
    from toolkit.tables.tabulation import tabulate  # keeps pandas out of `import toolkit`

    return tabulate(session.market_data.get(QUOTES_PATH, params={"symbols": QUOTED}), records="quotes")


ACCOUNTS: Final = Step("Accounts", lambda session: session.accounts())
QUOTES: Final = Step("Quotes, with the same token", _quotes)
LATER: Final = Step(
    "Open accounts, 20 minutes later: with a new token", lambda session: session.accounts(status="open")
)
STEPS: Final = (ACCOUNTS, QUOTES, LATER)


def take(session: Session, *, before_later: Callable[[], None] = lambda: None) -> Iterator[tuple[Step, pd.DataFrame]]:
    """Make the calls of the tour one by one; `before_later` runs before the last of them."""
    for step in STEPS:
        if step is LATER:
            before_later()
        yield step, step.run(session)
