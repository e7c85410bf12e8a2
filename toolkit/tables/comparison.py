"""The differences between two tables: rows matched by a key, cells compared by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from toolkit.core.errors import TabulationError, wrong_type
from toolkit.core.text import count_text, excerpt
from toolkit.tables.columns import MISFIT, frame_of, is_key
from toolkit.tables.display import is_missing, readable

# Tried in this order before the names of other identifiers.
_USUAL_KEYS: Final = ("id", "account_id", "account_number", "number", "uuid", "account")
# Columns of the result in addition to the key, and the columns of row numbers while tables are merged.
_OWN_COLUMNS: Final = ["kind", "column", "left", "right", "change"]
_ROWS: Final = ["left row", "right row"]
_LISTS: Final = (list, tuple, np.ndarray)  # lists come back from Parquet as arrays


def compare(left: pd.DataFrame, right: pd.DataFrame, *, on: str | Sequence[str] | None = None) -> pd.DataFrame:
    """Return the differences between two tables of the same kind: changed cells, and rows in only one of the tables.

    Rows are matched by their key. Cells are compared by value: 1, 1.0 and a decimal 1.00 are equal, as are two missing
    values, and the same instant in any unit or time zone. Text never equals a number. The same applies inside lists and
    objects. A column in only one table counts as missing values in the other table. A table without rows or columns,
    which `tabulate` returns if there are no records, counts as having the other table's columns.

    Compare two sessions, tables with several positions per account, or computed numbers rounded to the cent:

        compare(monday.accounts(), friday.accounts())
        compare(left, right, on=["id", "symbol"])
        compare(left.round(2), right.round(2))

    Sum the changes in cash, and select the new rows:

        changes = compare(monday.accounts(), friday.accounts())
        changes.loc[changes["column"] == "cash", "change"].sum()
        changes[changes["kind"] == "only right"]

    Args:
        left: a table, such as `session.accounts()`.
        right: another table of the same kind.
        on: the column, columns or index level to use as the key. Defaults to the first of id, account_id,
            account_number, number, uuid and account that is a column in both tables; otherwise the index, if it has the
            same name in both tables; otherwise the only column in both tables whose name ends in a word such as id.

    Returns:
        A table with the key columns, followed by kind (str): "changed" for a cell, "only left" or "only right" for a
            row that is in one table only. column (str): name of the column that changed; missing for a row. left,
            right: the value in each table, or missing. If all values are numbers or have the same type, both columns
            have a dtype for these values; otherwise both are object. change: right minus left if both are numbers, else
            missing; Int64, float64, or decimals if there are any.
        The rows are in the order of `left`, then of `right`. If nothing differs, the table has no rows. The numbers of
        changed and equal rows are shown below the table and stored in `attrs["summary"]`.

    Raises:
        TabulationError: if no column or several columns can be the key, if a key value is missing or repeated, if the
            key is text in one table and a number in the other, or if both tables have rows but no key value in common.
        ConfigurationError: if `left` or `right` is not a table.
    """
    for side, table in (("left", left), ("right", right)):
        if not isinstance(table, pd.DataFrame):
            raise wrong_type(side, "a table", table, "Pass one from session.accounts() or tabulate(response).")
    levels: list[Any] = list(left.index.names) if left.index.names == right.index.names else [None]
    left, right = _with_index_names(left, "left"), _with_index_names(right, "right")
    if left.shape == right.shape == (0, 0):
        return readable(pd.DataFrame(columns=_OWN_COLUMNS), "0 rows equal")
    left = left if left.shape != (0, 0) else right.iloc[:0]
    right = right if right.shape != (0, 0) else left.iloc[:0]
    key = _key(left, right, on, [] if None in levels else levels)
    rows = _keys(left, key, "left").merge(_keys(right, key, "right"), on=key, how="outer", sort=False)
    matched = rows.dropna(subset=_ROWS).astype(dict.fromkeys(_ROWS, "int64"))
    if len(left) and len(right) and matched.empty:
        raise TabulationError(
            f"The tables have no values of {_list(key)} in common, so no rows can be compared.",
            "Check that the tables are about the same accounts and that their keys have the same type. Choose another "
            "key with on=, or convert one to text: tabulate(..., dtypes={...: 'str'}).",
            about="on",
        )
    parts = [_changes(left, right, name, matched) for name in left.columns.union(right.columns, sort=False)]
    for missing, kind in ((_ROWS[0], "only right"), (_ROWS[1], "only left")):
        parts.append(rows[rows[missing].isna()].assign(kind=kind).astype(object))
    found = pd.concat(parts).sort_values(_ROWS, kind="stable", ignore_index=True)
    counts = Counter(found["kind"])
    changed = found.loc[found["kind"] == "changed", _ROWS[0]].nunique()
    summary = [f"{count_text(changed, 'row')} changed in {count_text(counts['changed'], 'cell')}"] if changed else []
    summary += [f"{count_text(counts[kind], 'row')} {kind}" for kind in ("only left", "only right") if counts[kind]]
    summary += [f"{count_text(len(matched) - changed, 'row')} equal"]
    for name in key:
        is_one_type = left[name].dtype == right[name].dtype
        found[name] = found[name].astype(left[name].dtype if is_one_type else object)
    return readable(_with_types(found)[[*key, *_OWN_COLUMNS]], ", ".join(summary))


def _with_index_names(table: pd.DataFrame, side: str) -> pd.DataFrame:
    """Return the table with its named index levels as columns."""
    levels = [name for name in table.index.names if name is not None and name not in table.columns]
    table = pd.DataFrame(table.reset_index(level=levels) if levels else table)
    if not table.columns.is_unique:
        what = f"The {side} table has several columns with the same name."
        raise TabulationError(what, "Rename them before comparing.", about=side)
    return table


def _key(left: pd.DataFrame, right: pd.DataFrame, on: str | Sequence[str] | None, levels: list[Any]) -> list[Any]:
    shared = [name for name in left.columns if name in right.columns]
    problem = ""
    if on is None:
        ids = [name for name in shared if isinstance(name, str) and is_key(name.rsplit(".", 1)[-1])]
        key = [name for name in _USUAL_KEYS if name in shared and name not in levels][:1] or levels or ids
        if (len(key) != 1 and key != levels) or not key:
            problem = f"Several columns might be the key: {_list(ids)}." if ids else "No column looks like a key."
    else:
        key = list(on) if isinstance(on, Sequence) and not isinstance(on, str) else [on]
        if absent := [name for name in key if name not in shared]:
            problem = f"Column {excerpt(str(absent[0]))!r} is not in both tables."
        elif not key or len(set(key)) != len(key) or not set(_OWN_COLUMNS + _ROWS).isdisjoint(key):
            problem = "The key must be one or more distinct columns, none of them with the name of a result column."
    if problem:
        raise TabulationError(problem, f"Choose a key with on=; both tables have: {_list(shared)}.", about="on")
    return key


def _list(names: Sequence[Any]) -> str:
    return ", ".join(repr(excerpt(str(name), 40)) for name in names[:20]) or "no column"


def _keys(table: pd.DataFrame, key: list[Any], side: str) -> pd.DataFrame:
    """Return the key columns, and a column of row numbers named after the side."""
    keys = table[key].reset_index(drop=True)
    for problem, is_affected in (("missing", keys.isna().any(axis=1)), ("repeated", keys.duplicated())):
        if is_affected.any():
            raise TabulationError(
                f"The key {_list(key)} is {problem} in row {int(is_affected.argmax())} of the {side} table "
                "(rows are counted from 0).",
                "Each row needs a unique key; choose other columns with on=.",
                about="on",
            )
    return keys.astype(object).assign(**{f"{side} row": pd.RangeIndex(len(keys))})


def _changes(left: pd.DataFrame, right: pd.DataFrame, column: Any, matched: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `matched` in which a column differs, with the values from both tables."""
    was, now = (
        table.reindex(columns=[column]).iloc[matched[row], 0].set_axis(matched.index)
        for table, row in zip((left, right), _ROWS, strict=True)
    )
    if was.dtype == now.dtype and was.dtype != object and not isinstance(was.dtype, pd.ArrowDtype):
        differ = was.ne(now).fillna(True).to_numpy(dtype=bool) & ~(was.isna() & now.isna()).to_numpy()
    else:
        differ = np.array(
            [_comparable(value) != _comparable(other) for value, other in zip(was, now, strict=True)], bool
        )
    sides = {"left": was[differ].astype(object), "right": now[differ].astype(object)}
    return matched[differ].astype(object).assign(kind="changed", column=column, **sides)


def _comparable(value: Any) -> Any:
    """Return a cell's value in the form to compare: numbers become Decimal, and a boolean never equals a number."""
    if isinstance(value, dict):
        return {name: _comparable(member) for name, member in value.items()}
    if isinstance(value, _LISTS):
        return list(map(_comparable, value))
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return (bool(value),)
    return Decimal(str(value)) if isinstance(value, (int, float, Decimal, np.number)) else value


def _with_types(found: pd.DataFrame) -> pd.DataFrame:
    """Return the differences with one dtype for `left` and `right`, and with `change` for pairs of numbers."""
    values = [None if is_missing(value) else value for side in ("left", "right") for value in found[side]]
    numbers = [number if isinstance(number, Decimal) else None for number in map(_comparable, values)]
    kinds = {type(value) for value in values}
    number = next((kind for kind in (Decimal, float) if kind in kinds), int)
    count = len(found)
    changes = [
        None if was is None or now is None else number(now - was)
        for was, now in zip(numbers[:count], numbers[count:], strict=True)
    ]
    both, change = _series(values), _series(changes)
    are_texts = all(isinstance(name, str) for name in found["column"].dropna())
    return found.astype({"kind": "str", "column": "str" if are_texts else object}).assign(
        left=both.iloc[:count],
        right=both.iloc[count:].reset_index(drop=True),
        change=change if pd.api.types.is_numeric_dtype(change) else change.astype("float64"),
    )


def _series(values: list[Any]) -> pd.Series[Any]:
    """Return values with their common type, or as objects if they have none."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds and (kinds <= {int, float} or (len(kinds) == 1 and kinds.isdisjoint((*_LISTS, dict)))):
        with suppress(*MISFIT):
            return frame_of({"": pa.array(values)}, len(values))[""]
    return pd.Series(values, dtype=object)
