"""Plain files, opened without waiting and not through a link; and files and folders of one user, closed to others.

Errors are OSErrors, which each caller puts into its own words.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Final

_OTHERS: Final = 0o077
_JUNCTION: Final = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT, [MS-FSCC] section 2.1.2.1
_NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
# Non-blocking, because opening a pipe would otherwise wait for its other end.
_OPENING: Final[int] = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOINHERIT", 0)
)
_UNFIT_WHEN_OPENED: Final = frozenset({errno.EISDIR, errno.ENXIO, errno.ENOTDIR})
_LINK_WHEN_OPENED: Final = frozenset({errno.ELOOP, errno.EMLINK})  # EMLINK on FreeBSD


class UnfitFile(OSError):
    """A path that is not a plain file or folder of this user: `filename` is the path, `strerror` the reason."""


class LinkInTheWay(UnfitFile):
    """A link in place of a file or folder."""


def read_private(file: Path, limit: int) -> bytes | None:
    """Return the content of a private file, or None if it is missing or cannot be trusted.

    A link, a folder, a pipe, another user's file, an unreadable file, and a file of more than `limit` bytes count
    as missing.

    Raises:
        OSError: if the disk fails.
    """
    try:
        descriptor = open_own(file, os.O_RDONLY)
    except (FileNotFoundError, PermissionError, UnfitFile):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(limit + 1)
    return data if len(data) <= limit else None


def open_own(file: Path, flags: int) -> int:
    """Open a plain file that belongs to this user, never through a link; see `open_plain`.

    A file that is created gets the permissions 0600.

    Raises:
        LinkInTheWay: if the path is a link.
        UnfitFile: if it is not a plain file of this user.
        OSError: if it cannot be opened.
    """
    descriptor = open_plain(file, flags, 0o600)
    if not _is_own(os.fstat(descriptor)):
        os.close(descriptor)
        raise UnfitFile(errno.EPERM, "it belongs to another user", str(file))
    return descriptor


def open_plain(file: Path, flags: int, mode: int = 0o666, *, follows: bool = False) -> int:
    """Open a plain file without ever waiting, and never through a link unless links are followed.

    The checks look at the opened file, so that nobody can exchange it between check and use. Flags and mode are those
    of `os.open`.

    Raises:
        LinkInTheWay: if the path is a link.
        UnfitFile: if it is not a plain file.
        OSError: if it cannot be opened.
    """
    follows = follows or bool(flags & os.O_EXCL)  # which fails for any link
    if not follows and not _NO_FOLLOW:
        refuse_link(file)
    try:
        descriptor = os.open(file, flags | _OPENING | (0 if follows else _NO_FOLLOW), mode)
    except OSError as error:
        if error.errno in _LINK_WHEN_OPENED and not follows:
            raise _link_in_the_way(file) from None
        if error.errno in _UNFIT_WHEN_OPENED:
            raise UnfitFile(error.errno, "it is not a plain file", str(file)) from None
        raise
    try:
        _check_opened(descriptor, file, follows=follows)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def private_folder(folder: Path) -> None:
    """Make a folder that only its user may enter, or close an existing folder to others.

    Raises:
        LinkInTheWay: if it is a link.
        OSError: if it cannot be made, or is not a folder.
    """
    refuse_link(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if is_open_to_others(folder):
        folder.chmod(0o700)


def is_own_folder(folder: Path) -> bool:
    """Return True if the folder exists and belongs to this user.

    Raises:
        LinkInTheWay: if it is a link.
        UnfitFile: if it is not a folder, or belongs to another user.
        OSError: if the disk does not say.
    """
    refuse_link(folder)
    try:
        status = os.lstat(folder)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(status.st_mode):
        raise UnfitFile(errno.ENOTDIR, "it is not a folder", str(folder))
    if not _is_own(status):
        raise UnfitFile(errno.EPERM, "it belongs to another user", str(folder))
    return True


def is_open_to_others(file: Path) -> bool:
    """Return True if the permissions let other users do something with a file; always False on Windows."""
    try:
        return os.name == "posix" and bool(stat.S_IMODE(file.stat().st_mode) & _OTHERS)
    except OSError:  # gone since it was read
        return False


def refuse_link(path: Path) -> None:
    """Raise if a path is a link, dangling or not; a Windows junction counts as a link.

    Raises:
        LinkInTheWay: if it is a link.
        OSError: if the disk does not say.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION:
        raise _link_in_the_way(path)


def _link_in_the_way(path: Path) -> LinkInTheWay:
    return LinkInTheWay(errno.ELOOP, "it is a link, which is not followed", str(path))


def _check_opened(descriptor: int, file: Path, *, follows: bool) -> None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise UnfitFile(errno.EINVAL, "it is not a plain file", str(file))
    if not follows and not _NO_FOLLOW and not os.path.samestat(status, os.lstat(file)):
        raise _link_in_the_way(file)


def _is_own(status: os.stat_result) -> bool:
    # Windows reports user 0 for every file; there the permissions of the folder keep others out.
    return sys.platform == "win32" or status.st_uid == os.geteuid()
