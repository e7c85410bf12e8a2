"""One process at a time records to a file; within it, whoever records to that file shares one claim to it.

The lock that other processes see is a file in the user's cache folder, not beside the cassette, where it would
be litter in a repository. It is gone with its process. Where that folder cannot be used, nothing is locked.
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

from toolkit.cassettes.recording.appending import Stamp
from toolkit.core.errors import CassetteBusy
from toolkit.local.files import private_folder
from toolkit.local.locks import FileLock, try_lock


class Claim:
    """The right of this process to record to a file, and what its recorders of that file have to know in common.

    Attributes:
        lock: held while the file is looked at, written or replaced.
        is_anew: whether a recording that is to replace the file is under way beside it.
        prepared: files that end where the next interaction may be appended, each as its stamp was then.
        users: who records. The claim ends when the last of them gives it up, or is gone.
        process: whose it is. A child that was forked from it has no part in it.
        is_locked: whether other processes are kept out: nothing is locked where the cache folder cannot be used.
    """

    def __init__(self, lock: FileLock | None, lock_file: Path | None) -> None:
        self.lock = threading.RLock()
        self.is_anew = False
        self.prepared: dict[Path, Stamp] = {}
        self.users: weakref.WeakSet[Any] = weakref.WeakSet()
        self.process = os.getpid()
        self.is_locked = lock is not None
        self.end = weakref.finalize(self, _let_go, lock, lock_file, self.process)

    @property
    def is_held(self) -> bool:
        """Whether it is in force, and in this very process."""
        return self.end.alive and self.process == os.getpid()


class _Registry:
    def __init__(self) -> None:
        self.claims: weakref.WeakValueDictionary[str, Claim] = weakref.WeakValueDictionary()
        self.lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        # Another thread may have held the lock, and will not release it here.
        self.claims, self.lock = weakref.WeakValueDictionary(), threading.Lock()


_registry: Final = _Registry()


def acquire(file: Path, user: object) -> Claim:
    """The claim of this process to a file, for one more user.

    Args:
        file: its real path, links resolved.

    Raises:
        CassetteBusy: another process has it.
    """
    with _registry.lock:
        claim = _registry.claims.get(_key(file))
        if claim is None or not claim.is_held:
            claim = _registry.claims[_key(file)] = Claim(*_lock(file))
        claim.users.add(user)
        return claim


def release(claim: Claim, user: object) -> None:
    """End one user's part in a claim, and with the last one the claim."""
    if not _ended_without(claim, user):
        # Users that nobody has any more, such as the session of a cell that ran again, may live on in reference
        # cycles. Outside of the lock, which what is collected may ask for.
        gc.collect()
        _ended_without(claim, user)


def _ended_without(claim: Claim, user: object) -> bool:
    with _registry.lock:
        claim.users.discard(user)
        if not claim.users:
            claim.end()
        return not claim.users


def is_held_elsewhere(file: Path) -> bool:
    """Whether another process records to a file now."""
    with _registry.lock:
        claim = _registry.claims.get(_key(file))
        if claim is not None and claim.is_held:
            return False
        try:
            _let_go(*_lock(file), os.getpid())
        except CassetteBusy:
            return True
        return False


def _key(file: Path) -> str:
    return os.path.normcase(file)


def _lock(file: Path) -> tuple[FileLock | None, Path | None]:
    try:
        lock_file = _folder() / hashlib.sha256(os.fsencode(_key(file))).hexdigest()[:32]
        lock = try_lock(lock_file)
    except OSError:
        return None, None
    if lock is None:
        raise CassetteBusy(
            f"Another process is recording to {file}; nothing was sent.",
            "Close that session or shut down that kernel, or record to a cassette of another name.",
        )
    return lock, lock_file


def _folder() -> Path:
    from platformdirs import user_cache_dir  # keeps platformdirs out of `import toolkit`

    parent = Path(user_cache_dir("service-access-toolkit", appauthor=False))
    for folder in (parent, parent / "recording"):
        private_folder(folder)
    return parent / "recording"


def _let_go(lock: FileLock | None, lock_file: Path | None, process: int) -> None:
    if lock is None or lock_file is None or process != os.getpid():
        return
    with suppress(OSError):  # Windows removes no file that is open; an empty one stays there
        lock_file.unlink(missing_ok=True)
    lock.release()
