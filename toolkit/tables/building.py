"""A table that grows answer by answer, as `tabulate`, sessions and sweeps make it, from JSON that is read strictly."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NoReturn, get_args

import pandas as pd
import pyarrow as pa

from toolkit.core.errors import ServiceError, TabulationError, as_choice
from toolkit.core.ledger import refuse_error_status, source_of
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.tables.columns import SHOWN, Column, columns_of, frame_of, inferred
from toolkit.tables.conversion import FLOAT_DIGITS, Losses, Numbers, NumberText, texts_of, whole
from toolkit.tables.field_names import KeyPath, distinct
from toolkit.tables.rows import Rows, choose_rows, lists_in

if TYPE_CHECKING:
    from toolkit.tables.schema import Wanted

# More cells than this, with fewer than one in `_SPARSE` filled, come from objects with identifiers as keys.
_MANY_CELLS: Final = 20_000_000
_SPARSE: Final = 100
_BLOCK: Final = 100  # records that become columns together, while the processor has them at hand


def value_of(data: Any, *, numbers_as_text: bool = False) -> Any:
    """Return the value of a response without an error status, of JSON as bytes or text, or a parsed value as it is."""
    if isinstance(data, pd.DataFrame):
        raise TabulationError(
            "This is already a table.",
            "Pass the response of the service, or its JSON; records= opens a column of JSON text.",
        )
    content_type = None
    if is_response(data):
        refuse_error_status(data)
        content_type = str(getattr(data, "headers", {}).get("content-type", ""))
        data = data.content
    if not isinstance(data, (str, bytes, bytearray, memoryview)):
        return data
    content = data.removeprefix("\ufeff").encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    number = NumberText if numbers_as_text else None
    try:
        return json.loads(content, parse_constant=_refuse_constant, parse_float=number, parse_int=number)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        failure = _not_json(content, content_type, error)
    except ValueError:
        # int() refuses more than 4,300 digits.
        raise TabulationError("A number has too many digits.", "numbers='text' keeps it as it is.") from None
    del data, content
    raise failure  # not in the handler, and without its body: it may repeat a secret, and tracebacks show variables


def is_response(data: Any) -> bool:
    """Return True for any object with `content` and `json`, such as an `httpx.Response`."""
    return hasattr(data, "content") and hasattr(data, "json")


def rows_of(response: Any) -> list[Any]:
    """Return the records of an answer, or those of its only list; an empty list if there are none."""
    try:
        value = value_of(response)
        rows = choose_rows(value)
        lists = list(lists_in(value)) if rows.records == [value] else []
        if len(lists) == 1:
            rows = choose_rows(value, ".".join(lists[0]))
    except (TabulationError, RecursionError):
        return []
    return [] if rows.records == [value] else rows.records


def _not_json(content: bytes, content_type: str | None, error: ValueError) -> TabulationError:
    what = "This text is not JSON" if content_type is None else "The answer is not JSON"
    place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
    if not content.strip():
        advice = "A response without a body has no rows: check the method, the path and `response.status_code`."
        return TabulationError(f"{what}; it is empty.", advice)
    kind = f"; its content type is {excerpt(content_type, SHOWN)!r}" if content_type else ""
    beginning = excerpt(content[: 4 * SHOWN].decode("utf-8", "replace"), SHOWN)
    return TabulationError(
        f"{what}{place}{kind}; it begins with {beginning!r}.",
        "Pass a response, its JSON as text or bytes, or parsed JSON. HTML may be a login page, or a proxy's.",
    )


def _refuse_constant(name: str) -> NoReturn:
    raise TabulationError(f"{name} is not a JSON number.", "Parse and clean the JSON first.")


@contextmanager
def _reading() -> Iterator[None]:
    """Refuse values without an end, and pause the collection of cycles: it would go through millions of values."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    except RecursionError:
        raise TabulationError("The value is nested too deeply.", "Tabulate a part of it.", about="data") from None
    finally:
        if was_enabled:
            gc.enable()


class TableBuilder:
    """A table that grows answer by answer; the types are those of all rows together.

    Only the values of the rows are kept. If an answer cannot be added, the table is of no more use.

    Args:
        numbers, records, key, schema, dtypes: as in `tabulate`.
        is_one_row: True if an object is one row, whatever it holds, and nothing hints at its lists.

    Attributes:
        count: number of rows so far.
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
        is_one_row: bool = False,
    ) -> None:
        self.count = 0
        self.hint = ""
        self._numbers = as_choice(numbers, get_args(Numbers), about="numbers")
        self._wanted: Wanted | None = None
        if schema is not None or dtypes is not None:
            from toolkit.tables.schema import Wanted

            self._wanted = Wanted(schema, {} if dtypes is None else dtypes)
        # The answers are not there to be read again if a number turns out to be text.
        self.numbers_as_text = numbers != "float" or (self._wanted is not None and self._wanted.has_digits)
        self._path, self._key, self._is_one_row = records, key, is_one_row
        self._columns: dict[KeyPath, list[Any]] = {}
        self._identities: dict[tuple[KeyPath, str], list[Any]] = {}  # of the records around, by the path of their list
        self._filled = 0  # cells of the answers

    def add(self, data: Any) -> int:
        """Add the rows of a response, of JSON as bytes or text, or of a parsed value; return how many it has."""
        before = self.count
        with _reading():
            value = value_of(data, numbers_as_text=self.numbers_as_text)
            is_row = self._is_one_row and isinstance(value, dict)
            rows = Rows([([value], {})]) if is_row else choose_rows(value, self._path, self._key)
            for records, identity in rows.parts:
                _extend(self._identities, {name: [own] * len(records) for name, own in identity.items()}, self.count)
                for start in range(0, len(records), _BLOCK):
                    block = records[start : start + _BLOCK]
                    columns = columns_of(block)
                    _extend(self._columns, columns, self.count)
                    self.count += len(block)
                    self._filled += len(block) * len(columns)
            cells = len(self._columns) * self.count
            if cells > _MANY_CELLS and cells > self._filled * _SPARSE:
                raise TabulationError(
                    f"{self.count} records with {len(self._columns)} different keys have hardly any key in common.",
                    "If the keys are identifiers, turn the objects into lists first.",
                )
        self.hint = self.hint or rows.hint
        return self.count - before

    def finish(self) -> pd.DataFrame:
        """Return the table, as if all records had come in one answer; nothing may be added afterwards."""
        return frame_of(self._finished(), self.count)

    def finish_arrow(self) -> pa.Table:
        """Return the table like `finish`, but as an Arrow table, in which columns of mixed types are text."""
        found = self._finished().items()
        columns = {name: texts_of(values) if isinstance(values, list) else values for name, values in found}
        return pa.table(columns) if columns else pa.table({"": pa.nulls(self.count)}).select([])

    def _finished(self) -> dict[str, Any]:
        losses: Losses = {}
        if self._wanted is None:
            columns = {column.name: inferred(column, self._numbers, losses) for column in self._named()}
        else:
            columns = self._wanted.columns(self._named(), self.count, self._numbers, losses)
        _warn(losses)
        return columns

    def _named(self) -> Iterator[Column]:
        """Yield the columns by distinct names: those that identify the records around, then the records' own."""
        own = self._ordered()
        names = [".".join(path) if path else "value" for path in own]
        uses = Counter([*names, *(name for _, name in self._identities)])
        around = [
            name if uses[name] == 1 else f"{path[-1] if path else 'parent'}.{name}" for path, name in self._identities
        ]
        keys = [*(name for _, name in self._identities), *(path[-1] if path else "" for path in own)]
        all_values = [*self._identities.values(), *map(self._columns.pop, own)]
        self._identities = {}
        for name, key in zip(distinct(list(map(whole, [*around, *names]))), keys, strict=True):
            values = all_values.pop(0)  # so that nothing else holds them
            yield Column.of(name, key, values + [None] * (self.count - len(values)))

    def _ordered(self) -> list[KeyPath]:
        """Return the paths with those of an object together, without empty ones where others have an object."""
        ranks: dict[KeyPath, int] = {}
        for path in self._columns:
            for length in range(1, len(path) + 1):
                ranks.setdefault(path[:length], len(ranks))
        parents = {path[:length] for path in self._columns for length in range(1, len(path))}
        ordered = sorted(self._columns, key=lambda path: [ranks[path[:end]] for end in range(1, len(path) + 1)])
        return [path for path in ordered if path not in parents or any(v is not None for v in self._columns[path])]


def _extend(columns: dict[Any, list[Any]], more: Mapping[Any, Sequence[Any]], count: int) -> None:
    """Add rows to the columns of `count` rows, with None where they lack a column."""
    for place, values in more.items():
        column = columns.setdefault(place, [])
        column.extend([None] * (count - len(column)))
        column.extend(values)


def table_of(builder: TableBuilder, answers: Iterable[Any], *, are_pages: bool) -> pd.DataFrame:
    """Return the table of all answers, with the words for its source; warn if rows were perhaps meant to be others.

    Errors name a page by its number, from 1.
    """
    source = None
    for number, answer in enumerate(answers, 1):
        source = source or source_of(answer).describe()
        if are_pages and not is_response(answer):
            raise TabulationError(
                f"Page {number} is not a response but of type {type(answer).__name__}.",
                "Pass an iterator over responses, or a list of records.",
                about="data",
            )
        try:
            builder.add(answer)
        except (ServiceError, TabulationError) as error:
            if not are_pages:
                raise
            raise error.reworded(f"Page {number}: {error.what}", error.next_step) from None
    table = builder.finish()
    if source is not None:
        table.attrs["source"] = source
    if builder.hint:
        warn(builder.hint)
    return table


def _warn(losses: Losses) -> None:
    digits = f"Numbers have more than {FLOAT_DIGITS} significant digits, which float64 may not hold exactly"
    for kind, what, option in (
        ("float", digits, "numbers='decimal'"),
        ("microsecond", "Digits beyond the microsecond were dropped", "dtypes={...: 'str'}"),
    ):
        if names := [repr(excerpt(name, 40)) for name, lost in losses.items() if lost == kind]:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            # The whole call is shown, because the table may come from session.accounts(), which has no such option.
            warn(f"{what}: {shown} (tk.tabulate(response, {option}) keeps them)")
