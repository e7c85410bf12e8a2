"""The folder of a sweep: opened, compared, repaired, written and read. Its files are the only state.

While a sweep runs, parts may differ in their columns. They are made alike when it ends, part by part, so that an
interruption only leaves less to do for the next run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.user_code import warn
from toolkit.sweeps.definition import Definition
from toolkit.sweeps.keys import Key, KeyKind, key_array
from toolkit.sweeps.outcomes import KeyFailure, failures_of, failures_table
from toolkit.sweeps.parts import ForeignFile, Note, SweepPart, part_bytes, read_part, read_rows
from toolkit.sweeps.rows import KEY, KeyedRows, Misfit, target_of, with_columns
from toolkit.sweeps.storage import PARTIAL, Area, SweepPlace

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_PARQUET: Final = ".parquet"
_PART: Final = "part-"
_FAILURES: Final = "failures"


class Folder:
    """The files of one sweep and their contents.

    Args:
        place: where they are.
        definition: where the rows come from.

    Attributes:
        parts: the parts by name.
        failures: the failures by key; none of them is finished in a part.
        kind: the type of the keys, or None without keys.
    """

    def __init__(self, place: SweepPlace, definition: Definition) -> None:
        self.place = place
        self.definition = definition
        self.parts: dict[str, SweepPart] = {}
        self.failures: dict[Key, KeyFailure] = {}
        self.kind: KeyKind | None = None
        self._finished: set[Key] = set()

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.rows for part in self.parts.values())

    @property
    def answered(self) -> int:
        """Number of keys that are finished in a part; those of two parts count twice until `repair`."""
        return sum(len(part.note.keys) for part in self.parts.values())

    def is_answered(self, key: Key) -> bool:
        """Check whether a key was finished in a part when the folder was loaded."""
        return key in self._finished

    def is_finished(self, key: Key) -> bool:
        """Check whether a key had an answer at that time, with rows or without, or has a final failure."""
        return key in self._finished or ((failure := self.failures.get(key)) is not None and failure.is_final)

    def load(self) -> None:
        """Read the files.

        Raises:
            ConfigurationError: if they belong to another sweep, or to none.
        """
        self.parts, self._finished, foreign = {}, set(), {}
        for name in self.place.names("parts"):
            try:
                part = self._read("parts", name)
                self._note_part(part)
                self._finished.update(part.note.keys)
            except ForeignFile as reason:
                foreign[name] = str(reason)
        self._load_failures()
        if foreign:
            self._tell(foreign)

    def clear(self) -> None:
        """Remove all parts and failures.

        Raises:
            ConfigurationError: if another file is among the parts; nothing is removed then.
        """
        self.parts, self.failures, self.kind, self._finished = {}, {}, None, set()
        for name in self.place.names("parts"):
            try:
                self._read("parts", name)
            except ForeignFile as reason:
                self._tell({name: str(reason)})
        for area in ("parts", "beside"):
            for name in self.place.names(area):
                with suppress(ForeignFile):
                    self._read(area, name)
                    self.place.remove(area, name)

    def repair(self) -> None:
        """Clear away what an interruption left: keys that two parts have, failures of workers, files half written.

        Call it only while no other sweep writes here.
        """
        for part, twice in self._overlaps():
            if twice:
                rows = self.rows_of(part).without(twice, part.note.kind or "text")
                if rows.keys:
                    self.write_part(part.name, rows)
                else:
                    self.place.remove("parts", part.name)
                    del self.parts[part.name]
        of_workers = f"{_FAILURES}-"
        left = [name for name in self.place.names("beside") if name.startswith(of_workers) or name.endswith(PARTIAL)]
        if any(name.startswith(of_workers) for name in left):
            self.write_failures()
        for name in left:
            self.place.remove("beside", name)

    def unify(self) -> None:
        """Give all parts the same columns and types, so that they read as one dataset."""
        if len({part.schema for part in self.parts.values()}) < 2:
            return
        target, key_column = target_of([(part.schema, part.note.key_column) for part in self.parts.values()])
        while True:
            try:
                for name, part in self.parts.items():
                    if not part.schema.equals(target):
                        self.write_part(name, with_columns(self.rows_of(part), target, key_column))
            except Misfit as misfit:
                target = misfit.wider(target)
            else:
                return

    def write_part(self, name: str, rows: KeyedRows) -> None:
        """Write a part, or replace it."""
        note = Note(self.definition, self.kind, rows.key_column, rows.keys)
        table = rows.table.replace_schema_metadata(_note_for_pandas(rows.table.schema))
        self.place.write("parts", name, part_bytes(table, note))
        self._note_part(SweepPart(name, note, rows.table.schema, rows.table.num_rows))

    def write_failures(self, writer: str = "") -> None:
        """Write the file of failures, or replace it."""
        failures = list(self.failures.values())  # other threads may note more meanwhile
        note = Note(self.definition, self.kind, KEY, [failure.key for failure in failures])
        table = failures_table(failures, self.kind)
        self.place.write("beside", f"{_FAILURES}{_suffix(writer)}", part_bytes(table, note))

    def note_failure(self, failure: KeyFailure) -> None:
        """Note that a key failed, with the tries of earlier runs added to its own."""
        earlier = self.failures.get(failure.key)
        tries = failure.tries + (earlier.tries if earlier else 0)
        self.failures[failure.key] = replace(failure, tries=tries)

    def forget_failures(self, keys: Iterable[Key]) -> bool:
        """Forget the failures of keys that have their answers by now; return whether there were any."""
        before = len(self.failures)
        for key in keys if before else ():
            self.failures.pop(key, None)
        return len(self.failures) < before

    def next_name(self, writer: str = "") -> str:
        """Return the name of the next part of a writer, which no file has, not even one that is not a part."""
        last = max((_number(name, writer) for name in self.place.names("parts")), default=0)
        return f"{_PART}{last + 1:05}{_suffix(writer)}"

    def last_part(self, writer: str = "") -> SweepPart | None:
        """Return the last part of a writer, or None."""
        own = [part for name, part in self.parts.items() if _number(name, writer)]
        return max(own, key=lambda part: _number(part.name, writer), default=None)

    def table(self, order: Collection[Key]) -> pd.DataFrame:
        """Return the rows of all parts in this order of their keys; other keys come last, in the order of parts."""
        from toolkit.sweeps.rows import joined
        from toolkit.tables.columns import frame_of

        parts = []
        for part, twice in self._overlaps():  # a worker may have written a part after the sweep had ended
            rows = self.rows_of(part)
            parts.append(rows.without(twice, part.note.kind or "text") if twice else rows)
        if not parts:
            return frame_of({KEY: key_array([], self.kind or "text")}, 0)
        rows = joined(parts)
        table = _sorted(rows, order, self.kind or "text")
        return frame_of(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)

    def _overlaps(self) -> Iterator[tuple[SweepPart, set[Key]]]:
        """Yield each part, and those of its keys that parts before it have as well."""
        seen: set[Key] = set()
        for part in list(self.parts.values()):
            twice = seen.intersection(part.note.keys)
            seen.update(part.note.keys)
            yield part, twice

    def rows_of(self, part: SweepPart) -> KeyedRows:
        """Return the rows of a part as the file is now, which a failed write may have replaced."""
        with self.place.open("parts", part.name) as file:
            note, table = read_rows(part.name, file)
        return KeyedRows(table.replace_schema_metadata(None), note.key_column, note.keys)

    def _read(self, area: Area, name: str) -> SweepPart:
        if not name.endswith(_PARQUET):
            raise ForeignFile("it is not a Parquet file")
        try:
            with self.place.open(area, name) as file:
                return read_part(name, file)
        except OSError as error:
            raise ForeignFile("it cannot be read") from error

    def _note_part(self, part: SweepPart) -> None:
        self._check(part.note)
        self.parts[part.name] = SweepPart(part.name, part.note, _plain(part.schema), part.rows)

    def _check(self, note: Note) -> None:
        for name, theirs, ours in note.definition.differences(self.definition):
            raise ConfigurationError(
                f"The folder holds a sweep with {name} = {excerpt(theirs)}, which does not mix with {excerpt(ours)}.",
                "Sweep into another folder; resume=False removes what this one holds and begins anew.",
                about=name,
            )
        self.kind = self.kind or note.kind

    def _load_failures(self) -> None:
        for name in self.place.names("beside"):
            with suppress(ForeignFile):
                part = self._read("beside", name)
                self._check(part.note)
                with self.place.open("beside", name) as file:
                    failures = failures_of(read_rows(name, file)[1], part.note.keys)
                self._note_failures(failures)

    def _note_failures(self, failures: Iterable[KeyFailure]) -> None:
        """Note what a file says; of two failures of a key, that with more tries is the later one."""
        for failure in failures:
            known = self.failures.get(failure.key)
            if failure.key not in self._finished and (known is None or known.tries <= failure.tries):
                self.failures[failure.key] = failure

    def _tell(self, foreign: Mapping[str, str]) -> None:
        name, reason = next(iter(foreign.items()))
        rest = f", and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        what = f"{excerpt(name, 60)} is not a part of this sweep: {reason}{rest}."
        if not self.parts and not self.failures:
            raise ConfigurationError(
                f"The folder of a sweep holds nothing else, but {what}",
                "Remove that file, or sweep into a new folder.",
                about="into",
            )
        warn(f"{what} It is left as it is; remove it, or other programs cannot read the folder.")


def _suffix(writer: str) -> str:
    return f"-{writer}{_PARQUET}" if writer else _PARQUET


def _number(name: str, writer: str) -> int:
    """Return the number of a part of this writer, from 1; 0 if the file is not one of its parts."""
    digits = name.removeprefix(_PART).removesuffix(_suffix(writer))
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _plain(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([field.remove_metadata() for field in schema])


@lru_cache(maxsize=16)
def _note_for_pandas(schema: pa.Schema) -> Mapping[bytes, bytes]:
    """Return the metadata with which `read_parquet` of pandas gives the dtypes of `tabulate`."""
    import pyarrow as pa

    from toolkit.tables.columns import frame_of

    empty = frame_of({field.name: pa.array([], field.type) for field in schema}, 0)
    metadata: Mapping[bytes, bytes] = pa.Schema.from_pandas(empty, preserve_index=False).metadata
    return metadata


def _sorted(rows: KeyedRows, order: Iterable[Key], kind: KeyKind) -> pa.Table:
    import numpy as np
    import pyarrow.compute as pc

    keys = list(order)
    places = pc.index_in(rows.table[rows.key_column], value_set=key_array(keys, kind)) if keys else None
    if places is None:
        return rows.table
    positions: Any = pc.fill_null(places, len(keys)).to_numpy()
    return rows.table.take(np.argsort(positions, kind="stable"))
