"""A column with the dtype that its reader asked for, or the row that it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api import types

from toolkit.errors import TabulationError
from toolkit.escaping import excerpt
from toolkit.tabulation.columns import Column, Losses, typed
from toolkit.tabulation.frame import series_of
from toolkit.tabulation.json_body import SHOWN
from toolkit.tabulation.numerals import Numbers
from toolkit.tabulation.texts import all_match

# Unlike a number that is recognised, one that is asked for may have leading zeros.
_ASKED_NUMBER: Final = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"

# What Arrow and pandas raise when a value does not fit.
_MISFIT: Final = (ValueError, TypeError, OverflowError, NotImplementedError)

_NAMES: Final = {bool: "a boolean", int: "an integer", float: "a number"}


def needs_digits(dtype: Any) -> bool:
    """Whether a number must be read digit by digit, rather than as float64, to become this dtype without a loss."""
    return bool(dtype.kind != "f")


def asked(column: Column, dtype: Any, numbers: Numbers) -> pd.Series[Any]:
    """The column with a dtype of pandas, NumPy or Arrow.

    Text becomes a number, instant or boolean when it reads as one; anything becomes text as JSON
    writes it; nothing is rounded to fit an integer or a decimal.

    Raises:
        TabulationError: names the first row that does not fit, what was expected and what type was found.
    """
    convert = _converter(dtype, numbers)
    try:
        return convert(column)
    except _MISFIT:
        row = _first_misfit(column, convert)
        raise TabulationError(
            f"column {excerpt(column.name, SHOWN)!r}, row {row}: expected {dtype}, found {_found(column, row)}",
            "Rows count from 0. numbers='text' or another dtype for this column holds what is there.",
        ) from None


def _converter(dtype: Any, numbers: Numbers) -> Callable[[Column], pd.Series[Any]]:
    if types.is_object_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return lambda part: _as_typed(part, dtype, numbers)
    if types.is_bool_dtype(dtype):
        return lambda part: _from_arrow(_booleans(part), dtype)
    if types.is_numeric_dtype(dtype) and dtype.kind != "c":
        return lambda part: _from_arrow(_numbers(part, dtype), dtype)
    if types.is_string_dtype(dtype):
        return lambda part: _from_arrow(part.text(), dtype)
    if types.is_datetime64_any_dtype(dtype):
        return lambda part: _instants(part, dtype)
    return lambda part: _as_typed(part, dtype, numbers)


def _as_typed(column: Column, dtype: Any, numbers: Numbers) -> pd.Series[Any]:
    found = typed(column, numbers, Losses())
    series: pd.Series[Any]
    if types.is_object_dtype(dtype):
        series = pd.Series(found if isinstance(found, list) else found.to_pylist(), dtype=dtype)
        return series
    series = series_of(found)
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None:
        # pandas makes a missing value of one that is no category.
        _refuse(not series.dropna().isin(dtype.categories).all())
    return series.astype(dtype)


def _booleans(column: Column) -> Any:
    texts = column.text()
    _refuse(texts.null_count < len(texts) and not all_match(texts, "^(?:true|false)$"))
    return texts.cast(pa.bool_())


def _numbers(column: Column, dtype: Any) -> Any:
    kind = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else pa.from_numpy_dtype(_numpy_dtype(dtype))
    values = column.data
    # Arrow measures an integer by its type, not by its digits, before it makes a decimal of it.
    if not isinstance(values, list) and _is_number(values.type) and not pa.types.is_decimal(kind):
        return values.cast(kind)
    texts = column.text()
    _refuse(texts.null_count < len(texts) and not all_match(texts, _ASKED_NUMBER))
    if pa.types.is_integer(kind) and pc.any(pc.match_substring_regex(texts, "[.eE]")).as_py():
        return texts.cast(pa.decimal256(76, 20)).cast(kind)
    found = texts.cast(kind)
    _refuse(pa.types.is_floating(kind) and pc.all(pc.is_finite(found)).as_py() is False)
    return found


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _numpy_dtype(dtype: Any) -> Any:
    return getattr(dtype, "numpy_dtype", dtype)


def _instants(column: Column, dtype: Any) -> pd.Series[Any]:
    values = column.data
    if not isinstance(values, list) and pa.types.is_integer(values.type):
        return _as_typed(column, dtype, "float")
    texts = pd.Series(column.text().to_pylist(), dtype=object)
    aware = getattr(dtype, "tz", None) is not None or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)
    found: pd.Series[Any] = pd.to_datetime(texts, format="ISO8601", utc=bool(aware)).astype(dtype)
    return found


def _from_arrow(values: Any, dtype: Any) -> pd.Series[Any]:
    series: pd.Series[Any]
    if hasattr(dtype, "__from_arrow__"):
        series = pd.Series(dtype.__from_arrow__(values))
    else:
        _refuse(values.null_count and dtype.kind != "f")
        series = pd.Series(values.to_numpy(zero_copy_only=False), dtype=dtype)
    return series


def _refuse(misfit: Any) -> None:
    if misfit:
        raise ValueError


def _first_misfit(column: Column, convert: Callable[[Column], pd.Series[Any]]) -> int:
    """The first row that alone does not fit, found by halving."""
    first, last = 0, len(column.data)
    while last - first > 1:
        middle = (first + last) // 2
        try:
            convert(_part(column, first, middle))
        except _MISFIT:
            last = middle
        else:
            first = middle
    return first


def _part(column: Column, first: int, last: int) -> Column:
    return Column(column.name, column.key, column.data[first:last], column.numerals)


def _found(column: Column, row: int) -> str:
    value = column.data[row]
    value = value if isinstance(column.data, list) else value.as_py()
    if value is None:
        return "a missing value"
    if column.numerals:
        return "a number"
    return _NAMES.get(type(value), "text")
