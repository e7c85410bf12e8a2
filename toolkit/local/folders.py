"""The folders that the system gives each user for an application's caches and configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Final

APPLICATION: Final = "service-access-toolkit"


def cache_folder() -> Path:
    """Return the user's cache folder for the toolkit, such as `~/.cache/service-access-toolkit`; it need not exist."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir(APPLICATION, appauthor=False))


def config_folder() -> Path:
    """Return the user's configuration folder for the toolkit; it need not exist.

    For example `~/.config/service-access-toolkit` on Linux.
    """
    from platformdirs import user_config_dir

    return Path(user_config_dir(APPLICATION, appauthor=False))
