"""The folder of a sweep: opened, compared, repaired, written and read. Its parts are the only state.

While a sweep runs, parts may differ in their columns. They are made alike when it ends, part by part, so that an
interruption only leaves less to do for the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import warn
from toolkit.sweeps.alike import Misfit, joined, target_of, with_columns
from toolkit.sweeps.parts import (
    KEY,
    Definition,
    EarlierPart,
    ForeignFile,
    Key,
    KeyedRows,
    KeyFailure,
    KeyKind,
    SweepPart,
    failures_table,
    key_array,
    part_bytes,
    read_part,
)
from toolkit.sweeps.places import SweepPlace

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_PARQUET: Final = ".parquet"
_PART: Final = "part-"
_FAILURES: Final = "failures.parquet"


class Folder:
    """The files of one sweep and their contents.

    Args:
        place: where they are.
        definition: what all rows have in common.
        before_write: called before each write; an error it raises keeps the file as it was.

    Attributes:
        parts: the parts by name.
        finished: the keys that have an answer, with rows or without.
        failures: the failures of other keys.
        kind: the type of the keys, or None without keys.
    """

    def __init__(
        self, place: SweepPlace, definition: Definition, *, before_write: Callable[[], None] = lambda: None
    ) -> None:
        self.place = place
        self.definition = definition
        self.parts: dict[str, SweepPart] = {}
        self.finished: set[Key] = set()
        self.failures: dict[Key, KeyFailure] = {}
        self.kind: KeyKind | None = None
        self._before_write = before_write

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.rows for part in self.parts.values())

    def is_done(self, key: Key) -> bool:
        """Check whether a key has an answer, or a failure that only `.retry()` asks for again."""
        return key in self.finished or ((failure := self.failures.get(key)) is not None and failure.is_final)

    def load(self, writer: str = "") -> None:
        """Read the ends of all parts, or of those of one writer.

        Raises:
            ConfigurationError: if they belong to another sweep, or to none.
        """
        foreign: dict[str, str] = {}
        for name in self.place.names("parts"):
            if writer in name:
                try:
                    self._note(self._read(name))
                except EarlierPart as reason:
                    raise ConfigurationError(
                        f"This version cannot go on with the sweep in this folder: {reason}.",
                        "Its files stay readable, such as by pandas.read_parquet. Sweep into another folder; "
                        "resume=False removes what this one holds and begins anew.",
                        about="into",
                    ) from None
                except ForeignFile as reason:
                    foreign[name] = str(reason)
        if foreign and not writer:
            self._tell(foreign)

    def now(self) -> Folder:
        """Return the folder as its files are now."""
        folder = Folder(self.place, self.definition)
        folder.load()
        return folder

    def clear(self) -> None:
        """Remove all parts.

        Raises:
            ConfigurationError: if another file is among the parts; nothing is removed then.
        """
        names = self.place.names("parts")
        for name in names:
            try:
                with suppress(EarlierPart):
                    self._read(name)
            except ForeignFile as reason:
                self._tell({name: str(reason)})
        for name in names:
            self.place.remove("parts", name)

    def repair(self) -> None:
        """Remove keys that two parts have, as a worker that was cut off leaves them.

        Call it only while no other sweep writes here.
        """
        for part, twice in self._overlaps():
            if twice:
                rows = self.rows_of(part).without(twice, self.kind)
                if rows.keys or rows.failures:
                    self.write_part(part.name, rows)
                else:
                    self.place.remove("parts", part.name)
                    del self.parts[part.name]

    def finish(self) -> None:
        """Give all parts the same columns and types, so that they read as one dataset, and copy the failures."""
        if len({part.schema for part in self.parts.values()}) > 1:
            target, key_column = target_of([(part.schema, part.key_column) for part in self.parts.values()])
            while (wider := self._rewritten(target, key_column)) is not None:
                target = wider
        if self.failures or _FAILURES in self.place.names("beside"):
            rows = KeyedRows(failures_table(self.failures.values(), self.kind), KEY, ())
            self.place.write("beside", _FAILURES, part_bytes(rows, self.definition, self.kind))

    def write_part(self, name: str, rows: KeyedRows) -> None:
        """Write a part, or replace it."""
        for key in rows.keys if self.failures else ():
            self.failures.pop(key, None)
        failures = [failure for failure in rows.failures if self.failures.get(failure.key) == failure]
        rows, columns = replace(rows, failures=failures), rows.table.schema
        self._before_write()
        self.place.write("parts", name, part_bytes(rows, self.definition, self.kind))
        self.parts[name] = SweepPart(
            name, self.definition, self.kind, rows.key_column, rows.keys, failures, columns, rows.table.num_rows
        )
        self.finished.update(rows.keys)

    def note_failure(self, failure: KeyFailure) -> KeyFailure:
        """Note that a key failed; return the failure with the tries of earlier runs added to its own."""
        earlier = self.failures.get(failure.key)
        if earlier is not None:
            failure = replace(failure, tries=failure.tries + earlier.tries)
        self.failures[failure.key] = failure
        return failure

    def next_name(self, writer: str = "") -> str:
        """Return the name of the next part of a writer, which no file has, not even one that is not a part."""
        last = max((_number(name, writer) for name in self.place.names("parts")), default=0)
        return f"{_PART}{last + 1:05}{_suffix(writer)}"

    def last_part(self, writer: str = "") -> SweepPart | None:
        """Return the last part of a writer, or None."""
        own = [part for name, part in self.parts.items() if _number(name, writer)]
        return max(own, key=lambda part: _number(part.name, writer), default=None)

    def rows_of(self, part: SweepPart) -> KeyedRows:
        """Return the rows of a part."""
        from pyarrow import parquet

        with self.place.open("parts", part.name) as file:
            table = parquet.ParquetFile(file).read().replace_schema_metadata(None)
        return KeyedRows(table, part.key_column, part.keys, part.failures)

    def table(self, order: Collection[Key]) -> pd.DataFrame:
        """Return the rows of all parts in this order of their keys; other keys come last, in the order of parts."""
        from toolkit.tables.columns import frame_of

        parts = []
        for part, twice in self._overlaps():  # a worker may have written a part after the sweep had ended
            rows = self.rows_of(part)
            parts.append(rows.without(twice, self.kind) if twice else rows)
        if not any(part.keys for part in parts):
            return frame_of({KEY: key_array([], self.kind)}, 0)
        table = _sorted(joined(parts), order, self.kind)
        return frame_of(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)

    def _rewritten(self, target: pa.Schema, key_column: str) -> pa.Schema | None:
        """Give all parts these columns; return a wider schema if a value does not fit."""
        try:
            for name, part in self.parts.items():
                if not part.schema.equals(target):
                    self.write_part(name, with_columns(self.rows_of(part), target, key_column))
        except Misfit as misfit:
            return misfit.wider(target)
        return None

    def _overlaps(self) -> Iterator[tuple[SweepPart, set[Key]]]:
        """Yield each part, and those of its keys that parts before it have as well."""
        seen: set[Key] = set()
        for part in list(self.parts.values()):
            twice = seen.intersection(part.keys)
            seen.update(part.keys)
            yield part, twice

    def _read(self, name: str) -> SweepPart:
        if not name.endswith(_PARQUET):
            raise ForeignFile("it is not a Parquet file")
        try:
            with self.place.open("parts", name) as file:
                return read_part(name, file)
        except OSError as error:
            raise ForeignFile("it cannot be read") from error

    def _note(self, part: SweepPart) -> None:
        for name, ours in self.definition.items():
            theirs = part.definition.get(name)
            if theirs != ours:
                words = ("another schema", "this one") if name == "schema" else (_words(theirs), _words(ours))
                raise ConfigurationError(
                    f"The folder holds a sweep with {name} = {words[0]}, which does not mix with {words[1]}.",
                    "Sweep into another folder; resume=False removes what this one holds and begins anew.",
                    about=name,
                )
        self.kind = self.kind or part.kind
        self.parts[part.name] = part
        self.finished.update(part.keys)
        for failure in part.failures:  # of two failures of a key, that with more tries is the later one
            known = self.failures.get(failure.key)
            if known is None or known.tries <= failure.tries:
                self.failures[failure.key] = failure
        for key in self.failures.keys() & self.finished:
            del self.failures[key]

    def _tell(self, foreign: Mapping[str, str]) -> None:
        name, reason = next(iter(foreign.items()))
        rest = f", and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        what = f"{excerpt(name, 60)} is not a part of this sweep: {reason}{rest}."
        if not self.parts:
            raise ConfigurationError(
                f"The folder of a sweep holds nothing else, but {what}",
                "Remove that file, or sweep into a new folder.",
                about="into",
            )
        warn(f"{what} It is left as it is; remove it, or other programs cannot read the folder.")


def _words(value: object) -> str:
    return excerpt(value if isinstance(value, str) else repr(value))


def _suffix(writer: str) -> str:
    return f"-{writer}{_PARQUET}" if writer else _PARQUET


def _number(name: str, writer: str) -> int:
    """Return the number of a part of this writer, from 1; 0 if the file is not one of its parts."""
    digits = name.removeprefix(_PART).removesuffix(_suffix(writer))
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _sorted(rows: KeyedRows, order: Collection[Key], kind: KeyKind | None) -> pa.Table:
    import numpy as np
    import pyarrow.compute as pc

    if not order:
        return rows.table
    places = pc.index_in(rows.table[rows.key_column], value_set=key_array(list(order), kind))
    positions: Any = pc.fill_null(places, len(order)).to_numpy()
    return rows.table.take(np.argsort(positions, kind="stable"))
