"""The folders that the system gives each user for caches and configuration.

The configuration folder has saved profiles, keys, and the addresses that credentials may go to; the cache folder has
tokens. A project must not put folders of its own in their place, so a variable that its `.env` sets does not count.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from toolkit.local.dotenv import own_variable

APPLICATION: Final = "service-access-toolkit"
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


def _are_own(variable: str) -> bool:
    """Check that no project sets the variables that name a folder."""
    return all(own_variable(name) for name in (variable, _LOCAL_DATA) if os.environ.get(name))
