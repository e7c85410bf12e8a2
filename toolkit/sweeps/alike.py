"""Rows with the keys that they belong to: made of answers, joined, and given the columns and types of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.core.text import excerpt
from toolkit.scrubbing.finding.find import without_credentials
from toolkit.scrubbing.known import KnownSecrets
from toolkit.sweeps.parts import KEY, LONGEST_REASON, Definition, Key, KeyedRows, KeyFailure, KeyKind, key_array

if TYPE_CHECKING:
    import pyarrow as pa

    from toolkit.tables.building import TableBuilder


class Answered(NamedTuple):
    """A key that has its answers.

    Attributes:
        key: the key.
        answers: responses; none if the service answered without a body.
        size: bytes of all answers.
    """

    key: Key
    answers: Sequence[Any]
    size: int = 0


class RowMaker:
    """Makes rows of answers.

    Args:
        definition: says how answers become rows.
        schema: the requested schema, or None.
        known: secrets that do not belong in a folder.

    Attributes:
        hint: a hint about the rows of an answer, such as that it has two lists of records; or "".
    """

    def __init__(self, definition: Definition, schema: pa.Schema | None, known: KnownSecrets) -> None:
        from toolkit.tables.building import TableBuilder

        self.hint = ""
        options = {name: definition[name] for name in ("numbers", "records", "key")}
        self._make_builder: Callable[[], TableBuilder] = partial(TableBuilder, **options, schema=schema)
        self._schema = schema
        self._known = known

    def rows_of(self, answered: Sequence[Answered], kind: KeyKind | None) -> tuple[list[KeyedRows], list[KeyFailure]]:
        """Return the rows of answers, and the keys whose answers are not rows, or do not fit their columns.

        All answers are one table. If one does not fit, they are halved until it stands alone.
        """
        if not answered:
            return [], []
        try:
            return [self._table(answered, kind)], []
        except (TabulationError, ServiceError) as error:
            if len(answered) == 1:
                reason = excerpt(error.what, LONGEST_REASON)
                return [], [KeyFailure(answered[0].key, 200, reason, is_final=True)]
        middle = len(answered) // 2
        halves = [self.rows_of(half, kind) for half in (answered[:middle], answered[middle:])]
        return [*halves[0][0], *halves[1][0]], [*halves[0][1], *halves[1][1]]

    def _table(self, answered: Sequence[Answered], kind: KeyKind | None) -> KeyedRows:
        import numpy as np

        builder = self._make_builder()
        keys = [one.key for one in answered]
        counts = [sum(builder.add(self._clean(answer)) for answer in one.answers) for one in answered]
        self.hint = self.hint or builder.hint
        table = builder.finish_arrow()
        if self._schema is not None:
            table = _without_key(table)
        column = key_column_beside(table.column_names)
        repeated = key_array(keys, kind).take(np.repeat(np.arange(len(keys)), counts))
        return KeyedRows(table.add_column(0, column, repeated), column, keys)

    def _clean(self, answer: Any) -> Any:
        """Return an answer with placeholders for secrets; a response says more than its body, so most stay."""
        body = without_credentials(self._known.scrub(answer.content))
        return answer if body == answer.content else body


def key_column_beside(names: Iterable[str]) -> str:
    """Return the name of the column of keys beside columns of these names: `key`, or `sweep_key` if that is taken."""
    taken, name = set(names), KEY
    while name in taken:
        name = f"sweep_{name}"
    return name


def _without_key(table: pa.Table) -> pa.Table:
    """Return the table without the column of keys, if its schema is that of an earlier sweep and begins with it."""
    others = table.column_names[1:]
    has_key = table.column_names[:1] == [key_column_beside(others)] and table[0].null_count == table.num_rows
    return table.select(others) if has_key else table


def failed_rows(failures: Sequence[KeyFailure], kind: KeyKind | None) -> KeyedRows:
    """Return failures alone, without rows."""
    import pyarrow as pa

    return KeyedRows(pa.table({KEY: key_array([], kind)}), KEY, (), failures)


def joined(parts: Sequence[KeyedRows]) -> KeyedRows:
    """Return the rows of all parts, with columns and types that fit all of them."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    target, key_column = target_of([(part.table.schema, part.key_column) for part in parts])
    while True:
        try:
            tables = [with_columns(part, target, key_column).table for part in parts]
        except Misfit as misfit:
            target = misfit.wider(target)
        else:
            keys = [key for part in parts for key in part.keys]
            failures = [failure for part in parts for failure in part.failures]
            return KeyedRows(pa.concat_tables(tables), key_column, keys, failures)


def target_of(parts: Sequence[tuple[pa.Schema, str]]) -> tuple[pa.Schema, str]:
    """Return the schema that the rows of all parts fit, and the name of its column of keys.

    Args:
        parts: for each part its schema and the name of its column of keys.
    """
    import pyarrow as pa

    from toolkit.tables.schema import schema, widened

    members = {name for columns, own in parts for name in columns.names if name != own}
    key_column = key_column_beside(members)
    schemas = [
        pa.schema([field.with_name(key_column) if field.name == own else field for field in schema(columns)])
        for columns, own in dict.fromkeys(parts)
    ]
    return reduce(widened, schemas), key_column


class Misfit(Exception):
    """A column that loses something in the wider type that its schema gives it, such as the digits of a long integer.

    Attributes:
        name: name of the column.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def wider(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with text in this column, which loses nothing."""
        import pyarrow as pa

        return schema.set(schema.get_field_index(self.name), pa.field(self.name, pa.string()))


def with_columns(part: KeyedRows, target: pa.Schema, key_column: str) -> KeyedRows:
    """Return the part with exactly these columns and types.

    Raises:
        Misfit: if a value would not survive.
    """
    import pyarrow as pa

    from toolkit.tables.conversion import MISFIT, Losses, converted

    table = part.table.rename_columns(
        [key_column if name == part.key_column else name for name in part.table.column_names]
    )
    columns = []
    for column in target:
        if column.name not in table.column_names:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, column.type)]))
            continue
        try:
            columns.append(converted(table[column.name], column.type, Losses()))
        except MISFIT:
            if pa.types.is_string(column.type):
                raise
            raise Misfit(column.name) from None
    return replace(part, table=pa.table(columns, schema=target), key_column=key_column)
