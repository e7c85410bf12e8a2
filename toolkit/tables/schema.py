"""Schemas of tables: the columns and types that other pages of the same endpoint can be given.

`schema` is the schema of one table, or the least schema that several tables fit; `as_schema` and `fitted` give columns
and tables the types of a schema. `widened` is the least schema that the rows of two schemas fit, ordered like this
(each type fits those right of it):

    null < bool                                          < string < string_view < large_string
    null < integers < int64 < double                     < string
    null < integers < int64 < decimal128                 < string
    null < date32 < timestamp without zone, finer units  < string
    null < timestamp with a zone, finer units, UTC       < string

A dictionary fits the type of its values. Any other two types fit only text together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.core.user_code import warn
from toolkit.tables.columns import Column
from toolkit.tables.conversion import (
    DECIMAL_DIGITS,
    MISFIT,
    TEXTS,
    Losses,
    converted,
    first_misfit,
    is_text,
    string_array,
    text_of,
)
from toolkit.tables.records import SHOWN, json_text

_UNITS: Final = ("s", "ms", "us", "ns")
_ERRORS: Final = (*MISFIT, pa.ArrowException)


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
        return (
            pa.table(columns, names=list(table.columns)) if columns else pa.table({"": pa.nulls(len(table))}).select([])
        )
    if not isinstance(table, pa.Table):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TabulationError(
                f"Expected a table, found {type(table).__name__}.",
                "Pass a DataFrame, a pyarrow.Table or a pyarrow.Schema.",
                about="schema",
            )
        table = pa.table(table)
    for position, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):  # Arrow has no functions for them
            plain = pa.field(field.name, pa.string(), field.nullable)
            table = table.set_column(position, plain, table.column(position).cast(pa.string()))
    return table.replace_schema_metadata(None)


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


def as_schema(columns: Mapping[str, Column], count: int, wanted: Any, losses: Losses) -> dict[str, Any]:
    """Return the columns of a schema as Arrow arrays, with missing values for those that are not there; note losses.

    Raises:
        TabulationError: if a value does not fit, or if none is there where the schema wants one.
    """
    unknown = [
        repr(excerpt(name, 40)) for name, column in columns.items() if name not in wanted.names and _is_filled(column)
    ]
    if unknown:
        more = ", ..." if len(unknown) > 20 else ""
        warn(f"The schema does not have these fields, so they were left out: {', '.join(unknown[:20])}{more}")
    return {field.name: _as_field(columns.get(field.name), count, field, losses) for field in wanted}


def typed(column: Column, kind: Any, losses: Losses, *, dtype: Any = None) -> Any:
    """Return a column as Arrow values of a type, which may be that of a requested dtype of pandas.

    Raises:
        TabulationError: if a value does not fit; names the first such row, the type and the type of the value.
    """
    values = column.values()
    is_requested = dtype is not None
    try:
        return converted(values, kind, losses, column.name, is_requested=is_requested)
    except MISFIT:
        row = first_misfit(len(values), lambda part: converted(values[part], kind, Losses(), is_requested=is_requested))
        raise misfit(column, row, dtype or kind, "dtypes" if is_requested else "schema") from None


def misfit(column: Column, row: int, expected: Any, about: str) -> TabulationError:
    """Return the error about a value that is not of the type expected by an argument."""
    advice = (
        "The column needs another type, such as one of text; tk.schema([table, another]) is a schema that both fit."
    )
    return TabulationError(
        f"Column {excerpt(column.name, SHOWN)!r}, row {row}: expected {expected}, found {column.type_at(row)}.",
        f"Rows count from 0. {advice}",
        about=about,
    )


def _as_field(column: Column | None, count: int, field: Any, losses: Losses) -> Any:
    """Return a column as the values of a field, which is absent or missing only if it is nullable."""
    values = pa.nulls(count, field.type) if column is None else typed(column, field.type, losses)
    if values.null_count and not field.nullable and not pa.types.is_null(field.type):
        absent = column or Column(field.name, field.name, values)
        raise misfit(absent, pc.index(pc.is_null(values), True).as_py(), field.type, "schema")
    return values


def fitted(table: Any, schema: Any) -> Any:
    """Return an Arrow table with exactly the columns and types of a schema; absent columns get missing values.

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
    columns = {name: Column(name, name, table[name]) for name in table.column_names}
    values = [_as_field(columns.get(field.name), table.num_rows, field, Losses()) for field in schema]
    return pa.table(values, schema=schema) if values else table.select([])


def wanted_schema(table: Any, requested: Mapping[str, Any]) -> Any | None:
    """Return the schema that the argument of this name of `tabulate` stands for; None if it is None.

    Raises:
        TabulationError: if it has a column of a type that JSON has no values of, such as a list, or a column whose
            dtype is requested, too.
    """
    wanted = None if table is None else schema(table)
    for field in wanted or ():
        name = excerpt(field.name, SHOWN)
        if field.name in requested:
            raise TabulationError(
                f"Column {name!r} has a type in dtypes and in schema.", "Leave one of them out.", about="dtypes"
            )
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind) or pa.types.is_duration(kind) or pa.types.is_binary(kind):
            raise TabulationError(
                f"Column {name!r} cannot be of type {excerpt(str(field.type), SHOWN)}.",
                "Nested values become JSON text: use pa.string().",
                about="schema",
            )
    return wanted


def frame_of(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return a DataFrame of `count` rows, numbered from 0, with these columns in their order.

    A column is an Arrow array, a Series, or a list of objects.
    """
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(count), columns=pd.Index([], dtype="str"))
    arrays = {name: values if _is_arrow(values) else pa.nulls(count) for name, values in columns.items()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=_dtype_of)
    for name, values in columns.items():
        if not _is_arrow(values):
            frame[name] = values if isinstance(values, pd.Series) else pd.Series(values, dtype=object)
    return frame


def _is_arrow(values: Any) -> bool:
    return isinstance(values, (pa.Array, pa.ChunkedArray))


def _dtype_of(kind: Any) -> Any:
    """Return the dtype of an Arrow type, or None for the one that Arrow chooses, which is of the same type."""
    if kind == pa.timestamp("us", "UTC"):
        return pd.DatetimeTZDtype("us", "UTC")  # pandas and Arrow use different objects for UTC
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pd.BooleanDtype() if pa.types.is_boolean(kind) else pd.api.types.pandas_dtype(_masked(kind))
    is_plain = is_text(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    return None if is_plain or pa.types.is_timestamp(kind) or pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)


def _masked(kind: Any) -> str:
    return str(kind).capitalize().replace("Ui", "UI")


def _is_filled(column: Column) -> bool:
    values = column.values()
    return bool(values.null_count < len(values))


def _least(tables: Sequence[Any]) -> Any:
    """Return the least schema that the rows of all tables fit, if empty texts may be missing."""
    plain = [table if isinstance(table, pa.Schema) else arrow_table(table) for table in tables]
    text = reduce(widened, map(schema, plain))
    filled = [
        table if isinstance(table, pa.Schema) else pa.schema(map(_filled, table.schema, table)) for table in plain
    ]
    least = reduce(widened, map(schema, filled))
    return pa.schema([text.field(field.name) if pa.types.is_null(field.type) else field for field in least])


def _filled(field: Any, values: Any) -> Any:
    """Return the field of a column, with the type of null for text without a character."""
    is_blank = is_text(field.type) and not pc.any(pc.not_equal(values, "")).as_py()
    return pa.field(field.name, pa.null()) if is_blank else field


def _wider(left: Any, right: Any) -> Any:
    """Return the least type that the values of both types fit."""
    if left == right:
        return left
    if pa.types.is_null(left) or pa.types.is_null(right):
        return right if pa.types.is_null(left) else left
    if pa.types.is_dictionary(left) or pa.types.is_dictionary(right):
        return _wider(*(kind.value_type if pa.types.is_dictionary(kind) else kind for kind in (left, right)))
    kind = _wider_number(left, right) or _wider_time(left, right)
    return kind or max((kind for kind in (left, right) if is_text(kind)), key=TEXTS.index, default=pa.string())


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
    return string_array(
        None if value is None else json_text(value) if isinstance(value, (dict, list, tuple)) else text_of(value)
        for value in values
    )


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
