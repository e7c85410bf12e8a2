"""Append to a file completely or not at all, and notice when somebody else has changed it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from toolkit.local.files import write_atomically

# Inode, size and modification time of a file; None if there is no file.
Stamp = tuple[int, int, int] | None


def stamp_of(file: Path) -> Stamp:
    """Return a stamp that differs once somebody has changed the file."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def append(file: Path, data: bytes, *, header: bytes) -> None:
    """Append to a file in one write, and undo a partial write. A file that is empty or missing starts with the header.

    Raises:
        OSError: if the data cannot be written, for example because the disk is full; the file is as before.
    """
    with file.open("ab", buffering=0) as stream:
        size = stream.tell()
        pending = data if size else header + data
        written: int | None = None
        try:
            written = stream.write(pending)
        finally:
            if written != len(pending):
                stream.truncate(size)
    if written != len(pending):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def change_to(new: bytes, old: bytes, file: Path) -> None:
    """Change the content of a file from `old` to `new`: by truncation if that suffices, which needs no disk space.

    Raises:
        OSError: if the file cannot be written; the old content stays.
    """
    if new != old and old.startswith(new):
        os.truncate(file, len(new))
    elif new != old:
        write_atomically(file, new, durable=True)
