"""The allow-list of `toolkit.toml`: findings that are known and harmless, each with the reason why.

[scan]
allow = [{path = "tests/**", kind = "private key", reason = "made for these tests, opens nothing"}]
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.words import nearest
from toolkit.scrubbing.scanning.findings import Finding

_CONDITIONS: Final = ("path", "kind", "fingerprint")
_KEYS: Final = (*_CONDITIONS, "reason")
_EXAMPLE: Final = 'Write it like {path = "tests/**", kind = "private key", reason = "made for tests"}.'
_SETTINGS: Final = ("allow", "baseline")


@dataclass(frozen=True, slots=True)
class Allowance:
    """An entry of the allow-list. A condition that is empty allows everything.

    Attributes:
        number: its number in the list, from 1.
        path: pattern of a path relative to the project, with `*` within a name and `**` for any folders.
        kind: the kind of finding.
        fingerprint: the fingerprint of the finding.
        reason: why it is allowed.
    """

    number: int
    path: str
    kind: str
    fingerprint: str
    reason: str

    def allows(self, finding: Finding, relative: str) -> bool:
        """Check whether it allows a finding in a file with this path relative to the project."""
        return (
            (not self.kind or self.kind == finding.kind)
            and (not self.fingerprint or self.fingerprint == finding.fingerprint)
            and (not self.path or path_matches(self.path, relative))
        )

    def __str__(self) -> str:
        named = ", ".join(f'{key} = "{getattr(self, key)}"' for key in _KEYS if getattr(self, key))
        return excerpt(f"entry {self.number} of [scan] allow matches nothing: {named}", 400)


@dataclass
class AllowList:
    """The allowances of a project.

    Attributes:
        entries: the allowances.
        project: the folder of the project.
        used: numbers of the entries that allowed a finding.
    """

    entries: tuple[Allowance, ...]
    project: Path
    used: set[int] = field(default_factory=set)

    def allows(self, finding: Finding) -> bool:
        """Check whether an entry allows a finding, and note that it is used."""
        if not self.entries:
            return False
        relative = relative_path(finding.path, self.project)
        allowing = [entry.number for entry in self.entries if entry.allows(finding, relative)]
        self.used.update(allowing)
        return bool(allowing)

    def unused(self, paths: Iterable[Path], files: Iterable[Path]) -> tuple[str, ...]:
        """Return the entries that allowed nothing, in words.

        An entry about files that were not scanned may be needed for them.

        Args:
            paths: the files and folders that the user named.
            files: the files that were read.
        """
        entries = [entry for entry in self.entries if entry.number not in self.used]
        if not entries:
            return ()
        project = self.project.resolve()
        if not any(project.is_relative_to(path.resolve()) for path in paths):
            read = [relative_path(file, self.project) for file in files]
            entries = [
                entry for entry in entries if entry.path and any(path_matches(entry.path, file) for file in read)
            ]
        return tuple(map(str, entries))


def allow_list(table: Mapping[str, Any], project: Path) -> AllowList:
    """Return the allow-list of the table [scan].

    Raises:
        ConfigurationError: if an entry is malformed, has no reason or allows everything; says which.
    """
    for key in table:
        if key not in _SETTINGS:
            meant = nearest(str(key), _SETTINGS)
            advice = f"Did you mean {meant}?" if meant else f"Known: {', '.join(_SETTINGS)}."
            raise ConfigurationError(f"Unknown setting {excerpt(str(key))} in [scan].", advice, about="scan")
    entries = table.get("allow", ())
    if not isinstance(entries, list | tuple):
        raise ConfigurationError("allow in [scan] is not a list.", f"{_EXAMPLE} Put it in a list.", about="scan")
    return AllowList(tuple(_allowance(number, entry) for number, entry in enumerate(entries, start=1)), project)


def _allowance(number: int, entry: Any) -> Allowance:
    what = f"Entry {number} of [scan] allow"
    if not isinstance(entry, Mapping) or not all(isinstance(value, str) for value in entry.values()):
        raise ConfigurationError(f"{what} is not a table of texts.", _EXAMPLE, about="scan")
    for key in entry:
        if key not in _KEYS:
            raise ConfigurationError(
                f"{what} has the key {excerpt(str(key))}.", f"Known: {', '.join(_KEYS)}.", about="scan"
            )
    texts = {key: entry.get(key, "").strip() for key in _KEYS}
    if not texts["reason"]:
        raise ConfigurationError(f"{what} has no reason.", f"Say why the finding is harmless. {_EXAMPLE}", about="scan")
    if not any(texts[key] for key in _CONDITIONS):
        raise ConfigurationError(
            f"{what} would allow everything.", f"Add {', '.join(_CONDITIONS)} or several of them.", about="scan"
        )
    return Allowance(number, **texts)


def relative_path(path: Path, folder: Path) -> str:
    """Return a path relative to a folder, with slashes; one elsewhere begins with `..`, or is absolute."""
    try:
        return Path(os.path.relpath(path.absolute(), folder.absolute())).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()


@cache
def path_matches(pattern: str, path: str) -> bool:
    """Check whether a path matches a pattern, in which `**` stands for any number of folders.

    As in `.gitignore`, a pattern without a slash is the name of a file or folder anywhere, and one that ends with a
    slash stands for everything below the folder.
    """
    parts = pattern.removeprefix("./").split("/")
    if parts[-1] == "":
        parts[-1] = "**"
    if len(parts) == 1:
        return any(fnmatchcase(name, parts[0]) for name in path.split("/"))
    # The numbers of the parts that may come next, after each name of the path.
    states = _skipped({0}, parts)
    for name in path.split("/"):
        after = {state if parts[state] == "**" else state + 1 for state in states if _part_matches(parts, state, name)}
        states = _skipped(after, parts)
    return len(parts) in states


def _part_matches(parts: list[str], state: int, name: str) -> bool:
    return state < len(parts) and (parts[state] == "**" or fnmatchcase(name, parts[state]))


def _skipped(states: set[int], parts: list[str]) -> set[int]:
    """Return the states with those behind each `**`, which may stand for nothing."""
    result = set(states)
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        if state < len(parts) and parts[state] == "**" and state + 1 not in result:
            result.add(state + 1)
            waiting.append(state + 1)
    return result
