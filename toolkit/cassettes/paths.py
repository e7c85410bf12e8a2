"""What a cassette goes by: its name or path, and the names of vcrpy's record modes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal, get_args

from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings, as_settings, is_offline

Mode = Literal["none", "once", "new_episodes", "all"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
# What Windows takes for something else than a part of a file's name; a recording is passed on to others.
_NOT_IN_NAMES: Final = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
_DEVICES: Final = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])\s*\Z", re.IGNORECASE)
_LONGEST: Final = 200  # bytes of the 255 that systems allow: ".yaml" is added, and more while it is being written
_LONGEST_QUOTE: Final = 60  # characters


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
        ConfigurationError: it is empty or no path, or a name that no file should have.
    """
    if not isinstance(cassette, str | os.PathLike) or not str(cassette).strip() or "\0" in str(cassette):
        raise ConfigurationError("A cassette is a name or a path.", 'Give a name such as "tour".')
    path = Path(cassette)
    if isinstance(cassette, str) and not path.suffix and path.parts in ((), (cassette,)) and not path.is_absolute():
        if reason := _why_no_name(cassette):
            raise ConfigurationError(
                f"A cassette cannot be called {_quoted(cassette)}: {reason}.",
                'Choose a name of letters, digits, spaces, "-" and "_"; or give a path with its suffix.',
            )
        return as_settings(settings).cassettes_folder / f"{cassette}.yaml"
    try:
        return path.expanduser()
    except RuntimeError:
        raise ConfigurationError(f"There is no home folder for {cassette}.", "Write the path in full.") from None


def of_that_name(path: Path, settings: Settings | None = None) -> Path | None:
    """Where in the project a cassette called like a file would be; None when none can be called so."""
    try:
        return find_cassette(path.stem, settings)
    except ConfigurationError:
        return None


def _quoted(name: str) -> str:
    """As it is written in code, so that space at its ends is seen and nothing else takes effect."""
    return repr(name if len(name) <= _LONGEST_QUOTE else f"{name[: _LONGEST_QUOTE - 1]}…")


def _why_no_name(name: str) -> str | None:
    """Why a cassette is not called so, in words; None when it may be."""
    if _NOT_IN_NAMES.search(name) or _DEVICES.match(name):
        return "on some systems that is no name of a file"
    if name != name.strip():
        return "space at either end is not seen"
    if name.startswith("."):
        return "a file that begins with a dot is hidden"
    if name.startswith("-"):
        return "in a command, what begins with a dash is an option"
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST:
        return f"that is longer than {_LONGEST} bytes; a shorter name will do"
    return None
