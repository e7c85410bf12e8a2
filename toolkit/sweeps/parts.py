"""A part: one Parquet file with the rows of some keys, and with these keys.

The keys stand in the file's own metadata, those without rows too. So one rename finishes rows and keys together, and
reading the ends of the files tells what is finished, however many rows there are.
"""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, get_args

from toolkit.core.errors import ConfigurationError, SweepError
from toolkit.core.escaping import excerpt
from toolkit.sweeps.definition import Definition
from toolkit.sweeps.keys import Key, KeyKind, decoded, encoded

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

_NOTE: Final = "toolkit.sweep"
_KEYS: Final = "toolkit.sweep.keys"
_VERSION: Final = 1
_MOST_BYTES: Final = 1 << 28  # of the keys of one part, as JSON


class ForeignFile(Exception):
    """A file that is not a whole part of a sweep; its text is the reason."""


@dataclass(frozen=True, slots=True)
class Note:
    """The metadata of a part.

    Attributes:
        definition: where its rows come from.
        kind: the type of its keys, or None if it has none.
        key_column: name of the column with the keys.
        keys: its finished keys, in the order of their rows.
    """

    definition: Definition
    kind: KeyKind | None
    key_column: str
    keys: list[Key]


@dataclass(frozen=True, slots=True)
class SweepPart:
    """A part that was read, without its rows.

    Attributes:
        name: name of the file.
        note: its metadata.
        schema: its columns.
        rows: number of rows.
    """

    name: str
    note: Note
    schema: pa.Schema
    rows: int


def part_bytes(table: pa.Table, note: Note) -> bytes:
    """Return the Parquet file of rows and their keys."""
    from pyarrow import parquet

    about = {
        "version": _VERSION,
        "definition": note.definition.to_fields(),
        "kind": note.kind,
        "key_column": note.key_column,
    }
    buffer = io.BytesIO()
    with parquet.ParquetWriter(buffer, table.schema, compression="zstd") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_NOTE: json.dumps(about), _KEYS: _packed(note.keys)})
    return buffer.getvalue()


def stored(schema: pa.Schema) -> pa.Schema:
    """Return a schema as Parquet gives it back: it has no seconds but milliseconds, for example, and no `date64`.

    With a type that changes on the way, rows that were read would not fit those that come later.

    Raises:
        ConfigurationError: if Parquet has no such type.
    """
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    try:
        parquet.write_table(schema.empty_table(), buffer)
    except pa.ArrowException as error:
        raise ConfigurationError(
            f"The schema has a type that Parquet does not have: {excerpt(str(error), 100)}", about="schema"
        ) from None
    read = parquet.read_schema(buffer)
    views = {pa.string_view(): pa.string()}  # Arrow cannot sort them
    return pa.schema([field.remove_metadata().with_type(views.get(field.type, field.type)) for field in read])


def read_part(name: str, file: BinaryIO) -> SweepPart:
    """Read the end of a part.

    Raises:
        ForeignFile: if the file is torn, or not a part.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        parts = parquet.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise ForeignFile("it is incomplete or not Parquet") from error
    return SweepPart(name, _note_of(parts), parts.schema_arrow, parts.metadata.num_rows)


def read_rows(name: str, file: BinaryIO) -> tuple[Note, pa.Table]:
    """Return the metadata of a part, and its rows.

    Raises:
        SweepError: if the file cannot be read.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        parts = parquet.ParquetFile(file)
        return _note_of(parts), parts.read()
    except (pa.ArrowException, OSError, ForeignFile) as error:
        raise SweepError(f"{excerpt(name)} cannot be read: {type(error).__name__}.", about="into") from None


def _note_of(parts: parquet.ParquetFile) -> Note:
    metadata = parts.metadata.metadata or {}
    about, packed = metadata.get(_NOTE.encode()), metadata.get(_KEYS.encode())
    if about is None or packed is None:
        raise ForeignFile("it was not written by a sweep")
    try:
        return _note(json.loads(about), packed)
    except (ValueError, TypeError, KeyError, zlib.error) as error:
        raise ForeignFile("what it says about its keys cannot be read") from error


def _note(about: Any, packed: bytes) -> Note:
    if about["version"] != _VERSION:
        raise ValueError("another version")
    kind = about["kind"]
    if kind is not None and kind not in get_args(KeyKind):
        raise ValueError("unknown kind of keys")
    keys = decoded(_unpacked(packed), kind) if kind else []
    return Note(Definition.from_fields(about["definition"]), kind, str(about["key_column"]), keys)


def _packed(keys: Sequence[Key]) -> str:
    # Metadata is text, so the compressed keys are in base64.
    return base64.b64encode(zlib.compress(json.dumps(encoded(keys)).encode(), 6)).decode("ascii")


def _unpacked(packed: bytes) -> list[Any]:
    inflate = zlib.decompressobj()
    data = inflate.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
    if not inflate.eof:
        raise ValueError("too many keys")
    values = json.loads(data)
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        raise TypeError("keys are texts or integers")
    return values
