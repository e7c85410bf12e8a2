"""The columns that `tabulate` reads from its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from toolkit.core.errors import TabulationError
from toolkit.core.ledger import words_of
from toolkit.tables.arrow_text import Numbers
from toolkit.tables.columns import Column
from toolkit.tables.flatten import columns_of
from toolkit.tables.frames import named_columns
from toolkit.tables.joining import TableBuilder, add_page, pages_in
from toolkit.tables.json_body import body_of, is_response
from toolkit.tables.json_columns import is_table, records_of
from toolkit.tables.row_choice import choose_rows
from toolkit.tables.truncation import UnreadPages


@dataclass(slots=True)
class RowSource:
    """The data that a table is made of.

    Attributes:
        data, path, key: as `data`, `records` and `key` of `tabulate`.
        hint, is_record: as in `row_choice.Rows`, after a reading.
        unread: the pages that answers name and that are not among them, after a reading.
        provenance: where the data came from, in words, if it is an answer to a session or a table of one.
    """

    data: Any
    path: str | None = None
    key: str | None = None
    hint: str = ""
    is_record: bool = False
    unread: UnreadPages = field(default_factory=UnreadPages)
    provenance: str | None = None

    def __post_init__(self) -> None:
        """Check the types of the arguments.

        Raises:
            TabulationError: if the data is None, or a path or key is not text.
        """
        if self.data is None:
            raise TabulationError(
                "The data is None, which has no table.", "Pass a response, JSON or a parsed value.", about="data"
            )
        check_names(self.path, self.key)

    def read(self, numbers: Numbers, exact: Sequence[str]) -> tuple[dict[str, Column], int]:
        """Return the columns by name and the number of rows; floats in the columns `exact` have all their digits."""
        pages = pages_in(self.data)
        if pages is not None:
            return self._read_pages(pages, numbers, exact)
        self.provenance = self.data.attrs.get("source") if is_table(self.data) else words_of(self.data)
        self.unread.note(self.data)
        return self._read_all(self.data, numbers, exact)

    def _read_all(self, data: Any, numbers: Numbers, exact: Sequence[str]) -> tuple[dict[str, Column], int]:
        columns, count = self._read_once(data, numbers_as_text=numbers != "float")
        lossy = _lossy(columns, exact)
        digits = self._read_once(data, numbers_as_text=True)[0] if lossy else {}
        return columns | {name: digits[name] for name in lossy}, count

    def _read_pages(
        self, pages: Iterator[Any], numbers: Numbers, exact: Sequence[str]
    ) -> tuple[dict[str, Column], int]:
        """Return what `_read_all` returns, of all pages together; a single page is read by `_read_all`."""
        ahead = list(islice(pages, 2))
        self.provenance = words_of(ahead[0]) if ahead else None
        if len(ahead) == 1 and is_response(ahead[0]):
            self.unread.note(ahead[0])
            return self._read_all(ahead[0], numbers, exact)
        # The pages go by once, so all digits are kept if they may be needed.
        builder = TableBuilder(numbers="text" if exact else numbers, records=self.path, key=self.key)
        for number, page in enumerate(chain(ahead, pages), 1):
            add_page(builder, page, number)
            self.unread.note(page)
        self.hint, self.is_record = builder.hint, builder.is_record
        return builder.columns(), builder.count

    def _read_once(self, data: Any, *, numbers_as_text: bool) -> tuple[dict[str, Column], int]:
        if self.path is not None and is_table(data):
            value: Any = records_of(data, self.path, numbers_as_text=numbers_as_text)
        else:
            body = body_of(data)
            value = data if body is None else body.parse(numbers_as_text=numbers_as_text)
        rows = choose_rows(value, self.path, self.key)
        self.hint, self.is_record = rows.hint, rows.is_record
        return named_columns(columns_of(rows.records), rows.carried), len(rows.records)


def check_names(records: Any, key: Any) -> None:
    """Check the types of the arguments `records` and `key` of `tabulate`.

    Raises:
        TabulationError: if one is neither text nor None.
    """
    if records is not None and not isinstance(records, str):
        raise TabulationError(
            f"records must be the dotted path of a list, not {type(records).__name__}.",
            'For example records="positions".',
            about="records",
        )
    if key is not None and not isinstance(key, str):
        raise TabulationError(
            f"key must be the name of a column, not {type(key).__name__}.",
            'For example key="symbol".',
            about="key",
        )


def _lossy(columns: Mapping[str, Column], names: Sequence[str]) -> list[str]:
    """Return those of the names whose columns were read as floats."""
    return [name for name in names if name in columns and _has_floats(columns[name].data)]


def _has_floats(values: Any) -> bool:
    if isinstance(values, list):
        return any(isinstance(value, float) for value in values)
    return bool(pa.types.is_floating(values.type))
