"""The files of a sweep: a folder for the parts, and one beside it for all else.

The parts' folder holds nothing but parts, because Polars, DuckDB and Dask read every file that they find in a folder
and in those within. Failures, the lock and files that are still being written stand in `<folder>.sweep`.

A place offers whole files only: a write either replaces a file or leaves it as it was. On a local disk that takes
several steps, which are the methods of `Disk`; tests fail each of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias

from toolkit.core.errors import SweepBusy, SweepError
from toolkit.local.files import replace_file
from toolkit.local.locks import try_lock

Area: TypeAlias = Literal["parts", "beside"]
PARTIAL: Final = ".part"
_LOCK: Final = "lock"
_HOLDER: Final = "holder"


class SweepPlace(Protocol):
    """The files of one sweep, in two areas."""

    def names(self, area: Area) -> list[str]:
        """Return the sorted names of files and folders; none if the area does not exist yet."""

    def open(self, area: Area, name: str) -> BinaryIO:
        """Open a file for reading at any position."""

    def write(self, area: Area, name: str, data: bytes) -> None:
        """Write a file, or replace it, whole or not at all, and wait until it will survive a power cut.

        Raises:
            SweepError: if it cannot be written.
        """

    def remove(self, area: Area, name: str) -> None:
        """Remove a file."""

    def lock(self) -> Callable[[], None]:
        """Make the areas, keep other sweeps out, and return the function that lets them in again.

        Raises:
            SweepBusy: if another sweep is in progress here.
        """


class Disk:
    """The single steps of writing on a local disk. Each may fail, and a process may end between any two of them."""

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those around it, unless they exist."""
        folder.mkdir(parents=True, exist_ok=True)

    def create(self, file: Path, data: bytes) -> None:
        """Write a file, in place of an old one or of a link; it may be incomplete after a crash."""
        file.unlink(missing_ok=True)
        with file.open("xb") as stream:
            stream.write(data)

    def sync(self, path: Path) -> None:
        """Wait until the content of a file, or the names in a folder, will survive a crash."""
        is_folder = path.is_dir()
        if is_folder and os.name == "nt":
            return
        descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError:
            if not is_folder:  # some file systems do not sync folders
                raise
        finally:
            os.close(descriptor)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, in one step, in place of a file that has it."""
        replace_file(old, new)

    def remove(self, file: Path) -> None:
        """Remove a file."""
        file.unlink(missing_ok=True)

    def names(self, folder: Path) -> list[str]:
        """Return the names in a folder, or none if it does not exist."""
        try:
            return [entry.name for entry in folder.iterdir()]
        except FileNotFoundError:
            return []

    def open(self, file: Path) -> BinaryIO:
        """Open a file for reading."""
        return file.open("rb")

    def lock(self, file: Path) -> Callable[[], None] | None:
        """Return the function that releases the lock of a file, or None if another process or thread has it."""
        try:
            lock = try_lock(file)
        except OSError:  # a disk without locks
            return lambda: None
        return None if lock is None else lock.release


class LocalPlace:
    """A folder of a local disk and the one beside it.

    Args:
        folder: the folder of the parts, absolute.
        disk: the steps of writing.
    """

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self._disk = disk or Disk()
        self._folders: dict[Area, Path] = {"parts": folder, "beside": folder.with_name(f"{folder.name}.sweep")}

    def names(self, area: Area) -> list[str]:
        return sorted(self._disk.names(self._folders[area]))

    def open(self, area: Area, name: str) -> BinaryIO:
        return self._disk.open(self._folders[area] / name)

    def write(self, area: Area, name: str, data: bytes) -> None:
        target, beside, disk = self._folders[area] / name, self._folders["beside"], self._disk
        partial = beside / f"{name}{PARTIAL}"
        try:
            disk.create(partial, data)
            disk.sync(partial)
            disk.rename(partial, target)
            disk.sync(target.parent)
        except OSError as error:
            with suppress(OSError):
                disk.remove(partial)
            raise _unwritable(target, error) from None

    def remove(self, area: Area, name: str) -> None:
        self._disk.remove(self._folders[area] / name)

    def lock(self) -> Callable[[], None]:
        beside = self._folders["beside"]
        try:
            for folder in self._folders.values():
                self._disk.make_folder(folder)
            self._disk.sync(self.folder.parent)
            release = self._disk.lock(beside / _LOCK)
            if release is not None:
                self._disk.create(beside / _HOLDER, str(os.getpid()).encode())
        except OSError as error:
            raise _unwritable(beside, error) from None
        if release is None:
            raise busy(self._holder())
        return release

    def _holder(self) -> str:
        with suppress(OSError, ValueError), self._disk.open(self._folders["beside"] / _HOLDER) as file:
            process = int(file.read(32))
            return "another thread of this process" if process == os.getpid() else f"the process {process}"
        return "another process"


def busy(holder: str) -> SweepBusy:
    """Return the error for a folder into which someone else sweeps."""
    return SweepBusy(
        f"A sweep into this folder is in progress in {holder}; nothing was sent.",
        "Wait for it, or interrupt it; or sweep into another folder.",
        about="into",
    )


def _unwritable(path: Path, error: OSError) -> SweepError:
    return SweepError(
        f"Cannot write {path}: {error.strerror or type(error).__name__}.",
        "What is already written is kept. Make room or choose another folder, then run the sweep again: it goes on "
        "where it stopped.",
        about="into",
    )
