"""Write files atomically, read text that may contain secrets, and protect one user's files from others.

Write with `write_atomically`, which replaces an existing file, or with `create_new`, which refuses to. Neither follows
a link in place of the file, because a cloned project or another user of the folder may have put it there. Read with
`read_text` and parse with `parse_toml`: their errors do not quote the text. Files that only this user may read are
opened with `open_own`, read with `read_private`, and kept in a `private_folder`.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError, wrong_type
from toolkit.core.text import printable

_LARGEST_TEXT: Final = 1 << 20  # bytes; a key has a few thousand
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_OTHERS: Final = 0o077
_NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
# Non-blocking, because opening a pipe would otherwise wait for its other end.
_OPENING: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_UNFIT_WHEN_OPENED: Final = frozenset({errno.EISDIR, errno.ENXIO, errno.ENOTDIR})


class UnfitFile(OSError):
    """Raised if a path is not this user's own regular file or folder; `strerror` is the reason, `filename` the path."""


def write_atomically(path: Path, data: bytes, *, private: bool = False, like: Path | None = None) -> None:
    """Write a file in one step: readers see the old content or the new content, never a partly written file.

    Args:
        path: the file. Its folder must exist.
        data: the new content.
        private: True to let only this user read the file; a link at the path is then replaced. If False, a link at the
            path is an error, an existing file keeps its permissions, and a new file gets the default permissions.
        like: the file whose permissions are copied; defaults to the file that is replaced.

    Raises:
        UnfitFile: if the path is a link and `private` is False.
        OSError: if the file cannot be written. The old file is kept, and no temporary file is left behind.
    """
    if not private:
        refuse_link(path)
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    _write(temporary, data, like=None if private else like or path, target=path)


def create_new(path: Path, data: bytes, *, private: bool = True) -> None:
    """Create a file, and wait until it is on disk; the arguments are the same as in `write_atomically`.

    Raises:
        FileExistsError: if the file already exists, even as a dangling link.
        OSError: if the file cannot be written. No file is left after an error.
    """
    _write(path, data, like=None if private else path)


def open_new(file: Path, *, like: Path | None) -> int:
    """Create a new file and open it for writing.

    It gets the permissions of the file `like`, but no group permissions if it belongs to a different group. If `like`
    does not exist, it gets the default permissions; if `like` is None, only the user may read it.

    Raises:
        OSError: if it cannot be created, or already exists, even as a dangling link.
    """
    try:
        old = None if like is None else os.lstat(like)
    except FileNotFoundError:
        return open_plain(file, _NEW)
    descriptor = open_plain(file, _NEW, 0o600)
    if old is not None and sys.platform != "win32":
        mode = old.st_mode & (0o777 if os.fstat(descriptor).st_gid == old.st_gid else 0o707)
        with suppress(OSError):  # the file system has no permissions
            os.fchmod(descriptor, mode)  # fchmod ignores the umask
    return descriptor


def read_file(file: Path, limit: int = -1) -> bytes:
    """Return the content of a regular file, or its first `limit` bytes, without ever blocking.

    Raises:
        UnfitFile: if it is not a regular file.
        OSError: if it cannot be read.
    """
    with os.fdopen(open_plain(file, os.O_RDONLY, follows=True), "rb") as stream:
        return stream.read(limit)


def read_text(file: Path, what: str, next_step: str) -> str:
    """Return the text of a file that may contain secrets, without a byte order mark.

    Args:
        file: the file. Errors do not quote its path, because it may be a secret that was put in the wrong place.
        what: what to call the file in the error.
        next_step: what the error tells the user to do.

    Raises:
        ConfigurationError: if the file is missing, unreadable, not a regular file (a pipe may never end), larger than
            1 MiB, or not UTF-8 text.
    """
    data = b""
    try:
        data = read_file(file, _LARGEST_TEXT + 1)
        if len(data) <= _LARGEST_TEXT:
            return data.decode("utf-8-sig")
        reason = "it is larger than 1 MiB"
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    del file, data  # verbose tracebacks show local variables
    raise ConfigurationError(f"Cannot read {what}: {reason}.", next_step)


def parse_toml(text: str, what: str, next_step: str) -> dict[str, Any]:
    """Return the content of a TOML document that may contain secrets; arguments as in `read_text`.

    Raises:
        ConfigurationError: if the text is not valid TOML; the error names the line, without quoting it.
    """
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # too many digits or levels
        place = re.search(r" \(at [^()]+\)\Z", str(error))
    del text
    raise ConfigurationError(f"{what} is not valid TOML{place[0] if place else ''}.", next_step)


def toml_string(text: str) -> str:
    """Return text as a TOML basic string, which is a JSON string in which DEL is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def source_lines(notebook: str) -> list[int]:
    """Return the line (from 1) where each cell's source starts; [] unless the notebook has Jupyter's formatting."""
    return [number for number, line in enumerate(notebook.split("\n"), 1) if line.startswith('   "source":')]


def read_private(file: Path, limit: int) -> bytes | None:
    """Return the content of a private file, or None if it is missing, inaccessible or larger than `limit` bytes.

    A link, a folder, a pipe, and another user's file count as missing. Any other failure raises OSError.
    """
    try:
        descriptor = open_own(file, os.O_RDONLY)
    except (FileNotFoundError, PermissionError, UnfitFile):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        data = stream.read(limit + 1)
    return data if len(data) <= limit else None


def open_own(file: Path, flags: int) -> int:
    """Open a file as `open_plain` does, but only if it belongs to this user; a new file gets the permissions 0600."""
    descriptor = open_plain(file, flags, 0o600)
    if not _is_own(os.fstat(descriptor)):
        os.close(descriptor)
        raise UnfitFile(errno.EPERM, "it belongs to another user", str(file))
    return descriptor


def open_plain(file: Path, flags: int, mode: int = 0o666, *, follows: bool = False) -> int:
    """Open a regular file without ever blocking, and without following links unless `follows` is True.

    The check is made on the open file, so that nobody can swap the file between check and use. `flags` and `mode` are
    as in `os.open`.

    Raises:
        UnfitFile: if it is a link, or not a regular file.
        OSError: if it cannot be opened.
    """
    follows = follows or bool(flags & os.O_EXCL)  # O_EXCL fails for any link
    if not follows:
        refuse_link(file)
    try:
        descriptor = os.open(file, flags | _OPENING | (0 if follows else _NO_FOLLOW), mode)
    except OSError as error:
        if error.errno in _UNFIT_WHEN_OPENED:
            raise UnfitFile(error.errno, "it is not a regular file", str(file)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnfitFile(errno.EINVAL, "it is not a regular file", str(file))
    return descriptor


def private_folder(folder: Path) -> None:
    """Create a folder that only this user can enter, or remove others' access to this user's existing folder.

    Raises:
        UnfitFile: if it is a link, or belongs to another user.
        OSError: if it cannot be created, or is not a folder.
    """
    refuse_link(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(os.lstat(folder)):
        raise UnfitFile(errno.EPERM, "it belongs to another user", str(folder))
    if is_open_to_others(folder):
        folder.chmod(0o700)


def is_open_to_others(file: Path) -> bool:
    """Return True if the permissions give other users any access to a file; always False on Windows."""
    return os.name == "posix" and bool(stat.S_IMODE(file.stat().st_mode) & _OTHERS)


def refuse_link(path: Path) -> None:
    """Raise UnfitFile if a path is a link, even a dangling one; raise OSError if it cannot be checked."""
    if path.is_symlink():
        raise UnfitFile(errno.ELOOP, "it is a link, and links are not followed", str(path))


def expanded(path: str | Path, *, about: str = "") -> Path:
    """Return a path with the home folder in place of `~`.

    Raises:
        ConfigurationError: if it is not a valid path, or the home folder does not exist. The path is not quoted: it may
            be a misplaced secret.
    """
    if not isinstance(path, str | Path):
        raise wrong_type(about or "the path", "a string or a Path", path, 'For example "folder/name".')
    with suppress(OSError, ValueError, RuntimeError):
        whole = Path(path).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.lstat(whole)  # raises an error for an impossible file name
        if str(path).strip():
            return whole
    del path
    what = "The path is not valid: it is empty or too long, has an invalid character, or no home folder exists for ~."
    raise ConfigurationError(what, "Use another path.", about=about)


def lies_in(path: Path, folder: Path) -> bool:
    """Return True if a path is inside a folder after links are resolved."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links; a null character
        return False


def workspace_path(path: Path, workspace: Path) -> str:
    """Return a path as annotations need it: with forward slashes, and relative to the checkout if it is inside it."""
    file, folder = path.resolve(), workspace.resolve()
    return (file.relative_to(folder) if file.is_relative_to(folder) else path).as_posix()


def shown(path: Path) -> str:
    """Return a path as text to display, with `~` for the home folder, because users share what a notebook shows."""
    try:
        return printable(str(Path("~") / path.relative_to(Path.home())))
    except (ValueError, RuntimeError):  # elsewhere; no home folder
        return printable(str(path))


def _write(file: Path, data: bytes, *, like: Path | None, target: Path | None = None) -> None:
    """Write a new file, wait until it is on the disk, and rename it to the target; if that fails, no file is left."""
    descriptor = open_new(file, like=like)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(descriptor)
        if target is not None:
            file.replace(target)
    except BaseException:
        with suppress(OSError):
            file.unlink()
        raise


def _is_own(status: os.stat_result) -> bool:
    # Windows reports user 0 for every file; there the permissions of the folder keep others out.
    return sys.platform == "win32" or status.st_uid == os.geteuid()
