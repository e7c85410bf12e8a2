"""The arguments that all charts share: a session or its tables, their columns, and the line that names the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

from toolkit.core.arguments import wrong_type
from toolkit.core.errors import ConfigurationError, TabulationError
from toolkit.core.text import excerpt

if TYPE_CHECKING:
    import pandas as pd

_SOURCE_UNKNOWN: Final = "source not known: drawn from a table"


@runtime_checkable
class HasTables(Protocol):
    """An object with tables of calls and tokens, such as a session."""

    def calls(self) -> pd.DataFrame: ...

    def tokens(self) -> pd.DataFrame: ...


Source: TypeAlias = HasTables | str | None


def source_of(source: Source, *tables: pd.DataFrame) -> str:
    """Return the source line of a chart: the text, or else what a session wrote to `attrs["source"]` of its tables."""
    if isinstance(source, HasTables):
        return source_of(None, source.calls())
    if source is not None and not isinstance(source, str):
        raise wrong_type("source", "a session or a text", source, "Leave it out for what the table says.")
    notes = (str(table.attrs["source"]) for table in tables if "source" in table.attrs)
    return excerpt(source or next(notes, _SOURCE_UNKNOWN), 120)


def tables_for(function: str, session: HasTables | None, **tables: pd.DataFrame | None) -> list[pd.DataFrame]:
    """Return the tables; each one that is None comes from the session.

    Raises:
        TabulationError: if `session` is something else.
        ConfigurationError: if there is neither a session nor every table.
    """
    if session is not None and not isinstance(session, HasTables):
        raise TabulationError(
            f"{function} takes a session, not {type(session).__name__}.",
            "Pass tables by name, such as calls=session.calls().",
            about="session",
        )
    if session is None and any(table is None for table in tables.values()):
        by_name = " and ".join(f"{name}=session.{name}()" for name in tables)
        raise ConfigurationError(f"{function} needs a session.", f"Pass one, or {by_name}.", about="session")
    return [getattr(session, name)() if table is None else table for name, table in tables.items()]


def check_columns(table: pd.DataFrame, *columns: str, about: str) -> None:
    """Raise TabulationError unless this is a table with these columns."""
    if not hasattr(table, "columns"):
        raise TabulationError(
            f"A chart is drawn from a table, not from {type(table).__name__}.",
            "Use session.accounts(), session.calls() or session.tokens().",
            about=about,
        )
    for column in columns:
        if not isinstance(column, str):
            raise wrong_type(about, "the name of a column", column, f"Columns: {list_columns(table)}.")
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise TabulationError(
            f"The table has no column {', '.join(missing)}.", f"Its columns: {list_columns(table)}.", about=about
        )


def list_columns(table: pd.DataFrame) -> str:
    """Return the names of the columns as text for an error."""
    return ", ".join(excerpt(str(column), 40) for column in table.columns) or "none"
