"""The result of verifying one notebook, with the library versions that its outputs were made with."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from toolkit.core.text import count_text, masked, printable

# Libraries that shape outputs; their versions are stored with the outputs.
_LIBRARIES: Final = (
    "service-access-toolkit",
    "anywidget",
    "ipykernel",
    "ipython",
    "ipywidgets",
    "matplotlib",
    "numpy",
    "pandas",
    "pyarrow",
)
_OWN_NAME: Final = {"service-access-toolkit": "toolkit"}
_LONGEST_LINE: Final = 160  # characters of a difference that are shown


class Outcome(StrEnum):
    """The result of one notebook in one word."""

    SAME = "same"
    DIFFERS = "differs"
    UPDATED = "updated"
    UNSTABLE = "unstable"
    FAILED = "failed"

    @property
    def is_good(self) -> bool:
        """True if the stored outputs are now equal to those of the run."""
        return self in (Outcome.SAME, Outcome.UPDATED)


class Kind(StrEnum):
    """The subject of a difference."""

    DATA = "data"
    IMAGE = "image"
    EDITOR = "the editor's own"
    SOURCE = "source"
    METADATA = "metadata"
    LAYOUT = "layout of the file"


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell, as a reader finds it.

    Attributes:
        number: position among all cells, from 1.
        first_line: the first line of its source.
    """

    number: int
    first_line: str

    def __str__(self) -> str:
        return f"cell {self.number} ({self.first_line})" if self.first_line else f"cell {self.number}"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between a stored notebook and its run.

    Attributes:
        place: what differs, such as "output 2, text/html".
        kind: what it is about.
        cell: the cell; None for the notebook's own metadata and layout.
        diff: lines of a unified diff, "-" stored and "+" new; not escaped.
        hint: why it may differ in every run; empty if unknown.
    """

    place: str
    kind: Kind
    cell: CellPlace | None = None
    diff: tuple[str, ...] = ()
    hint: str = ""

    def excerpt(self, most: int) -> Iterator[str]:
        """Yield the first lines of the diff, safe to show and not too long, and then how many more there are."""
        for line in (masked(printable(line).replace("\n", " ")) for line in self.diff[:most]):
            yield line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
        if len(self.diff) > most:
            yield f"… {count_text(len(self.diff) - most, 'more line')}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a notebook could not be run to its end.

    Attributes:
        what: what happened.
        next_step: what to do about it.
        cell: the cell that it happened in; None before the first cell.
    """

    what: str
    next_step: str
    cell: CellPlace | None = None


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A library with another version than when the outputs were made.

    Attributes:
        name: the library, or "python".
        stored: the version that the notebook names; None if it names none.
        running: the version here; None if the library is not installed.
    """

    name: str
    stored: str | None
    running: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of verifying one notebook.

    Attributes:
        path: the notebook, as the caller named it.
        outcome: the result in one word.
        cells: number of cells.
        seconds: duration of the verification.
        differences: differences from the stored notebook, in order. For `UNSTABLE`, differences between two runs; for
            `SAME`, what another program saved in its own way.
        failure: why it could not be run to its end; None if it could.
        versions: libraries with other versions than when the outputs were made.
        saved_to: where it was saved as executed; None if it was not.
    """

    path: Path
    outcome: Outcome
    cells: int = 0
    seconds: float = 0.0
    differences: tuple[Difference, ...] = ()
    failure: Failure | None = None
    versions: tuple[VersionChange, ...] = ()
    saved_to: Path | None = None

    @property
    def decisive_differences(self) -> list[Difference]:
        """The differences that decide the outcome: what editors save counts only between two runs."""
        is_unstable = self.outcome is Outcome.UNSTABLE
        return [difference for difference in self.differences if is_unstable or difference.kind is not Kind.EDITOR]


def running_versions() -> dict[str, str]:
    """Return the versions of Python, the toolkit and the installed libraries that shape outputs, by name."""
    versions = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            versions[_OWN_NAME.get(name, name)] = version(name)
        except PackageNotFoundError:
            continue
    return dict(sorted(versions.items()))


def version_changes(stored: Mapping[str, str], running: Mapping[str, str]) -> tuple[VersionChange, ...]:
    """Return the libraries with different versions, sorted by name; empty if the notebook does not name versions."""
    if not stored:
        return ()
    return tuple(
        VersionChange(name, stored.get(name), running.get(name))
        for name in sorted({*stored, *running})
        if stored.get(name) != running.get(name)
    )


def describe_changes(changes: tuple[VersionChange, ...]) -> str:
    """Describe the changes, as in "made with pandas 3.1.0, here 3.2.1"; empty if there are none."""
    return "; ".join(
        f"made {f'with {change.name} {change.stored}' if change.stored else f'without {change.name}'}, "
        f"here {change.running or 'it is not installed'}"
        for change in changes
    )
