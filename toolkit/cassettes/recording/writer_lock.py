"""Let one process at a time record to a file. Within a process, all recorders of the file share one claim to it.

Other processes see the claim as a lock on a file in the user's cache folder; beside the cassette it would clutter the
repository. The lock disappears with its process. If the cache folder cannot be used, nothing is locked.
"""

from __future__ import annotations

import gc
import hashlib
import os
import threading
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import CassetteBusy
from toolkit.local.files import private_folder
from toolkit.local.folders import cache_folder
from toolkit.local.locks import FileLock, try_lock

# Inode, size and modification time of a file; None if it does not exist.
Stamp = tuple[int, int, int] | None


class Claim:
    """The right of this process to record to a file, and the state that its recorders of that file share.

    Attributes:
        lock: hold it while the file is read, written or replaced.
        is_anew: True while a recording that will replace the file is in progress beside it.
        prepared: files that can be appended to, each with its stamp after our last write.
        recorders: the recorders that use the claim. It ends when the last of them releases it or is garbage-collected.
        is_locked: True if other processes are kept out; False if the cache folder cannot be used.
    """

    def __init__(self, file_lock: FileLock | None, lock_file: Path) -> None:
        self.lock = threading.RLock()
        self.is_anew = False
        self.prepared: dict[Path, Stamp] = {}
        self.recorders: weakref.WeakSet[Any] = weakref.WeakSet()
        self.is_locked = file_lock is not None
        self._process = os.getpid()  # a forked child has no part in it
        self.end = weakref.finalize(self, _unlock, file_lock, lock_file, self._process)

    @property
    def is_held(self) -> bool:
        """True if the claim is in force and belongs to this process, not to its parent."""
        return self.end.alive and self._process == os.getpid()


_claims: Final[weakref.WeakValueDictionary[Path, Claim]] = weakref.WeakValueDictionary()
_lock_of_claims = threading.Lock()


def _reset_after_fork() -> None:
    # Another thread may have held the lock at the fork; in the child nobody would release it.
    global _lock_of_claims  # noqa: PLW0603
    _claims.clear()
    _lock_of_claims = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def acquire(file: Path, recorder: object) -> Claim:
    """Return this process's claim to a file (its real path, links resolved), and add a recorder to it.

    Raises:
        CassetteBusy: if another process has a claim to the file.
    """
    lock_file = _lock_file(file)
    with _lock_of_claims:
        claim = _claims.get(lock_file)
        if claim is None or not claim.is_held:
            claim = _claims[lock_file] = Claim(_lock(file, lock_file), lock_file)
        claim.recorders.add(recorder)
        return claim


def release(claim: Claim, recorder: object) -> None:
    """Remove a recorder from a claim, and end the claim with its last recorder."""
    if not _ends_without(claim, recorder):
        # Recorders that nobody uses any more may be alive in reference cycles, such as the session of a cell that ran
        # again. Collect them outside the registry's lock, because their finalizers may need it.
        gc.collect()
        _ends_without(claim, recorder)


def _ends_without(claim: Claim, recorder: object) -> bool:
    with _lock_of_claims:
        claim.recorders.discard(recorder)
        if not claim.recorders:
            claim.end()
        return not claim.recorders


def is_held_elsewhere(file: Path) -> bool:
    """Return True if another process is recording to a file."""
    lock_file = _lock_file(file)
    with _lock_of_claims:
        claim = _claims.get(lock_file)
        if (claim is not None and claim.is_held) or not lock_file.exists():  # a replay makes no folder and no file
            return False
        try:
            _unlock(_lock(file, lock_file), lock_file, os.getpid())
        except CassetteBusy:
            return True
        return False


def _lock(file: Path, lock_file: Path) -> FileLock | None:
    try:
        private_folder(lock_file.parent.parent)
        private_folder(lock_file.parent)
        lock = try_lock(lock_file)
    except OSError:
        return None
    if lock is None:
        raise CassetteBusy(
            f"Another process is recording to {file}.",
            "Close that session or shut down that kernel, or record to a cassette with another name.",
            about="cassette",
        )
    return lock


def _lock_file(file: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(os.path.normcase(file))).hexdigest()
    return cache_folder() / "recording" / digest[:32]


def _unlock(file_lock: FileLock | None, lock_file: Path, process: int) -> None:
    if file_lock is None or process != os.getpid():
        return
    with suppress(OSError):  # Windows does not remove an open file; an empty one is left there
        lock_file.unlink(missing_ok=True)
    file_lock.release()
