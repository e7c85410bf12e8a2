"""What pictures are drawn from: a session, or tables that came from one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolkit.errors import TabulationError
from toolkit.escaping import excerpt
from toolkit.rich_display import words
from toolkit.session import AsyncSession, Session

if TYPE_CHECKING:
    import pandas as pd

ATTRIBUTE: Final = "source"
UNKNOWN: Final = "source not known: drawn from a table"
AT_MOST: Final = 8  # bars or lines, before the rest is summed up

Source = Session | AsyncSession | str | None


def source_of(given: Source, *tables: pd.DataFrame) -> str:
    """Live or replayed, and of when, in words: as given, or as a table says of itself."""
    if isinstance(given, Session | AsyncSession):
        ended = given._caller.ledger.last_ended_at()  # noqa: SLF001 - what `calls()` is made from
        return words.session_source(given.environment, given.cassette, ended)
    told = given or next((str(table.attrs[ATTRIBUTE]) for table in tables if ATTRIBUTE in table.attrs), UNKNOWN)
    return excerpt(told, 120)


def need_session(session: object, function: str) -> None:
    """Raise TabulationError unless it is a session, or none is given."""
    if session is not None and not isinstance(session, Session | AsyncSession):
        raise TabulationError(
            f"{function} takes a session, not {type(session).__name__}.",
            "Give tables by their names, such as calls=session.calls().",
        )


def need(table: pd.DataFrame, *columns: str) -> None:
    """Raise TabulationError unless it is a table with these columns."""
    if not hasattr(table, "columns"):
        raise TabulationError(
            f"A picture is drawn from a table, not from {type(table).__name__}.",
            "A session has accounts(), calls() and tokens().",
        )
    missing = [column for column in columns if column not in table.columns]
    if missing:
        has = ", ".join(excerpt(str(column), 40) for column in table.columns) or "none"
        raise TabulationError(f"The table has no column {', '.join(missing)}.", f"Its columns: {has}.")
