"""The arguments that choose a cassette: its name or path, and the record mode."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal, get_args

from toolkit.core.errors import ConfigurationError, as_choice
from toolkit.local.files import expanded, lies_in
from toolkit.local.settings import Settings, as_settings, is_offline

Mode = Literal["none", "once", "new_episodes", "all"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
# What some system or command does not take for the name of a file: characters and devices of Windows, white space at
# the ends, a dot or a dash at the beginning. Refused everywhere, because recordings are passed on to others.
_UNSUITABLE: Final = re.compile(
    r'.*[\x00-\x1f<>:"/\\|?*]|[\s.-]|.*\s\Z|(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])\s*\Z',
    re.IGNORECASE | re.DOTALL,
)
_LONGEST: Final = 200  # bytes; systems allow 255, and ".yaml" and a suffix for partial files are added
_LONGEST_QUOTE: Final = 60  # characters


def as_mode(mode: str | None) -> Mode:
    """Return the record mode in force: by default `once`, as in vcrpy, and always `none` while offline.

    Raises:
        ConfigurationError: if there is no such mode.
    """
    chosen: Mode = "once" if mode is None else as_choice(mode, MODES, about="mode")
    return "none" if is_offline() else chosen


def find_cassette(cassette: str | Path, settings: Settings | None = None) -> Path:
    """Return the file of a cassette, given by name or path.

    Text without a suffix and without a separator is a name in the cassettes folder of the project. Anything else is an
    ordinary path.

    Raises:
        ConfigurationError: if it is empty, neither a name nor a path, not a portable name, or the name of a link out of
            the folder.
    """
    if not isinstance(cassette, str | os.PathLike) or not _is_path(str(cassette)):
        raise ConfigurationError("A cassette needs a name or a path.", 'Give a name such as "tour".', about="cassette")
    path = Path(cassette)
    if isinstance(cassette, str) and not path.suffix and path.parts in ((), (cassette,)) and not path.is_absolute():
        # As a Python literal, white space at the ends is visible and nothing is interpreted.
        quoted = repr(cassette if len(cassette) <= _LONGEST_QUOTE else f"{cassette[: _LONGEST_QUOTE - 1]}…")
        if _UNSUITABLE.match(cassette) or len(cassette.encode("utf-8", "surrogatepass")) > _LONGEST:
            raise ConfigurationError(
                f"A cassette cannot be called {quoted}: not every system or command takes such a name for a file.",
                'Choose a short name of letters, digits, spaces, "-" and "_"; or give a path with its suffix.',
                about="cassette",
            )
        folder = as_settings(settings).cassettes_folder
        file = folder / f"{cassette}.yaml"
        if file.is_symlink() and not lies_in(file, folder):
            raise ConfigurationError(
                f"The cassette {quoted} is a link out of the cassettes folder.",
                "A project, perhaps a cloned one, may not choose a file elsewhere to write: give the path of the file.",
                about="cassette",
            )
        return file
    if path.anchor and not path.name:
        raise ConfigurationError("A folder cannot be a cassette.", 'Give a name such as "tour".', about="cassette")
    return expanded(path, about="cassette")


def same_name_in_project(path: Path, settings: Settings | None = None) -> Path | None:
    """Return the path of a cassette in the project that has the name of this file, or None if the name is not valid."""
    try:
        return find_cassette(path.stem, settings)
    except ConfigurationError:
        return None


def _is_path(text: str) -> bool:
    """Return True if a text can name a file: it is not blank, has no null character and no half of a character."""
    try:
        return b"\0" not in os.fsencode(text) and bool(text.strip())
    except UnicodeEncodeError:
        return False
