"""Find a cassette by name or path, choose its record mode, or return the cassette of the running cell or test.

`%%cassette` and the pytest plugin set a cassette, which sessions without a cassette of their own then use.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from toolkit.core.errors import ConfigurationError, as_choice
from toolkit.local.files import expanded, lies_in
from toolkit.local.settings import Settings, as_settings, is_offline

# A live session does not load cassettes or the scrubber, which would double the time of its first call.
if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette

Mode = Literal["none", "once", "new_episodes", "all"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
# Names that are valid on every system and in every command, because recordings are passed on to others: no character
# that Windows refuses, no white space at the ends, no dot or dash at the beginning.
_NAME: Final = re.compile(r'(?![\s.-])[^\x00-\x1f<>:"/\\|?*]+(?<!\s)')
_LONGEST: Final = 200  # bytes; systems allow 255, and ".yaml" and a suffix for partial files are added
_LONGEST_QUOTE: Final = 60  # characters


def as_mode(mode: str | None) -> Mode:
    """Return the effective record mode: by default `once`, as in vcrpy, and always `none` while offline."""
    chosen: Mode = "once" if mode is None else as_choice(mode, MODES, about="mode")
    return "none" if is_offline() else chosen


def find_cassette(cassette: str | Path, settings: Settings | None = None) -> Path:
    """Return the file of a cassette, given by name or path.

    A string without a suffix or separator is a name in the project's cassettes folder. Anything else is an ordinary
    path.
    """
    path = expanded(cassette, about="cassette")
    parts = Path(cassette).parts
    if not isinstance(cassette, str) or parts not in ((), (cassette,)) or path.suffix or Path(cassette).is_absolute():
        return path
    if not _NAME.fullmatch(cassette) or len(cassette.encode("utf-8", "surrogatepass")) > _LONGEST:
        raise ConfigurationError(
            f"A cassette cannot be called {cassette[:_LONGEST_QUOTE]!r}: that file name is not valid on all systems.",
            'Choose a short name of letters, digits, spaces, "-" and "_"; or pass a path with its suffix.',
            about="cassette",
        )
    folder = as_settings(settings).cassettes_folder
    file = folder / f"{cassette}.yaml"
    if file.is_symlink() and not lies_in(file, folder):
        raise ConfigurationError(
            f"The cassette {cassette!r} links to a file outside the cassettes folder.",
            "A cloned project must not redirect recordings to another file. To use the linked file, pass its path.",
            about="cassette",
        )
    return file


# Global rather than in a context: threads and tasks that a cell starts are part of the cell.
_open: list[Cassette] = []


def current() -> Cassette | None:
    """Return the cassette of the running cell or test, or None."""
    return _open[-1] if _open else None


def put_in_place(cassette: Cassette) -> None:
    """Let sessions without a cassette of their own use this one until `take_away` is called."""
    _open.append(cassette)


def remove(cassette: Cassette) -> None:
    """Undo `put_in_place` for one cassette; it stays open."""
    _open[:] = [other for other in _open if other is not cassette]


def take_away(*, well: bool) -> None:
    """Close the cell's cassettes; with mode `all`, new recordings replace the old files only if the cell succeeded."""
    while _open:
        cassette = _open.pop()
        if well:
            cassette.close()
        else:
            cassette.abandon()
