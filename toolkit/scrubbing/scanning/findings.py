"""The findings of a scan: places and kinds, and never a value."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from toolkit.core.escaping import printable
from toolkit.core.html import list_html, list_text, notice
from toolkit.core.words import count_text
from toolkit.scrubbing.scanning.advice import advice_for

_COLUMNS: Final = ("file", "line", "place", "what")
_WHAT_TO_DO: Final = "check each place, remove the secrets, and change those in files that were shared."
_NO_FINDINGS: Final = "No findings: nothing looks like a secret."
_FINGERPRINT_KEY: Final = b"toolkit scan"
_FINGERPRINT_SIZE: Final = 3  # bytes
_LOOSE: Final = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret, or a text that looks like a secret, in a file.

    Attributes:
        path: the file.
        line: line number, from 1: of the file, or of the text inside a container such as an archive.
        kind: what was found, in words; never the text itself.
        cell: number of the cell of a notebook, from 1; None for everything else.
        part: where in the file: "source", "output text/html", "widget state" of a notebook, or a name in an archive;
            empty for a file that is read as it is.
        fingerprint: six hex digits by which `toolkit.toml` and a baseline know the finding again wherever it moves.
    """

    path: Path
    line: int
    kind: str
    cell: int | None = None
    part: str = ""
    fingerprint: str = field(default="", compare=False)

    @property
    def place(self) -> str:
        """The place in the file besides the line, in words: "cell 3, output text/html", or ""."""
        return ", ".join(filter(None, (f"cell {self.cell}" if self.cell else "", self.part)))

    @property
    def advice(self) -> tuple[str, ...]:
        """The steps to take about it, in order."""
        return advice_for(self.kind, self.path, self.part)

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return printable(f"{self.path}:{self.line}: {place}{self.kind}").replace("\n", " ")


class Unreadable(NamedTuple):
    """A file or folder, or a part of a file, that a scan could not read.

    Attributes:
        path: the file or folder.
        reason: why, in words.
    """

    path: Path
    reason: str

    def __str__(self) -> str:
        return printable(f"{self.path}: {self.reason}").replace("\n", " ")


class FindingList(list[Finding]):
    """A list of findings, shown as a table in notebooks and terminals.

    Attributes:
        unreadable: what could not be read, which is shown too.
    """

    def __init__(self, findings: Iterable[Finding] = (), unreadable: Sequence[Unreadable] = ()) -> None:
        super().__init__(findings)
        self.unreadable = tuple(unreadable)

    def __repr__(self) -> str:
        lines = [_NO_FINDINGS] if not self else [f"{_how_many(self)}: {_WHAT_TO_DO}\n", _table(list_text, self)]
        return "\n".join([*lines, *(f"not read: {each}" for each in self.unreadable)])

    def _repr_html_(self) -> str:
        shown = notice(_how_many(self), [_WHAT_TO_DO]) + _table(list_html, self) if self else f"<p>{_NO_FINDINGS}</p>"
        return shown + (notice("Not read", list(map(str, self.unreadable))) if self.unreadable else "")


@dataclass(frozen=True)
class ScanReport:
    """The result of a scan.

    Attributes:
        findings: the findings by file and line, without those that are allowed or in the baseline.
        files: how many files were read.
        allowed: how many findings the allow-list of `toolkit.toml` leaves out.
        unused_allowances: the entries of the allow-list that match no finding in the files read, in words.
        in_baseline: how many findings the baseline leaves out.
        unreadable: what could not be read.
    """

    findings: FindingList
    files: int = 0
    allowed: int = 0
    unused_allowances: tuple[str, ...] = ()
    in_baseline: int = 0
    unreadable: tuple[Unreadable, ...] = ()


def fingerprint_of(kind: str, value: str = "") -> str:
    """Return the fingerprint of a finding, the same wherever in a file it stands.

    It has 24 bits: enough to tell the findings of a file apart, and far too few to find a value that a machine made.
    One text in 16 million has the same. For a secret that the user names, pass no value: people may have made it up.
    """
    text = f"{kind}\n{_LOOSE.sub('', value)}"
    return hashlib.blake2b(
        text.encode("utf-8", "replace"), key=_FINGERPRINT_KEY, digest_size=_FINGERPRINT_SIZE
    ).hexdigest()


def _how_many(findings: FindingList) -> str:
    files = len({finding.path for finding in findings})
    return f"{count_text(len(findings), 'finding')} in {count_text(files, 'file')}"


def _table(show: Callable[[Sequence[str], Iterable[Sequence[str]]], str], findings: FindingList) -> str:
    has_places = any(each.place for each in findings)
    rows = [(str(each.path), str(each.line), *([each.place] if has_places else ()), each.kind) for each in findings]
    return show([name for name in _COLUMNS if has_places or name != "place"], rows)
