"""A table that grows response by response, for `tabulate`, sessions and sweeps, from strictly parsed JSON."""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
import pandas as pd
import pyarrow as pa

from toolkit.core.errors import ServiceError, TabulationError, as_choice, as_text
from toolkit.core.ledger import source_of
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.tables.columns import (
    FLOAT_DIGITS,
    SHOWN,
    Column,
    Losses,
    Numbers,
    NumberText,
    frame_of,
    inferred,
    not_json,
    packed,
    texts_of,
    whole,
)
from toolkit.tables.rows import Identity, KeyPath, Rows, choose_rows
from toolkit.transport.failures import status_error

if TYPE_CHECKING:
    from toolkit.tables.schema import Wanted

_BLOCK: Final = 500  # records that are read and converted to columns together
_JSON: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def value_of(data: Any, *, numbers_as_text: bool = False) -> Any:
    """Return the parsed JSON of a response, bytes or text; return other values unchanged. Raise on an error status."""
    return next(_parts_of(data, numbers_as_text=numbers_as_text, in_blocks=False))


def _parts_of(data: Any, *, numbers_as_text: bool, in_blocks: bool) -> Iterator[Any]:
    """Yield the parsed value; if `in_blocks` is true, parse a list that starts with an object block by block."""
    if isinstance(data, pd.DataFrame):
        raise TabulationError(
            "This is already a table.",
            "Pass the service's response or its JSON. To parse a column of JSON text, name it with records=.",
        )
    source = "This text"
    if is_response(data):
        if getattr(data, "status_code", 200) >= 300:
            raise status_error(data)
        source, data = "The answer", data.content
    if not isinstance(data, (str, bytes, bytearray, memoryview)):
        yield data
        return
    content = data.removeprefix("\ufeff").encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    try:
        return (yield from _decoded(content, NumberText if numbers_as_text else None, in_blocks=in_blocks))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        failure = _not_json(source, content, error)
    except ValueError:
        what = "The text contains a number that JSON does not allow, such as NaN, or one with more than 4,300 digits."
        raise TabulationError(what, "Remove NaN and infinities; numbers='text' keeps long numbers.") from None
    del data, content
    raise failure  # not in the handler, and without the body: it may contain a secret, and tracebacks show variables


def _decoded(content: bytes, number: type[NumberText] | None, *, in_blocks: bool) -> Iterator[Any]:
    members: list[msgspec.Raw] = []
    if in_blocks:
        with suppress(msgspec.DecodeError):  # `_value_in` reads it, or says where it is invalid
            members = msgspec.json.decode(content, type=list[msgspec.Raw])
    if not members or bytes(members[0])[:1] != b"{":
        yield _value_in(content, number)
        return
    for start in range(0, len(members), _BLOCK):
        yield _value_in(b"[" + b",".join(members[start : start + _BLOCK]) + b"]", number)


def _value_in(content: bytes, number: type[NumberText] | None) -> Any:
    """Return parsed JSON; its numbers have the type `number` if it is given.

    msgspec is twice as fast, but loses the sign of `-0`, does not report an error's line, and rejects UTF-16, lone
    surrogates and numbers beyond the range of a float. Otherwise, it returns the same values as `json`.
    """
    if number is None:
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(content)
    return json.loads(content, parse_constant=int, parse_float=number, parse_int=number)  # int refuses NaN


def is_response(data: Any) -> bool:
    """Return True for any object with `content` and `json`, such as an `httpx.Response`."""
    return hasattr(data, "content") and hasattr(data, "json")


def _not_json(source: str, content: bytes, error: ValueError) -> TabulationError:
    if not content.strip():
        advice = "A response without a body has no rows: check the method, the path and `response.status_code`."
        return TabulationError(f"{source} is not JSON; it is empty.", advice)
    place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
    beginning = excerpt(content[: 4 * SHOWN].decode("utf-8", "replace"), SHOWN)
    return TabulationError(
        f"{source} is not JSON{place}; it begins with {beginning!r}.",
        "Pass a response, its JSON as text or bytes, or parsed JSON. HTML may be a login page or a proxy's error page.",
    )


def columns_of(values: Sequence[Any], path: KeyPath = ()) -> dict[KeyPath, Sequence[Any]]:
    """Return the values at each path in the records, with None for a record without a value at that path.

    Paths are in order of appearance, grouped by object. A record that is not an object is the value at the empty path,
    and a list becomes JSON text. A path with only nulls or empty objects is still a column, unless another record has a
    non-empty object at that path.
    """
    kinds = set(map(type, values))
    objects = {kind for kind in kinds if issubclass(kind, dict)}
    others = kinds - objects - {type(None)}
    if not objects and not any(issubclass(kind, (list, tuple)) for kind in others):
        return {path: values} if path or others else {}
    columns: dict[KeyPath, Sequence[Any]] = {}
    if others:
        texts = [json_text(value) if isinstance(value, (list, tuple)) else value for value in values]
        columns[path] = [None if isinstance(value, dict) else value for value in texts]
    if kinds != objects:
        values = [value if isinstance(value, dict) else {} for value in values]
    for key, members in _members(values).items():
        if not isinstance(key, str):
            raise not_json(f"A key is of type {type(key).__name__}")
        columns |= columns_of(members, (*path, key))
    return columns if columns or not path else {path: [None] * len(values)}


def _members(objects: Sequence[dict[Any, Any]]) -> dict[Any, Sequence[Any]]:
    shapes = set(map(tuple, objects))
    if len(shapes) == 1:
        return dict(zip(shapes.pop(), zip(*map(dict.values, objects), strict=True), strict=False))  # empty if no rows
    keys = dict.fromkeys(chain.from_iterable(objects))
    return {key: [record.get(key) for record in objects] for key in keys}


def json_text(value: Any) -> str:
    """Return a parsed value as JSON text on one line; each `NumberText` is written with its original digits."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise not_json("A key is not text")
        return "{" + ", ".join(f"{json_text(key)}: {json_text(member)}" for key, member in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(json_text, value)) + "]"
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError):
        raise not_json(f"A list contains a {type(value).__name__}") from None


class TableBuilder:
    """A table that grows response by response; the types fit all of its rows.

    Arguments are checked as in `tabulate`; if `is_one_row` is true, an object is always one row. Only the row values
    are kept. If a response cannot be added, the builder can no longer be used.

    Attributes:
        count: number of rows so far.
        hint: as in `rows.Rows`, for the first response that has a hint.
        numbers_as_text: True if numbers are read as text that keeps all their digits.
    """

    def __init__(
        self,
        *,
        numbers: str = "float",
        records: str | None = None,
        key: str | None = None,
        schema: Any = None,
        dtypes: Mapping[str, Any] | None = None,
        is_one_row: bool = False,
    ) -> None:
        self.count = 0
        self.hint = ""
        for name, value, example in (("records", records, '"positions"'), ("key", key, '"symbol"')):
            if value is not None:
                as_text(value, about=name, example=example)
        self._numbers: Numbers = as_choice(numbers, get_args(Numbers), about="numbers")
        self._wanted: Wanted | None = None
        if schema is not None or dtypes is not None:
            from toolkit.tables.schema import Wanted

            self._wanted = Wanted(schema, {} if dtypes is None else dtypes)
        # The responses are not kept, so they cannot be read again if a number turns out to be text.
        self.numbers_as_text = numbers != "float" or self._wanted is not None
        self._path, self._key, self._is_one_row = records, key, is_one_row
        self._in_blocks = records is None and key is None
        self._columns: dict[KeyPath, _Values] = {}
        self._identities: dict[tuple[KeyPath, str], _Values] = {}  # of containing records, by list path and key

    def add(self, data: Any) -> int:
        """Add the rows in a response, JSON bytes or text, or a parsed value, and return the number of rows added."""
        before = self.count
        parts = _parts_of(data, numbers_as_text=self.numbers_as_text, in_blocks=self._in_blocks)
        is_collecting = gc.isenabled()
        gc.disable()  # JSON has no cycles, and searching millions of values for them would take time
        try:
            value = next(parts)
            is_row = self._is_one_row and isinstance(value, dict)
            rows = Rows([([value], {})]) if is_row else choose_rows(value, self._path, self._key)
            self.hint = self.hint or rows.hint
            for records, identity in chain(rows.parts, ((records, {}) for records in parts)):
                self._extend(records, identity)
        except RecursionError:
            raise TabulationError("The value is nested too deeply.", "Tabulate a part of it.", about="data") from None
        finally:
            if is_collecting:
                gc.enable()
        return self.count - before

    def _extend(self, records: Sequence[Any], identity: Identity) -> None:
        for own, value in identity.items():
            self._identities.setdefault(own, _Values()).extend([value] * len(records), self.count)
        for start in range(0, len(records), _BLOCK):
            block = records[start : start + _BLOCK]
            for path, values in columns_of(block).items():
                self._columns.setdefault(path, _Values()).extend(values, self.count)
            self.count += len(block)

    def finish(self) -> pd.DataFrame:
        """Return the table, as if all records had come in one response; nothing may be added afterwards."""
        return frame_of(self._finished(), self.count)

    def finish_arrow(self) -> pa.Table:
        """Return the table as `finish` does, but as an Arrow table with text for columns of mixed types."""
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
        """Yield the columns under distinct names: first columns that identify enclosing records, then all others."""
        own = {path: ".".join(path) or "value" for path in self._ordered()}
        uses = Counter([*own.values(), *(name for _, name in self._identities)])
        taken: set[str] = set()
        for path, name in list(self._identities):
            chosen = name if uses[name] == 1 else f"{path[-1] if path else 'parent'}.{name}"
            values = self._identities.pop((path, name))  # so that nothing else refers to the values
            yield Column(_distinct(chosen, taken), name, values.packed(self.count))
        for path, name in own.items():
            yield Column(_distinct(name, taken), path[-1] if path else "", self._columns.pop(path).packed(self.count))

    def _ordered(self) -> list[KeyPath]:
        """Return the paths grouped by object, without columns that are empty because other records have an object."""
        ranks: dict[KeyPath, int] = {}
        for path in self._columns:
            for length in range(1, len(path) + 1):
                ranks.setdefault(path[:length], len(ranks))
        ordered = sorted(self._columns, key=lambda path: [ranks[path[:end]] for end in range(1, len(path) + 1)])
        inner = {path[:-1] for path in ranks} & self._columns.keys() - {()}
        empty = {path for path in inner if isinstance(self._columns[path].packed(self.count), pa.NullArray)}
        return [path for path in ordered if path not in empty]


class _Values:
    """The values of a growing column: packed blocks, and values that are not packed yet."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []
        self._last: list[Any] = []
        self._count = 0

    def extend(self, values: Sequence[Any], start: int) -> None:
        """Add values for the rows that begin at `start`; fill any rows skipped before `start` with None."""
        self._last.extend([None] * (start - self._count))
        self._last.extend(values)
        self._count = start + len(values)
        if len(self._last) >= _BLOCK:
            self._blocks.append(packed(self._last))
            self._last = []

    def packed(self, count: int) -> Any:
        """Return the values of `count` rows as an Arrow array if they have one type, else as a list."""
        self.extend([], count)
        blocks = [*self._blocks, packed(self._last)]
        kinds = {None if isinstance(block, list) else block.type for block in blocks} - {pa.null()}
        if None in kinds or len(kinds) > 1:
            lists = (block if isinstance(block, list) else block.to_pylist() for block in blocks)
            return packed(list(chain.from_iterable(lists)))
        return pa.concat_arrays([block.cast(*kinds) if kinds else block for block in blocks])


def table_of(builder: TableBuilder, answers: Iterable[Any], *, are_pages: bool) -> pd.DataFrame:
    """Return the table of all responses, with its source in `attrs`; errors give page numbers, counted from 1."""
    source = None
    for number, answer in enumerate(answers, 1):
        source = source or source_of(answer).describe()
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
            warn(f"{what}: {shown} (tk.tabulate(response, {option}) keeps all digits)")


def _distinct(name: str, taken: set[str]) -> str:
    """Return the name, followed by ` (2)`, ` (3)` and so on if it is taken, and add the result to `taken`."""
    name = whole(name)
    numbered = (f"{name} ({number})" for number in count(2))
    chosen = name if name not in taken else next(other for other in numbered if other not in taken)
    taken.add(chosen)
    return chosen
