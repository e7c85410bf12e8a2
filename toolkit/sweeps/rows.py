"""Rows with the keys that they belong to: made of answers, joined, and given the columns and types of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ServiceError, TabulationError
from toolkit.core.escaping import excerpt
from toolkit.scrubbing.finding.find import without_credentials
from toolkit.scrubbing.known import KnownSecrets
from toolkit.sweeps.definition import Definition
from toolkit.sweeps.keys import Key, KeyKind, key_array
from toolkit.sweeps.outcomes import LONGEST_REASON, Answered, KeyFailure

if TYPE_CHECKING:
    import pyarrow as pa

    from toolkit.tables.joining import TableBuilder

KEY: Final = "key"


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows of some keys.

    Attributes:
        table: the rows, with the column of keys first.
        key_column: name of this column.
        keys: the keys, in the order of their rows; those without rows too.
    """

    table: pa.Table
    key_column: str
    keys: list[Key]

    def without(self, keys: set[Key], kind: KeyKind) -> KeyedRows:
        """Return the rows of all keys but these."""
        import pyarrow.compute as pc

        is_dropped = pc.is_in(self.table[self.key_column], value_set=key_array(list(keys), kind))
        kept = [key for key in self.keys if key not in keys]
        return replace(self, table=self.table.filter(pc.invert(is_dropped)), keys=kept)


def key_column_beside(names: Iterable[str]) -> str:
    """Return the name of the column of keys beside columns of these names: `key`, or `sweep_key` if that is taken."""
    taken, name = set(names), KEY
    while name in taken:
        name = f"sweep_{name}"
    return name


class Batch:
    """Answers that become rows; each is read when it is added, and all get their types together at the end.

    Args:
        make_builder: makes an empty TableBuilder.
        scrub: returns a body with placeholders for secrets, so that neither a row nor a reason has them.
        schema: the columns and types of the rows, or None to infer them.

    Attributes:
        rows: number of rows so far.
    """

    def __init__(
        self,
        make_builder: Callable[[], TableBuilder],
        *,
        scrub: Callable[[bytes], bytes],
        schema: pa.Schema | None = None,
    ) -> None:
        self.rows = 0
        self._make_builder = make_builder
        self._scrub = scrub
        self._schema = schema
        self._builder = make_builder()
        self._keys: list[Key] = []
        self._counts: list[int] = []
        self._bodies: list[list[bytes]] = []

    @property
    def hint(self) -> str:
        """A hint about the rows of an answer, such as that it has two lists of records; or ""."""
        return self._builder.hint

    def add(self, outcome: Answered) -> KeyFailure | None:
        """Add the answers of a key, or return why they have no rows; then nothing is added."""
        bodies = [self._scrub(answer.content) for answer in outcome.answers]
        # A response says more than its body, so a body stands only for a response that repeats a secret.
        answers = [
            answer if body == answer.content else body for answer, body in zip(outcome.answers, bodies, strict=True)
        ]
        try:
            if len(answers) > 1:  # all pages or none
                _add(self._make_builder(), answers)
            count = _add(self._builder, answers)
        except (TabulationError, ServiceError) as error:
            if self._builder.count > self.rows:  # a page that fits by itself, but not the rows of other keys
                self._builder = self._built(self._bodies)
            return _failure(outcome.key, error)
        self.rows += count
        self._counts.append(count)
        self._keys.append(outcome.key)
        self._bodies.append(bodies)
        return None

    def finish(self, kind: KeyKind) -> tuple[list[KeyedRows], list[KeyFailure]]:
        """Return the rows, and the keys whose values do not fit their columns; nothing may be added afterwards."""
        return self._finish(self._builder, slice(0, len(self._keys)), kind)

    def _finish(self, builder: TableBuilder, part: slice, kind: KeyKind) -> tuple[list[KeyedRows], list[KeyFailure]]:
        keys, counts = self._keys[part], self._counts[part]
        if not keys:
            return [], []
        try:
            return [self._keyed(builder, keys, counts, kind)], []
        except TabulationError as error:
            if len(keys) == 1:
                return [], [_failure(keys[0], error)]
        middle = (part.start + part.stop) // 2
        rows: list[KeyedRows] = []
        failures: list[KeyFailure] = []
        for half in (slice(part.start, middle), slice(middle, part.stop)):
            more_rows, more_failures = self._finish(self._built(self._bodies[half]), half, kind)
            rows += more_rows
            failures += more_failures
        return rows, failures

    def _built(self, bodies: Iterable[Iterable[bytes]]) -> TableBuilder:
        builder = self._make_builder()
        for pages in bodies:
            _add(builder, pages)
        return builder

    def _keyed(self, builder: TableBuilder, keys: list[Key], counts: list[int], kind: KeyKind) -> KeyedRows:
        import numpy as np

        table = builder.finish_arrow()
        if self._schema is not None:
            table = _without_key(table)
        column = key_column_beside(table.column_names)
        repeated = key_array(keys, kind).take(np.repeat(np.arange(len(keys)), counts))
        return KeyedRows(table.add_column(0, column, repeated), column, list(keys))


def _failure(key: Key, error: TabulationError | ServiceError) -> KeyFailure:
    return KeyFailure(key, 200, excerpt(error.what, LONGEST_REASON), is_final=True)


def _without_key(table: pa.Table) -> pa.Table:
    """Return the table without the column of keys, if its schema is that of an earlier sweep and begins with it."""
    others = table.column_names[1:]
    has_key = table.column_names[:1] == [key_column_beside(others)] and table[0].null_count == table.num_rows
    return table.select(others) if has_key else table


def batch_maker(definition: Definition, schema: pa.Schema | None, known: KnownSecrets) -> Callable[[], Batch]:
    """Return a function that makes empty batches of answers.

    Args:
        definition: says how answers become rows.
        schema: the requested schema, or None.
        known: secrets that do not belong in a folder.
    """
    from toolkit.tables.joining import TableBuilder

    builder = partial(
        TableBuilder, numbers=definition.numbers, records=definition.records, key=definition.key, schema=schema
    )
    return lambda: Batch(builder, scrub=lambda body: without_credentials(known.scrub(body)), schema=schema)


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
            return KeyedRows(pa.concat_tables(tables), key_column, [key for part in parts for key in part.keys])


def target_of(parts: Sequence[tuple[pa.Schema, str]]) -> tuple[pa.Schema, str]:
    """Return the schema that the rows of all parts fit, and the name of its column of keys.

    Args:
        parts: for each part its schema and the name of its column of keys.
    """
    from toolkit.tables.schema import schema, widened

    members = {name for columns, key_column in parts for name in columns.names if name != key_column}
    key_column = key_column_beside(members)
    schemas = [_renamed(schema(columns), own, key_column) for columns, own in dict.fromkeys(parts)]
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
    for field in target:
        if field.name not in table.column_names:
            columns.append(pa.chunked_array([pa.nulls(table.num_rows, field.type)]))
            continue
        try:
            columns.append(converted(table[field.name], field.type, Losses()))
        except MISFIT:
            if pa.types.is_string(field.type):
                raise
            raise Misfit(field.name) from None
    return replace(part, table=pa.table(columns, schema=target), key_column=key_column)


def _renamed(schema: pa.Schema, old: str, new: str) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field.with_name(new) if field.name == old else field for field in schema])


def _add(builder: TableBuilder, answers: Iterable[Any]) -> int:
    return sum(builder.add(answer) for answer in answers)
