"""File locks between processes and threads, which end with the process that holds them.

The package `filelock` is not used: where the kernel does not have locks, it falls back to a marker file, which outlives
a killed process, and it changes forking for the whole process.
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
_ATTEMPTS: Final = 3


class FileLock:
    """A lock that is held until it is released, garbage-collected, or its process ends.

    A forked child does not hold the locks of its parent, and cannot release them.
    """

    __slots__ = ("__weakref__", "_descriptors")

    def __init__(self, descriptor: int) -> None:
        self._descriptors = [descriptor]
        _LOCKS.add(self)

    def release(self) -> None:
        """Release the lock, from any thread; a second call does nothing."""
        with suppress(IndexError):  # pop is atomic, so that only one of two threads closes the descriptor
            _unlock(self._descriptors.pop())

    def forget(self) -> None:
        """Close the copy of a forked child; the parent keeps the lock."""
        while self._descriptors:
            with suppress(OSError):
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
    """Return the lock of a file, or None if another process or thread has it. Never waits.

    The file is created if needed. The holder of its lock may remove it: if the locked file turns out to be gone,
    this tries again with the new one.

    Raises:
        UnfitFile: if the path is not a plain file of this user, or is a link.
        OSError: if the file cannot be created, or the disk does not support locks.
    """
    for _ in range(_ATTEMPTS):
        descriptor = open_own(file, os.O_RDWR | os.O_CREAT)
        try:
            if not _lock(descriptor):
                os.close(descriptor)
                return None
            if _is_at(file, descriptor):
                return FileLock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        _unlock(descriptor)
    return None


def _is_at(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False


def _lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _LOCKED_ELSEWHERE:
            return False
        raise
    return True


def _unlock(descriptor: int) -> None:
    # Unlock before closing: a child forked just now has a copy of the descriptor, which would keep the lock.
    try:
        with suppress(OSError):
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
            else:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        with suppress(OSError):
            os.close(descriptor)
