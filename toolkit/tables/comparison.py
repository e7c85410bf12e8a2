"""What differs between two tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.column_names import is_key, last_key

# Looked for in this order before any other name that says identifier.
_USUAL_KEYS: Final = ("id", "account_id", "account_number", "number", "uuid", "account")

# What stands in `column`, `left` and `right` for a row that is on one side only.
ROW: Final = "<row>"
ONLY_LEFT: Final = "only left"
ONLY_RIGHT: Final = "only right"
_OWN_COLUMNS: Final = ("column", "left", "right")


def compare(left: pd.DataFrame, right: pd.DataFrame, *, on: str | Sequence[str] | None = None) -> pd.DataFrame:
    """What differs between two tables of the same kind: one row for each differing cell.

    Rows belong together by their key. Cells are equal by value: 1, 1.0 and a decimal 1.00 are, text
    and a number are not, two missing values are, and an instant equals itself in any unit or zone;
    within lists and objects the same holds. A column that one table lacks counts as missing throughout.
    A table without rows and columns, as no records give, lacks every row of the other.

    Two sessions, positions of which one account may hold several, and computed numbers to the cent:

        compare(monday.accounts(), friday.accounts())
        compare(left, right, on=["id", "symbol"])
        compare(left.round(2), right.round(2))

    Args:
        left: a table, such as that of `tabulate`.
        right: another one.
        on: the column or columns (or index level) whose values are the key. By default the
            first of id, account_id, account_number, number, uuid and account that both have as a column; else
            the index, where both have the same named one; else the only column of both whose name says
            identifier.

    Returns:
        A table with the columns of the key, then
            column (str): the column that differs, or "<row>" for a row that is on one side only.
            left (object): its value on the left, None when missing; "only left" for such a row.
            right (object): its value on the right, None when missing; "only right" for such a row.
        First come the rows of `left` in their order, cell by cell in the order of the columns, then
        the rows that are only in `right`. Tables without a difference give one without rows.

    Raises:
        TabulationError: no key, several that might be it, key values that are missing or repeated, or
            text on one side and numbers on the other.
    """
    for table in (left, right):
        _check(table)
    levels: list[Any] = list(left.index.names)
    usual = any(name in left.columns and name in right.columns for name in _USUAL_KEYS)
    if on is None and not usual and None not in levels and levels == list(right.index.names):
        on = levels
    left, right = _with_index_names(left), _with_index_names(right)
    if not left.columns.size and not right.columns.size:
        return _result([], left, right, [])
    left, right = _or_empty(left, right), _or_empty(right, left)
    key = _key(left, right, on)
    left_rows, right_rows = _numbered(left, key, "left"), _numbered(right, key, "right")
    _check_kinds(left, right, key)
    pairs = [(row, right_rows[name]) for name, row in left_rows.items() if name in right_rows]
    differing = _differing_cells(left, right, key, pairs)
    found: list[tuple[Any, ...]] = []
    for name, row in left_rows.items():
        if name in right_rows:
            found += [(*name, *cell) for cell in differing.get(row, ())]
        else:
            found.append((*name, ROW, ONLY_LEFT, None))
    found += [(*name, ROW, None, ONLY_RIGHT) for name in right_rows if name not in left_rows]
    return _result(found, left, right, key)


def _check(table: Any) -> None:
    if not isinstance(table, pd.DataFrame):
        raise TabulationError(
            f"compare takes two tables, not {type(table).__name__}.",
            "A session has accounts(), and tabulate makes a table of an answer.",
        )


def _with_index_names(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its named index levels as columns, and each column name once."""
    levels = [name for name in table.index.names if name is not None and name not in table.columns]
    table = table.reset_index(level=levels) if levels else table
    if not table.columns.is_unique:
        raise TabulationError("a table has several columns of one name", "Rename them before comparing.")
    return table


def _or_empty(table: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The table; for one of no records, which has no columns either, one like the other without its rows."""
    return table if table.shape != (0, 0) else other.iloc[:0]


def _key(left: pd.DataFrame, right: pd.DataFrame, on: str | Sequence[str] | None) -> list[str]:
    shared = [name for name in left.columns if name in right.columns]
    if on is not None and not isinstance(on, Iterable):
        raise TabulationError("on is the name of a column, or a list of names.", f"Both tables have: {_list(shared)}.")
    if on is None:
        return [_default_key(shared)]
    key = [on] if isinstance(on, str) else list(on)
    for name in key:
        if name not in shared:
            raise TabulationError(
                f"not both tables have a column {excerpt(str(name))!r}", f"Both have: {_list(shared)}."
            )
        if name in _OWN_COLUMNS:
            raise TabulationError(f"a key called {name!r} would be taken for a column of the result", "Rename it.")
    if not key or len(set(key)) != len(key):
        raise TabulationError("the key needs one or more columns, each once")
    return key


def _default_key(shared: Sequence[Any]) -> str:
    for name in _USUAL_KEYS:
        if name in shared:
            return name
    keys = [name for name in shared if isinstance(name, str) and is_key(last_key(name))]
    if len(keys) != 1:
        found = (
            f"several columns might be the key: {_list(keys)}" if keys else "no column's name says that it is the key"
        )
        raise TabulationError(found, f"Choose with on=; both tables have: {_list(shared)}.")
    return keys[0]


def _list(names: Sequence[Any]) -> str:
    shown = ", ".join(repr(excerpt(str(name), 40)) for name in names[:20])
    return shown or "no column"


def _numbered(table: pd.DataFrame, key: list[str], side: str) -> dict[tuple[Any, ...], int]:
    """The position of the row of each key."""
    keys = table[key]
    names = list(zip(*(keys[column].tolist() for column in key), strict=True))
    try:
        numbered = {name: row for row, name in enumerate(names)}
    except TypeError:
        raise TabulationError(
            f"the key {_list(key)} of the {side} table holds lists or objects", "Choose other columns with on=."
        ) from None
    for what, rows in (("missing", keys.isna().any(axis=1)), ("repeated", keys.duplicated())):
        if rows.any():
            row = int(np.argmax(rows.to_numpy()))
            raise TabulationError(
                f"the key {_list(key)} is {what} in row {row} of the {side} table (rows count from 0)",
                "Each row needs a key of its own; choose other columns with on=.",
            )
    return numbered


def _check_kinds(left: pd.DataFrame, right: pd.DataFrame, key: list[str]) -> None:
    """Refuse keys that can never be equal: every row would seem to be on one side only."""
    for name in key:
        if {_kind(left[name]), _kind(right[name])} == {"text", "numbers"}:
            raise TabulationError(
                f"the key {excerpt(str(name))!r} is text in one table and numbers in the other",
                "Make it text in both, where it is read: tabulate(..., dtypes={...: 'str'}).",
            )


def _kind(values: pd.Series[Any]) -> str:
    if values.empty:
        return "empty"
    inferred = pd.api.types.infer_dtype(values, skipna=True)
    if inferred == "string":
        return "text"
    return "numbers" if inferred in ("integer", "floating", "mixed-integer-float", "decimal") else inferred


_LISTS: Final = (list, tuple, np.ndarray)  # arrays are what lists are when they come back from Parquet
_NESTED: Final = (*_LISTS, dict)
_BOOLEANS: Final = (bool, np.bool_)
_Cell = tuple[Hashable, Any, Any]


def _differing_cells(
    left: pd.DataFrame, right: pd.DataFrame, key: list[str], pairs: list[tuple[int, int]]
) -> dict[int, list[_Cell]]:
    """The differing cells of each row, by its position on the left."""
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    cells: dict[int, list[_Cell]] = {}
    for column in [*left.columns, *(name for name in right.columns if name not in left.columns)]:
        if column in key:
            continue
        ours, theirs = _cells(left, column, rows[:, 0]), _cells(right, column, rows[:, 1])
        for index in np.flatnonzero(_differ(ours, theirs)):
            cell = (column, _plain(ours.iloc[index]), _plain(theirs.iloc[index]))
            cells.setdefault(int(rows[index, 0]), []).append(cell)
    return cells


def _cells(table: pd.DataFrame, column: Hashable, rows: npt.NDArray[np.int64]) -> pd.Series[Any]:
    if column not in table.columns:
        return pd.Series([None] * len(rows), dtype=object)
    return table[column].take(rows).reset_index(drop=True)


def _differ(ours: pd.Series[Any], theirs: pd.Series[Any]) -> npt.NDArray[np.bool_]:
    if ours.dtype != theirs.dtype or not _is_plain(ours.dtype):
        return np.array([not _same(a, b) for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)], dtype=bool)
    missing, lacking = ours.isna().to_numpy(), theirs.isna().to_numpy()
    unequal = (ours != theirs).fillna(value=True).to_numpy(dtype=bool)
    result: npt.NDArray[np.bool_] = (missing != lacking) | (~(missing | lacking) & unequal)
    return result


def _is_plain(dtype: Any) -> bool:
    """Whether cells are numbers, texts or instants that pandas compares as we do, and all at once.

    Columns of Arrow are not plain: they may hold lists, and a NaN beside what is missing.
    """
    if isinstance(dtype, pd.ArrowDtype) or pd.api.types.is_object_dtype(dtype):
        return False
    return isinstance(dtype, np.dtype | pd.StringDtype | pd.DatetimeTZDtype) or pd.api.types.is_numeric_dtype(dtype)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, _NESTED) or isinstance(right, _NESTED):
        return _same_inside(left, right)
    if _is_missing(left) or _is_missing(right):
        return _is_missing(left) and _is_missing(right)
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


def _is_missing(value: Any) -> bool:
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _same_inside(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
    if isinstance(left, _LISTS) and isinstance(right, _LISTS):
        return len(left) == len(right) and all(map(_same, left, right))
    return False


def _plain(value: Any) -> Any:
    """A cell as a Python value, missing ones as None."""
    if _is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _result(found: list[tuple[Any, ...]], left: pd.DataFrame, right: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    names = [*key, *_OWN_COLUMNS]
    kinds = [left[name].dtype if left[name].dtype == right[name].dtype else object for name in key]
    columns = zip(*found, strict=True) if found else [()] * len(names)
    dtypes = [*kinds, object if any(not isinstance(row[-3], str) for row in found) else "str", object, object]
    return pd.DataFrame(
        {name: pd.Series(list(values), dtype=dtype) for name, values, dtype in zip(names, columns, dtypes, strict=True)}
    )
