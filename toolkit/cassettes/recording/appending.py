"""Append to a file completely or not at all, and notice when somebody else has changed it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from toolkit.local.files import open_new, write_atomically
from toolkit.local.private_files import open_plain

_CHANGED: Final = "another program is changing the file"
# Inode, size and modification time of a file; None if there is no file.
Stamp = tuple[int, int, int] | None


def stamp_of(file: Path) -> Stamp:
    """Return a stamp that differs once somebody has changed the file, or has put a link in its place."""
    try:
        status = os.lstat(file)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def append(file: Path, data: bytes, *, header: bytes, stamp: Stamp, like: Path) -> Stamp:
    """Append to a file in one write, and undo a partial write. A file that is empty or missing starts with the header.

    Args:
        file: the file; never a link.
        data: what is appended.
        header: the beginning of the file.
        stamp: the stamp of the file that was checked; None to create it, with the permissions of `like` if that exists.

    Returns:
        The stamp after the write.

    Raises:
        OSError: if the data cannot be written, for example because the disk is full, or the file is not the one that
            was checked; the file is as before.
    """
    is_new = stamp is None
    descriptor = open_new(file, like=like) if is_new else open_plain(file, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb" if is_new else "ab", buffering=0) as stream:
        status = os.fstat(descriptor)
        size = status.st_size
        if stamp is not None and (status.st_ino, size) != stamp[:2]:
            raise OSError(errno.EBUSY, _CHANGED)
        pending = data if size else header + data
        written: int | None = None
        try:
            written = stream.write(pending)
        finally:
            if written != len(pending):
                stream.truncate(size)
                if is_new:
                    file.unlink()
    if written != len(pending):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    after = stamp_of(file)  # the old stamp stays if another file has taken the place of this one since
    return after if after is not None and after[:2] == (status.st_ino, size + len(pending)) else stamp


def change_to(new: bytes, old: bytes, file: Path) -> None:
    """Change the content of a file from `old` to `new`: by truncation if that suffices, which needs no disk space.

    Raises:
        OSError: if the file cannot be written; the old content stays.
    """
    if new != old and old.startswith(new):
        with os.fdopen(open_plain(file, os.O_RDWR), "r+b") as stream:
            if stream.read() != old:
                raise OSError(errno.EBUSY, _CHANGED)
            stream.truncate(len(new))
    elif new != old:
        write_atomically(file, new, durable=True)
