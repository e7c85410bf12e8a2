"""Types that the user asks for: table schemas, and columns with the types that `schema=` and `dtypes=` specify.

`schema` returns the schema of one table, or the narrowest schema that fits several tables. `widened` returns the
narrowest schema that fits the rows of two schemas. Types are promoted as in Arrow (integers, decimals and floats, time
units), or become text if Arrow has no common type or the common type would lose digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import ConfigurationError, TabulationError, as_mapping
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.tables.columns import (
    MISFIT,
    SHOWN,
    Column,
    Losses,
    Numbers,
    converted,
    frame_of,
    inferred,
)

_TEXT: Final = pa.string()


def schema(table: Any) -> Any:
    """Return the schema of a table, so that other pages of the same endpoint get the same columns and types.

        schema = tk.schema([tk.tabulate(page) for page in first_pages])
        for number, page in enumerate(pages):
            table = tk.tabulate(page, schema=schema)
            table.to_parquet(f"orders/{number:05}.parquet", schema=schema, index=False)

    The files then have identical schemas, and pandas, Polars, DuckDB and Dask read the folder as one dataset. Without
    `index=False`, pandas writes the number of rows into the schema. For Dask, the table of an empty page describes each
    partition:

        dd.from_map(lambda page: tk.tabulate(page, schema=schema), pages, meta=tk.tabulate([], schema=schema))

    Text is `string`, Int64 is `int64`, boolean is `bool`, float64 is `double`, instants are `timestamp[us, tz=UTC]`,
    dates and local times `timestamp[us]`, and decimals `decimal128`. A column without values is `null`, a type that no
    value fits. To avoid this type, make the schema from several tables, or set the type:

        position = schema.get_field_index("closed_on")
        schema = schema.set(position, pa.field("closed_on", pa.timestamp("us")))

    Columns of mixed types and all text types are `string`, a categorical column has the type of its categories, and
    nested values and values without an Arrow type are JSON text (`string`). The index is not part of the schema.

    Args:
        table: a DataFrame, an Arrow table or schema, another table that Arrow reads, or a list of them. Several tables
            give the narrowest schema that fits all their rows: integers and fractions give `double`, and text and any
            other type give `string`. Empty strings in DataFrames fit every type and count as missing values: for
            example, the dates on one page may all be empty.

    Raises:
        TabulationError: if this is not a table, if two columns have the same name, or if a name is not text.
    """
    if isinstance(table, (list, tuple)) and table:
        text = reduce(widened, map(_schema_of, table))
        least = reduce(widened, (_schema_of(part, blank=pa.null()) for part in table))
        return pa.schema([text.field(field.name) if pa.types.is_null(field.type) else field for field in least])
    return _schema_of(table)


def _schema_of(table: Any, blank: Any = _TEXT) -> Any:
    """Return the schema of one table; `blank` is the type for a DataFrame column that contains only empty text."""
    if isinstance(table, pd.DataFrame):
        _check_names(list(table.columns))
        return pa.schema([(name, _type_of(table[name], blank)) for name in table.columns])
    if not isinstance(table, pa.Schema):
        if not hasattr(table, "__arrow_c_stream__"):
            what = f"Expected a table, found {type(table).__name__}."
            raise TabulationError(what, "Pass a DataFrame, a pyarrow.Table or a pyarrow.Schema.", about="schema")
        table = pa.table(table).schema
    _check_names(table.names)
    return pa.schema([field.with_type(_plain(field.type)).remove_metadata() for field in table])


def _type_of(series: pd.Series[Any], blank: Any) -> Any:
    """Return the Arrow type of a DataFrame column; text for nested values and for objects of several types."""
    with suppress(*MISFIT, pa.ArrowException):
        values = pa.array(series, from_pandas=True)
        is_blank = pa.types.is_string(_plain(values.type)) and not pc.any(pc.not_equal(values, "")).as_py()
        return blank if is_blank else _TEXT if pa.types.is_nested(values.type) else _plain(values.type)
    return _TEXT


def widened(left: Any, right: Any) -> Any:
    """Return the narrowest schema that fits both schemas' rows: the left columns, then columns only on the right."""
    _check_names(left.names)
    _check_names(right.names)
    fields = []
    for name in dict.fromkeys([*left.names, *right.names]):
        both = [part.field(name) for part in (left, right) if name in part.names]
        fields.append(pa.field(name, _wider(both[0].type, both[-1].type)))
    return pa.schema(fields)


class Wanted:
    """The types that `schema=` and `dtypes=` of `tabulate` ask for."""

    def __init__(self, table: Any, dtypes: Any) -> None:
        dtypes = as_mapping(dtypes, about="dtypes", example='{"account_number": "str"}')
        self._dtypes = {name: _dtype(name, dtype) for name, dtype in dtypes.items()}
        self._schema = None if table is None else schema(table)
        for name in self._dtypes.keys() & set(() if self._schema is None else self._schema.names):
            what = f"Column {excerpt(name, SHOWN)!r} has a type in both dtypes and schema."
            raise TabulationError(what, "Leave one of them out.", about="dtypes")

    def columns(self, found: Iterable[Column], count: int, numbers: Numbers, losses: Losses) -> dict[str, Any]:
        """Return the columns of a table with `count` rows, as in the schema if there is one, and note lost digits."""
        if self._schema is None:
            return {
                column.name: _as_dtype(column, self._dtypes[column.name], numbers, losses)
                if column.name in self._dtypes
                else inferred(column, numbers, losses)
                for column in found
            }
        by_name = {column.name: column for column in found}
        others = [column for name, column in by_name.items() if name not in self._schema.names]
        if unknown := [repr(excerpt(column.name, 40)) for column in others if column.values().null_count < count]:
            more = ", ..." if len(unknown) > 20 else ""
            warn(f"The schema does not have these fields, so they were left out: {', '.join(unknown[:20])}{more}")
        columns = {}
        for field in self._schema:
            column = by_name.get(field.name) or Column(field.name, "", pa.nulls(count))
            columns[field.name] = _typed(column, field.type, losses, field.type, "schema")
        return columns


def _as_dtype(column: Column, dtype: Any, numbers: Numbers, losses: Losses) -> pd.Series[Any]:
    kind = _kind_of(dtype)
    values = inferred(column, numbers, losses) if kind is None else _typed(column, kind, losses, dtype, "dtypes")
    series: pd.Series[Any] = frame_of({"": values}, len(column.data))[""]
    try:
        return series.astype(dtype)
    except MISFIT:
        raise _misfit(column, int(series.isna().argmax()), dtype, "dtypes") from None


def _typed(column: Column, kind: Any, losses: Losses, expected: Any, about: str) -> Any:
    """Return a column as Arrow values of a type; an error names the first row that does not fit."""
    values = column.values()
    try:
        return converted(values, kind, losses, column.name)
    except MISFIT:
        row = next((row for row in range(len(values)) if not _fits(values[row : row + 1], kind)), 0)
        raise _misfit(column, row, expected, about) from None


def _fits(values: Any, kind: Any) -> bool:
    with suppress(*MISFIT):
        converted(values, kind, {})
        return True
    return False


def _misfit(column: Column, row: int, expected: Any, about: str) -> TabulationError:
    value = "the value" if column.values()[row].is_valid else "a missing value"
    return TabulationError(
        f"Column {excerpt(column.name, SHOWN)!r}, row {row}: {value} does not fit {expected}.",
        "Rows are counted from 0. The column needs another type, such as text; tk.schema([table, another]) returns "
        "a schema that fits both tables.",
        about=about,
    )


def _dtype(name: str, dtype: Any) -> Any:
    with suppress(TypeError, ValueError, NotImplementedError):
        return pd.Series([], dtype=dtype).dtype
    raise ConfigurationError(
        f"The dtype for the column {excerpt(str(name))} is not supported by pandas.",
        'For example, dtypes={"account_number": "str", "cash": "float64"}.',
        about="dtypes",
    )


def _kind_of(dtype: Any) -> Any | None:
    """Return the Arrow type for a dtype, or None if its values may have several types, as in a category."""
    kind = pa.array(pd.Series([], dtype=dtype)).type
    return None if pa.types.is_dictionary(kind) or pa.types.is_null(kind) else _plain(kind)


def _plain(kind: Any) -> Any:
    """Return the value type of a dictionary, `string` for any text type, and other types unchanged."""
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    return _TEXT if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) else kind


def _wider(left: Any, right: Any) -> Any:
    """Return the narrowest type that fits the values of both types."""
    kinds = (left, right)
    if not (any(map(pa.types.is_floating, kinds)) and any(map(pa.types.is_decimal, kinds))):  # would lose digits
        with suppress(pa.ArrowTypeError):
            both = [pa.schema([("", kind)]) for kind in kinds]
            return pa.unify_schemas(both, promote_options="permissive").field(0).type
    return _TEXT


def _check_names(names: Sequence[Any]) -> None:
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1:
            problem = "is used for two columns" if isinstance(name, str) else "is not text"
            raise TabulationError(f"The name {excerpt(str(name), SHOWN)!r} {problem}.", "Rename it.", about="schema")
