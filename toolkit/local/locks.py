"""File locks between processes and threads, released when the process that holds them ends.

The package `filelock` is not used: where the kernel does not support locks, it falls back to a marker file, which
outlives a killed process, and it changes how the whole process handles forks.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final
from weakref import WeakSet

from toolkit.local.files import open_own

_LOCKED_ELSEWHERE: Final = frozenset({errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK})


class FileLock:
    """A lock that is held until it is released or garbage-collected, or its process ends.

    A forked child does not hold its parent's locks, and cannot release them.
    """

    __slots__ = ("__weakref__", "_descriptors")

    def __init__(self, descriptor: int) -> None:
        self._descriptors = [descriptor]
        _LOCKS.add(self)

    def release(self) -> None:
        """Release the lock, from any thread; a second call does nothing."""
        with suppress(IndexError, OSError):
            descriptor = self._descriptors.pop()  # atomic, so that only one of two threads closes it
            with suppress(OSError, ImportError):  # which an exiting interpreter may raise
                # Before closing: a child forked just now has a copy of the descriptor, which would keep the lock.
                _flock(descriptor, takes=False)
            os.close(descriptor)

    def forget(self) -> None:
        """Close the file without unlocking it, as in a forked child, whose parent keeps the lock."""
        with suppress(IndexError, OSError):
            os.close(self._descriptors.pop())

    def __del__(self) -> None:
        self.release()


_LOCKS: Final[WeakSet[FileLock]] = WeakSet()


def _forget_all() -> None:
    for lock in list(_LOCKS):
        lock.forget()


if hasattr(os, "register_at_fork"):
    # Otherwise a forked child would keep the lock after its parent was killed.
    os.register_at_fork(after_in_child=_forget_all)


def try_lock(file: Path) -> FileLock | None:
    """Acquire the lock on a file without blocking; return None if another process or thread holds it.

    The file is created if needed, and must never be deleted.

    Raises:
        UnfitFile: if the path is a link, not a regular file, or belongs to another user.
        OSError: if the file cannot be created, or the file system does not support locks.
    """
    descriptor = open_own(file, os.O_RDWR | os.O_CREAT)
    lock = FileLock(descriptor)
    try:
        _flock(descriptor, takes=True)
    except OSError as error:
        lock.forget()
        if error.errno in _LOCKED_ELSEWHERE:
            return None
        raise
    return lock


def _flock(descriptor: int, *, takes: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK if takes else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB if takes else fcntl.LOCK_UN)
