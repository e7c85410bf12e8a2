"""One table of many answers, such as the pages of a list, or the answers of one endpoint for many keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.tables.arrow_text import Numbers
from toolkit.tables.column_names import KeyPath, dotted
from toolkit.tables.columns import Column, inferred_type
from toolkit.tables.envelopes import choose_place
from toolkit.tables.flatten import RecordColumns
from toolkit.tables.frames import named_columns, table_of
from toolkit.tables.json_body import Body, body_of, is_response
from toolkit.tables.row_choice import Rows, choose_rows
from toolkit.tables.schema_columns import needs_digits, wanted_schema
from toolkit.transport.next_page import has_page_token

if TYPE_CHECKING:
    import pandas as pd

_PREFIX: Final = "sweep_"


class TableBuilder:
    """A table that grows answer by answer; the types are those of all rows together.

    Only the values of the rows are kept, so answers may be dropped as soon as they are added.

    Args:
        numbers, records, key, schema: as in `tabulate`. Leading columns stand before those of the schema.

    Attributes:
        count: number of rows so far.
        hint, is_record: as in `row_choice.Rows`, of the first answer that has a hint.
    """

    def __init__(
        self,
        *,
        numbers: Numbers = "float",
        records: str | None = None,
        key: str | None = None,
        schema: Any = None,
    ) -> None:
        self.count = 0
        self.hint, self.is_record = "", False
        self._schema = wanted_schema(schema, {})
        # The answers are not there to be read again if a number turns out to be text.
        self._numbers_as_text = numbers != "float" or (self._schema is not None and needs_digits(self._schema))
        self._numbers = numbers
        self._path = records
        self._key = key
        self._envelope: set[str] = set()  # keys of the objects that had rows inside
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
            rows = Rows([]) if self._is_empty(value) else choose_rows(value, self._path, self._key)
            self._own.add(rows.records)
        except RecursionError:
            raise TabulationError("The value is nested too deeply.", "Tabulate a part of it.", about="data") from None
        if isinstance(value, dict) and not (len(rows.records) == 1 and rows.records[0] is value):
            self._envelope.update(value)
        if not self.hint:
            self.hint, self.is_record = rows.hint, rows.is_record
        before, self.count = self.count, self._own.count
        added = self.count - before
        for name, values in rows.carried.items():
            _padded(self._carried, name, before).extend(values)
        for column, value in (leading or {}).items() if added else ():
            _padded(self._leading, column, before).extend([value] * added)
        return added

    def _is_empty(self, value: Any) -> bool:
        """Check whether an answer is an envelope without its list, which some services leave out if it is empty."""
        if not isinstance(value, dict) or any(isinstance(member, list) for member in value.values()):
            return False
        is_known = bool(self._envelope) and value.keys() <= self._envelope
        if not is_known and not has_page_token(value):
            return False
        choice = choose_place(value)  # the list may stand in an object inside the envelope
        return choice.place is None and not choice.others

    def finish(self) -> pd.DataFrame:
        """Return the table, as if all records had come in one answer; nothing may be added afterwards.

        Raises:
            TabulationError: if a value does not fit its column.
        """
        columns = self.columns()
        schema = None if self._schema is None else self._with_leading(columns, self._schema)
        return table_of(columns, self.count, numbers=self._numbers, requested={}, schema=schema)

    def _with_leading(self, columns: Mapping[str, Column], schema: Any) -> Any:
        """Return the schema with the leading columns before its own."""
        ahead = list(columns)[: len(self._leading)]
        types = [inferred_type(columns[name], self._numbers) for name in ahead]
        return pa.schema([*zip(ahead, types, strict=True), *schema])

    def columns(self) -> dict[str, Column]:
        """Return the columns before they have a type, by name; nothing may be added afterwards."""
        own = self._own.finish()
        names = {dotted(path) for path in own} | {key for _, key in self._carried}
        if self._schema is not None:
            names |= set(self._schema.names)
        leading: dict[KeyPath, list[Any]] = {
            (_PREFIX + name if name in names else name,): values for name, values in self._leading.items()
        }
        for values in (*self._carried.values(), *self._leading.values()):
            values.extend([None] * (self.count - len(values)))
        return named_columns(own, self._carried, leading)


def pages_in(data: Any) -> Iterator[Any] | None:
    """Return an iterator over pages, or None if the data is one value: a response, JSON, a table or a parsed value.

    Pages are a list of responses, or anything else that `for` goes through.

    Raises:
        TabulationError: if only `async for` goes through the data.
    """
    if isinstance(data, (list, tuple)):
        return iter(data) if data and is_response(data[0]) else None
    if isinstance(data, (str, bytes, bytearray, memoryview, Mapping)) or hasattr(data, "itertuples"):
        return None
    if hasattr(data, "__aiter__") and not hasattr(data, "__iter__"):
        raise TabulationError(
            "These pages are asynchronous.", "Write tk.tabulate([page async for page in pages]).", about="data"
        )
    return iter(data) if hasattr(data, "__iter__") and not is_response(data) else None


def add_page(builder: TableBuilder, page: Any, number: int) -> None:
    """Add a page to a table; errors name the page by its number, from 1.

    Raises:
        ServiceError, TabulationError: as `TableBuilder.add`, and if the page is not a response.
    """
    if not is_response(page):
        raise TabulationError(
            f"Page {number} is not a response but of type {type(page).__name__}.",
            "Pass an iterator over responses, or a list of records.",
            about="data",
        )
    try:
        builder.add(page)
    except (ServiceError, TabulationError) as error:
        raise error.reworded(f"Page {number}: {error.what}", error.next_step) from None


def _padded(columns: dict[Any, list[Any]], name: Any, count: int) -> list[Any]:
    """Return the column of this name, with None for rows that did not have it, up to `count` rows."""
    values: list[Any] = columns.setdefault(name, [])
    values.extend([None] * (count - len(values)))
    return values


def rows_of(response: Any) -> list[Any]:
    """Return the records of an answer, or an empty list if it is not JSON or has no list of records."""
    try:
        value = Body(bytes(response.content)).parse()
        rows = choose_rows(value).records
    except TabulationError:
        return []
    return [] if len(rows) == 1 and rows[0] is value else rows
