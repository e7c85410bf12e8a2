"""The place of a sweep: its files on a local disk, or at an address of fsspec.

The folder holds nothing but parts, because Polars, DuckDB and Dask read every file that they find in a folder and in
those within. The lock, a copy of the failures and files that are still being written stand in `<folder>.sweep`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, TypeAlias

from toolkit.core.errors import ConfigurationError, SweepBusy, SweepError, how_to_install
from toolkit.core.text import excerpt
from toolkit.local.files import expanded, replace_file
from toolkit.local.locks import try_lock

Area: TypeAlias = Literal["parts", "beside"]
_ADVICE: Final = (
    "Make room or choose another folder. What is already written is kept. Run the sweep again: it goes on where it "
    "stopped."
)


class LocalPlace:
    """A folder of a local disk and the one beside it. A write replaces a whole file or leaves it as it was."""

    def __init__(self, folder: Path) -> None:
        self._folders: dict[Area, Path] = {"parts": folder, "beside": folder.with_name(f"{folder.name}.sweep")}

    def names(self, area: Area) -> list[str]:
        """Return the sorted names of files; none if the area does not exist yet."""
        folder = self._folders[area]
        return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []

    def open(self, area: Area, name: str) -> BinaryIO:
        return (self._folders[area] / name).open("rb")

    def write(self, area: Area, name: str, data: bytes) -> None:
        """Write a file, or replace it; SweepError if it cannot be written."""
        target, partial = self._folders[area] / name, self._folders["beside"] / f"{name}.part"
        try:
            partial.unlink(missing_ok=True)  # what an interruption left, or a link
            with partial.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            replace_file(partial, target)
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise _unwritable(str(target), error) from None

    def remove(self, area: Area, name: str) -> None:
        (self._folders[area] / name).unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other sweeps out; SweepBusy if another one is in progress here."""
        beside = self._folders["beside"]
        try:
            for folder in self._folders.values():
                folder.mkdir(parents=True, exist_ok=True)
            lock = try_lock(beside / "lock")
        except OSError as error:
            raise _unwritable(str(beside), error) from None
        if lock is None:
            what = "in another process, or in another thread of this one; nothing was sent"
            advice = "Wait for it, or interrupt it; or sweep into another folder."
            raise SweepBusy(f"A sweep into this folder is in progress {what}.", advice, about="into")
        try:
            yield
        finally:
            lock.release()


class RemotePlace:
    """A folder of an fsspec file system and the one beside it. It has no lock: one process writes there at a time.

    A store of objects replaces an object in one step. Other file systems may have a half written file after a crash,
    which the next run names.
    """

    def __init__(self, system: Any, path: str) -> None:
        self._system = system
        self._paths: dict[Area, str] = {"parts": path, "beside": f"{path}.sweep"}

    def names(self, area: Area) -> list[str]:
        folder = self._paths[area]
        self._system.invalidate_cache(folder)
        try:
            paths = [str(path).rstrip("/") for path in self._system.ls(folder, detail=False)]
        except FileNotFoundError:
            return []
        return sorted(path.rpartition("/")[2] for path in paths if path != folder)

    def open(self, area: Area, name: str) -> BinaryIO:
        file: BinaryIO = self._system.open(f"{self._paths[area]}/{name}", "rb")
        return file

    def write(self, area: Area, name: str, data: bytes) -> None:
        path = f"{self._paths[area]}/{name}"
        try:
            self._system.makedirs(self._paths[area], exist_ok=True)
            self._system.pipe_file(path, data)
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            raise _unwritable(path, error) from None

    def remove(self, area: Area, name: str) -> None:
        with suppress(FileNotFoundError):
            self._system.rm_file(f"{self._paths[area]}/{name}")

    def locked(self) -> AbstractContextManager[None]:
        return nullcontext()


SweepPlace: TypeAlias = LocalPlace | RemotePlace


def _unwritable(path: str, error: Exception) -> SweepError:
    reason = getattr(error, "strerror", None) or type(error).__name__
    return SweepError(f"Cannot write {excerpt(path)}: {reason}.", _ADVICE, about="into")


def place_of(into: str | Path) -> SweepPlace:
    """Return the place of a path or of an fsspec address such as `s3://bucket/positions`."""
    system, path, reason = None, str(into), "it is not the name of a folder"
    if isinstance(into, Path) or "://" not in path:
        path = os.path.abspath(expanded(into, about="into"))  # noqa: PTH100 - links stay as they are
    else:
        try:
            import fsspec

            system, path = fsspec.core.url_to_fs(path)
        except (ImportError, ValueError) as error:
            path, reason = "", f"{error}. Addresses need fsspec and its package for them. {how_to_install('remote')}"
    folder = Path(path)
    is_local = system is None or "file" in system.protocol
    if not folder.name or (is_local and folder.exists() and not folder.is_dir()):
        raise ConfigurationError(
            f"A sweep cannot write into {excerpt(str(into))}: {excerpt(reason)}",
            'For example into="sweeps/positions" or into="s3://bucket/positions".',
            about="into",
        )
    return LocalPlace(folder) if is_local else RemotePlace(system, path.rstrip("/"))
