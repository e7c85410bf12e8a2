"""Look for secrets in files that are there already, and list what was found."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.html import list_html, list_text, notice
from toolkit.core.secret import Secret
from toolkit.core.words import count_text
from toolkit.scrubbing.credential_names import NAMES_IN_SMALL_LETTERS
from toolkit.scrubbing.known import KnownSecrets
from toolkit.scrubbing.shapes import BEARER, PRIVATE_KEY, SIGNED_TOKEN

_FINDINGS: Final = ("file", "line", "what")
_WHAT_TO_DO: Final = "look at each place; take out what is a secret, and change that secret if the file was passed on."
_NO_FINDINGS: Final = "No findings: nothing there is, or looks like, a secret."
# For patterns that ignore case, or are searched in small letters. A value; in angle brackets it is a placeholder.
_VALUE: Final = rb"(?!<|%3c)[a-z0-9._~+/=%-]{8,}"
# What stands in its place in code: names of variables, functions and attributes.
_NO_CODE: Final = rb"(?![a-z_]+(?:\.[a-z_]+)+(?![a-z0-9._~+/=%-])|[a-z_]+\s*[,()\[])"
_BETWEEN: Final = rb"(?:\\*[\"'])?(?:\s*[=:]\s*)(?:\[\s*|-\s+)?(?:\\*[\"'])?"
# Kind, what is in every match in small letters, and the pattern.
_PLACES: Final = tuple(
    (kind, stem, re.compile(pattern, re.IGNORECASE))
    for kind, stem, pattern in (
        ("private key", b"private key", PRIVATE_KEY.encode("ascii")),
        ("bearer token", b"bearer ", BEARER.encode("ascii") + _VALUE),
        ("basic credentials", b"basic ", rb"authorization" + _BETWEEN + rb"basic +(?!<)[a-z0-9+/=]{8,}"),
        ("signed token", b".eyj", SIGNED_TOKEN.encode("ascii")),
    )
)
_SECRET_FIELD: Final = re.compile(NAMES_IN_SMALL_LETTERS + _BETWEEN + _NO_CODE + _VALUE)


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret, or what looks like one, in a file.

    Attributes:
        path: the file.
        line: line number, from 1.
        kind: what it is; never the text itself.
    """

    path: Path
    line: int
    kind: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}"


class FindingList(list[Finding]):
    """Findings, shown as a table in a notebook and a terminal."""

    def __repr__(self) -> str:
        return _as_text(self)

    def _repr_html_(self) -> str:
        return _as_html(self)


def _as_text(findings: Sequence[Finding]) -> str:
    """How many, what to do, and one line a finding; none are said to be none."""
    if not findings:
        return _NO_FINDINGS
    return f"{_how_many(findings)}: {_WHAT_TO_DO}\n\n{list_text(_FINDINGS, _finding_rows(findings))}"


def _as_html(findings: Sequence[Finding]) -> str:
    """The same as a notice and a table."""
    if not findings:
        return f"<p>{_NO_FINDINGS}</p>"
    return notice(_how_many(findings), [_WHAT_TO_DO]) + list_html(_FINDINGS, _finding_rows(findings))


def _how_many(findings: Sequence[Finding]) -> str:
    files = len({each.path for each in findings})
    return f"{count_text(len(findings), 'finding')} in {count_text(files, 'file')}"


def _finding_rows(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(str(each.path), str(each.line), each.kind) for each in findings]


def scan(
    paths: str | Path | Iterable[str | Path], *, secrets: str | Secret | Iterable[str | Secret] = ()
) -> list[Finding]:
    """Look for secrets in files: those given by value, and what looks like one by its place.

    Args:
        paths: files and folders, searched whole; hidden folders and caches in them are passed over.
        secrets: texts to look for in every form.

    Returns:
        Findings by file and line; empty when there are none. A long search shows its progress.

    Raises:
        ConfigurationError: a path does not exist or cannot be read.
    """
    known = KnownSecrets()
    known.add_texts(secrets)
    given = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    if not all(isinstance(path, str | os.PathLike) for path in given):
        raise ConfigurationError("What is to be scanned is a path, or a list of paths.", 'For example tk.scan(".").')
    files = [file for path in given for file in _files(Path(path))]
    return FindingList(finding for file in files for finding in _scan_file(file, known))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from _files_in(path)
    else:
        raise ConfigurationError(f"There is nothing to scan at {path}.", "Give a file or a folder.")


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
        elif child.is_dir() and not child.is_symlink():  # a link may lead back up; what it leads to stands elsewhere
            yield from _files_in(child)


def _scan_file(path: Path, known: KnownSecrets) -> list[Finding]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    lower = data.lower()
    places = [(match.start(), kind) for kind, stem, place in _PLACES if stem in lower for match in place.finditer(data)]
    places += [(match.start(), "secret field") for match in _SECRET_FIELD.finditer(lower)]
    found = {(data.count(b"\n", 0, start) + 1, kind) for start, kind in places}
    whole = known.find_across_lines(data)
    if whole is not None:
        hits = [known.find(line) for line in data.split(b"\n")]
        # Of a key that goes on over several lines, the first.
        told = [secret for secret, _ in known.since(0)]
        of_lines = {known.placeholder_of(secret) for secret in told if "\n" in secret.reveal().strip()}
        begins = [
            (number, hit)
            for number, (before, hit) in enumerate(pairwise([None, *hits]), start=1)
            if hit is not None and (hit != before or hit[0] not in of_lines)
        ]
        in_lines = {(number, f"known secret, {form}") for number, (_, form) in begins}
        found |= in_lines or {(1, f"known secret across lines, {whole[1]}")}
    return [Finding(path, line, kind) for line, kind in sorted(found)]


def _unreadable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"Cannot read {path}: {error.strerror}.", "Mend its permissions or leave it out.")
