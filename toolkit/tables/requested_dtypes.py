"""A column with the dtype that its reader asked for, or the row that it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api import types

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import FLOAT_DIGITS, Numbers, all_match, decimal_of, series_of
from toolkit.tables.columns import Column, Losses, typed
from toolkit.tables.json_body import SHOWN

# Unlike a number that is recognised, one that is asked for may have leading zeros.
_ASKED_NUMBER: Final = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"

# What pandas reads, but for words such as "now", which it takes for the moment; it cuts what is beyond nanoseconds.
_ASKED_INSTANT: Final = (
    r"^[0-9]{4}(?:[-/]?[0-9]{1,2}){0,2}"
    r"(?:[T ][0-9]{1,2}(?::?[0-9]{2}){0,2}(?:\.[0-9]{0,9}0*)? ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)

# What Arrow and pandas raise when a value does not fit.
_MISFIT: Final = (ValueError, TypeError, OverflowError, NotImplementedError)

_NAMES: Final = {bool: "a boolean", int: "an integer", float: "a number"}


def needs_digits(dtype: Any) -> bool:
    """Whether a number must be read digit by digit, rather than as float64, to become this dtype without a loss."""
    return bool(dtype.kind != "f")


def asked(column: Column, dtype: Any, numbers: Numbers) -> pd.Series[Any]:
    """The column with a dtype of pandas, NumPy or Arrow.

    Text becomes a number, instant or boolean when it reads as one; anything becomes text as JSON
    writes it. Nothing is rounded or cut to fit, except that a fraction becomes the nearest float.

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
    if dtype.kind == "c":
        parts = np.empty(0, dtype).real.dtype
        return lambda part: _from_arrow(_numbers(part, parts), parts).astype(dtype)
    if types.is_numeric_dtype(dtype):
        return lambda part: _from_arrow(_numbers(part, dtype), dtype)
    if types.is_string_dtype(dtype):
        return lambda part: _texts(part, dtype)
    if types.is_datetime64_any_dtype(dtype):
        return lambda part: _instants(part, dtype)
    return lambda part: _as_typed(part, dtype, numbers)


def _as_typed(column: Column, dtype: Any, numbers: Numbers) -> pd.Series[Any]:
    losses = Losses()
    found = typed(column, numbers, losses)
    _refuse(losses.nanoseconds)
    _refuse((losses.digits or isinstance(found, list)) and _lost_digits(column, found))
    series: pd.Series[Any]
    if types.is_object_dtype(dtype):
        series = pd.Series(found if isinstance(found, list) else found.to_pylist(), dtype=dtype)
        return series
    series = series_of(found)
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None:
        # pandas makes a missing value of one that it does not find so.
        _refuse((dtype.categories.get_indexer_for(series.dropna().array) == -1).any())
    made = series.astype(dtype)
    _refuse(not _same(series, made))
    return made


def _lost_digits(column: Column, found: Any) -> bool:
    """Whether a number became a float with other digits than it was written with."""
    values = found if isinstance(found, list) else found.to_pylist()
    return any(
        isinstance(value, float) and len(text) > FLOAT_DIGITS and decimal_of(text) != Decimal(repr(value))
        for text, value in zip(column.text().to_pylist(), values, strict=True)
    )


def _same(series: pd.Series[Any], made: pd.Series[Any]) -> bool:
    """Whether all that was there can be read back from what was made of it."""
    held = series.notna()
    before, after = series[held], made[held]
    if after.isna().any():
        return False
    if isinstance(made.dtype, pd.CategoricalDtype):
        # Python takes True and 1 for one and the same category.
        return all(a == b and types.is_bool(a) == types.is_bool(b) for a, b in zip(before, after, strict=True))
    if made.dtype.kind == "m" and types.is_numeric_dtype(before.dtype):
        return bool((after.astype("int64") == before).all())
    if types.is_string_dtype(before.dtype):
        before = _read_for(made.dtype, before)
    return bool((after.astype(before.dtype) == before).all())


def _read_for(dtype: Any, texts: pd.Series[Any]) -> pd.Series[Any]:
    """Texts at their finest, to compare with what was made of them: there are many ways to write an hour."""
    if dtype.kind == "m":
        return pd.to_timedelta(texts)
    if isinstance(dtype, pd.ArrowDtype) and pa.types.is_time(dtype.pyarrow_dtype):
        return texts.astype(pd.ArrowDtype(pa.time64("ns")))
    if isinstance(dtype, pd.PeriodDtype) and all_match(pa.array(texts, pa.string()), _ASKED_INSTANT):
        return pd.to_datetime(texts, format="ISO8601")
    return texts


def _texts(column: Column, dtype: Any) -> pd.Series[Any]:
    texts = column.text()
    made = _from_arrow(texts, dtype)
    # NumPy cuts bytes to the length that is asked for.
    _refuse(dtype.kind == "S" and not _same(pd.Series(texts.to_pylist(), dtype="str"), made))
    return made


def _booleans(column: Column) -> Any:
    texts = column.text()
    _refuse(texts.null_count < len(texts) and not all_match(texts, "^(?:true|false)$"))
    return texts.cast(pa.bool_())


def _numbers(column: Column, dtype: Any) -> Any:
    kind = dtype.pyarrow_dtype if isinstance(dtype, pd.ArrowDtype) else pa.from_numpy_dtype(_numpy_dtype(dtype))
    values = column.data
    # Arrow measures an integer by its type, not by its digits, before it makes a decimal of it.
    if not isinstance(values, list) and _is_number(values.type) and not pa.types.is_decimal(kind):
        return _checked(values, values.cast(kind, safe=not pa.types.is_floating(kind)))
    texts = column.text()
    _refuse(texts.null_count < len(texts) and not all_match(texts, _ASKED_NUMBER))
    if pa.types.is_integer(kind) and pc.any(pc.match_substring_regex(texts, "[.eE]")).as_py():
        return texts.cast(pa.decimal256(76, 20)).cast(kind)
    return _checked(texts, texts.cast(kind))


def _checked(values: Any, found: Any) -> Any:
    """The numbers made of these, none of which is infinite, or a whole number that was changed."""
    if pa.types.is_floating(found.type):
        floats = found.cast(pa.float64())
        _refuse(pc.all(pc.is_finite(floats)).as_py() is False)
        if pa.types.is_integer(values.type):
            _refuse(not floats.cast(pa.int64()).equals(values))
        elif pa.types.is_string(values.type):
            _refuse(_changes_whole_numbers(values, floats, np.finfo(found.type.to_pandas_dtype()).precision))
    return found


def _changes_whole_numbers(texts: Any, floats: Any, digits: int) -> bool:
    """Whether a text without a fraction, of more than these digits, is another number than its float."""
    long = pc.and_(pc.match_substring_regex(texts, "^-?[0-9]+$"), pc.greater(pc.utf8_length(texts), digits))
    pairs = zip(texts.filter(long).to_pylist(), floats.filter(long).to_pylist(), strict=True)
    return any(int(text) != number for text, number in pairs)


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _numpy_dtype(dtype: Any) -> Any:
    return getattr(dtype, "numpy_dtype", dtype)


def _instants(column: Column, dtype: Any) -> pd.Series[Any]:
    texts = column.text()
    if column.numerals or (not isinstance(column.data, list) and pa.types.is_integer(column.data.type)):
        return series_of(texts.cast(pa.int64())).astype(dtype)
    _refuse(texts.null_count < len(texts) and not all_match(texts, _ASKED_INSTANT))
    aware = getattr(dtype, "tz", None) is not None or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)
    read = pd.to_datetime(pd.Series(texts.to_pylist(), dtype=object), format="ISO8601", utc=bool(aware))
    # NumPy refuses to drop a zone, Arrow does not.
    _refuse(read.dt.tz is not None and not aware)
    found: pd.Series[Any] = read.astype(dtype)
    _refuse(not _same(read, found))
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
