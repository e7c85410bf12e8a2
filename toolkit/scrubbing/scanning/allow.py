"""Findings that `toolkit.toml` allows because they are harmless, each with a reason.

[scan]
allow = [{path = "tests/**", kind = "private key", reason = "made for these tests, opens nothing"}]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.local.files import workspace_path
from toolkit.scrubbing.scanning.findings import Finding

_CONDITIONS: Final = ("path", "kind", "fingerprint")
_KEYS: Final = frozenset({*_CONDITIONS, "reason"})
_EXAMPLE: Final = 'Use a form such as {path = "tests/**", kind = "private key", reason = "made for tests"}.'


class AllowList:
    """The findings that a project allows, from the table [scan]; an invalid entry raises `ConfigurationError`.

    An entry allows the findings that meet all its conditions: `path`, a pattern for the path relative to the project,
    in which `*` matches within a name and `**` matches any number of folders; `kind`; and `fingerprint`, one or more
    separated by spaces.
    """

    def __init__(self, table: Mapping[str, Any], project: Path) -> None:
        entries = table.get("allow", ())
        if table.keys() - {"allow"} or not isinstance(entries, list | tuple):
            what = f"[scan] contains {excerpt(', '.join(map(str, table)))}, but may contain only a list named allow."
            raise ConfigurationError(what, f"{_EXAMPLE} Put it in allow = [...].", about="scan")
        for number, entry in enumerate(entries, start=1):
            problem = _problem_of(entry)
            if problem:
                raise ConfigurationError(
                    f"Entry {number} of the allow list in [scan] {problem}.", _EXAMPLE, about="scan"
                )
        self._entries: list[Mapping[str, str]] = list(entries)
        self._project = project
        self._used: set[int] = set()

    def allows(self, finding: Finding) -> bool:
        """Check whether any entry allows a finding, and mark the entries that do as used."""
        relative = workspace_path(finding.path, self._project) if self._entries else ""
        allowing = [number for number, entry in enumerate(self._entries, start=1) if _is_met(entry, finding, relative)]
        self._used.update(allowing)
        return bool(allowing)

    def unused(self) -> tuple[str, ...]:
        """Return descriptions of the entries that allowed no finding."""
        words = [
            f"entry {at} of the allow list in [scan] matches nothing: {', '.join(entry.values())}"
            for at, entry in enumerate(self._entries, start=1)
            if at not in self._used
        ]
        return tuple(excerpt(each, 400) for each in words)


def _problem_of(entry: Any) -> str:
    if not isinstance(entry, Mapping) or not all(isinstance(value, str) for value in entry.values()):
        return "is not a table of strings"
    if unknown := entry.keys() - _KEYS:
        return f"has the unknown key {excerpt(str(min(unknown)))}"
    if not entry.get("reason", "").strip():
        return "does not give a reason why the finding is harmless"
    return "" if any(entry.get(key) for key in _CONDITIONS) else "would allow everything"


def _is_met(entry: Mapping[str, str], finding: Finding, relative: str) -> bool:
    return (
        entry.get("kind", "") in ("", finding.kind)
        and (not entry.get("fingerprint") or finding.fingerprint in entry["fingerprint"].split())
        and (not entry.get("path") or path_matches(entry["path"], relative))
    )


def path_matches(pattern: str, path: str) -> bool:
    """Check whether a path matches a pattern, in which `**` matches any number of folders.

    As in `.gitignore`, a pattern without a slash matches a file or folder name at any depth, and one that ends with a
    slash matches everything below the folder.
    """
    names = [path] if "/" in pattern else path.split("/")
    return any(map(_expression(pattern).fullmatch, names))


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    *folders, last = [re.escape(name).replace(r"\*", "[^/]*") for name in pattern.removeprefix("./").split("/")]
    start = "".join("(?:[^/]+/)*" if name == "[^/]*" * 2 else f"{name}/" for name in folders)
    return re.compile(start + (".*" if last in ("", "[^/]*" * 2) else last), re.DOTALL)
