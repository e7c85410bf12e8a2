"""The findings of a scan: places and kinds, and never a value; and what to do about them.

A secret that was shared stays known whatever happens to the file, so it is revoked first.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from toolkit.core.escaping import masked, printable
from toolkit.core.html import list_html, list_text, notice
from toolkit.core.shells import shell_word
from toolkit.core.words import count_text

PAGE: Final = "notebooks/how-to/after-a-leak.md"
_COLUMNS: Final = ("file", "line", "place", "what")
_WHAT_TO_DO: Final = "check each place, remove the secrets, and change those in files that were shared."
_NO_FINDINGS: Final = "No findings: nothing looks like a secret."
_MOST_FOLDERS: Final = 8  # names of folders that are shown
_FINGERPRINT_KEY: Final = b"toolkit scan"
_FINGERPRINT_SIZE: Final = 3  # bytes
_REVOKE: Final = "Revoke each secret where it was issued, first of all, and look there for what it was used for."
_CLEAN: Final = (
    "Take it out of the file: clear the outputs of a notebook, write a recording again with toolkit cassettes scrub, "
    "delete a log or an archive; keep the value in a variable, or save it with toolkit credentials add."
)
_HISTORY: Final = (
    "If it was committed: git filter-repo --invert-paths --path FILE takes the file out of git's history, "
    "--replace-text the secret alone. Then push with --force, and let everybody clone again."
)


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
        fingerprint: six hex digits by which `toolkit.toml` knows the finding again wherever it moves.
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
        return tuple(advice_for([self]))

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return printable(f"{self.path}:{self.line}: {place}{self.kind}").replace("\n", " ")


class Unreadable(NamedTuple):
    """A file or folder, or a part of a file, that a scan could not read, and why, in words."""

    path: Path
    reason: str


class FindingList(list[Finding]):
    """A list of findings, shown as a table in notebooks and terminals.

    Attributes:
        files: how many files were read.
        unreadable: what could not be read.
        skipped: the folders that were not looked at: hidden ones, caches, installed packages and links.
        allowed: how many findings `toolkit.toml` allows, which are not in the list.
        unused_allowances: the entries of `toolkit.toml` that match no finding, in words.
        project: the folder of the project.
    """

    files: int = 0
    unreadable: Sequence[Unreadable] = ()
    skipped: Sequence[Path] = ()
    allowed: int = 0
    unused_allowances: Sequence[str] = ()
    project: Path = Path()

    def not_seen(self) -> list[str]:
        """Return a line for each file that could not be read, and one for the folders that were not looked at."""
        counts = Counter(path.name for path in self.skipped)
        names = [f"{name} ({count:,})" if count > 1 else name for name, count in counts.items()]
        names[_MOST_FOLDERS:] = [f"{len(names) - _MOST_FOLDERS:,} more"] if len(names) > _MOST_FOLDERS else []
        lines = [f"not read: {path}: {reason}" for path, reason in self.unreadable]
        lines += [f"not looked at: {', '.join(names)}"] if names else []
        return [printable(line).replace("\n", " ") for line in lines]

    def count_words(self) -> str:
        """Return how many findings there are, in how many files."""
        files = len({finding.path for finding in self})
        return f"{count_text(len(self), 'finding')} in {count_text(files, 'file')}"

    def __repr__(self) -> str:
        lines = [f"{self.count_words()}: {_WHAT_TO_DO}\n", self._table(list_text)] if self else [_NO_FINDINGS]
        return "\n".join([*lines, *self.not_seen()])

    def _repr_html_(self) -> str:
        table = self._table(list_html)
        shown = notice(self.count_words(), [_WHAT_TO_DO]) + table if self else f"<p>{_NO_FINDINGS}</p>"
        return shown + (notice("Not everything was read", self.not_seen()) if self.not_seen() else "")

    def _table(self, show: Callable[[Sequence[str], Iterable[Sequence[str]]], str]) -> str:
        return show(_COLUMNS, [(str(each.path), str(each.line), each.place, each.kind) for each in self])


def fingerprint_of(kind: str, value: str = "") -> str:
    """Return the fingerprint of a finding, the same wherever in a file it stands.

    It has 24 bits: enough to tell the findings of a file apart, and far too few to find a value that a machine made.
    One text in 16 million has the same. For a secret that the user names, pass no value: people may have made it up.
    """
    text = f"{kind}\n{''.join(filter(str.isalnum, value))}".encode("utf-8", "replace")
    return hashlib.blake2b(text, key=_FINGERPRINT_KEY, digest_size=_FINGERPRINT_SIZE).hexdigest()


def advice_for(findings: Iterable[Finding]) -> list[str]:
    """Return the steps to take about findings, in order."""
    paths = {finding.path for finding in findings}
    path = paths.pop() if len(paths) == 1 else Path("FILE")
    name = shell_word(masked(printable(path.as_posix()).replace("\n", " ")))
    return [
        _REVOKE,
        _CLEAN,
        _HISTORY.replace("FILE", name),
        f"More, by kinds of secrets and files, in the toolkit's {PAGE}.",
    ]
