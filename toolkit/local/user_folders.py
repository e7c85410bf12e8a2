"""The folders that the system gives each user for caches and configuration.

The configuration folder has saved profiles, keys, and the addresses that credentials went to. A project must not put a
folder of its own in its place: nothing would be remembered there, so credentials would go anywhere.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.dotenv import exported_by
from toolkit.local.files import shown
from toolkit.local.folders import current_project

APPLICATION: Final = "service-access-toolkit"
_CONFIG_VARIABLES: Final = ("XDG_CONFIG_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA")  # of platformdirs


def cache_folder() -> Path:
    """Return the user's cache folder for the toolkit, such as `~/.cache/service-access-toolkit`; it need not exist."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir(APPLICATION, appauthor=False))


def config_folder() -> Path:
    """Return the user's configuration folder for the toolkit; it need not exist.

    For example `~/.config/service-access-toolkit` on Linux.

    Raises:
        ConfigurationError: if the project's `.env` sets the variable that names it.
    """
    from platformdirs import user_config_dir

    variables = [name for name in _CONFIG_VARIABLES if os.environ.get(name)]
    exported = exported_by(current_project()) if variables else {}
    for name in variables:
        if name in exported:
            raise ConfigurationError(
                f"{shown(exported[name])} sets {name}, and the file of a project does not choose your folders.",
                "Take it out there, and start Python again; if you need it, set it in your own environment.",
                about=name,
            )
    return Path(user_config_dir(APPLICATION, appauthor=False))
