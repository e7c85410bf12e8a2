"""The files to scan below a folder.

Hidden files count, since `.env` and `.netrc` hold credentials, and so do hidden folders that people keep settings in.
Other hidden folders, caches and installed packages do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.scrubbing.scanning.findings import Unreadable

# Hidden folders with what people wrote or saved.
_SCANNED: Final = frozenset(
    {
        *(".ipynb_checkpoints", ".github", ".gitlab", ".circleci", ".streamlit", ".vscode", ".idea", ".devcontainer"),
        *(".aws", ".azure", ".docker", ".kube", ".ssh", ".config", ".jupyter"),
    }
)
_LEFT_OUT: Final = frozenset({"__pycache__", "node_modules"})
_VIRTUAL_ENVIRONMENT: Final = "pyvenv.cfg"


def files_at(path: Path) -> Iterator[Path | Unreadable]:
    """Yield a file itself, or the files below a folder in order; a folder that cannot be listed, with the reason.

    Links to folders are not followed, since a link may lead back up.

    Raises:
        ConfigurationError: if the path is neither a file nor a folder, or cannot be listed.
    """
    if path.is_file():
        yield path
    elif path.is_dir():
        try:
            entries = _listed(path)
        except OSError as error:
            raise cannot_read(path, error) from None
        yield from _children(entries)
    else:
        raise ConfigurationError(f"{path} is neither a file nor a folder.", "Pass a file or a folder.", about="paths")


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _children(entries: list[os.DirEntry[str]]) -> Iterator[Path | Unreadable]:
    waiting = [iter(entries)]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif _is_file(entry):
            yield Path(entry.path)
        elif _is_searched(entry):
            try:
                waiting.append(iter(_listed(Path(entry.path))))
            except OSError as error:
                yield Unreadable(Path(entry.path), reason_of(error))


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_searched(entry: os.DirEntry[str]) -> bool:
    if entry.name in _LEFT_OUT or (entry.name.startswith(".") and entry.name not in _SCANNED):
        return False
    try:
        return entry.is_dir(follow_symlinks=False) and not os.path.lexists(Path(entry.path, _VIRTUAL_ENVIRONMENT))
    except OSError:
        return False


def reason_of(error: OSError) -> str:
    """Return why a file or folder cannot be read, in words."""
    return error.strerror or type(error).__name__


def cannot_read(path: Path, error: OSError) -> ConfigurationError:
    """Return the error of a path that the user names and that cannot be read."""
    return ConfigurationError(
        f"Cannot read {path}: {reason_of(error)}.", "Fix its permissions or leave it out.", about="paths"
    )
