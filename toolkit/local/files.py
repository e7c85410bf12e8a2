"""Files of one user: written whole or not at all, neither written nor read through a link.

Errors are OSErrors, which each caller puts into words of its own.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolkit.core.escaping import printable

PARTIAL: Final = ".part"
_OTHERS: Final = 0o077
_ON_WINDOWS: Final = os.name == "nt"
_JUNCTION: Final = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT of [MS-FSCC] section 2.1.2.1
_NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
# Non-blocking, or opening a pipe would wait for its other end.
_OPENING: Final[int] = (
    _NO_FOLLOW
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
_UNFIT_WHEN_OPENED: Final = frozenset({errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO, errno.ENOTDIR})
_LINK_WHEN_OPENED: Final = frozenset({errno.ELOOP, errno.EMLINK})  # EMLINK on FreeBSD
_PAUSES: Final = (0.005, 0.01, 0.02, 0.04)  # seconds


class UnfitFile(OSError):
    """What is there is no plain file or folder of this user's own: `filename` says where, `strerror` what it is."""


class LinkInTheWay(UnfitFile):
    """A link is where a file or folder should be."""


def write_private(file: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file that only its user may read, all of it or nothing, replacing a link rather than following it.

    Args:
        durable: wait until the disk has it. A file that is worth nothing after a crash, and whose content tells
            whether it is whole, need not; waiting takes milliseconds, or on a busy disk many.

    Raises:
        OSError: it cannot be written; what was there before stays, and no temporary file does.
    """
    # Made for its user alone (0600) and under a new name; renaming replaces a link and does not follow it.
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.", suffix=PARTIAL)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        _rename(temporary, file)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise


def read_private(file: Path, limit: int) -> bytes | None:
    """A file's content, or None when there is no file, or none that is to be taken for one of ours.

    That is: a link, a folder, a pipe, a file of another user's or unreadable, or one of more than `limit` bytes.

    Raises:
        OSError: the disk fails.
    """
    try:
        descriptor = open_own(file, os.O_RDONLY)
    except (FileNotFoundError, PermissionError, UnfitFile):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(limit + 1)
    return data if len(data) <= limit else None


def open_own(file: Path, flags: int) -> int:
    """Open a plain file of this user's own, not through a link, and without ever waiting; a new one is 0600.

    All but its being a link is asked of what was opened, so that nobody can exchange it in between.

    Raises:
        UnfitFile: what is there is something else; a link is a LinkInTheWay.
        OSError: it cannot be opened.
    """
    if not _NO_FOLLOW:
        refuse_link(file)
    try:
        descriptor = os.open(file, flags | _OPENING, 0o600)
    except OSError as error:
        if error.errno in _LINK_WHEN_OPENED:
            raise LinkInTheWay(errno.ELOOP, "it is a link", str(file)) from None
        if error.errno in _UNFIT_WHEN_OPENED:
            raise UnfitFile(error.errno, "it is no plain file", str(file)) from None
        raise
    try:
        _check_opened(descriptor, file)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def private_folder(folder: Path) -> None:
    """Make a folder that only its user may enter, or make of one that is there already one such.

    Raises:
        LinkInTheWay: it is a link.
        OSError: it cannot be made, or is no folder.
    """
    refuse_link(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_open_to_others(folder):
        folder.chmod(0o700)


def is_own_folder(folder: Path) -> bool:
    """Whether there is such a folder.

    Raises:
        UnfitFile: what is there is no folder, or is not this user's own; a link is a LinkInTheWay.
        OSError: it cannot be told.
    """
    refuse_link(folder)
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        raise UnfitFile(errno.ENOTDIR, "it is no folder", str(folder))
    if not _is_own(status):
        raise UnfitFile(errno.EPERM, "it belongs to another user", str(folder))
    return True


def refuse_link(path: Path) -> None:
    """Do nothing, unless a path is a link, dangling or not.

    Raises:
        LinkInTheWay: it is; on Windows a junction is one, too.
        OSError: it cannot be told.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION:
        raise LinkInTheWay(errno.ELOOP, "it is a link", str(path))


def is_open_to_others(file: Path) -> bool:
    """Whether others than its user may do something with a file; Windows says so in another way."""
    try:
        return os.name == "posix" and bool(stat.S_IMODE(file.stat().st_mode) & _OTHERS)
    except OSError:  # gone since it was read
        return False


def shown(path: Path) -> str:
    """A path as text, with `~` for the home folder: output of a notebook is passed on."""
    try:
        return printable(str(Path("~") / path.relative_to(Path.home())))
    except (ValueError, RuntimeError):  # elsewhere; no home folder
        return printable(str(path))


def _check_opened(descriptor: int, file: Path) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnfitFile(errno.EINVAL, "it is no plain file", str(file))
    if not _is_own(status):
        raise UnfitFile(errno.EPERM, "it belongs to another user", str(file))
    if not _NO_FOLLOW and not os.path.samestat(status, os.lstat(file)):
        raise LinkInTheWay(errno.ELOOP, "it is a link", str(file))


def _is_own(status: os.stat_result) -> bool:
    # Windows gives every file the user 0; there the folder's own rights keep others out.
    return sys.platform == "win32" or status.st_uid == os.geteuid()


def _rename(temporary: str, file: Path) -> None:
    if _ON_WINDOWS:
        # A file is not replaced there while anyone has it open, and readers have it open for a moment.
        for pause in _PAUSES:
            try:
                os.replace(temporary, file)  # noqa: PTH105 - Path.replace would do the same
            except PermissionError:
                time.sleep(pause)
            else:
                return
    Path(temporary).replace(file)
