"""A part: one Parquet file with the rows of some keys, and lists of these keys and of the keys that failed.

The file's metadata contains the keys (including keys without rows) and the failures. A single rename therefore makes
rows and keys appear together, and the file footers alone show which keys are finished, however many rows there are.
"""

from __future__ import annotations

import base64
import io
import json
import operator
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache, reduce
from typing import Any, BinaryIO, Final, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.tables.columns import MISFIT, converted, frame_of
from toolkit.tables.schema import schema, widened

Key: TypeAlias = str | int | date
KeyKind: TypeAlias = Literal["text", "integer", "date", "instant", "local time"]
Definition: TypeAlias = Mapping[str, Any]  # what all rows of a folder have in common, as JSON
KEY: Final = "key"
LONGEST_REASON: Final = 200  # characters
_NOTE: Final = b"toolkit.sweep"
_KEYS: Final = b"toolkit.sweep.keys"
_LARGEST: Final = 2**63
# Writes only on this thread, because each Arrow thread keeps the memory it has used.
_WRITING: Final = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
_READING: Final = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(frozen=True, slots=True)
class KeyFailure:
    """A failed key, and the reason for the failure."""

    key: Key
    status: int | None  # None if no response came
    reason: str  # safe to print
    tries: int = 1  # how often the failed request was sent
    is_final: bool = False  # True if only `.retry()` requests it again, such as after a 404


class KeyedRows(NamedTuple):
    """Rows of some keys; the first column is the key."""

    table: pa.Table
    keys: pa.Array  # the finished keys, including those without rows
    failures: tuple[KeyFailure, ...] = ()

    def without(self, keys: pa.Array) -> KeyedRows:
        """Return the rows of all keys except these."""
        if not keys:
            return self
        kept = self.table.filter(pc.invert(pc.is_in(self.table[0], value_set=key_column(keys))))
        return self._replace(table=kept, keys=self.keys.filter(pc.invert(pc.is_in(self.keys, value_set=keys))))


class SweepPart(NamedTuple):
    """The metadata of a part."""

    definition: Definition
    kind: KeyKind | None
    keys: pa.Array
    failures: tuple[KeyFailure, ...]
    schema: pa.Schema
    rows: int  # number of rows


class FinishedKeys:
    """Tracks finished keys in a few bytes per key, as arrays of keys and their sorted hashes."""

    def __init__(self, arrays: Sequence[pa.Array]) -> None:
        self._keys = concatenated(arrays)
        hashes = np.fromiter((hash(key) for keys in arrays for key in keys.to_pylist()), np.int64)
        self._places = np.argsort(hashes)
        self._hashes = hashes[self._places]

    def __contains__(self, key: Key) -> bool:
        hashed = hash(key)
        first, last = bisect_left(self._hashes, hashed), bisect_right(self._hashes, hashed)
        return any(self._keys[place].as_py() == key for place in self._places[first:last].tolist())


def key_of(value: Any) -> tuple[Key, KeyKind]:
    """Return a key as a plain value, with its kind; NumPy integers and pandas timestamps are converted."""
    if isinstance(value, str):
        return str(value), "text"
    if isinstance(value, datetime) and value == value:  # noqa: PLR0124 - pandas's NaT differs from itself
        if not getattr(value, "nanosecond", 0):  # a pandas timestamp with nanoseconds is not converted
            value = getattr(value, "to_pydatetime", lambda: value)()
        return (value, "local time") if value.tzinfo is None else (value.astimezone(UTC), "instant")
    if isinstance(value, date) and not isinstance(value, datetime):
        return value, "date"
    if hasattr(value, "__index__") and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST:
        return operator.index(value), "integer"
    what = f"{excerpt(repr(value), 60)} ({type(value).__name__})"
    raise ConfigurationError(
        f"A sweep key must be text, an integer, a date or a datetime, not {what}.",
        'Convert other keys to text, such as f"{symbol}/{day}", and split the text in call(key).',
        about="keys",
    )


class KeySource:
    """The unfinished keys. Threads or tasks take them one by one, each key once."""

    def __init__(self, keys: Iterable[Any], *, kind: KeyKind | None, is_done: Callable[[Key], bool]) -> None:
        length = operator.length_hint(keys, -1)
        self.kind = kind  # None before the first key
        self.order: dict[Key, None] = {}  # the keys so far
        self.total = length if length >= 0 else None  # None if the iterable does not know
        self.done = 0  # keys that were already done
        self._keys: Iterator[Any] = iter(keys)
        self._is_done = is_done
        self._lock = threading.Lock()

    def take(self) -> Key | None:
        """Return the next key to request, or None after the last one."""
        with self._lock:  # only one thread at a time may use an iterator
            for value in self._keys:
                key, kind = key_of(value)
                if self.kind not in (None, kind):
                    what = f"{excerpt(repr(key), 60)} is of type {kind} and earlier keys are of type {self.kind}"
                    raise ConfigurationError(
                        f"All keys in a folder must be of the same type, but {what}.",
                        "Convert the keys to one type, such as text, or sweep into another folder.",
                        about="keys",
                    )
                self.kind = kind
                if key not in self.order:
                    self.order[key] = None
                    if not self._is_done(key):
                        return key
                    self.done += 1
            return None


def key_array(keys: Sequence[Key], kind: KeyKind | None) -> pa.Array:
    """Return keys as an Arrow array that stores them exactly."""
    unit: Literal["us", "ns"] = "ns" if any(getattr(key, "nanosecond", 0) for key in keys) else "us"
    types: dict[KeyKind, pa.DataType] = {
        "text": pa.string(),
        "integer": pa.int64(),
        "date": pa.date32(),
        "instant": pa.timestamp(unit, "UTC"),
        "local time": pa.timestamp(unit),
    }
    return pa.array(keys, types[kind or "text"])


def key_column(keys: pa.Array) -> pa.Array:
    """Return keys as a table column: dates become naive timestamps at midnight, as in `tabulate`."""
    return keys.cast(pa.timestamp("us")) if pa.types.is_date(keys.type) else keys


def concatenated(arrays: Sequence[pa.Array]) -> pa.ChunkedArray:
    """Return the keys of all arrays as one array, even if only some of them have nanoseconds."""
    tables = [pa.table({KEY: keys}) for keys in arrays] or [pa.table({KEY: key_array([], None)})]
    return pa.concat_tables(tables, promote_options="permissive")[KEY]


def failures_table(failures: Sequence[KeyFailure], kind: KeyKind | None) -> pa.Table:
    """Return failures as a table: key, status, reason, tries and is_final."""
    kinds = {"status": pa.int64(), "reason": pa.string(), "tries": pa.int64(), "is_final": pa.bool_()}
    columns = {name: pa.array([getattr(failure, name) for failure in failures], kind) for name, kind in kinds.items()}
    return pa.table({KEY: key_array([failure.key for failure in failures], kind), **columns})


def part_bytes(rows: KeyedRows, definition: Definition, kind: KeyKind | None) -> bytes:
    failures = _packed(failures_table(rows.failures, kind))
    about = {"version": 2, "definition": dict(definition), "kind": kind, "failures": failures}
    keys = _packed(pa.table({KEY: rows.keys}))
    table = rows.table.replace_schema_metadata(_note_for_pandas(rows.table.schema))
    buffer = io.BytesIO()
    with parquet.ParquetWriter(buffer, table.schema, compression="zstd") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_NOTE: json.dumps(about), _KEYS: keys})
    return buffer.getvalue()


@lru_cache(maxsize=16)
def _note_for_pandas(schema: pa.Schema) -> Mapping[bytes, bytes]:
    """Return metadata that makes pandas' `read_parquet` return the same dtypes as `tabulate`."""
    empty = frame_of({field.name: pa.array([], field.type) for field in schema}, 0)
    metadata: Mapping[bytes, bytes] = pa.Schema.from_pandas(empty, preserve_index=False).metadata
    return metadata


def read_part(name: str, file: BinaryIO) -> SweepPart:
    """Read a part's metadata; raise ConfigurationError if the file is incomplete or was not written by a sweep."""
    try:
        parts = parquet.ParquetFile(file)
        metadata = parts.metadata.metadata or {}
        schema, rows = pa.schema([field.remove_metadata() for field in parts.schema_arrow]), parts.metadata.num_rows
        about = json.loads(metadata[_NOTE])
        definition, kind = dict(about["definition"]), about["kind"]  # missing in parts of earlier versions
        keys = _unpacked(metadata[_KEYS])[KEY].combine_chunks()
        failures = tuple(KeyFailure(**row) for row in _unpacked(about["failures"]).to_pylist())
        return SweepPart(definition, kind, keys, failures, schema, rows)
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        reason = "from another program or version" if isinstance(error, KeyError) else "incomplete or not Parquet"
        raise ConfigurationError(
            f"A sweep's folder may contain only the sweep's own files, but {excerpt(name, 60)} is {reason}.",
            "Remove that file, or sweep into another folder.",
            about="into",
        ) from None


def _packed(table: pa.Table) -> str:
    """Return a table as text for the metadata, preserving keys of any type exactly."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema, options=_WRITING) as writer:
        writer.write_table(table)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def _unpacked(packed: str | bytes) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(packed), options=_READING).read_all()


def key_column_beside(names: Iterable[str]) -> str:
    """Return the name of the key column, given the other columns: `key`, or `sweep_key` if `key` is taken."""
    taken, name = set(names), KEY
    while name in taken:
        name = f"sweep_{name}"
    return name


def failed_rows(failures: Sequence[KeyFailure], kind: KeyKind | None) -> KeyedRows:
    keys = key_array([], kind)
    return KeyedRows(pa.table({KEY: key_column(keys)}), keys, tuple(failures))


def joined(parts: Sequence[KeyedRows]) -> KeyedRows:
    """Return the rows of all parts, with columns and types that fit all of them."""
    target = fitting(target_of([part.table.schema for part in parts]), (part.table for part in parts))
    table = pa.concat_tables([with_columns(part.table, target) for part in parts])
    failures = tuple(failure for part in parts for failure in part.failures)
    return KeyedRows(table, concatenated([part.keys for part in parts]).combine_chunks(), failures)


def target_of(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """Return the narrowest schema that fits the rows of all parts; its first column contains the keys."""
    distinct = list(dict.fromkeys(schemas))
    key_column = key_column_beside(name for columns in distinct for name in columns.names[1:])
    return reduce(widened, [schema(columns).set(0, columns.field(0).with_name(key_column)) for columns in distinct])


def fitting(target: pa.Schema, tables: Iterable[pa.Table]) -> pa.Schema:
    """Return the schema with text as the type of columns that would lose data, such as digits of long integers."""
    for table in tables:
        for index, column in enumerate(target):
            try:
                _converted(table, index, column)
            except MISFIT:
                target = target.set(index, column.with_type(pa.string()))
    return target


def with_columns(table: pa.Table, target: pa.Schema) -> pa.Table:
    """Return the table converted to these columns and types, which it must fit."""
    return pa.table([_converted(table, index, column) for index, column in enumerate(target)], schema=target)


def _converted(table: pa.Table, index: int, column: pa.Field) -> pa.ChunkedArray:
    """Return a target column's values in its type: the keys for the first one, nulls for one that the table lacks."""
    if index and column.name not in table.column_names[1:]:
        return pa.chunked_array([pa.nulls(table.num_rows, column.type)])
    return converted(table[table.column_names.index(column.name, 1) if index else 0], column.type, {})
