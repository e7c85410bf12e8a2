"""Sealed tokens as files in the user's cache folder, shared by the kernels and processes of one user."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolkit.auth.tokens.store import LARGEST_ENTRY, StoreUnavailableError
from toolkit.local.files import PARTIAL, shown, write_atomically
from toolkit.local.locks import FileLock, try_lock
from toolkit.local.private_files import UnfitFile, is_own_folder, private_folder, read_private
from toolkit.local.user_folders import cache_folder

STALE_AFTER: Final = 2 * 86_400.0  # seconds; twice the longest lifetime of a token
_ENTRY: Final = ".token"
_LOCK: Final = ".lock"
_NAME: Final = re.compile(r"[0-9a-f]{16,128}\Z")
_OURS: Final = re.compile(r"([0-9a-f]{16,128})\.(?:token|lock)\Z")
_UNFINISHED: Final = re.compile(rf"\.[0-9a-f]{{16,128}}{re.escape(_ENTRY)}\..*{re.escape(PARTIAL)}\Z")


class FileTokenStore:
    """Keeps entries as files in a folder that only their user may enter.

    Nothing is read or written through a link. An entry must be a plain file that belongs to this user and has at most
    LARGEST_ENTRY bytes; anything else in its place counts as missing, and the next entry replaces it.

    Args:
        folder: the folder of the entries, made when it is first needed; by default in the user's cache folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is None:
            self.folder = cache_folder() / "tokens"
            self._folders = [self.folder.parent, self.folder]
        else:
            self.folder = folder
            self._folders = [folder]  # the permissions of its parent are the user's own decision

    def __repr__(self) -> str:
        return f"<FileTokenStore {shown(self.folder)}>"

    def read(self, name: str, /) -> bytes | None:
        """Return the entry of a name, or None if it does not exist.

        Raises:
            StoreUnavailableError: if the folder is a link or belongs to another user, or the disk fails.
        """
        file = self._file(name, _ENTRY)
        with self._unavailable("read in"):
            exists = all(is_own_folder(folder) for folder in self._folders)
            return read_private(file, LARGEST_ENTRY) if exists else None

    def write(self, name: str, data: bytes, /) -> None:
        """Replace the entry of a name, and remove entries that were last written two days ago or earlier.

        Raises:
            StoreUnavailableError: if the folder or the file cannot be written. The old entry stays.
        """
        file = self._file(name, _ENTRY)
        with self._unavailable("write in"):
            if len(data) > LARGEST_ENTRY:
                raise OSError(errno.EFBIG, f"an entry has at most {LARGEST_ENTRY} bytes, not {len(data)}")
            self._make_folder()
            # Not durable: an entry that a crash tore does not open, and then a new token is requested.
            write_atomically(file, data, private=True)
        with suppress(OSError):
            self._remove_old()

    def try_lock(self, name: str, /) -> FileLock | None:
        """Lock the entry of a name, or return None if another process or thread holds the lock.

        Raises:
            StoreUnavailableError: if the folder or the file cannot be used, or the disk does not support locks.
        """
        file = self._file(name, _LOCK)
        with self._unavailable("lock in"):
            self._make_folder()
            return try_lock(file)

    def _file(self, name: str, suffix: str) -> Path:
        if not _NAME.match(name):
            raise ValueError("the name of an entry has 16 to 128 lower-case hexadecimal digits")
        return self.folder / f"{name}{suffix}"

    def _make_folder(self) -> None:
        for folder in self._folders:
            private_folder(folder)
            is_own_folder(folder)

    @contextmanager
    def _unavailable(self, action: str) -> Iterator[None]:
        """Raise StoreUnavailableError in place of an OSError."""
        try:
            yield
        except OSError as error:
            where = Path(error.filename) if isinstance(error, UnfitFile) else self.folder
            why = error.strerror or type(error).__name__
            raise StoreUnavailableError(f"cannot {action} {shown(where)}: {why}") from None

    def _remove_old(self) -> None:
        """Remove the files of entries and of killed writers that are older than any token can be.

        An entry is removed while this process holds its lock, and its lock file with it, which `try_lock` allows for.
        On Windows the lock file stays, because it is open.
        """
        oldest = time.time() - STALE_AFTER
        last_written: dict[str, float] = {}
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if match := _OURS.match(entry.name):
                    last_written[match[1]] = max(_modified(entry.path), last_written.get(match[1], 0.0))
                elif _UNFINISHED.match(entry.name) and _modified(entry.path) < oldest:
                    Path(entry.path).unlink(missing_ok=True)
        for name in (name for name, modified in last_written.items() if modified < oldest):
            lock = try_lock(self._file(name, _LOCK))
            if lock is None:
                continue
            try:
                if _modified(self._file(name, _ENTRY)) < oldest:  # checked again, now that no other process writes it
                    self._file(name, _ENTRY).unlink(missing_ok=True)
                    self._file(name, _LOCK).unlink(missing_ok=True)
            finally:
                lock.release()


_STORES: Final[dict[Path, FileTokenStore]] = {}


def user_token_store() -> FileTokenStore:
    """Return the store in the user's cache folder; always the same object, so that the sessions share token sources."""
    store = FileTokenStore()
    return _STORES.setdefault(store.folder, store)


def _modified(path: str | Path) -> float:
    """Return when a file was last written, in seconds since 1970: 0 if it is gone, infinity if it is not a file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return 0.0
    return status.st_mtime if stat.S_ISREG(status.st_mode) else float("inf")
