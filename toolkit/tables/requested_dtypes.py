"""Columns with the dtypes that the user requested, or an error that names the first row that does not fit."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api import types

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import FLOAT_DIGITS, Numbers, all_match, decimal_of, series_of
from toolkit.tables.columns import Column, Losses, with_inferred_type
from toolkit.tables.fitting import MISFIT, first_misfit, refuse_if
from toolkit.tables.json_body import SHOWN

# A requested number may have leading zeros, unlike a number that is recognised.
_NUMBER: Final = r"^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"

# Instants that pandas reads, without words such as "now" and digits beyond the nanosecond, which pandas drops.
_INSTANT: Final = (
    r"^[0-9]{4}(?:[-/]?[0-9]{1,2}){0,2}"
    r"(?:[T ][0-9]{1,2}(?::?[0-9]{2}){0,2}(?:\.[0-9]{0,9}0*)? ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?$"
)


def as_requested_dtype(column: Column, dtype: Any, numbers: Numbers) -> pd.Series[Any]:
    """Return the column with a dtype of pandas, NumPy or Arrow.

    Text becomes a number, instant or boolean if it reads as one, and anything becomes text as JSON writes it.
    Nothing is rounded or cut to fit, except that a fraction becomes the nearest float.

    Raises:
        TabulationError: if a value does not fit; names the first such row, the dtype and the type of the value.
    """
    convert = _converter(dtype, numbers)
    try:
        return convert(column)
    except MISFIT:
        row = first_misfit(len(column.data), lambda first, last: convert(column[first:last]))
        raise TabulationError(
            f"Column {excerpt(column.name, SHOWN)!r}, row {row}: expected {dtype}, found {column.type_at(row)}.",
            "Rows count from 0. Request another dtype for this column, such as 'str'.",
            about="dtypes",
        ) from None


def _converter(dtype: Any, numbers: Numbers) -> Callable[[Column], pd.Series[Any]]:
    if types.is_object_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
        return lambda part: _by_inferred_type(part, dtype, numbers)
    if types.is_bool_dtype(dtype):
        return lambda part: _from_arrow(_booleans(part), dtype)
    if types.is_numeric_dtype(dtype):
        return lambda part: _from_arrow(_numbers(part, dtype), dtype)
    if types.is_string_dtype(dtype) and dtype.kind != "S":
        return lambda part: _from_arrow(part.text(), dtype)
    if types.is_datetime64_any_dtype(dtype):
        return lambda part: _instants(part, dtype)
    return lambda part: _by_inferred_type(part, dtype, numbers)


def _by_inferred_type(column: Column, dtype: Any, numbers: Numbers) -> pd.Series[Any]:
    """Convert the values as they are without a request; refuse a result that cannot be read back."""
    losses = Losses()
    values = with_inferred_type(column, numbers, losses)
    refuse_if(losses.nanoseconds)
    refuse_if((losses.digits or isinstance(values, list)) and _lost_digits(column, values))
    series: pd.Series[Any]
    if types.is_object_dtype(dtype):
        series = pd.Series(values if isinstance(values, list) else values.to_pylist(), dtype=dtype)
        return series
    series = series_of(values)
    if isinstance(dtype, pd.CategoricalDtype) and dtype.categories is not None:
        # pandas turns a value that is not a category into a missing one.
        refuse_if((dtype.categories.get_indexer_for(series.dropna().array) == -1).any())
    result = series.astype(dtype)
    refuse_if(not _reads_back(series, result))
    return result


def _lost_digits(column: Column, values: Any) -> bool:
    """Return True if a number became a float with different digits."""
    values = values if isinstance(values, list) else values.to_pylist()
    return any(
        isinstance(value, float) and len(text) > FLOAT_DIGITS and decimal_of(text) != Decimal(repr(value))
        for text, value in zip(column.text().to_pylist(), values, strict=True)
    )


def _reads_back(series: pd.Series[Any], result: pd.Series[Any]) -> bool:
    """Return True if each value can be read back from the result."""
    present = series.notna()
    before, after = series[present], result[present]
    if after.isna().any():
        return False
    if isinstance(result.dtype, pd.CategoricalDtype):
        # Python takes True and 1 for the same category.
        return all(a == b and types.is_bool(a) == types.is_bool(b) for a, b in zip(before, after, strict=True))
    if result.dtype.kind == "m" and types.is_numeric_dtype(before.dtype):
        after = after.astype("int64")
    return bool((after.astype(before.dtype) == before).all())


def _booleans(column: Column) -> Any:
    texts = column.text()
    refuse_if(texts.null_count < len(texts) and not all_match(texts, "^(?:true|false)$"))
    return texts.cast(pa.bool_())


def _numbers(column: Column, dtype: Any) -> Any:
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
    else:
        kind = pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype))
    values = column.data
    # Arrow decides by the type of integers, rather than by their digits, whether they fit a decimal.
    if not isinstance(values, list) and _is_number(values.type) and not pa.types.is_decimal(kind):
        return _exact(values, values.cast(kind, safe=not pa.types.is_floating(kind)))
    texts = column.text()
    refuse_if(texts.null_count < len(texts) and not all_match(texts, _NUMBER))
    if pa.types.is_integer(kind) and pc.any(pc.match_substring_regex(texts, "[.eE]")).as_py():
        return texts.cast(pa.decimal256(76, 20)).cast(kind)
    return _exact(texts, texts.cast(kind))


def _exact(values: Any, numbers: Any) -> Any:
    """Return the numbers cast from these values; refuse infinities, and whole numbers that have changed."""
    if pa.types.is_floating(numbers.type):
        floats = numbers.cast(pa.float64())
        refuse_if(pc.all(pc.is_finite(floats)).as_py() is False)
        if pa.types.is_integer(values.type):
            refuse_if(not floats.cast(pa.int64()).equals(values))
        elif pa.types.is_string(values.type):
            is_whole = pc.match_substring_regex(values, "^-?[0-9]+$")
            pairs = zip(values.filter(is_whole).to_pylist(), floats.filter(is_whole).to_pylist(), strict=True)
            refuse_if(any(int(text) != number for text, number in pairs))
    return numbers


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))


def _instants(column: Column, dtype: Any) -> pd.Series[Any]:
    texts = column.text()
    if column.is_number_text or (not isinstance(column.data, list) and pa.types.is_integer(column.data.type)):
        return series_of(texts.cast(pa.int64())).astype(dtype)
    refuse_if(texts.null_count < len(texts) and not all_match(texts, _INSTANT))
    has_zone = getattr(dtype, "tz", None) is not None or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)
    instants = pd.to_datetime(pd.Series(texts.to_pylist(), dtype=object), format="ISO8601", utc=bool(has_zone))
    # NumPy refuses to drop a zone, Arrow does not.
    refuse_if(instants.dt.tz is not None and not has_zone)
    result: pd.Series[Any] = instants.astype(dtype)
    refuse_if(not _reads_back(instants, result))
    return result


def _from_arrow(values: Any, dtype: Any) -> pd.Series[Any]:
    series: pd.Series[Any]
    if hasattr(dtype, "__from_arrow__"):
        series = pd.Series(dtype.__from_arrow__(values))
    else:
        refuse_if(values.null_count and dtype.kind != "f")
        series = pd.Series(values.to_numpy(zero_copy_only=False), dtype=dtype)
    return series
