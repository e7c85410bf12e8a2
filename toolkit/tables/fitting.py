"""Arrow tables with the columns and types of a schema, where nothing may be lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import texts_of, without_blanks
from toolkit.tables.json_body import SHOWN
from toolkit.tables.schema import is_text

# What Arrow and pandas raise if a value does not fit.
MISFIT: Final = (ValueError, TypeError, OverflowError, NotImplementedError)


def fitted(table: Any, schema: Any) -> Any:
    """Return an Arrow table with exactly the columns and types of a schema; absent columns get missing values.

    Numbers become numbers of the same value, local times and dates times of the same value, and instants the same
    instants. Empty text becomes missing. Anything becomes text: numbers and booleans as JSON writes them, instants as
    RFC 3339 in UTC (`2026-05-12T09:30:00Z`), local times as `2026-05-12 09:30:00`, and midnights without a zone as
    dates.

    Raises:
        TabulationError: if the table has a column that is not in the schema, or a value that does not fit, or none
            where the schema wants one; names column and row.
    """
    unknown = [name for name in table.column_names if name not in schema.names]
    if unknown:
        raise TabulationError(
            f"Column {excerpt(unknown[0], SHOWN)!r} is not in the schema.",
            "Add it, or leave the schema out.",
            about="schema",
        )
    columns = []
    for field in schema:
        if field.name in table.column_names:
            columns.append(_fitted_column(field, table[field.name]))
        else:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
        check_present(field, columns[-1])
    return pa.table(columns, schema=schema) if columns else table.select([])


def check_present(field: Any, values: Any) -> None:
    """Check that no value is missing in a column that the schema declares without missing values.

    Raises:
        TabulationError: names column and row.
    """
    if values.null_count and not field.nullable and not pa.types.is_null(field.type):
        row = pc.index(pc.is_null(values), True).as_py()
        raise misfit(field.name, row, field.type, "a missing value")


def misfit(name: str, row: int, expected: Any, kind: str) -> TabulationError:
    """Return the error about the value in this row, which is of another kind than the schema's."""
    if pa.types.is_null(expected):
        advice = "The tables that the schema was made of have no value in this column."
    else:
        advice = "The column needs a wider type, such as double for integers or string for anything."
    return TabulationError(
        f"Column {excerpt(name, SHOWN)!r}, row {row}: expected {expected}, found {kind}.",
        f"Rows count from 0. {advice} tk.schema([table, another]) is a schema that several tables fit.",
        about="schema",
    )


def first_misfit(count: int, convert: Callable[[int, int], Any]) -> int:
    """Return the first of `count` rows that cannot be converted, found by bisection.

    Args:
        count: number of rows, at least one of which cannot be converted.
        convert: converts the rows from the first argument to the second, exclusive, or raises one of `MISFIT`.
    """
    first, last = 0, count
    while last - first > 1:
        middle = (first + last) // 2
        try:
            convert(first, middle)
        except MISFIT:
            last = middle
        else:
            first = middle
    return first


def refuse_if(misfits: Any) -> None:
    """Raise an error of `MISFIT` if this is true."""
    if misfits:
        raise ValueError


def cast_exactly(values: Any, kind: Any) -> Any:
    """Return Arrow values with another type, if each stays what it is.

    Raises:
        ValueError, TypeError, NotImplementedError: if one does not; these include the errors of Arrow.
    """
    source = values.type
    if source == kind:
        return values
    if pa.types.is_null(source):
        return values.cast(kind)
    if pa.types.is_dictionary(source):
        return cast_exactly(values.cast(source.value_type), kind)
    if pa.types.is_string_view(source):
        return cast_exactly(values.cast(pa.string()), kind)
    if pa.types.is_dictionary(kind):
        return cast_exactly(values, kind.value_type).dictionary_encode().cast(kind)
    if is_text(kind):
        return _texts(values).cast(kind)
    if is_text(source):
        values = without_blanks(values)
    if values.null_count < len(values):
        refuse_if(pa.types.is_null(kind) or _family(source) is None or _family(source) != _family(kind))
    else:
        return pa.nulls(len(values), kind)
    result = values.cast(kind)
    refuse_if(not _equal(values, result.cast(source)))
    return result


def _fitted_column(field: Any, values: Any) -> Any:
    try:
        return cast_exactly(values, field.type)
    except MISFIT:
        row = first_misfit(len(values), lambda first, last: cast_exactly(values[first:last], field.type))
        raise misfit(field.name, row, field.type, str(values.type)) from None


def _family(kind: Any) -> str | None:
    """Return which types this one may become without being text."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_timestamp(kind):
        return "local times" if kind.tz is None else "instants"
    return "local times" if pa.types.is_date(kind) else None


def _equal(before: Any, after: Any) -> bool:
    is_same = pc.equal(before, after)
    if pa.types.is_floating(before.type):
        is_same = pc.or_(is_same, pc.is_nan(before))
    return pc.all(is_same).as_py() is not False


def _texts(values: Any) -> Any:
    """Return the values as text.

    Raises:
        ValueError: if values of this type have no text.
    """
    kind = values.type
    if is_text(kind):
        return values
    if pa.types.is_floating(kind):
        # Arrow writes 1.0 as 1.
        return texts_of(values.to_pylist())
    if pa.types.is_decimal(kind):
        return texts_of(None if number is None else format(number, "f") for number in values.to_pylist())
    if pa.types.is_timestamp(kind):
        return _texts_of_times(values)
    refuse_if(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
    return values.cast(pa.string())


def _texts_of_times(values: Any) -> Any:
    zone = values.type.tz
    texts = (values if zone is None else values.cast(pa.timestamp(values.type.unit, "UTC"))).cast(pa.string())
    texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]*[1-9])0+(Z?)$", r"\1\2")
    if zone is None:
        return pc.replace_substring_regex(texts, " 00:00:00$", "")
    return pc.replace_substring(texts, " ", "T")
