"""What a cassette goes by: its name or path, and the names of vcrpy's record modes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal, get_args

from toolkit.errors import ConfigurationError
from toolkit.settings import Settings, as_settings, is_offline

Mode = Literal["none", "once", "new_episodes", "all"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
# What Windows takes for something else than a part of a file's name; a recording is passed on to others.
_NOT_IN_NAMES: Final = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
_DEVICES: Final = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])\s*\Z", re.IGNORECASE)


def as_mode(mode: str | None) -> Mode:
    """A record mode; None is vcrpy's default `once`. Offline, every mode is `none`.

    Raises:
        ConfigurationError: there is no such mode.
    """
    if mode is not None and mode not in MODES:
        raise ConfigurationError(f"There is no record mode {mode!r}.", f"Choose one of {', '.join(MODES)}.")
    return "none" if is_offline() else mode or "once"


def find_cassette(cassette: str | Path, settings: Settings | None = None) -> Path:
    """The file of a cassette.

    Text without a suffix and without a separator is a name in the cassettes folder of the project;
    anything else is an ordinary path.

    Raises:
        ConfigurationError: it is empty or no path, or a name that not every system takes for a file.
    """
    if not isinstance(cassette, str | os.PathLike) or not str(cassette).strip() or "\0" in str(cassette):
        raise ConfigurationError("A cassette is a name or a path.", 'Give a name such as "tour".')
    path = Path(cassette)
    if isinstance(cassette, str) and not path.suffix and path.parts in ((), (cassette,)) and not path.is_absolute():
        if _NOT_IN_NAMES.search(cassette) or _DEVICES.match(cassette):
            raise ConfigurationError(
                f"A cassette cannot be called {cassette!r}: on some systems that is no name of a file.",
                'Choose a name of letters, digits, spaces, "-" and "_"; or give a path with its suffix.',
            )
        return as_settings(settings).cassettes_folder / f"{cassette}.yaml"
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigurationError(f"There is no home folder for {cassette}.", "Write the path in full.") from None
