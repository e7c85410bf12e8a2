"""The table of differences: a row for each cell that changed and each row on one side only, ready to compute with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from toolkit.core.words import count_text
from toolkit.tables.display import readable

CHANGED: Final = "changed"
ONLY_LEFT: Final = "only left"
ONLY_RIGHT: Final = "only right"
# Columns of the result beside those of the key.
OWN_COLUMNS: Final = ("kind", "column", "left", "right", "change")

_DIGITS: Final = 100  # of a difference; doubles that are written out, and decimal128, have fewer


@dataclass(frozen=True, slots=True)
class CellDifference:
    """A cell that changed, or a row on one side only.

    Attributes:
        key: values of the key.
        kind: CHANGED, ONLY_LEFT or ONLY_RIGHT.
        column: name of the column that changed; None for a row.
        left: value on the left, None if missing.
        right: value on the right, None if missing.
    """

    key: tuple[Any, ...]
    kind: str
    column: Any = None
    left: Any = None
    right: Any = None


def table_of_differences(
    differences: Sequence[CellDifference], key: Iterable[tuple[str, Any]], matched: int
) -> pd.DataFrame:
    """Return the table, with a summary below it where it is shown.

    Args:
        key: name and dtype of each column of the key.
        matched: number of rows that both sides have.
    """
    differences = _with_one_type(differences)
    columns: dict[str, Any] = {
        name: pd.Series([each.key[at] for each in differences], dtype=dtype) for at, (name, dtype) in enumerate(key)
    }
    columns["kind"] = pd.Series([each.kind for each in differences], dtype="str")
    names = [each.column for each in differences]
    # A table may also have numbers as names of columns.
    is_text = all(name is None or isinstance(name, str) for name in names)
    columns["column"] = pd.Series(names, dtype="str" if is_text else object)
    left, right = [each.left for each in differences], [each.right for each in differences]
    dtype = _common_dtype([*left, *right])
    columns["left"], columns["right"] = pd.Series(left, dtype=dtype), pd.Series(right, dtype=dtype)
    columns["change"] = _series([_change(each.left, each.right) for each in differences])
    return readable(pd.DataFrame(columns), _summary(differences, matched))


def _summary(differences: Sequence[CellDifference], matched: int) -> str:
    """Return how many rows changed, are on one side only, and are equal."""
    kinds = [each.kind for each in differences]
    rows = len(dict.fromkeys(repr(each.key) for each in differences if each.kind == CHANGED))
    parts = [
        f"{count_text(rows, 'row')} changed in {count_text(kinds.count(CHANGED), 'cell')}" if rows else "",
        *(f"{count_text(kinds.count(kind), 'row')} {kind}" for kind in (ONLY_LEFT, ONLY_RIGHT) if kind in kinds),
        f"{count_text(matched - rows, 'row')} equal",
    ]
    return ", ".join(filter(None, parts))


def _with_one_type(differences: Sequence[CellDifference]) -> list[CellDifference]:
    """Return the differences with all numbers of a changed column in one type: decimals, else floats, else integers."""
    types: dict[Any, set[type]] = {}
    for each in differences:
        types.setdefault(each.column, set()).update(_type(value) for value in (each.left, each.right))
    return [
        CellDifference(
            each.key,
            each.kind,
            each.column,
            _as_number(each.left, types[each.column]),
            _as_number(each.right, types[each.column]),
        )
        for each in differences
    ]


def _type(value: Any) -> type:
    """Return int, float or Decimal for a number, and NoneType for a missing value."""
    if isinstance(value, bool):
        return bool
    return next((kind for kind in (int, float, Decimal) if isinstance(value, kind)), type(value))


def _as_number(value: Any, types: set[type]) -> Any:
    types = types - {type(None)}
    if value is None or not types <= {int, float, Decimal}:
        return value
    if Decimal in types:
        return Decimal(str(value))
    # Beyond 2**53 a float may not hold an integer.
    return float(value) if float in types and abs(value) <= 2**53 else value


def _change(left: Any, right: Any) -> Any:
    """Return right minus left, exact in decimal digits; None unless both are numbers."""
    types = {_type(left), _type(right)}
    if not types <= {int, float, Decimal}:
        return None
    with localcontext(prec=_DIGITS):
        numbers = [Decimal(str(value)) for value in (left, right)]
        change = numbers[1] - numbers[0]
    if Decimal in types:
        return change
    return float(change) if float in types else int(change)


def _series(numbers: list[Any]) -> pd.Series[Any]:
    """Return numbers as Int64, float64 or, if there is a decimal, Arrow's decimals."""
    types = {_type(number) for number in numbers} - {type(None)}
    dtype = _common_dtype(numbers) if types else object
    if dtype is object:  # integers beside floats, too
        return pd.Series([None if number is None else float(number) for number in numbers], dtype="float64")
    return pd.Series(numbers, dtype=dtype)


def _common_dtype(values: list[Any]) -> Any:
    """Return a dtype that holds all of these values as they are, and missing ones; object if there is none."""
    present = [value for value in values if value is not None]
    types = {_type(value) for value in present}
    if types == {int}:
        return "Int64" if all(-(2**63) <= value < 2**63 for value in present) else object
    if types == {float}:
        return "float64"
    if Decimal in types and types <= {int, Decimal}:
        return _decimal_dtype(present)
    if types == {str}:
        return "str"
    if types == {bool}:
        return "boolean"
    if types == {pd.Timestamp} and len({str(value.tz) for value in present}) == 1:
        return pd.Series(present).dtype
    return object


def _decimal_dtype(values: list[Any]) -> Any:
    decimals = [Decimal(value) for value in values]
    if not all(value.is_finite() for value in decimals):
        return object
    try:
        return pd.ArrowDtype(pa.array(decimals).type)
    except pa.ArrowException:  # more digits than decimal128 has
        return object
