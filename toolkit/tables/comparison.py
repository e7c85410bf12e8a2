"""The differences between two tables: rows matched by a key, cells compared by value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.column_names import is_key
from toolkit.tables.differences import CHANGED, ONLY_LEFT, ONLY_RIGHT, OWN_COLUMNS, CellDifference, table_of_differences
from toolkit.tables.display import is_missing

# Tried in this order before the names of other identifiers.
_USUAL_KEYS: Final = ("id", "account_id", "account_number", "number", "uuid", "account")

_LISTS: Final = (list, tuple, np.ndarray)  # lists come back from Parquet as arrays
_NESTED: Final = (*_LISTS, dict)
_BOOLEANS: Final = (bool, np.bool_)


def compare(left: pd.DataFrame, right: pd.DataFrame, *, on: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return what differs between two tables of the same kind: each cell that changed, each row on one side only.

    Rows are matched by their key. Cells are compared by value: 1, 1.0 and a decimal 1.00 are equal, and so are two
    missing values, and an instant in any unit or zone. Text never equals a number. The same holds inside lists and
    objects. A column that only one table has counts as missing values in the other. A table without rows and columns,
    as `tabulate` returns it if there are no records, counts as a table without rows.

    Two sessions, positions of accounts that may hold several, and computed numbers to the cent:

        compare(monday.accounts(), friday.accounts())
        compare(left, right, on=["id", "symbol"])
        compare(left.round(2), right.round(2))

    The cash that came in, and the rows that are new:

        changes = compare(monday.accounts(), friday.accounts())
        changes.loc[changes["column"] == "cash", "change"].sum()
        changes[changes["kind"] == "only right"]

    Args:
        left: a table, such as `session.accounts()`.
        right: another table of the same kind.
        on: the column or columns (or level of the index) that are the key. By default the first of id, account_id,
            account_number, number, uuid and account that both tables have as a column; otherwise the index, if it has
            the same name in both; otherwise the only column of both with a name that ends in a word such as id.

    Returns:
        A table with the columns of the key, followed by
            kind (str): "changed" for a cell, "only left" or "only right" for a row that is on one side only.
            column (str): name of the column that changed; missing for a row.
            left, right: value on each side, missing if there is none. All numbers of a changed column have one
                type. If all values of all of them have one type, it is the dtype of both columns, else object.
            change: right minus left for two numbers, else missing: Int64, float64, or decimals if there are any.
        The rows follow the order of `left`, then of `right`. If nothing differs, the table has no rows. How many rows
        changed and how many are equal is shown below the table, and stands in `attrs["summary"]`.

    Raises:
        TabulationError: if no column or several columns can be the key, if a value of the key is missing or
            repeated, if the key is text on one side and numbers on the other, or if both tables have rows but no
            key in common.
    """
    for side, table in (("left", left), ("right", right)):
        if not isinstance(table, pd.DataFrame):
            raise TabulationError(
                f"compare takes two tables, not {type(table).__name__}.",
                "Tables come from session.accounts(), or from tabulate(response).",
                about=side,
            )
    levels: list[Any] = list(left.index.names)
    has_usual_key = any(name in left.columns and name in right.columns for name in _USUAL_KEYS)
    if on is None and not has_usual_key and None not in levels and levels == list(right.index.names):
        on = levels
    left, right = _with_index_names(left, "left"), _with_index_names(right, "right")
    if not left.columns.size and not right.columns.size:
        return _result([], left, right, [], matched=0)
    left, right = _or_empty(left, right), _or_empty(right, left)
    key = _key(left, right, on)
    left_rows, right_rows = _rows_by_key(left, key, "left"), _rows_by_key(right, key, "right")
    _check_kinds(left, right, key)
    pairs = [(row, right_rows[name]) for name, row in left_rows.items() if name in right_rows]
    if left_rows and right_rows and not pairs:
        raise TabulationError(
            f"The tables have no {_list(key)} in common, so no row can be compared.",
            "Are they of the same accounts? Choose another key with on=, or list the rows with pandas.concat.",
            about="on",
        )
    cells = _differing_cells(left, right, key, pairs)
    differences: list[CellDifference] = []
    for name, row in left_rows.items():
        if name in right_rows:
            differences += [CellDifference(name, CHANGED, *cell) for cell in cells.get(row, ())]
        else:
            differences.append(CellDifference(name, ONLY_LEFT))
    differences += [CellDifference(name, ONLY_RIGHT) for name in right_rows if name not in left_rows]
    return _result(differences, left, right, key, matched=len(pairs))


def _with_index_names(table: pd.DataFrame, side: str) -> pd.DataFrame:
    """Return the table with the named levels of its index as columns."""
    levels = [name for name in table.index.names if name is not None and name not in table.columns]
    table = table.reset_index(level=levels) if levels else table
    if not table.columns.is_unique:
        raise TabulationError(
            f"The {side} table has several columns of the same name.", "Rename them before comparing.", about=side
        )
    return table


def _or_empty(table: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the table, or if it has neither rows nor columns, the other table without its rows."""
    return table if table.shape != (0, 0) else other.iloc[:0]


def _key(left: pd.DataFrame, right: pd.DataFrame, on: str | Sequence[str] | None) -> list[str]:
    shared = [name for name in left.columns if name in right.columns]
    if on is not None and not isinstance(on, Iterable):
        raise TabulationError(
            "on must be the name of a column, or a list of names.", f"Both tables have: {_list(shared)}.", about="on"
        )
    if on is None:
        return [_default_key(shared)]
    key = [on] if isinstance(on, str) else list(on)
    for name in key:
        if name not in shared:
            raise TabulationError(
                f"Column {excerpt(str(name))!r} is not in both tables.", f"Both have: {_list(shared)}.", about="on"
            )
        if name in OWN_COLUMNS:
            raise TabulationError(
                f"A key called {name!r} would clash with a column of the result.", "Rename it.", about="on"
            )
    if not key or len(set(key)) != len(key):
        raise TabulationError(
            "The key must name at least one column, and each column only once.",
            'For example on="account_number".',
            about="on",
        )
    return key


def _default_key(shared: Sequence[Any]) -> str:
    for name in _USUAL_KEYS:
        if name in shared:
            return name
    keys = [name for name in shared if isinstance(name, str) and is_key(name.rsplit(".", 1)[-1])]
    if len(keys) != 1:
        what = f"Several columns might be the key: {_list(keys)}." if keys else "No column looks like a key."
        raise TabulationError(what, f"Choose a key with on=; both tables have: {_list(shared)}.", about="on")
    return keys[0]


def _list(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(excerpt(str(name), 40)) for name in names[:20])
    return shown or "no column"


def _rows_by_key(table: pd.DataFrame, key: list[str], side: str) -> dict[tuple[Any, ...], int]:
    """Return the position of the row of each key."""
    keys = table[key]
    names = list(zip(*(keys[column].tolist() for column in key), strict=True))
    try:
        rows_by_key = {name: row for row, name in enumerate(names)}
    except TypeError:
        raise TabulationError(
            f"The key {_list(key)} of the {side} table holds lists or objects.",
            "Choose other columns with on=.",
            about="on",
        ) from None
    for problem, is_affected in (("missing", keys.isna().any(axis=1)), ("repeated", keys.duplicated())):
        if is_affected.any():
            row = int(np.argmax(is_affected.to_numpy()))
            raise TabulationError(
                f"The key {_list(key)} is {problem} in row {row} of the {side} table (rows count from 0).",
                "Each row needs a unique key; choose other columns with on=.",
                about="on",
            )
    return rows_by_key


def _check_kinds(left: pd.DataFrame, right: pd.DataFrame, key: list[str]) -> None:
    """Refuse keys that can never be equal, because every row would appear to be on one side only."""
    for name in key:
        if {_kind(left[name]), _kind(right[name])} == {"text", "numbers"}:
            raise TabulationError(
                f"The key {excerpt(str(name))!r} is text in one table and numbers in the other.",
                "Make it text in both tables: tabulate(..., dtypes={...: 'str'}).",
                about="on",
            )


def _kind(values: pd.Series[Any]) -> str:
    if values.empty:
        return "empty"
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred == "string":
        return "text"
    return "numbers" if inferred in ("integer", "floating", "mixed-integer-float", "decimal") else inferred


def _differing_cells(
    left: pd.DataFrame, right: pd.DataFrame, key: list[str], pairs: list[tuple[int, int]]
) -> dict[int, list[tuple[Hashable, Any, Any]]]:
    """Return the differing cells of each row as (column, left, right), by the position of the row in `left`."""
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    cells: dict[int, list[tuple[Hashable, Any, Any]]] = {}
    for column in [*left.columns, *(name for name in right.columns if name not in left.columns)]:
        if column in key:
            continue
        left_cells, right_cells = _cells(left, column, rows[:, 0]), _cells(right, column, rows[:, 1])
        for index in np.flatnonzero(_differ(left_cells, right_cells)):
            cell = (column, _plain(left_cells.iloc[index]), _plain(right_cells.iloc[index]))
            cells.setdefault(int(rows[index, 0]), []).append(cell)
    return cells


def _cells(table: pd.DataFrame, column: Hashable, rows: npt.NDArray[np.int64]) -> pd.Series[Any]:
    if column not in table.columns:
        return pd.Series([None] * len(rows), dtype=object)
    return table[column].take(rows).reset_index(drop=True)


def _differ(left: pd.Series[Any], right: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    if left.dtype != right.dtype or not _is_compared_by_pandas(left.dtype):
        return np.array([not _same(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)], dtype=bool)
    left_missing, right_missing = left.isna().to_numpy(), right.isna().to_numpy()
    unequal = (left != right).fillna(value=True).to_numpy(dtype=bool)
    result: npt.NDArray[np.bool_] = (left_missing != right_missing) | (~(left_missing | right_missing) & unequal)
    return result


def _is_compared_by_pandas(dtype: Any) -> bool:
    """Return True for numbers, texts and instants, which pandas compares as `_same` does, and all at once.

    Arrow columns are compared cell by cell: they may hold lists, and NaN besides missing values.
    """
    if isinstance(dtype, pd.ArrowDtype) or pd.api.types.is_object_dtype(dtype):
        return False
    return isinstance(dtype, np.dtype | pd.StringDtype | pd.DatetimeTZDtype) or pd.api.types.is_numeric_dtype(dtype)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, _NESTED) or isinstance(right, _NESTED):
        return _same_inside(left, right)
    if is_missing(left) or is_missing(right):
        return is_missing(left) and is_missing(right)
    if isinstance(left, _BOOLEANS) != isinstance(right, _BOOLEANS):
        return False
    if isinstance(left, float) and isinstance(right, Decimal):
        return Decimal(repr(float(left))) == right
    if isinstance(left, Decimal) and isinstance(right, float):
        return left == Decimal(repr(float(right)))
    try:
        return bool(left == right)
    except (TypeError, ValueError):
        return False


def _same_inside(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
    if isinstance(left, _LISTS) and isinstance(right, _LISTS):
        return len(left) == len(right) and all(map(_same, left, right))
    return False


def _plain(value: Any) -> Any:
    """Return a cell as a Python value, None if it is missing."""
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _result(
    differences: list[CellDifference], left: pd.DataFrame, right: pd.DataFrame, key: list[str], *, matched: int
) -> pd.DataFrame:
    dtypes = [(name, left[name].dtype if left[name].dtype == right[name].dtype else object) for name in key]
    return table_of_differences(differences, dtypes, matched)
