"""The folder of a sweep: opened, compared, repaired, written and read. Its parts are the only state.

While a sweep runs, parts may differ in their columns. They are made alike when it ends, part by part, so that an
interruption only leaves less to do for the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.sweeps.parts import (
    KEY,
    Definition,
    FinishedKeys,
    Key,
    KeyedRows,
    KeyFailure,
    KeyKind,
    SweepPart,
    concatenated,
    failures_table,
    fitting,
    joined,
    key_array,
    key_column,
    part_bytes,
    read_part,
    target_of,
    with_columns,
)
from toolkit.sweeps.places import SweepPlace
from toolkit.tables.columns import frame_of

_FAILURES: Final = "failures.parquet"
_ANEW: Final = "Sweep into another folder; resume=False removes what this one holds and begins anew."


class Folder:
    """The files of one sweep and their contents. An error of `before_write` keeps a file as it was."""

    def __init__(
        self, place: SweepPlace, definition: Definition, *, before_write: Callable[[], None] = lambda: None
    ) -> None:
        self.place = place
        self.definition = definition
        self.parts: dict[str, SweepPart] = {}  # by the names of their files
        self.failures: dict[Key, KeyFailure] = {}  # of keys that were not answered later
        self.kind: KeyKind | None = None  # of the keys
        self._finished = FinishedKeys(())
        self._before_write = before_write

    @property
    def answered(self) -> int:
        """Number of keys that have an answer, with rows or without."""
        return sum(len(part.keys) for part in self.parts.values())

    def is_done(self, key: Key) -> bool:
        """Check whether a key had an answer, or a failure that only `.retry()` asks for again, when it was loaded."""
        return key in self._finished or ((failure := self.failures.get(key)) is not None and failure.is_final)

    def load(self, writer: str = "") -> None:
        """Read the ends of all parts, or of those of one writer.

        Raises:
            ConfigurationError: if they belong to another sweep, to an earlier version, or to none.
        """
        self.parts = {name: self._read(name) for name in self.place.names("parts") if writer in name}
        for part in self.parts.values():
            self._check(part.definition)
            self.kind = self.kind or part.kind
        self._finished = FinishedKeys([part.keys for part in self.parts.values()])
        failures = (failure for part in self.parts.values() for failure in part.failures)
        self.failures = {failure.key: failure for failure in failures if failure.key not in self._finished}

    def clear(self) -> None:
        """Remove all parts.

        Raises:
            ConfigurationError: if another file is among the parts; nothing is removed then.
        """
        names = self.place.names("parts")
        for name in names:
            self._read(name)
        for name in names:
            self.place.remove("parts", name)

    def repair(self) -> None:
        """Remove keys that two parts have, as a worker that was cut off leaves them.

        Call it only while no other sweep writes here.
        """
        for name, twice in self._overlaps():
            if twice:
                rows = self.rows_of(name).without(twice)
                if rows.keys or rows.failures:
                    self.write_part(name, rows)
                else:
                    self.place.remove("parts", name)
                    del self.parts[name]

    def finish(self) -> None:
        """Give all parts the same columns and types, so that they read as one dataset, and copy the failures."""
        schemas = {part.schema for part in self.parts.values()}
        if len(schemas) > 1:
            least = target_of(part.schema for part in self.parts.values())
            target = fitting(least, (self.rows_of(name).table for name in self._unlike(least)))
            for name in self._unlike(target):
                rows = self.rows_of(name)
                self.write_part(name, rows._replace(table=with_columns(rows.table, target)))
        if self.failures or _FAILURES in self.place.names("beside"):
            failures = failures_table(list(self.failures.values()), self.kind)
            rows = KeyedRows(failures, key_array([], self.kind))
            self.place.write("beside", _FAILURES, part_bytes(rows, self.definition, self.kind))

    def write_part(self, name: str, rows: KeyedRows) -> None:
        self._before_write()
        self.place.write("parts", name, part_bytes(rows, self.definition, self.kind))
        table = rows.table
        self.parts[name] = SweepPart(self.definition, self.kind, rows.keys, rows.failures, table.schema, table.num_rows)

    def next_name(self, writer: str = "") -> str:
        """Return a name that comes after those of all parts, because of two failures of a key the later one counts."""
        last = max((int(name[5:10]) for name in self.place.names("parts") if name[5:10].isdecimal()), default=0)
        return f"part-{last + 1:05}{f'-{writer}' if writer else ''}.parquet"

    def rows_of(self, name: str) -> KeyedRows:
        with self.place.open("parts", name) as file:
            table = parquet.ParquetFile(file).read().replace_schema_metadata(None)
        return KeyedRows(table, self.parts[name].keys, self.parts[name].failures)

    def table(self, order: Collection[Key]) -> pd.DataFrame:
        """Return the rows of all parts in this order of their keys; other keys come last, in the order of parts."""
        # A worker may have written a part after the sweep had ended.
        parts = [self.rows_of(name).without(twice) for name, twice in self._overlaps()]
        if not any(part.keys for part in parts):
            return frame_of({KEY: key_column(key_array([], self.kind))}, 0)
        table = joined(parts).table
        if order:
            places = pc.index_in(table[0], value_set=key_column(key_array(list(order), self.kind)))
            positions: Any = pc.fill_null(places, len(order)).to_numpy()
            table = table.take(np.argsort(positions, kind="stable"))
        return frame_of(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)

    def _unlike(self, schema: pa.Schema) -> list[str]:
        return [name for name, part in self.parts.items() if part.schema != schema]

    def _overlaps(self) -> Iterator[tuple[str, pa.Array]]:
        """Yield each part, and those of its keys that parts before it have as well."""
        counted = concatenated([part.keys for part in self.parts.values()]).value_counts()
        several = counted.field("values").filter(pc.greater(counted.field("counts"), 1))
        seen: set[Key] = set()
        for name, part in list(self.parts.items()):
            shared = part.keys.filter(pc.is_in(part.keys, value_set=several))
            keys = shared.to_pylist()
            yield name, shared.filter(pa.array([key in seen for key in keys], pa.bool_()))
            seen.update(keys)

    def _read(self, name: str) -> SweepPart:
        with self.place.open("parts", name) as file:
            return read_part(name, file)

    def _check(self, definition: Definition | None) -> None:
        if definition is None:
            what = "This version cannot go on with the sweep in this folder, which an earlier version wrote."
            advice = f"Its files stay readable, such as by pandas.read_parquet. {_ANEW}"
            raise ConfigurationError(what, advice, about="into")
        for name, ours in self.definition.items():
            if (theirs := definition.get(name)) != ours:
                words = "another schema" if name == "schema" else f"{name} = {excerpt(repr(theirs))}"
                what = f"The folder holds a sweep with {words}, which does not mix with this one."
                raise ConfigurationError(what, _ANEW, about=name)
