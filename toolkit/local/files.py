"""Write files whole or not at all, and read text that may hold secrets.

Write with `write_atomically`, which replaces an existing file, with `create_new`, which refuses to, or with
`append_to`. None of them follows a link in place of the file: a project that was cloned, or another user of the folder,
may have put it there. Read with `read_text`: its errors do not quote the text. For files of one user see
`private_files`.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from toolkit.core.arguments import wrong_type
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.text import printable
from toolkit.local.private_files import UnfitFile, is_open_to_others, open_plain, refuse_link

PARTIAL: Final = ".part"
_LONGEST_NAME: Final = 255  # bytes of a name in a folder, on all usual systems
_LARGEST_TEXT: Final = 1 << 20  # bytes; a key has a few thousand
_ON_WINDOWS: Final = os.name == "nt"
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_PAUSES: Final = (0.005, 0.01, 0.02, 0.04)  # seconds


def write_atomically(
    path: Path, data: bytes, *, private: bool = False, durable: bool = False, like: Path | None = None
) -> None:
    """Write a file in one step: readers see the old bytes or the new ones, never a part of them.

    Args:
        path: the file. Its folder must exist.
        data: the new content.
        private: only the user may read the file, and a link in its place is replaced. Otherwise a link is an error,
            and the file keeps its permissions; a new file gets the usual ones.
        durable: wait until the data is on the disk, which takes milliseconds, and many more on a busy disk. Not needed
            for content that is useless after a crash.
        like: the file whose permissions it gets; by default the file itself.

    Raises:
        LinkInTheWay: if it is a link, and not to be private.
        OSError: if the file cannot be written. The old file stays, and no temporary file is left.
    """
    if not private:
        refuse_link(path)
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}{PARTIAL}")
    with _removed_on_error(temporary, open_new(temporary, like=None if private else like or path)) as stream:
        _write(stream, data, durable=durable)
        stream.close()
        replace_file(temporary, path)


def open_new(file: Path, *, like: Path | None) -> int:
    """Create a file that does not exist yet, and open it for writing.

    Args:
        file: the new file.
        like: the file whose permissions and group it gets before its first byte is written; the usual ones if there is
            none. Another group than that one gets no permissions. None for a file that only the user may read.

    Raises:
        FileExistsError: if the name exists already, even as a dangling link.
        OSError: if it cannot be created.
    """
    try:
        old = None if like is None else os.lstat(like)
    except FileNotFoundError:
        return open_plain(file, _NEW)
    descriptor = open_plain(file, _NEW, 0o600)
    if old is not None and sys.platform != "win32":
        mode = old.st_mode & 0o777
        if os.fstat(descriptor).st_gid != old.st_gid:
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:  # this user is not in the group
                mode &= 0o707
        with suppress(OSError):  # of a disk without permissions
            os.fchmod(descriptor, mode)  # which the umask does not narrow
    return descriptor


def remove_partials(path: Path) -> None:
    """Remove the temporary files that killed processes left while they wrote this file.

    Call it only while no other process writes the file.
    """
    for file in partials(path):
        file.unlink(missing_ok=True)


def partials(path: Path) -> list[Path]:
    """Return the temporary files of `write_atomically` that lie beside a file."""
    partial = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}{re.escape(PARTIAL)}")
    try:
        with os.scandir(path.parent) as entries:
            return [path.with_name(entry.name) for entry in entries if partial.fullmatch(entry.name)]
    except OSError:  # the folder does not exist, or cannot be listed
        return []


def create_new(path: Path, data: bytes, *, private: bool = True) -> None:
    """Write a file that does not exist yet, and wait until it is on the disk; arguments as in `write_atomically`.

    Raises:
        FileExistsError: if the name exists already, even as a dangling link.
        UnfitFile: if the file is to be private and this disk lets others read every file.
        OSError: if the file cannot be written. No error leaves a new file behind.
    """
    with _removed_on_error(path, open_new(path, like=None if private else path)) as stream:
        if private and is_open_to_others(path):  # some disks, such as FAT, ignore the permissions of a new file
            raise UnfitFile(errno.EPERM, "others may read every file on this disk", str(path))
        _write(stream, data, durable=True)


def append_to(file: Path, data: bytes) -> None:
    """Append to a file in a single write; a new file gets the usual permissions.

    Raises:
        LinkInTheWay: if it is a link.
        OSError: if the file cannot be written.
    """
    with os.fdopen(open_plain(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab", buffering=0) as stream:
        stream.write(data)


def read_file(file: Path, limit: int = -1) -> bytes:
    """Return the content of a plain file, or its first bytes up to a limit, without ever waiting.

    Raises:
        UnfitFile: if it is not a plain file.
        OSError: if it cannot be read.
    """
    with os.fdopen(open_plain(file, os.O_RDONLY, follows=True), "rb") as stream:
        return stream.read(limit)


def read_text(file: Path, what: str, next_step: str) -> str:
    """Return the text of a file that may hold secrets, without a byte order mark.

    Args:
        file: the file. Its path is not quoted in an error: it may be a secret that was put in the wrong place.
        what: names the file in the error.
        next_step: what the error tells the user to do.

    Raises:
        ConfigurationError: if the file is missing, unreadable, not a plain file (a pipe may never end), larger than
            1 MiB, or not UTF-8 text.
    """
    text, reason = _read(file)
    del file  # verbose tracebacks show local variables
    if text is not None:
        return text.reveal()
    raise ConfigurationError(f"Cannot read {what}: {reason}.", next_step)


def expanded(path: str | Path, *, about: str = "") -> Path:
    """Return a path with the home folder in place of `~`.

    Raises:
        ConfigurationError: if it is not a path, no file can have that path, or the home folder does not exist. The path
            is not quoted: it may be a misplaced secret.
    """
    if not isinstance(path, str | Path):
        raise wrong_type(about or "the path", "a text or a Path", path, 'For example "folder/name".')
    if reason := _why_no_path(str(path)):
        del path
        raise ConfigurationError(f"No file can have that path: it {reason}.", "Name another path.", about=about)
    try:
        return Path(path).expanduser()
    except RuntimeError:
        del path
    raise ConfigurationError(
        "A path begins with ~, but that home folder does not exist.", "Write the path in full.", about=about
    )


def _why_no_path(text: str) -> str:
    """Return why no file can have a path with this text, or "" if one can."""
    try:
        name = max(map(len, os.fsencode(text).split(os.sep.encode())))
    except UnicodeEncodeError:
        return "has half of a character in it"
    if not text.strip():
        return "is empty"
    if "\0" in text:
        return "has a null character in it"
    return f"has a name longer than {_LONGEST_NAME} bytes in it" if name > _LONGEST_NAME else ""


def lies_in(path: Path, folder: Path) -> bool:
    """Return True if a path leads into a folder once links are followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links; a null character
        return False


def shown(path: Path) -> str:
    """Return a path as text to display, with `~` for the home folder, because users share what a notebook shows."""
    try:
        return printable(str(Path("~") / path.relative_to(Path.home())))
    except (ValueError, RuntimeError):  # elsewhere; no home folder
        return printable(str(path))


def _write(stream: BinaryIO, data: bytes, *, durable: bool) -> None:
    stream.write(data)
    if durable:
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _removed_on_error(file: Path, descriptor: int) -> Iterator[BinaryIO]:
    """Open the descriptor of a new file as a stream; an error removes the file."""
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
    except BaseException:
        with suppress(OSError):
            file.unlink(missing_ok=True)
        raise


def replace_file(temporary: Path, target: Path) -> None:
    """Give a file the name of another, in place of it; on Windows, wait a moment for those who read the other.

    Raises:
        OSError: if it cannot be moved; both files stay.
    """
    if _ON_WINDOWS:
        # Windows refuses to replace a file that is open, and readers keep it open for a moment.
        for pause in _PAUSES:
            try:
                temporary.replace(target)
            except PermissionError:
                time.sleep(pause)
            else:
                return
    temporary.replace(target)


def _read(file: Path) -> tuple[Secret | None, str]:
    """Return the text, or None and the reason. No error or frame keeps what was read."""
    try:
        data = read_file(file, _LARGEST_TEXT + 1)
        text = Secret(data.decode("utf-8-sig")) if len(data) <= _LARGEST_TEXT else None
    except OSError as error:
        return None, error.strerror or type(error).__name__
    except UnicodeDecodeError:
        return None, "it is not UTF-8 text"
    except ValueError:  # a null character
        return None, "this does not name a file"
    return text, "it is larger than 1 MiB"
