"""`scan` looks for secrets in existing files and lists the findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import printable
from toolkit.core.html import list_html, list_text, notice
from toolkit.core.secret import Secret
from toolkit.core.words import count_text
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.unknown_secrets import places_in

_COLUMNS: Final = ("file", "line", "what")
_WHAT_TO_DO: Final = "check each place, remove the secrets, and change those in files that were shared."
_NO_FINDINGS: Final = "No findings: nothing looks like a secret."


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret, or a text that looks like a secret, in a file.

    Attributes:
        path: the file.
        line: line number, from 1.
        kind: what was found, in words; never the text itself.
    """

    path: Path
    line: int
    kind: str

    def __str__(self) -> str:
        return printable(f"{self.path}:{self.line}: {self.kind}").replace("\n", " ")


class FindingList(list[Finding]):
    """A list of findings, shown as a table in notebooks and terminals."""

    def __repr__(self) -> str:
        if not self:
            return _NO_FINDINGS
        return f"{_how_many(self)}: {_WHAT_TO_DO}\n\n{list_text(_COLUMNS, _rows(self))}"

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{_NO_FINDINGS}</p>"
        return notice(_how_many(self), [_WHAT_TO_DO]) + list_html(_COLUMNS, _rows(self))


def _how_many(findings: FindingList) -> str:
    files = len({finding.path for finding in findings})
    return f"{count_text(len(findings), 'finding')} in {count_text(files, 'file')}"


def _rows(findings: FindingList) -> list[tuple[str, str, str]]:
    return [(str(finding.path), str(finding.line), finding.kind) for finding in findings]


def scan(
    paths: str | Path | Iterable[str | Path], *, secrets: str | Secret | Iterable[str | Secret] = ()
) -> list[Finding]:
    """Look for secrets in files: for those the user names, and for values in the places of credentials.

    Args:
        paths: files, and folders with everything below them except hidden folders and caches.
        secrets: texts to look for in every form.

    Returns:
        The findings by file and line.

    Raises:
        ConfigurationError: if a path does not exist or cannot be read.
    """
    known = KnownSecrets()
    known.add_texts(secrets)
    several = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    if not all(isinstance(path, str | os.PathLike) for path in several):
        raise ConfigurationError(
            "The paths to scan are not a path or a list of paths.", 'For example tk.scan(".").', about="paths"
        )
    files = [file for path in several for file in _files(Path(path))]
    return FindingList(finding for file in files for finding in _scan_file(file, known))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from _files_in(path)
    else:
        raise ConfigurationError(f"There is nothing to scan at {path}.", "Pass a file or a folder.", about="paths")


def _files_in(folder: Path) -> Iterator[Path]:
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        raise _unreadable(folder, error) from None
    for child in children:
        if child.is_file():
            yield child
        elif child.name.startswith(".") or child.name == "__pycache__":
            continue
        elif child.is_dir() and not child.is_symlink():  # a link may lead back up
            yield from _files_in(child)


def _scan_file(path: Path, known: KnownSecrets) -> list[Finding]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    hits = places_in(data) | _known_secrets_in(data, known)
    return [Finding(path, line, kind) for line, kind in sorted(hits)]


def _known_secrets_in(data: bytes, known: KnownSecrets) -> set[tuple[int, str]]:
    """Return the line and kind of every known secret; for a key in several lines, its first line."""
    anywhere = known.find(data)
    if anywhere is None:
        return set()
    keys = {known.placeholder_of(secret) for secret, _ in known.since(0) if "\n" in secret.reveal().strip()}
    hits = [known.find(line) for line in data.split(b"\n")]
    lines = {
        (number, f"known secret, {hit[1]}")
        for number, (before, hit) in enumerate(pairwise([None, *hits]), start=1)
        if hit is not None and (hit != before or hit[0] not in keys)
    }
    return lines or {(1, f"known secret across lines, {anywhere[1]}")}


def _unreadable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"Cannot read {path}: {error.strerror}.", "Fix its permissions or leave it out.", about="paths"
    )
