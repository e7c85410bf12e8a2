"""The folder of a sweep: its files on a local disk or at an fsspec address, and their contents.

The folder contains only parts, because Polars, DuckDB and Dask read every file in a folder and its subfolders. The
lock, a copy of the failures and files that are still being written are in `<folder>.sweep`.

While a sweep runs, its parts may have different columns. When it ends, they are unified part by part, so that after an
interruption the next run only has to unify the remaining parts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs, parquet

from toolkit.core.errors import ConfigurationError, SweepBusy, SweepError, how_to_install
from toolkit.core.text import excerpt
from toolkit.local.files import create_new, expanded
from toolkit.local.locks import try_lock
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
from toolkit.tables.columns import frame_of

Area: TypeAlias = Literal["parts", "beside"]
_FAILURES: Final = "failures.parquet"
_ANEW: Final = "Sweep into another folder; resume=False empties this one and starts again."


class SweepPlace:
    """The location of a sweep's files: its folder, and the folder beside it.

    On a disk, writes are atomic, and a lock keeps other sweeps out. Remote file systems are not locked, so only one
    process at a time may write there. An object store replaces an object in one step; on other remote file systems, a
    crash may leave a partly written file, and the next run raises an error that names it.
    """

    def __init__(self, system: fs.FileSystem, folder: str) -> None:
        self._system = system
        self._is_local = isinstance(system, fs.LocalFileSystem)
        self._folders: dict[Area, str] = {"parts": folder, "beside": f"{folder}.sweep"}

    def names(self, area: Area) -> list[str]:
        """Return the sorted file names in an area; empty if the area does not exist yet."""
        if not self._is_local:
            self._system.handler.fs.invalidate_cache(self._folders[area])
        found = self._system.get_file_info(fs.FileSelector(self._folders[area], allow_not_found=True))
        return sorted(info.base_name for info in found)

    def open(self, area: Area, name: str) -> pa.NativeFile:
        return self._system.open_input_file(f"{self._folders[area]}/{name}")

    def write(self, area: Area, name: str, data: bytes) -> None:
        """Write or replace a file; raise SweepError if it cannot be written."""
        path, partial = f"{self._folders[area]}/{name}", Path(self._folders["beside"], f"{name}.part")
        try:
            if self._is_local:
                partial.unlink(missing_ok=True)  # left by an interruption, or a link
                create_new(partial, data, private=False)
                partial.replace(path)
            else:
                self._system.create_dir(self._folders[area])
                with self._system.open_output_stream(path) as stream:
                    stream.write(data)
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            raise _unwritable(path, error) from None

    def remove(self, area: Area, name: str) -> None:
        with suppress(FileNotFoundError):
            self._system.delete_file(f"{self._folders[area]}/{name}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps out of a folder on a disk; raise SweepBusy if another sweep into it is in progress."""
        if not self._is_local:
            yield
            return
        beside = Path(self._folders["beside"])
        try:
            for folder in self._folders.values():
                Path(folder).mkdir(parents=True, exist_ok=True)
            lock = try_lock(beside / "lock")
        except OSError as error:
            raise _unwritable(str(beside), error) from None
        if lock is None:
            what = "in another process, or in another thread of this one; nothing was sent"
            advice = "Wait until it ends, interrupt it, or sweep into another folder."
            raise SweepBusy(f"A sweep into this folder is in progress {what}.", advice, about="into")
        try:
            yield
        finally:
            lock.release()


def _unwritable(path: str, error: Exception) -> SweepError:
    reason = getattr(error, "strerror", None) or type(error).__name__
    advice = "Free some space or choose another folder. Then run the sweep again: it continues where it stopped."
    return SweepError(f"Cannot write {excerpt(path)}: {reason}.", advice, about="into")


def place_of(into: str | Path) -> SweepPlace:
    """Return the place for a path or an fsspec address such as `s3://bucket/positions`."""
    system, path, reason = None, str(into), "it is not the name of a folder"
    if isinstance(into, Path) or "://" not in path:
        path = os.path.abspath(expanded(into, about="into"))  # noqa: PTH100 - links stay as they are
    else:
        try:
            import fsspec

            system, path = fsspec.core.url_to_fs(path)
        except (ImportError, ValueError) as error:
            path, reason = "", f"{error}. It needs fsspec and a package for this protocol. {how_to_install('remote')}"
    folder = Path(path)
    is_local = system is None or "file" in system.protocol
    if not folder.name or (is_local and folder.exists() and not folder.is_dir()):
        raise ConfigurationError(
            f"A sweep cannot write into {excerpt(str(into))}: {excerpt(reason)}",
            'For example into="sweeps/positions" or into="s3://bucket/positions".',
            about="into",
        )
    file_system = fs.LocalFileSystem() if is_local else fs.PyFileSystem(fs.FSSpecHandler(system))
    return SweepPlace(file_system, path.rstrip("/"))


class Folder:
    """The files of one sweep and their contents. If `before_write` raises an error, the file is not changed."""

    def __init__(
        self, place: SweepPlace, definition: Definition, *, before_write: Callable[[], None] = lambda: None
    ) -> None:
        self.place = place
        self.definition = definition
        self.parts: dict[str, SweepPart] = {}  # keyed by file name
        self.failures: dict[Key, KeyFailure] = {}  # of keys that were not answered later
        self.kind: KeyKind | None = None  # of the keys
        self._finished = FinishedKeys(())
        self._before_write = before_write

    def is_done(self, key: Key) -> bool:
        """Check whether a key had, when loaded, a response or a failure that only `.retry()` requests again."""
        return key in self._finished or ((failure := self.failures.get(key)) is not None and failure.is_final)

    def load(self, writer: str = "") -> None:
        """Read the metadata of all parts or one writer's; raise ConfigurationError if another sweep wrote the parts."""
        self.parts = {name: self._read(name) for name in self.place.names("parts") if writer in name}
        for part in self.parts.values():
            self.kind = self.kind or part.kind
            for name, ours in self.definition.items():
                if (theirs := part.definition.get(name)) != ours:
                    words = "another schema" if name == "schema" else f"{name} = {excerpt(repr(theirs))}"
                    what = f"The folder contains a different sweep, which has {words}."
                    raise ConfigurationError(what, _ANEW, about=name)
        self._finished = FinishedKeys([part.keys for part in self.parts.values()])
        failures = (failure for part in self.parts.values() for failure in part.failures)
        self.failures = {failure.key: failure for failure in failures if failure.key not in self._finished}

    def clear(self) -> None:
        """Remove all parts; if there is another file, raise ConfigurationError and remove nothing."""
        for name in self.place.names("parts"):
            self._read(name)
        for name in self.place.names("parts"):
            self.place.remove("parts", name)

    def repair(self) -> None:
        """Remove duplicate keys, which a worker that was cut off may leave behind. No other sweep may be writing."""
        for name, twice in self._overlaps():
            if twice:
                rows = self.rows_of(name).without(twice)
                if rows.keys or rows.failures:
                    self.write_part(name, rows)
                else:
                    self.place.remove("parts", name)
                    del self.parts[name]

    def finish(self) -> None:
        """Give all parts the same columns and types, so that they can be read as one dataset, and copy the failures."""
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
        """Return a name that sorts after all parts, because a key's failure in a later part replaces an earlier one."""
        last = max((int(name[5:10]) for name in self.place.names("parts") if name[5:10].isdecimal()), default=0)
        return f"part-{last + 1:05}{f'-{writer}' if writer else ''}.parquet"

    def rows_of(self, name: str) -> KeyedRows:
        with self.place.open("parts", name) as file:
            table = parquet.ParquetFile(file).read(use_threads=False).replace_schema_metadata(None)
        return KeyedRows(table, self.parts[name].keys, self.parts[name].failures)

    def table(self, order: Collection[Key]) -> pd.DataFrame:
        """Return the rows of all parts, sorted by their key's position in `order`; rows with other keys come last."""
        # A worker may have written a part after the sweep ended.
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
        """Yield the name of each part, and the keys that it shares with earlier parts."""
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
