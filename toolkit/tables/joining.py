"""A table that grows answer by answer, as `tabulate`, sessions and sweeps make it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

import pandas as pd
import pyarrow as pa

from toolkit.core.arguments import as_choice
from toolkit.core.errors import ServiceError, TabulationError
from toolkit.core.ledger import words_of
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.tables.columns import Column, column_of, frame_of, inferred, is_arrow, is_empty, packed
from toolkit.tables.conversion import FLOAT_DIGITS, Losses, Numbers, string_array, texts_of
from toolkit.tables.records import (
    BLOCK,
    KeyPath,
    body_of,
    check_filled,
    columns_of,
    distinct,
    dotted,
    is_response,
    paused_collection,
    telling_key,
)
from toolkit.tables.rows import Rows, choose_rows
from toolkit.transport.next_page import has_page_token

if TYPE_CHECKING:
    from toolkit.tables.schema import Wanted

# Rows whose values become one Arrow array in each column.
_PACKED: Final = 1_000


class _Cells:
    """The columns of rows that grow: the values of most rows in Arrow arrays, those of the last rows in lists.

    Args:
        are_kept: True if all values are kept as they are, because they are numbers digit by digit.

    Attributes:
        count: number of rows.
        paths: the paths of the columns, in order of appearance.
        filled: number of cells of the answers.
    """

    def __init__(self, *, are_kept: bool) -> None:
        self.count = 0
        self.paths: dict[Any, None] = {}
        self.filled = 0
        self._are_kept = are_kept
        self._blocks: list[tuple[int, dict[Any, Any]]] = []
        self._last: dict[Any, list[Any]] = {}
        self._size = 0  # rows of the last values

    def extend(self, columns: Mapping[Any, Sequence[Any]], size: int) -> None:
        """Add rows, with None in columns that they lack."""
        for path, values in columns.items():
            column = self._last.setdefault(path, [])
            column.extend([None] * (self._size - len(column)))
            column.extend(values)
        self.paths |= dict.fromkeys(columns)
        self.filled += size * len(columns)
        self.count += size
        self._size += size
        if self._size >= _PACKED:
            check_filled(len(self.paths), self.count, self.filled)
            self._pack()

    def append(self, other: _Cells) -> None:
        """Add the rows of another object, which must not be used afterwards.

        Raises:
            TabulationError: if there are millions of cells and hardly any of them is filled.
        """
        check_filled(len(self.paths | other.paths), self.count + other.count, self.filled + other.filled)
        if other._blocks:
            self._pack()
            self._blocks += other._blocks
            self.paths |= other.paths
            self.count += other.count - other._size
            self.filled += other.filled
        self.extend(other._last, other._size)

    def is_empty(self, path: Any) -> bool:
        """Return True if no row has a value in this column."""
        self._pack()
        return all(is_empty(block.get(path, ())) for _, block in self._blocks)

    def take(self, path: Any) -> list[Any]:
        """Return the values of a column in parts, and forget them."""
        self._pack()
        return [block.pop(path) if path in block else pa.nulls(size) for size, block in self._blocks]

    def _pack(self) -> None:
        """Make arrays of the last values."""
        if self._size == 0:
            return
        block: dict[Any, Any] = {}
        for path, values in self._last.items():
            values.extend([None] * (self._size - len(values)))
            block[path] = values if self._are_kept else packed(values)
        self._blocks.append((self._size, block))
        self._last, self._size = {}, 0


class TableBuilder:
    """A table that grows answer by answer; the types are those of all rows together.

    Only the values of the rows are kept, so answers may be dropped as soon as they are added.

    Args:
        numbers, records, key, schema, dtypes: as in `tabulate`.

    Attributes:
        hint: as in `rows.Rows`, of the first answer that has a hint.
        numbers_as_text: True if numbers are read digit by digit.
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
        self.hint = ""
        self._numbers = as_choice(numbers, get_args(Numbers), about="numbers")
        self._wanted: Wanted | None = None
        if schema is not None or dtypes is not None:
            from toolkit.tables.schema import Wanted

            self._wanted = Wanted(schema, {} if dtypes is None else dtypes)
        # The answers are not there to be read again if a number turns out to be text.
        self.numbers_as_text = numbers != "float" or (self._wanted is not None and self._wanted.has_digits)
        self._path, self._key = records, key
        self._cells = _Cells(are_kept=self.numbers_as_text)
        self._carried: dict[tuple[KeyPath, str], None] = {}  # keys of the objects around, by the path of their list
        self._around: set[str] = set()  # keys of the objects that had rows inside

    @property
    def count(self) -> int:
        """The number of rows so far."""
        return self._cells.count

    def add(self, data: Any, *, is_one_row: bool = False) -> int:
        """Add the rows of an answer, all of them or, if this raises, none.

        Args:
            data: a response, JSON as bytes or text, or a parsed value.
            is_one_row: True if an object is one row, whatever it holds, and nothing hints at its lists.

        Returns:
            The number of rows that the answer has.

        Raises:
            ServiceError: if the answer has an error status.
            TabulationError: if it is not JSON, or has no rows where they are looked for.
        """
        cells, hint = _Cells(are_kept=self.numbers_as_text), self.hint
        try:
            with paused_collection():
                for value in self._values_of(data):
                    if cells.count:  # another part of a list
                        rows = Rows(value)
                    else:
                        rows = self._rows_of([value] if is_one_row and isinstance(value, dict) else value)
                    hint = hint or rows.hint
                    self._carried |= dict.fromkeys(rows.carried)
                    for start in range(0, len(rows.records), BLOCK):
                        records = rows.records[start : start + BLOCK]
                        around = {path: values[start : start + BLOCK] for path, values in rows.carried.items()}
                        cells.extend(columns_of(records) | around, len(records))
        except RecursionError:
            raise TabulationError("The value is nested too deeply.", "Tabulate a part of it.", about="data") from None
        self._cells.append(cells)
        self.hint = hint
        return cells.count

    def finish(self) -> pd.DataFrame:
        """Return the table, as if all records had come in one answer; nothing may be added afterwards.

        Raises:
            TabulationError: if a value does not fit its column.
        """
        return frame_of(self._finished(), self.count)

    def finish_arrow(self) -> pa.Table:
        """Return the table like `finish`, but as an Arrow table, in which columns of mixed types are text."""
        columns = {name: values if is_arrow(values) else texts_of(values) for name, values in self._finished().items()}
        return pa.table(columns) if columns else pa.table({"": pa.nulls(self.count)}).select([])

    def _finished(self) -> dict[str, Any]:
        losses = Losses()
        if self._wanted is None:
            columns = {column.name: inferred(column, self._numbers, losses) for column in self._named()}
        else:
            columns = self._wanted.columns(self._named(), self.count, self._numbers, losses)
        _warn(losses)
        return columns

    def _values_of(self, data: Any) -> Iterator[Any]:
        """Yield the value of an answer; a list of objects in parts, unless `records=` or `key=` ask for the whole."""
        body = body_of(data)
        if body is None:
            yield data
        elif self._path is None and self._key is None:
            yield from body.parts(numbers_as_text=self.numbers_as_text)
        else:
            yield body.parse(numbers_as_text=self.numbers_as_text)

    def _rows_of(self, value: Any) -> Rows:
        rows = Rows([]) if self._lacks_its_list(value) else choose_rows(value, self._path, self._key)
        if isinstance(value, dict) and not any(record is value for record in rows.records):
            self._around.update(value)
        return rows

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
        unique = distinct(string_array([*names, *map(dotted, own)]).to_pylist())
        keys = [*(name for _, name in self._carried), *map(telling_key, own)]
        for name, key, path in zip(unique, keys, [*self._carried, *own], strict=True):
            yield column_of(name, key, self._cells.take(path))

    def _ordered(self) -> list[KeyPath]:
        """Return the paths with those of an object together, without empty ones where others have an object."""
        paths: list[KeyPath] = [path for path in self._cells.paths if path not in self._carried]
        ranks: dict[KeyPath, int] = {}
        for path in paths:
            for length in range(1, len(path) + 1):
                ranks.setdefault(path[:length], len(ranks))
        parents = {path[:length] for path in paths for length in range(1, len(path))}
        ordered = sorted(paths, key=lambda path: [ranks[path[:end]] for end in range(1, len(path) + 1)])
        return [path for path in ordered if path not in parents or not self._cells.is_empty(path)]


def account_table(responses: Sequence[Any], *, is_one_account: bool) -> pd.DataFrame:
    """Return the table of answers of accounts, as `tabulate` does, without a warning about pages to come.

    If the answer is one account, that is one row with all its fields, whatever lists and objects it holds.
    """
    builder = TableBuilder()
    if len(responses) == 1 or is_one_account:
        builder.add(responses[0], is_one_row=is_one_account)
    else:
        for number, response in enumerate(responses, 1):
            add_page(builder, response, number)
    return finished(builder, words_of(responses[0]))


def add_page(builder: TableBuilder, page: Any, number: int) -> None:
    """Add a page to a table; errors name the page by its number, from 1."""
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


def finished(builder: TableBuilder, source: str | None) -> pd.DataFrame:
    """Return the finished table with the words for its source, and warn if rows were perhaps meant to be others."""
    table = builder.finish()
    if source is not None:
        table.attrs["source"] = source
    if builder.hint:
        warn(builder.hint)
    return table


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
