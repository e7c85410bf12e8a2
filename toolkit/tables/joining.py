"""A table that grows answer by answer, as `tabulate`, sessions and sweeps make it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, get_args

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api import types

from toolkit.core.arguments import as_choice, as_mapping
from toolkit.core.errors import ConfigurationError, TabulationError
from toolkit.core.escaping import excerpt
from toolkit.core.user_code import warn
from toolkit.tables.columns import Column, column_of, inferred
from toolkit.tables.conversion import FLOAT_DIGITS, MISFIT, Losses, Numbers, is_text, string_array
from toolkit.tables.display import is_missing
from toolkit.tables.records import (
    SHOWN,
    Body,
    KeyPath,
    body_of,
    check_filled,
    columns_of,
    distinct,
    dotted,
    is_key,
    paused_collection,
    telling_key,
)
from toolkit.tables.rows import Rows, choose_rows
from toolkit.tables.schema import as_schema, frame_of, misfit, typed, wanted_schema
from toolkit.transport.next_page import has_page_token


class TableBuilder:
    """A table that grows answer by answer; the types are those of all rows together.

    Only the values of the rows are kept, so answers may be dropped as soon as they are added.

    Args:
        numbers, records, key, schema, dtypes: as in `tabulate`.

    Attributes:
        count: number of rows so far.
        hint: as in `rows.Rows`, of the first answer that has a hint.
    """

    def __init__(
        self,
        *,
        numbers: Numbers = "float",
        records: str | None = None,
        key: str | None = None,
        schema: Any = None,
        dtypes: Mapping[str, Any] | None = None,
    ) -> None:
        self.count = 0
        self.hint = ""
        self._numbers = as_choice(numbers, get_args(Numbers), about="numbers")
        dtypes = as_mapping({} if dtypes is None else dtypes, about="dtypes", example='{"account_number": "str"}')
        self._dtypes = {name: _dtype(name, dtype) for name, dtype in dtypes.items()}
        self._schema = wanted_schema(schema, self._dtypes)
        kinds = [*map(_kind_of, self._dtypes.values()), *(() if self._schema is None else self._schema.types)]
        # The answers are not there to be read again if a number turns out to be text.
        self._as_text = numbers != "float" or any(map(_has_digits, kinds))
        self._path, self._key = records, key
        self._filled = 0  # cells of the answers
        self._around: set[str] = set()  # keys of the objects that had rows inside
        self._columns: dict[KeyPath, list[Any]] = {}
        self._carried: dict[tuple[KeyPath, str], list[Any]] = {}

    def add(self, data: Any, *, is_one_row: bool = False) -> int:
        """Add the rows of an answer, all of them or, if this raises, none.

        Args:
            data: a response, JSON as bytes or text, a parsed value, or a table with a column of JSON text.
            is_one_row: True if an object is one row, whatever it holds, and nothing hints at its lists.

        Returns:
            The number of rows that the answer has.

        Raises:
            ServiceError: if the answer has an error status.
            TabulationError: if it is not JSON, or has no rows where they are looked for.
        """
        try:
            with paused_collection():
                columns, rows, count = self._read(data, is_one_row=is_one_row)
        except RecursionError:
            raise TabulationError("The value is nested too deeply.", "Tabulate a part of it.", about="data") from None
        filled = self._filled + sum(map(len, columns.values()))
        check_filled(len(self._columns.keys() | columns.keys()), self.count + count, filled)
        self._filled = filled
        self.hint = self.hint or rows.hint
        _extend(self._columns, columns, self.count)
        _extend(self._carried, rows.carried, self.count)
        self.count += count
        return count

    def finish(self) -> pd.DataFrame:
        """Return the table, as if all records had come in one answer; nothing may be added afterwards.

        Raises:
            TabulationError: if a value does not fit its column.
        """
        losses = Losses()
        columns = {column.name: column for column in self._named()}
        if self._schema is not None:
            finished = as_schema(columns, self.count, self._schema, losses)
        else:
            finished = {}
            for name in list(columns):
                column = columns.pop(name)
                if name in self._dtypes:
                    finished[name] = _as_dtype(column, self._dtypes[name], self._numbers, losses)
                else:
                    finished[name] = inferred(column, self._numbers, losses)
        _warn(losses)
        return frame_of(finished, self.count)

    def _read(self, data: Any, *, is_one_row: bool) -> tuple[dict[KeyPath, list[Any]], Rows, int]:
        """Return the columns of the rows of an answer, and the rows, without their records, and their number."""
        if self._path is not None and isinstance(data, pd.DataFrame):
            value: Any = _cells_of(data, self._path, as_text=self._as_text)
        else:
            body = body_of(data)
            value = data if body is None else body.parse(numbers_as_text=self._as_text)
        value = [value] if is_one_row and isinstance(value, dict) else value
        rows = Rows([]) if self._lacks_its_list(value) else choose_rows(value, self._path, self._key)
        columns = columns_of(rows.records)
        if isinstance(value, dict) and not any(record is value for record in rows.records):
            self._around.update(value)
        count, rows.records = len(rows.records), []
        return columns, rows, count

    def _lacks_its_list(self, value: Any) -> bool:
        """Check whether an answer is an envelope without its list, which some services leave out if it is empty."""
        if not isinstance(value, dict) or any(isinstance(member, (list, dict)) for member in value.values()):
            return False
        return has_page_token(value) or (bool(self._around) and value.keys() <= self._around)

    def _named(self) -> Iterator[Column]:
        """Yield the columns by distinct names: those that identify the records around, then the records' own."""
        own = self._ordered()
        uses = Counter([*map(dotted, own), *(name for _, name in self._carried)])
        names = [
            name if uses[name] == 1 else f"{path[-1] if path else 'parent'}.{name}" for path, name in self._carried
        ]
        paths = [*((name,) for _, name in self._carried), *own]
        values = [*self._carried.values(), *own.values()]
        unique = distinct(string_array([*names, *map(dotted, own)]).to_pylist())
        for name, path, part in zip(unique, paths, values, strict=True):
            part.extend([None] * (self.count - len(part)))
            yield column_of(name, telling_key(path), part, numbers_are_text=self._as_text)
            part.clear()

    def _ordered(self) -> dict[KeyPath, list[Any]]:
        """Return the columns with those of an object together, without empty ones where others have an object."""
        ranks: dict[KeyPath, int] = {}
        for path in self._columns:
            for length in range(1, len(path) + 1):
                ranks.setdefault(path[:length], len(ranks))
        parents = {path[:length] for path in self._columns for length in range(1, len(path))}
        return {
            path: self._columns[path]
            for path in sorted(self._columns, key=lambda path: [ranks[path[:end]] for end in range(1, len(path) + 1)])
            if path not in parents or any(value is not None for value in self._columns[path])
        }


def _extend(kept: dict[Any, list[Any]], added: Mapping[Any, list[Any]], count: int) -> None:
    """Add values to columns that have up to `count` of them, with None for the rows without."""
    for name, values in added.items():
        column = kept.setdefault(name, values if count == 0 else [])
        if column is not values:
            column.extend([None] * (count - len(column)))
            column.extend(values)


def _cells_of(table: pd.DataFrame, path: str, *, as_text: bool) -> list[dict[str, Any]]:
    """Return a record for each row of a table: the columns that identify it, and the parsed column of a path.

    Raises:
        TabulationError: if the table does not have the column, or if a cell does not hold a JSON list or object.
    """
    parts = path.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    column = next((name for name in names if name in table.columns), None)
    if column is None:
        raise TabulationError(
            f"The table has no column at {excerpt(path)!r}.",
            "records= opens a column of JSON text; otherwise pass the response of the service, or its JSON.",
            about="records",
        )
    # A key with dots is that of an object inside the record, unless a list has the same key.
    keys = [name for name in table.columns if isinstance(name, str) and name != column and is_key(name)]
    keys = [name for name in keys if "." not in name or name.rpartition(".")[2] in keys]
    values = [_parsed_cell(cell, column, row, as_text=as_text) for row, cell in enumerate(table[column].tolist())]
    plain = [[None if is_missing(cell) else cell for cell in table[name].astype(object).tolist()] for name in keys]
    return [dict(zip([*keys, column], cells, strict=True)) for cells in zip(*plain, values, strict=True)]


def _parsed_cell(cell: Any, column: str, row: int, *, as_text: bool) -> Any:
    value = None if is_missing(cell) else cell
    if isinstance(cell, str):
        with suppress(TabulationError):
            value = Body(cell.encode("utf-8", "surrogatepass")).parse(numbers_as_text=as_text)
    if value is None or isinstance(value, (list, dict)):
        return value
    raise TabulationError(
        f"Column {excerpt(column, SHOWN)!r}, row {row}: expected a JSON list or object, found another value.",
        "records= opens a column of JSON text.",
        about="records",
    )


def _dtype(name: str, dtype: Any) -> Any:
    try:
        return types.pandas_dtype(dtype)
    except (TypeError, ValueError):
        reason = "is not a type that pandas knows"
    raise ConfigurationError(
        f"The dtype of the column {excerpt(str(name))} {reason}.",
        'For example dtypes={"account_number": "str", "cash": "float64"}.',
        about="dtypes",
    )


def _kind_of(dtype: Any) -> Any | None:
    """Return the Arrow type of a dtype, or None if it has none, such as a category."""
    if isinstance(dtype, pd.ArrowDtype):
        return dtype.pyarrow_dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return pa.timestamp(dtype.unit, str(dtype.tz))
    if isinstance(dtype, pd.StringDtype):
        return pa.string()
    try:
        return pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype))
    except (pa.ArrowNotImplementedError, TypeError):
        return None


def _has_digits(kind: Any | None) -> bool:
    """Return True if a column of this type can hold more digits of a JSON number than a float does."""
    return kind is None or is_text(kind) or pa.types.is_decimal(kind) or pa.types.is_dictionary(kind)


def _as_dtype(column: Column, dtype: Any, numbers: Numbers, losses: Losses) -> pd.Series[Any]:
    """Return a column with a requested dtype.

    Raises:
        TabulationError: if a value does not fit; names the first such row, the dtype and the type of the value.
    """
    kind = _kind_of(dtype)
    if kind is None:
        before: pd.Series[Any] = frame_of({"": inferred(column, numbers, losses)}, len(column.data))[""]
        try:
            with warnings.catch_warnings(action="error"):  # pandas warns of values that are no category
                after = before.astype(dtype)
            again = before if types.is_object_dtype(dtype) else after.astype(before.dtype)
        except (*MISFIT, Warning):
            raise misfit(column, 0, dtype, "dtypes") from None
        is_same = (again == before).fillna(value=False) | (before.isna() & after.isna())
        if not is_same.all():
            raise misfit(column, int((~is_same).argmax()), dtype, "dtypes")
        result: pd.Series[Any] = after
        return result
    values = typed(column, kind, losses, dtype=dtype)
    if hasattr(dtype, "__from_arrow__"):
        values = dtype.__from_arrow__(values)
    elif values.null_count and dtype.kind not in "fM":
        raise misfit(column, pc.index(pc.is_null(values), True).as_py(), dtype, "dtypes")
    else:
        values = values.to_numpy(zero_copy_only=False)
    series: pd.Series[Any] = pd.Series(values, dtype=dtype)
    return series


def _warn(losses: Losses) -> None:
    digits = f"Numbers have more than {FLOAT_DIGITS} significant digits, which float64 may not hold exactly"
    for what, names, option in (
        (digits, losses.digits, "numbers='decimal'"),
        ("Digits beyond the microsecond were dropped", losses.nanoseconds, "dtypes={...: 'str'}"),
    ):
        if names:
            shown = ", ".join(repr(excerpt(name, 40)) for name in names[:5]) + (", ..." if len(names) > 5 else "")
            # The whole call is shown, because the table may come from session.accounts(), which has no such option.
            warn(f"{what}: {shown} (tk.tabulate(response, {option}) keeps them)")
