"""The folders that the system gives each user for caches and configuration, and the random keys in the latter.

The configuration folder has saved profiles, keys, and the addresses that credentials may go to; the cache folder has
tokens. A project must not put folders of its own in their place, so a variable that its `.env` sets does not count.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolkit.local.files import create_new, private_folder, read_private
from toolkit.local.variables import own_variable

APPLICATION: Final = "service-access-toolkit"
_KEY_LENGTH: Final = 32  # bytes
_LOCAL_DATA: Final = "WIN_PD_OVERRIDE_LOCAL_APPDATA"  # of platformdirs
# Where platformdirs has configuration and caches without these variables; elsewhere it follows XDG.
_USUAL: Final = {
    "darwin": (f"Library/Application Support/{APPLICATION}", f"Library/Caches/{APPLICATION}"),
    "win32": (f"AppData/Local/{APPLICATION}", f"AppData/Local/{APPLICATION}/Cache"),
}
_XDG: Final = (f".config/{APPLICATION}", f".cache/{APPLICATION}")


def cache_folder() -> Path:
    """Return the user's cache folder for the toolkit, such as `~/.cache/service-access-toolkit`; it need not exist."""
    from platformdirs import user_cache_dir

    if _are_own("XDG_CACHE_HOME"):
        return Path(user_cache_dir(APPLICATION, appauthor=False))
    return Path.home() / _USUAL.get(sys.platform, _XDG)[1]


def config_folder() -> Path:
    """Return the user's configuration folder for the toolkit; it need not exist.

    For example `~/.config/service-access-toolkit` on Linux.
    """
    from platformdirs import user_config_dir

    if _are_own("XDG_CONFIG_HOME"):
        return Path(user_config_dir(APPLICATION, appauthor=False))
    return Path.home() / _USUAL.get(sys.platform, _XDG)[0]


def user_key(name: str, *, makes: bool) -> bytes | None:
    """Return the key of 32 bytes in the file `<name>.key`, or None; make it there if `makes` is True.

    Raises:
        OSError: if the key cannot be read or made, or if the file is not such a key.
    """
    file = config_folder() / f"{name}.key"
    if makes and not file.exists():
        private_folder(file.parent)
        with suppress(FileExistsError):  # another process has just made it
            create_new(file, os.urandom(_KEY_LENGTH).hex().encode())
    if not file.exists():
        return None
    try:
        key = bytes.fromhex((read_private(file, 1024) or b"").decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise OSError(errno.EINVAL, "it is not a key of the toolkit, or not this user's own file", str(file))
    return key


def _are_own(variable: str) -> bool:
    return all(own_variable(name) for name in (variable, _LOCAL_DATA) if os.environ.get(name))
