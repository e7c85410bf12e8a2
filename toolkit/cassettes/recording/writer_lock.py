"""Let one process at a time record to a file. Within a process, all recorders of the file share one claim to it.

Other processes see the claim as a lock on a file in the user's cache folder, because a lock file next to the cassette
would clutter the repository. A claim ends when the last recorder drops it or is garbage-collected, or when its process
ends. If the cache folder cannot be used, nothing is locked.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from toolkit.core.errors import CassetteBusy
from toolkit.local.files import private_folder
from toolkit.local.folders import cache_folder
from toolkit.local.locks import FileLock, try_lock

# Inode, size and modification time of a file; None if it does not exist.
Stamp = tuple[int, int, int] | None


class Claim:
    """An exclusive claim of this process to a file, and the state that the recorders of the file share.

    Attributes:
        lock: to be held while the file is read, written or replaced.
        prepared: files that can be appended to, each with its stamp after our last write.
    """

    def __init__(self, file: Path, lock_file: Path) -> None:
        self.lock = threading.RLock()
        self.prepared: dict[Path, Stamp] = {}
        self._lock_file = lock_file
        self._file_lock = _locked(file, lock_file)  # released with the claim

    @property
    def is_held(self) -> bool:
        """True if the claim is valid; a claim inherited by a forked child never is."""
        return _claims.get(self._lock_file) is self


_claims: Final[WeakValueDictionary[Path, Claim]] = WeakValueDictionary()  # current claims, by lock file
lock_of_claims = threading.Lock()  # held while a claim is dropped, so that no other thread finds it


def _reset_after_fork() -> None:
    # Another thread may have held the lock at the fork; nobody would release it in the child.
    global lock_of_claims  # noqa: PLW0603
    _claims.clear()
    lock_of_claims = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def _lock_file_of(file: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(os.path.normcase(file))).hexdigest()
    return cache_folder() / "recording" / digest[:32]


def acquire(file: Path) -> Claim:
    """Return this process's claim to a file, given by its real path with links resolved."""
    lock_file = _lock_file_of(file)
    with lock_of_claims:
        claim = _claims.get(lock_file)
        if claim is None:
            claim = _claims[lock_file] = Claim(file, lock_file)
        return claim


def is_held_here(file: Path) -> bool:
    """Return True if this process has a claim to a file."""
    return _lock_file_of(file) in _claims


def is_held_elsewhere(file: Path) -> bool:
    """Return True if another process is recording to a file."""
    lock_file = _lock_file_of(file)
    if lock_file not in _claims and lock_file.exists():  # a replay must not create files or folders
        try:
            _locked(file, lock_file)  # released at once, because the lock object is not kept
        except CassetteBusy:
            return True
    return False


def _locked(file: Path, lock_file: Path) -> FileLock | None:
    try:
        private_folder(lock_file.parent.parent)
        private_folder(lock_file.parent)
        lock = try_lock(lock_file)
    except OSError:
        return None
    if lock is None:
        raise CassetteBusy(
            f"Another process is recording to {file}.",
            "Close the session that is recording or shut down its kernel, or record to a cassette with another name.",
            about="cassette",
        )
    return lock
