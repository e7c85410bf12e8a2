"""The allow-lists that count for a scan: the project's own, and those of `toolkit.toml` files in folders below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolkit.core.errors import ConfigurationError
from toolkit.local.folders import SETTINGS_FILE
from toolkit.local.settings import Settings
from toolkit.local.toml_text import read_toml
from toolkit.scrubbing.scanning.allow_list import AllowList, allow_list, relative_path
from toolkit.scrubbing.scanning.findings import Finding


class FolderAllowances:
    """The allow-lists of a project and of its folders. A `toolkit.toml` counts for its folder and for those below.

    Args:
        settings: the settings of the project, whose table [scan] counts for every file.

    Raises:
        ConfigurationError: if an entry of the project's list is malformed; methods raise it for other lists.
    """

    def __init__(self, settings: Settings) -> None:
        self._project = settings.project.absolute()
        self._own = allow_list(settings.scan, settings.project)
        self._below: dict[Path, AllowList | None] = {}

    def allows(self, finding: Finding) -> bool:
        """Check whether an entry allows a finding, and note which entries are used."""
        allowing = [allowed for allowed in (self._own, *self._lists_of(finding.path)) if allowed.allows(finding)]
        return bool(allowing)

    def unused(self, paths: Iterable[Path], files: Iterable[Path]) -> tuple[str, ...]:
        """Return the entries that allowed nothing, in words; `AllowList.unused` says which count.

        Args:
            paths: the files and folders that the user named.
            files: the files that were read.
        """
        paths, files = list(paths), list(files)
        texts = list(self._own.unused(paths, files))
        for file in files:
            for _ in self._lists_of(file):
                pass  # looked up, because the folder may have no finding
        for folder, allowed in sorted(self._below.items()):
            if allowed is not None:
                name = relative_path(folder / SETTINGS_FILE, self._project)
                texts += [f"{name}: {text}" for text in allowed.unused(paths, files)]
        return tuple(texts)

    def _lists_of(self, file: Path) -> Iterator[AllowList]:
        folder = file.absolute().parent
        while folder != self._project and folder.is_relative_to(self._project):
            if folder not in self._below:
                self._below[folder] = _list_in(folder)
            allowed = self._below[folder]
            if allowed is not None:
                yield allowed
            folder = folder.parent


def _list_in(folder: Path) -> AllowList | None:
    """Return the allow-list of the settings file in a folder, or None without one."""
    file = folder / SETTINGS_FILE
    if not file.is_file():
        return None
    table: Any = read_toml(file).get("scan", {})
    if not isinstance(table, Mapping):
        raise ConfigurationError(f"scan in {file} must be a table.", "It may have allow.", about="scan")
    try:
        return allow_list(table, folder)
    except ConfigurationError as error:
        raise error.reworded(f"{error.what} It is in {file}.", error.next_step) from None
