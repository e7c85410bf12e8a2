"""Columns with the types of a schema, or an error that names the first row that does not fit.

A value fits a type if `columns` could have inferred the type from it, so that text with leading zeros is not a number,
and a local time is not an instant. Besides, anything fits text, `true` and `false` as text are booleans, a number
without a fraction fits integers however it is written (`5.0`), and an empty text is a missing value unless the type is
text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import (
    DATE,
    INSTANT,
    LOCAL_TIME,
    NUMBER,
    all_match,
    exceeds_float,
    has_nanoseconds,
    instants_from,
    local_times_from,
    numbers_from,
    without_blanks,
)
from toolkit.tables.columns import Column, Losses
from toolkit.tables.fitting import MISFIT, cast_exactly, check_present, first_misfit, misfit, refuse_if
from toolkit.tables.json_body import SHOWN
from toolkit.tables.schema import is_text, schema

_BOOLEAN: Final = "^(?:true|false)$"
_CLOCK_TIME: Final = r"^[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?$"


def wanted_schema(table: Any, requested: Mapping[str, Any]) -> Any | None:
    """Return the schema that the argument of this name of `tabulate` stands for; None if it is None.

    Raises:
        TabulationError: if it has a column of a type that JSON has no values of, such as a list, or a column whose
            dtype is requested, too.
    """
    if table is None:
        return None
    wanted = schema(table)
    for field in wanted:
        name = excerpt(field.name, SHOWN)
        if field.name in requested:
            raise TabulationError(
                f"Column {name!r} has a type in dtypes and in schema.", "Leave one of them out.", about="dtypes"
            )
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if not is_text(kind) and not pa.types.is_null(kind) and _conversion(kind) is None:
            raise TabulationError(
                f"Column {name!r} cannot be of type {excerpt(str(field.type), SHOWN)}.",
                "Nested values become JSON text: use pa.string().",
                about="schema",
            )
    return wanted


def needs_digits(wanted: Any) -> bool:
    """Return True if a column can hold more digits of a JSON number than a float does."""
    return any(is_text(kind) or pa.types.is_decimal(kind) or pa.types.is_dictionary(kind) for kind in wanted.types)


def as_schema(columns: Mapping[str, Column], count: int, wanted: Any, losses: Losses) -> dict[str, Any]:
    """Return the columns of a schema as Arrow arrays, with missing values for those that are not there; note losses.

    Raises:
        TabulationError: if a value does not fit, or if none is there where the schema wants one.
    """
    result = {}
    for field in wanted:
        if field.name in columns:
            result[field.name] = as_type(columns[field.name], field.type, losses)
        else:
            result[field.name] = pa.nulls(count, field.type)
        check_present(field, result[field.name])
    return result


def unknown_names(columns: Mapping[str, Column], wanted: Any) -> list[str]:
    """Return the names of columns that a schema does not have, if they have values."""
    names = set(wanted.names)
    return [name for name, column in columns.items() if name not in names and _has_values(column.data)]


def as_type(column: Column, kind: Any, losses: Losses) -> Any:
    """Return the column as Arrow values of this type, and note losses.

    Raises:
        TabulationError: if a value does not fit; names the first such row, the type and the type of the value.
    """
    plain = column if is_text(kind) else _without_blanks(column)
    noted = Losses()
    try:
        values = _as_type(plain, kind, noted)
    except MISFIT:
        row = first_misfit(len(plain.data), lambda first, last: _as_type(plain[first:last], kind, Losses()))
        raise misfit(column.name, row, kind, column.type_at(row)) from None
    losses.digits += noted.digits
    losses.nanoseconds += noted.nanoseconds
    return values


def _as_type(column: Column, kind: Any, losses: Losses) -> Any:
    if is_text(kind):
        return column.text().cast(kind)
    if not _has_values(column.data):
        return pa.nulls(len(column.data), kind)
    if pa.types.is_dictionary(kind):
        return cast_exactly(_as_type(column, kind.value_type, losses), kind)
    convert = _conversion(kind)
    if convert is None:
        raise ValueError
    return convert(column, kind, losses)


def _conversion(kind: Any) -> Callable[[Column, Any, Losses], Any] | None:
    """Return what converts a column with values to this type, or None if JSON has no values of it."""
    if pa.types.is_boolean(kind):
        return _booleans
    if pa.types.is_integer(kind):
        return _integers
    if pa.types.is_floating(kind):
        return _floats
    if pa.types.is_decimal(kind):
        return _decimals
    if pa.types.is_timestamp(kind):
        return _local_times if kind.tz is None else _instants
    if pa.types.is_date(kind):
        return _dates
    return _clock_times if pa.types.is_time(kind) else None


def _booleans(column: Column, kind: Any, _: Losses) -> Any:
    return _matching(column, _BOOLEAN).cast(kind)


def _integers(column: Column, kind: Any, _: Losses) -> Any:
    if not isinstance(column.data, list) and pa.types.is_integer(column.data.type):
        return cast_exactly(column.data, kind)
    texts = _matching(column, NUMBER)
    if pc.any(pc.match_substring_regex(texts, "[.eE]")).as_py():
        texts = texts.cast(pa.decimal256(76, 20))
    return texts.cast(kind)


def _floats(column: Column, kind: Any, losses: Losses) -> Any:
    values = column.data
    if isinstance(values, list) or not pa.types.is_floating(values.type):
        texts = _matching(column, NUMBER)
        values = numbers_from(texts, "float")
        refuse_if(values is None)
    else:
        texts = values.cast(pa.string())
    if exceeds_float(texts):
        losses.digits.append(column.name)
    # The nearest float of a narrower type is not reported as a loss; an infinity is.
    result = values.cast(kind, safe=False)
    refuse_if(pc.all(pc.is_finite(result)).as_py() is False)
    return result


def _decimals(column: Column, kind: Any, _: Losses) -> Any:
    texts = _matching(column, NUMBER)
    numbers = numbers_from(texts, "decimal")
    if numbers is None:
        raise ValueError
    # Arrow decides by the type of integers, rather than by their digits, whether they fit a decimal.
    return texts.cast(kind) if pa.types.is_integer(numbers.type) else cast_exactly(numbers, kind)


def _instants(column: Column, kind: Any, losses: Losses) -> Any:
    texts = _matching(column, INSTANT)
    return _times(column, texts, instants_from(texts), kind, losses)


def _local_times(column: Column, kind: Any, losses: Losses) -> Any:
    texts = _matching(column, LOCAL_TIME)
    return _times(column, texts, local_times_from(texts), kind, losses)


def _times(column: Column, texts: Any, times: Any | None, kind: Any, losses: Losses) -> Any:
    refuse_if(times is None)
    if has_nanoseconds(texts):
        if kind.unit == "ns":
            return pc.utf8_upper(texts).cast(kind)
        losses.nanoseconds.append(column.name)
    return cast_exactly(times, kind)


def _dates(column: Column, kind: Any, _: Losses) -> Any:
    times = local_times_from(_matching(column, DATE))
    refuse_if(times is None)
    return cast_exactly(times, kind)


def _clock_times(column: Column, kind: Any, _: Losses) -> Any:
    texts = pc.binary_join_element_wise("1970-01-01", _matching(column, _CLOCK_TIME), " ")
    return texts.cast(pa.timestamp("ns")).cast(pa.time64("ns")).cast(kind)


def _matching(column: Column, pattern: str) -> Any:
    texts = column.text()
    refuse_if(not all_match(texts, pattern))
    return texts


def _without_blanks(column: Column) -> Column:
    values = column.data
    if isinstance(values, list):
        return replace(column, data=[None if value == "" else value for value in values])
    return replace(column, data=without_blanks(values)) if pa.types.is_string(values.type) else column


def _has_values(values: Any) -> bool:
    if isinstance(values, list):
        return any(value is not None for value in values)
    return bool(values.null_count < len(values))
