"""Schemas of tables: the columns and types that other pages of the same endpoint can be given.

`schema` is the schema of one table, or the least schema that several tables fit; `arrow_table` gives a DataFrame those
types. `widened` is the least schema that the rows of two schemas fit, ordered like this (each type fits those right of
it):

    null < bool                                          < string < string_view < large_string
    null < integers < int64 < double                     < string
    null < integers < int64 < decimal128                 < string
    null < date32 < timestamp without zone, finer units  < string
    null < timestamp with a zone, finer units, UTC       < string

A dictionary fits the type of its values. Any other two types fit only text together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import DECIMAL_DIGITS, string_array, text_of
from toolkit.tables.flatten import json_text
from toolkit.tables.json_body import SHOWN

if TYPE_CHECKING:
    import pandas as pd

_UNITS: Final = ("s", "ms", "us", "ns")
_TEXTS: Final = (pa.string(), pa.string_view(), pa.large_string())
_ERRORS: Final = (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError)


def schema(table: Any) -> Any:
    """Return the schema of a table, so that other pages of the same endpoint get the same columns and types.

        schema = tk.schema([tk.tabulate(page) for page in first_pages])
        for number, page in enumerate(pages):
            table = tk.tabulate(page, schema=schema)
            table.to_parquet(f"orders/{number:05}.parquet", schema=schema, index=False)

    The files then have the same schema to the byte, and pandas, Polars, DuckDB and Dask read the folder as one dataset.
    Without `index=False` pandas writes the number of rows into the schema. For Dask, the table of an empty page says
    what each partition will be:

        dd.from_map(lambda page: tk.tabulate(page, schema=schema), pages, meta=tk.tabulate([], schema=schema))

    Text is `string`, Int64 is `int64`, boolean is `bool`, float64 is `double`, instants are `timestamp[us, tz=UTC]`,
    dates and local times `timestamp[us]`, and decimals `decimal128`. A column without any value is `null`: no value
    fits it. Make the schema of several tables, or give it a type:

        position = schema.get_field_index("closed_on")
        schema = schema.set(position, pa.field("closed_on", pa.timestamp("us")))

    Columns of mixed types are `string`, a category is the type of its categories, and nested values are JSON text, thus
    `string`. The index is not part of the schema.

    Args:
        table: a DataFrame, an Arrow table or schema, another table that Arrow reads, or a list of them. Several tables
            give the least schema that all their rows fit: integers and fractions give `double`, anything else beside
            text gives `string`. Empty texts fit every type, as a missing value, like dates that are empty on one page.

    Raises:
        TabulationError: if this is not a table, has two columns of one name, or values that Arrow does not have.
    """
    if isinstance(table, (list, tuple)) and table:
        return _least(table)
    plain = table if isinstance(table, pa.Schema) else arrow_table(table).schema
    _check_names(plain.names)
    return pa.schema([field.remove_metadata() for field in plain])


def arrow_table(table: Any) -> Any:
    """Return the rows of a table as an Arrow table, with the types that `schema` describes and without metadata.

    Raises:
        TabulationError: as for `schema`.
    """
    if hasattr(table, "itertuples"):
        _check_names(list(table.columns))
        columns = [_from_series(name, table[name]) for name in table.columns]
        return pa.table(columns, names=list(table.columns)) if columns else _without_columns(len(table))
    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TabulationError(
                f"Expected a table, found {type(table).__name__}.",
                "Pass a DataFrame, a pyarrow.Table or a pyarrow.Schema.",
                about="schema",
            )
        table = pa.table(table)
    return _without_views(table).replace_schema_metadata(None)


def widened(left: Any, right: Any) -> Any:
    """Return the least schema that the rows of both schemas fit: columns of the left one, then others of the right.

    The order of the arguments, and of many calls, matters for the order of the columns only.

    Raises:
        TabulationError: if a schema has two columns of one name.
    """
    _check_names(left.names)
    _check_names(right.names)
    fields = []
    for name in dict.fromkeys([*left.names, *right.names]):
        both = [part.field(name) for part in (left, right) if name in part.names]
        is_nullable = len(both) == 1 or any(field.nullable for field in both)
        fields.append(pa.field(name, _wider(both[0].type, both[-1].type), nullable=is_nullable))
    return pa.schema(fields)


def _without_views(table: Any) -> Any:
    """Return the table with plain text for views of text, for which Arrow has no functions."""
    for position, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            plain = pa.field(field.name, pa.string(), field.nullable)
            table = table.set_column(position, plain, table.column(position).cast(pa.string()))
    return table


def _least(tables: Sequence[Any]) -> Any:
    """Return the least schema that the rows of all tables fit, if empty texts may be missing."""
    plain = [table if isinstance(table, pa.Schema) else arrow_table(table) for table in tables]
    text = reduce(widened, map(schema, plain))
    least = reduce(
        widened, [schema(table) if isinstance(table, pa.Schema) else _without_blanks(table) for table in plain]
    )
    return pa.schema([text.field(field.name) if pa.types.is_null(field.type) else field for field in least])


def _without_blanks(table: Any) -> Any:
    """Return the schema of a table, with the type of null for text without a character."""
    fields = schema(table)
    for position, field in enumerate(fields):
        if is_text(field.type) and not pc.any(pc.not_equal(table[field.name], "")).as_py():
            fields = fields.set(position, pa.field(field.name, pa.null()))
    return fields


def is_text(kind: Any) -> bool:
    """Return True for the types of text."""
    return kind in _TEXTS


def _wider(left: Any, right: Any) -> Any:
    """Return the least type that the values of both types fit."""
    if left == right:
        return left
    if pa.types.is_null(left) or pa.types.is_null(right):
        return right if pa.types.is_null(left) else left
    if pa.types.is_dictionary(left) or pa.types.is_dictionary(right):
        return _wider(*(kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (left, right)))
    kind = _wider_number(left, right) or _wider_time(left, right)
    return kind or max((kind for kind in (left, right) if is_text(kind)), key=_TEXTS.index, default=pa.string())


def _wider_number(left: Any, right: Any) -> Any | None:
    kinds = (left, right)
    if all(map(_is_small_integer, kinds)):
        return pa.int64()
    if all(_is_small_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    if not all(_is_small_integer(kind) or pa.types.is_decimal128(kind) for kind in kinds):
        return None
    sizes = [(19, 0) if pa.types.is_integer(kind) else (kind.precision - kind.scale, kind.scale) for kind in kinds]
    whole, scale = (max(numbers) for numbers in zip(*sizes, strict=True))
    return pa.decimal128(whole + scale, scale) if whole + scale <= DECIMAL_DIGITS else None


def _is_small_integer(kind: Any) -> bool:
    """Return True for the types of integers that fit int64."""
    return bool(pa.types.is_integer(kind) and kind != pa.uint64())


def _wider_time(left: Any, right: Any) -> Any | None:
    stamps = [kind for kind in (left, right) if pa.types.is_timestamp(kind)]
    if not stamps or not all(kind in stamps or pa.types.is_date32(kind) for kind in (left, right)):
        return None
    zones = {kind.tz if kind in stamps else None for kind in (left, right)}
    if len(zones) > 1 and None in zones:
        return None
    unit = max((kind.unit for kind in stamps), key=_UNITS.index)
    return pa.timestamp(unit, zones.pop() if len(zones) == 1 else "UTC")


def _from_series(name: str, series: pd.Series[Any]) -> Any:
    """Return the values of a column of a DataFrame as an Arrow array."""
    try:
        values = _from_objects(series) if series.dtype == object else pa.array(series, from_pandas=True)
    except _ERRORS:
        raise TabulationError(
            f"Column {excerpt(name, SHOWN)!r} of type {series.dtype} has no type in Arrow.", about="schema"
        ) from None
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    return values.cast(pa.string()) if pa.types.is_large_string(values.type) else values


def _from_objects(series: pd.Series[Any]) -> Any:
    """Return Python objects as the type that they share, else as text."""
    missing = series.isna()
    values = [None if absent else value for absent, value in zip(missing, series, strict=True)]
    try:
        array = pa.array(values)
        if not pa.types.is_nested(array.type):
            return array
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        pass
    return string_array(None if value is None else _text(value) for value in values)


def _text(value: Any) -> str:
    return json_text(value) if isinstance(value, (dict, list, tuple)) else text_of(value)


def _without_columns(count: int) -> Any:
    return pa.table({"": pa.nulls(count)}).select([])


def _check_names(names: Sequence[Any]) -> None:
    for name, count in Counter(names).items():
        if not isinstance(name, str):
            raise TabulationError(
                f"The name of a column is of type {type(name).__name__}; names of columns are text.", about="schema"
            )
        if count > 1:
            raise TabulationError(
                f"{count} columns have the name {excerpt(name, SHOWN)!r}.", "Rename them.", about="schema"
            )
