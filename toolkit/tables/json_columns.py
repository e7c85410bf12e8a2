"""A column of JSON text in a table, such as the positions of accounts, as the records that it came from."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.column_names import is_key
from toolkit.tables.json_body import SHOWN, Body

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_table(data: Any) -> bool:
    """Check whether data is a pandas table."""
    return isinstance(data, pd.DataFrame)


def records_of(table: pd.DataFrame, path: str, *, numbers_as_text: bool) -> list[dict[str, Any]]:
    """Return a record for each row of a table: the columns that identify it, and the parsed column of a path.

    Args:
        path: name of a column of JSON text, and below it the dotted path of a list in the JSON.

    Raises:
        TabulationError: if the table does not have the column, or if a cell does not hold a JSON list or object.
    """
    column = _column_at(table, path)
    if column is None:
        there = ", ".join(repr(excerpt(name, 40)) for name in _json_columns(table))
        raise TabulationError(
            f"The table has no column of JSON at {excerpt(path)!r}.",
            f"Columns of JSON: {there}." if there else "Pass the response of the service, or its JSON.",
            about="records",
        )
    values = [
        _parsed(cell, column, row, numbers_as_text=numbers_as_text) for row, cell in enumerate(table[column].tolist())
    ]
    # A key with dots is that of an object inside the record, unless a list has the same key.
    names = [name for name in table.columns if isinstance(name, str) and name != column and is_key(name)]
    names = [name for name in names if "." not in name or name.rpartition(".")[2] in names]
    keys = [[_plain(cell) for cell in table[name].tolist()] for name in names]
    return [dict(zip(names, cells, strict=True)) | {column: value} for *cells, value in zip(*keys, values, strict=True)]


def _column_at(table: pd.DataFrame, path: str) -> str | None:
    """Return the column that a path leads to or through: the one with the longest name."""
    parts = path.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in names if name in table.columns), None)


def _json_columns(table: pd.DataFrame) -> Iterator[str]:
    """Yield the columns that hold lists or objects as JSON text."""
    for name in table.columns:
        cell = next((cell for cell in table[name].tolist() if isinstance(cell, (str, list, dict)) and cell), None)
        if isinstance(name, str) and (isinstance(cell, (list, dict)) or (cell is not None and cell[0] in "[{")):
            yield name


def _parsed(cell: Any, column: str, row: int, *, numbers_as_text: bool) -> Any:
    if isinstance(cell, (list, dict)):
        return cell
    if isinstance(cell, str):
        try:
            value = Body(cell.encode("utf-8", "surrogatepass")).parse(numbers_as_text=numbers_as_text)
        except TabulationError:
            value = cell
        if value is None or isinstance(value, (list, dict)):
            return value
    elif pd.isna(cell):
        return None
    raise TabulationError(
        f"Column {excerpt(column, SHOWN)!r}, row {row}: expected a JSON list or object, found another value.",
        "records= opens a column of JSON text.",
        about="records",
    )


def _plain(cell: Any) -> Any:
    """Return the cell of an identifier as a JSON value."""
    if isinstance(cell, (str, bool, int, float, Decimal)) and cell == cell:  # noqa: PLR0124 - not NaN
        return cell
    return None if pd.isna(cell) else str(cell)
