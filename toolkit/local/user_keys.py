"""Random keys in the user's configuration folder, each for one purpose; they never leave it."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from toolkit.local.files import create_new
from toolkit.local.private_files import private_folder, read_private
from toolkit.local.user_folders import config_folder

_LENGTH: Final = 32  # bytes


def user_key(name: str, *, makes: bool) -> bytes | None:
    """Return the key of 32 bytes in the file `<name>.key`, or None; make it there if `makes` is True.

    Raises:
        OSError: if the key cannot be read or made, or if the file is not such a key.
    """
    file = config_folder() / f"{name}.key"
    if makes and not file.exists():
        private_folder(file.parent)
        with suppress(FileExistsError):  # another process has just made it
            create_new(file, os.urandom(_LENGTH).hex().encode())
    if not file.exists():
        return None
    try:
        key = bytes.fromhex((read_private(file, 1024) or b"").decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _LENGTH:
        raise OSError(errno.EINVAL, "it is not a key of the toolkit, or not this user's own file", str(file))
    return key
