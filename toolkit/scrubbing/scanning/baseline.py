"""The baseline of an old project: the findings that it has already, so that only new ones are reported.

The file holds path, kind and fingerprint of each finding. So it does not contain secrets, and lines may move.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import write_atomically
from toolkit.scrubbing.scanning.allow_list import relative_path
from toolkit.scrubbing.scanning.findings import Finding
from toolkit.scrubbing.scanning.scanned_files import reason_of

_VERSION: Final = 1
_LARGEST: Final = 64 << 20  # bytes
_KEYS: Final = ("path", "kind", "fingerprint")


@dataclass(frozen=True)
class Baseline:
    """The findings that a project has already.

    Attributes:
        folder: the folder of the file; paths are relative to it.
        entries: path, kind and fingerprint of each.
    """

    folder: Path
    entries: frozenset[tuple[str, str, str]] = frozenset()

    def __contains__(self, finding: Finding) -> bool:
        return bool(self.entries) and _entry(finding, self.folder) in self.entries


def read_baseline(path: Path) -> Baseline:
    """Return the baseline in a file.

    Raises:
        ConfigurationError: if the file is missing, unreadable or not a baseline.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the baseline {path}: {reason_of(error)}.",
            "Write one with toolkit scan --save-baseline, or leave it out.",
            about="baseline",
        ) from None
    entries = _entries(data) if len(data) <= _LARGEST else None
    if entries is None:
        raise ConfigurationError(
            f"{path} is not a baseline of this version.",
            "Write it again with toolkit scan --save-baseline.",
            about="baseline",
        )
    return Baseline(path.parent, entries)


def _entries(data: bytes) -> frozenset[tuple[str, str, str]] | None:
    """Return path, kind and fingerprint of each finding in a baseline, or None if it is not one."""
    try:
        content = json.loads(data)
        rows = {(row["path"], row["kind"], row["fingerprint"]) for row in content["findings"]}
        is_whole = content["version"] == _VERSION and all(isinstance(text, str) for row in rows for text in row)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return frozenset(rows) if is_whole else None


def baseline_text(findings: Iterable[Finding], folder: Path) -> str:
    """Return the text of a baseline of findings, for a file in a folder; the same findings give the same text."""
    entries = sorted({_entry(finding, folder) for finding in findings})
    rows = [json.dumps(dict(zip(_KEYS, entry, strict=True))) for entry in entries]
    listed = ",\n".join(f"  {row}" for row in rows)
    return f'{{"version": {_VERSION}, "findings": [\n{listed}\n]}}\n' if rows else '{"version": 1, "findings": []}\n'


def write_baseline(path: Path, findings: Iterable[Finding]) -> None:
    """Write the baseline of findings.

    Raises:
        ConfigurationError: if the file cannot be written.
    """
    try:
        write_atomically(path, baseline_text(findings, path.parent).encode())
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write the baseline {path}: {reason_of(error)}.",
            "Name a file in a folder of yours.",
            about="baseline",
        ) from None


def _entry(finding: Finding, folder: Path) -> tuple[str, str, str]:
    return relative_path(finding.path, folder), finding.kind, finding.fingerprint
