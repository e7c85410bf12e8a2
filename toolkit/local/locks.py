"""Locks that processes and threads share through a file, gone with the process that holds one.

Written here rather than taken from `filelock`: that falls back to a marker file where the kernel has no
locks, which outlives a killed process, and changes what forking does for the whole process.
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

_BUSY: Final = frozenset({errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK})
_TRIES: Final = 3


class FileLock:
    """A lock that is held until it is released, dropped, or its process ends.

    A forked child does not hold the locks of its parent, and cannot release them.
    """

    __slots__ = ("__weakref__", "_descriptors")

    def __init__(self, descriptor: int) -> None:
        self._descriptors = [descriptor]
        _HELD.add(self)

    def release(self) -> None:
        """Let the next one have it; from any thread, and as often as wanted."""
        with suppress(IndexError):  # taking the one out is one step, so that of two threads one closes it
            _let_go(self._descriptors.pop())

    def forget(self) -> None:
        """Close a forked child's copy, which leaves the parent its lock."""
        while self._descriptors:
            with suppress(OSError):
                os.close(self._descriptors.pop())

    def __del__(self) -> None:
        self.release()


_HELD: Final[WeakSet[FileLock]] = WeakSet()


def _forget_all() -> None:
    for lock in list(_HELD):
        lock.forget()


if hasattr(os, "register_at_fork"):
    # Else a lock whose holder was killed would stay with the child that it had forked.
    os.register_at_fork(after_in_child=_forget_all)


def try_lock(file: Path) -> FileLock | None:
    """Take the lock that a file stands for, made when there is none; None when another process or thread has it.

    Never waits. The file may be removed by whoever holds its lock: one who had opened it before, and gets the
    lock of a file that is no longer there, opens the new one.

    Raises:
        UnfitFile: a link, or something else that is no file of this user's own, is in its place.
        OSError: it cannot be made, or the disk knows no locks.
    """
    for _ in range(_TRIES):
        descriptor = open_own(file, os.O_RDWR | os.O_CREAT)
        try:
            if not _take(descriptor):
                os.close(descriptor)
                return None
            if _is_at(file, descriptor):
                return FileLock(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        _let_go(descriptor)
    return None


def _is_at(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False


def _take(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # of Windows

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # of POSIX

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True


def _let_go(descriptor: int) -> None:
    # Unlocked first: closing alone would leave the lock with a copy of the descriptor in a child just forked.
    try:
        with suppress(OSError):
            if sys.platform == "win32":
                import msvcrt  # of Windows

                msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
            else:
                import fcntl  # of POSIX

                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        with suppress(OSError):
            os.close(descriptor)
