"""How bytes reach the disk: appended in one write, or put in place of a file in one step; never half of either."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Final

# Inode, size and time of the last change of a file; None for one that is not there.
Stamp = tuple[int, int, int] | None

_UNFINISHED: Final = ".rewritten"


def stamp_of(file: Path) -> Stamp:
    """What tells whether somebody else has changed a file since."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def append(file: Path, data: bytes, *, header: bytes) -> None:
    """Add to the end of a file in one write; a short one is taken back.

    Args:
        header: what comes first in a file that is empty, or not there.

    Raises:
        OSError: the disk is full, say; the file ends where it ended before.
    """
    with file.open("ab", buffering=0) as stream:
        before = stream.tell()
        whole = data if before else header + data
        written: int | None = None
        try:
            written = stream.write(whole)
        finally:
            if written != len(whole):
                stream.truncate(before)
    if written != len(whole):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def bring_to(whole: bytes, data: bytes, file: Path) -> None:
    """Make a file that holds `data` hold `whole`: cut off its end if that is all, else replace it.

    Raises:
        OSError: it cannot be written; the old bytes stay.
    """
    if whole != data and data.startswith(whole):
        os.truncate(file, len(whole))
    elif whole != data:
        replace_atomically(file, whole)


def replace_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never half.

    Raises:
        OSError: it cannot be written; the old bytes stay, and nothing beside them.
    """
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            Path(name).chmod(path.stat().st_mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def clear_away(path: Path) -> None:
    """Remove what a process that was killed left of replacing a file."""
    for left in path.parent.iterdir():
        if left.name.startswith(f".{path.name}.") and left.name.endswith(_UNFINISHED):
            left.unlink(missing_ok=True)
