"""Where the project is, and whose files in it are heeded.

A settings file says where credentials are sent. In a folder that others may write to, such as /tmp, it
may be anybody's; so a file counts only if it belongs to this user, to root, or to whoever owns the folder
that one works in. The last is trusted with more already: Python runs modules that lie there.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_IWOTH
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.warn import warn

SETTINGS_FILE: Final = "toolkit.toml"
_MARKERS: Final = (SETTINGS_FILE, "pyproject.toml")
_ROOT: Final = 0


def find_project(start: Path) -> Path:
    """The nearest folder upward with a `toolkit.toml` or `pyproject.toml`, else `start`.

    Not beyond the repository, nor into the home folder unless `start` is that, and never beyond it. A
    folder above `start` is passed over, with a warning, when the file or the folder is a stranger's, or
    when everybody may write to it; the last is no reason where everybody may write to `start` as well,
    as on a Windows disk in Linux. (On Windows itself, owners are not looked at.)

    Raises:
        ConfigurationError: `start` itself has a `toolkit.toml` that is a stranger's.
    """
    start = Path(os.path.abspath(start))  # noqa: PTH100 - without "..", whose parents are none of start's
    homes = _homes()
    for folder in (start, *start.parents):
        if folder in homes and folder != start:
            break
        file = next((folder / name for name in _MARKERS if (folder / name).is_file()), None)
        if file is not None and folder == start:
            if file.name == SETTINGS_FILE:
                _refuse_stranger(file)
            return folder
        if file is not None:
            doubt = _doubt(file, start)
            if doubt is None:
                return folder
            warn(f"Passed over {file}: {doubt}. {_if_trusted(file)}")
        if folder in homes or (folder / ".git").exists():
            break
    return start


def is_strangers(file: Path, folder: Path) -> bool:
    """Whether a file, or a link in its place, belongs to none of this user, root and the owner of a folder."""
    trusted = {_user(), _ROOT, *_owners(folder)}
    return _user() is not None and not _owners(file) <= trusted


def _refuse_stranger(file: Path) -> None:
    if is_strangers(file, file.parent):
        raise ConfigurationError(
            f"{file} belongs neither to you nor to whoever owns its folder, so anybody may have put it there.",
            _if_trusted(file),
        )


def _if_trusted(file: Path) -> str:
    return (
        f"If you trust it, make it yours (chown), or name it: tk.Settings.load({str(file)!r}); "
        "else work in a folder of your own."
    )


def _doubt(file: Path, start: Path) -> str | None:
    """Why a file above `start` is not heeded, in words; None when it is."""
    if is_strangers(file, start) or is_strangers(file.parent, start):
        return "it or its folder belongs to another user"
    if _is_open_to_all(file.parent) and not _is_open_to_all(start):
        return "everybody may write to its folder"
    return None


def _user() -> int | None:
    """The user of this process; None on Windows, which has owners of another kind."""
    return os.geteuid() if os.name == "posix" else None


def _owners(path: Path) -> set[int]:
    """Owners of what is at a path and, where that is a link, of what it leads to; none of what is not there."""
    owners = set()
    for look in (path.lstat, path.stat):
        try:
            owners.add(look().st_uid)
        except OSError:  # gone, or out of reach
            continue
    return owners


def _is_open_to_all(folder: Path) -> bool:
    try:
        return os.name == "posix" and bool(folder.stat().st_mode & S_IWOTH)
    except OSError:
        return False


def _homes() -> set[Path]:
    """The home folder, also as the working directory names it where it is reached through a link."""
    try:
        home = Path.home()
    except RuntimeError:  # a container's user without a home
        return set()
    return {home, home.resolve()}
