"""Versions of the libraries that shape outputs: stored with them, and compared with those that run."""
# MERGE: What `verify` says of a notebook.

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final


class Outcome(StrEnum):
    """What became of a notebook."""

    SAME = "same"
    DIFFERS = "differs"
    UPDATED = "updated"
    UNSTABLE = "unstable"
    FAILED = "failed"

    @property
    def is_good(self) -> bool:
        """Whether the notebook is now stored as it runs."""
        return self in (Outcome.SAME, Outcome.UPDATED)


class Kind(StrEnum):
    """What a difference is about."""

    DATA = "data"
    PICTURE = "picture"
    PRESENTATION = "presentation"
    EDITOR = "the editor's own"
    SOURCE = "source"
    METADATA = "metadata"
    LAYOUT = "layout of the file"


@dataclass(frozen=True, slots=True)
class CellPlace:
    """A cell, as a reader finds it.

    Attributes:
        number: from 1, of all cells.
        first_line: of its source.
    """

    number: int
    first_line: str

    def __str__(self) -> str:
        return f"cell {self.number} ({self.first_line})" if self.first_line else f"cell {self.number}"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is stored otherwise than it came out.

    Attributes:
        place: what differs, such as "output 2, text/html".
        kind: what it is about.
        cell: the cell it belongs to; None for the notebook's own metadata and layout.
        diff: lines of both in the manner of a unified diff, "-" stored and "+" now; unescaped.
        hint: why it may differ at every run; empty when nothing tells.
    """

    place: str
    kind: Kind
    cell: CellPlace | None = None
    diff: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a notebook could not be run to its end.

    Attributes:
        what: what happened, in words.
        next_step: what to do about it.
        cell: the cell that it happened in; None before the first.
    """

    what: str
    next_step: str
    cell: CellPlace | None = None


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A library that the outputs were made with in another version than the one that runs.

    Attributes:
        name: of the library, or "python".
        stored: the version that the notebook names; None when it names none.
        running: the version here; None when it is not installed.
    """

    name: str
    stored: str | None
    running: str | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one notebook.

    Attributes:
        path: the notebook, as it was asked for.
        outcome: in one word.
        cells: how many cells it has.
        seconds: how long it ran.
        differences: what is stored otherwise than it came out, in order. For `UNSTABLE`, between two runs; for
            `SAME`, what an editor keeps in the file beside the results.
        failure: why it could not be run to its end; None when it was.
        versions: libraries whose versions are not those that the outputs were made with.
    """

    path: Path
    outcome: Outcome
    cells: int = 0
    seconds: float = 0.0
    differences: tuple[Difference, ...] = ()
    failure: Failure | None = None
    versions: tuple[VersionChange, ...] = ()

    @property
    def in_presentation_only(self) -> bool:
        """Whether what differs is how results look, and none of the results.

        A picture with other pixels counts as that only if libraries have other versions.
        """
        looks = {Kind.PRESENTATION, Kind.PICTURE} if self.versions else {Kind.PRESENTATION}
        kinds = {each.kind for each in self.differences} - {Kind.EDITOR}
        return bool(kinds) and kinds <= looks


_LIBRARIES: Final = ("anywidget", "ipykernel", "ipython", "ipywidgets", "matplotlib", "numpy", "pandas", "pyarrow")


def running_versions() -> dict[str, str]:
    """Of Python, the toolkit, and whichever of the libraries are installed, by name."""
    found = {"python": platform.python_version(), "toolkit": version("service-access-toolkit")}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def changes(stored: Mapping[str, str], running: Mapping[str, str]) -> tuple[VersionChange, ...]:
    """Libraries in another version than stored, by name; none where no versions are stored."""
    if not stored:
        return ()
    names = sorted({*stored, *running})
    pairs = ((name, stored.get(name), running.get(name)) for name in names)
    return tuple(VersionChange(*each) for each in pairs if each[1] != each[2])


def describe_changes(found: tuple[VersionChange, ...]) -> str:
    """One library after the other, as in "made with pandas 3.1.0, here 3.2.1"; empty when none changed."""
    return "; ".join(
        f"made {f'with {each.name} {each.stored}' if each.stored else f'without {each.name}'}, "
        f"here {each.running or 'it is not installed'}"
        for each in found
    )
