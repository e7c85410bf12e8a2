"""The findings of a scan: places and kinds, and never a value; and what to do about them.

A secret that was shared stays known whatever happens to the file, so it is revoked first.
"""

from __future__ import annotations

import hashlib
import re
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
_LONGEST_PART: Final = 300  # characters of the words for a place
_FINGERPRINT_KEY: Final = b"toolkit scan"
_FINGERPRINT_SIZE: Final = 3  # bytes
_LOOSE: Final = re.compile(r"[^A-Za-z0-9]+")
# How to revoke a secret, by a part of its kind. The first entry that matches counts.
_ENDINGS: Final = (
    ("private key", "Make a new key pair, register its public key, and revoke the old key."),
    ("cookie", "Sign out of all sessions of the account, which ends the cookie."),
    ("known secret", "Revoke it where it was issued, and save its replacement with toolkit credentials add."),
    ("token", "Revoke the token where it was issued, unless it has expired."),
    ("webhook", "Delete the webhook where it was made, and make a new one."),
    ("password", "Change the password, also wherever else it is used."),
    ("", "Revoke it where it was issued, make a new one, and look there for what it was used for."),
)
# How to clean a file, by the end of its name and the beginning of the place.
_CLEANINGS: Final = (
    (".ipynb", "output", "Clear the outputs of the cell and save. With %load_ext toolkit, its next run masks secrets."),
    (".ipynb", "widget", "Shut the kernel down, clear all outputs and save: that removes the state of widgets."),
    (
        ".ipynb",
        "",
        'Take it out of the notebook: tk.Session("paper") uses saved credentials. Clear the outputs and save.',
    ),
    (".yaml", "", "If it is a recording: toolkit cassettes scrub FILE. In settings, name a variable instead."),
    ("", "", "Take it out of the file, or delete the file: toolkit credentials add saves it."),
)


class TextPlace(NamedTuple):
    """Line, cell and part of a text, as a finding has them; the line is 0 if the lines of the text itself count."""

    line: int
    cell: int | None = None
    part: str = ""

    def inside(self, part: str) -> TextPlace:
        """Return the place of something that is found here; the name of an archive's member may be any bytes."""
        words = ", ".join(filter(None, (self.part, part)))[:_LONGEST_PART]
        return self._replace(part=words.encode("utf-8", "replace").decode())


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

    def __str__(self) -> str:
        return printable(f"{self.path}: {self.reason}").replace("\n", " ")


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
        names = [f"{printable(name)} ({count:,})" if count > 1 else printable(name) for name, count in counts.items()]
        names[_MOST_FOLDERS:] = [f"{len(names) - _MOST_FOLDERS:,} more"] if len(names) > _MOST_FOLDERS else []
        return [
            *(f"not read: {each}" for each in self.unreadable),
            *([f"not looked at: {', '.join(names)}"] * bool(names)),
        ]

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
    text = f"{kind}\n{_LOOSE.sub('', value)}".encode("utf-8", "replace")
    return hashlib.blake2b(text, key=_FINGERPRINT_KEY, digest_size=_FINGERPRINT_SIZE).hexdigest()


def ending_for(kind: str) -> str:
    """Return how to revoke a secret of a kind, so that it opens nothing."""
    return next(text for part, text in _ENDINGS if part in kind)


def advice_for(findings: Sequence[Finding]) -> list[str]:
    """Return the steps to take about findings, in order: revoke the secrets, clean the files, clean git's history."""
    paths = {finding.path for finding in findings}
    path = paths.pop() if len(paths) == 1 else Path("FILE")
    name = shell_word(masked(printable(path.as_posix()).replace("\n", " ")))
    history = (
        f"If it was committed: git filter-repo --invert-paths --path {name} takes the file out of git's history, "
        "--replace-text the secret alone. Then push with --force, and let everybody clone again."
    )
    steps = [*(ending_for(finding.kind) for finding in findings), *map(_cleaning_for, findings)]
    return [*(step.replace("FILE", name) for step in dict.fromkeys(steps)), history]


def _cleaning_for(finding: Finding) -> str:
    name, part = finding.path.name.lower(), finding.part
    return next(text for end, start, text in _CLEANINGS if name.endswith(end) and part.startswith(start))
