"""Where the kernels and processes of one user keep their tokens: sealed, in a folder of the user's own."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolkit.auth.tokens.sealing import LARGEST_ENTRY
from toolkit.auth.tokens.store import StoreUnavailableError
from toolkit.local.files import (
    PARTIAL,
    UnfitFile,
    is_own_folder,
    private_folder,
    read_private,
    shown,
    write_private,
)
from toolkit.local.locks import FileLock, try_lock

APPLICATION: Final = "service-access-toolkit"
STALE_AFTER: Final = 2 * 86_400.0  # seconds; the longest lifetime of a token is half of it
_ENTRY: Final = ".token"
_LOCK: Final = ".lock"
_NAME: Final = re.compile(r"[0-9a-f]{16,128}\Z")
_OURS: Final = re.compile(r"([0-9a-f]{16,128})\.(?:token|lock)\Z")
_UNFINISHED: Final = re.compile(rf"\.[0-9a-f]{{16,128}}{re.escape(_ENTRY)}\..*{re.escape(PARTIAL)}\Z")


class FileTokenStore:
    """Entries as files in a folder, which only their user may enter.

    Nothing is read or written through a link. What is not a plain file of this user's own, of at most
    LARGEST_ENTRY bytes, counts as no entry, and is replaced by the next one.

    Args:
        folder: where the entries are; None for one in the user's cache folder. Made when something is written.
        now: seconds since 1970, by which old entries are cleared away.
    """

    def __init__(self, folder: Path | None = None, *, now: Callable[[], float] = time.time) -> None:
        if folder is None:
            from platformdirs import user_cache_dir  # keeps platformdirs out of `import toolkit`

            parent = Path(user_cache_dir(APPLICATION, appauthor=False))
            self.folder = parent / "tokens"
            self._folders = [parent, self.folder]
        else:
            self.folder = folder
            self._folders = [folder]  # what a user's own folder lies in is the user's business
        self._now = now

    def __repr__(self) -> str:
        return f"<FileTokenStore {shown(self.folder)}>"

    def read(self, name: str, /) -> bytes | None:
        """The entry of a name, or None when there is none.

        Raises:
            StoreUnavailableError: the folder is a link or not this user's own, or the disk fails.
        """
        file = self._file(name, _ENTRY)
        with self._saying("read in"):
            is_there = all(is_own_folder(folder) for folder in self._folders)
            return read_private(file, LARGEST_ENTRY) if is_there else None

    def write(self, name: str, data: bytes, /) -> None:
        """Put an entry in place of what was there, and clear away entries that nobody has written for two days.

        Raises:
            StoreUnavailableError: the folder or the file cannot be written; what was there before stays.
        """
        file = self._file(name, _ENTRY)
        with self._saying("write in"):
            if len(data) > LARGEST_ENTRY:
                raise OSError(errno.EFBIG, f"an entry has at most {LARGEST_ENTRY} bytes, not {len(data)}")
            self._make_folder()
            # Not worth the wait for the disk: an entry torn by a crash does not open, and a new token is asked for.
            write_private(file, data, durable=False)
        with suppress(OSError):
            self._clear_away()

    def try_lock(self, name: str, /) -> FileLock | None:
        """The lock of a name's entry, or None when another process or thread has it.

        Raises:
            StoreUnavailableError: the folder or the file cannot be used, or the disk knows no locks.
        """
        file = self._file(name, _LOCK)
        with self._saying("lock in"):
            self._make_folder()
            return try_lock(file)

    def _file(self, name: str, suffix: str) -> Path:
        if not _NAME.match(name):
            raise ValueError("an entry's name has 16 to 128 hexadecimal digits in lower case")
        return self.folder / f"{name}{suffix}"

    def _make_folder(self) -> None:
        for folder in self._folders:
            private_folder(folder)
            is_own_folder(folder)

    @contextmanager
    def _saying(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = Path(error.filename) if isinstance(error, UnfitFile) else self.folder
            why = error.strerror or type(error).__name__
            raise StoreUnavailableError(f"cannot {what} {shown(where)}: {why}") from None

    def _clear_away(self) -> None:
        """Remove the files of entries, and of writers that were killed, that are older than any token can be.

        An entry goes while its lock is held here, and the lock's file with it, which `try_lock` allows for.
        On Windows that file stays, since it is open.
        """
        before = self._now() - STALE_AFTER
        last: dict[str, float] = {}
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if found := _OURS.match(entry.name):
                    last[found[1]] = max(_modified(entry.path), last.get(found[1], 0.0))
                elif _UNFINISHED.match(entry.name) and _modified(entry.path) < before:
                    Path(entry.path).unlink(missing_ok=True)
        for name in (name for name, modified in last.items() if modified < before):
            lock = try_lock(self._file(name, _LOCK))
            if lock is None:
                continue
            try:
                if _modified(self._file(name, _ENTRY)) < before:  # asked again, now that nobody else writes it
                    self._file(name, _ENTRY).unlink(missing_ok=True)
                    self._file(name, _LOCK).unlink(missing_ok=True)
            finally:
                lock.release()


_STORES: Final[dict[Path, FileTokenStore]] = {}


def user_token_store() -> FileTokenStore:
    """The store in the user's cache folder; the same one each time, so that sessions here share what it keeps."""
    store = FileTokenStore()
    return _STORES.setdefault(store.folder, store)


def _modified(path: str | Path) -> float:
    """When a file was last written, in seconds since 1970; never, when it is gone; just now, when it is no file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return 0.0
    return status.st_mtime if stat.S_ISREG(status.st_mode) else float("inf")
