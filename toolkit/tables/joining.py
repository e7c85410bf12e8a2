"""One table of many answers, such as the pages of a list, or the answers of one endpoint for many keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from toolkit.core.errors import TabulationError
from toolkit.tables.arrow_text import Numbers
from toolkit.tables.column_names import dotted
from toolkit.tables.columns import Column, inferred_type
from toolkit.tables.flatten import RecordColumns
from toolkit.tables.frames import named_columns, table_of
from toolkit.tables.json_body import body_of
from toolkit.tables.row_choice import choose_rows
from toolkit.tables.schema_columns import needs_digits, wanted_schema

if TYPE_CHECKING:
    import pandas as pd

_PREFIX: Final = "sweep_"


class TableBuilder:
    """A table that grows answer by answer; the types are those of all rows together.

    Only the values of the rows are kept, so answers may be dropped as soon as they are added.

    Args:
        numbers, records, schema: as in `tabulate`. Leading columns stand before those of the schema.

    Attributes:
        count: number of rows so far.
    """

    def __init__(self, *, numbers: Numbers = "float", records: str | None = None, schema: Any = None) -> None:
        self.count = 0
        self._schema = wanted_schema(schema, {})
        # The answers are not there to be read again if a number turns out to be text.
        self._numbers_as_text = numbers != "float" or (self._schema is not None and needs_digits(self._schema))
        self._numbers = numbers
        self._path = records
        self._own = RecordColumns()
        self._carried: dict[tuple[str, str], list[Any]] = {}
        self._leading: dict[str, list[Any]] = {}

    def add(self, data: Any, leading: Mapping[str, Any] | None = None) -> int:
        """Add the rows of an answer, all of them or, if this raises, none.

        Args:
            data: a response, JSON as bytes or text, or a parsed value.
            leading: values of columns that stand before those of the answer, the same in each of its rows, by name.
                If the answers have a column of such a name, the leading one is called `sweep_<name>`.

        Returns:
            The number of rows that the answer has.

        Raises:
            ServiceError: if the answer has an error status.
            TabulationError: if it is not JSON, or has no rows where they are looked for.
        """
        try:
            body = body_of(data)
            value = data if body is None else body.parse(numbers_as_text=self._numbers_as_text)
            rows = choose_rows(value, self._path)
            self._own.add(rows.records)
        except RecursionError:
            raise TabulationError("The value is nested too deeply.", about="data") from None
        before, self.count = self.count, self._own.count
        added = self.count - before
        for name, values in rows.carried.items():
            _padded(self._carried, name, before).extend(values)
        for column, value in (leading or {}).items() if added else ():
            _padded(self._leading, column, before).extend([value] * added)
        return added

    def finish(self) -> pd.DataFrame:
        """Return the table, as if all records had come in one answer; nothing may be added afterwards.

        Raises:
            TabulationError: if a value does not fit its column.
        """
        columns = self._columns()
        schema = None if self._schema is None else self._with_leading(columns, self._schema)
        return table_of(columns, self.count, numbers=self._numbers, requested={}, schema=schema)

    def _with_leading(self, columns: Mapping[str, Column], schema: Any) -> Any:
        """Return the schema with the leading columns before its own."""
        ahead = list(columns)[: len(self._leading)]
        types = [inferred_type(columns[name], self._numbers) for name in ahead]
        return pa.schema([*zip(ahead, types, strict=True), *schema])

    def _columns(self) -> dict[str, Column]:
        own = self._own.finish()
        names = {dotted(path) for path in own} | {key for _, key in self._carried}
        if self._schema is not None:
            names |= set(self._schema.names)
        leading = {(_PREFIX + name if name in names else name,): values for name, values in self._leading.items()}
        for values in (*self._carried.values(), *self._leading.values()):
            values.extend([None] * (self.count - len(values)))
        return named_columns(own, self._carried, leading)


def _padded(columns: dict[Any, list[Any]], name: Any, count: int) -> list[Any]:
    """Return the column of this name, with None for rows that did not have it, up to `count` rows."""
    values: list[Any] = columns.setdefault(name, [])
    values.extend([None] * (count - len(values)))
    return values
