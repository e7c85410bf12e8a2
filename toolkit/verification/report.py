"""The results of verifying notebooks, and reports on them as text, JSON and GitHub Actions annotations."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from toolkit.core.text import annotation, count_text, excerpt, masked, printable
from toolkit.local.files import source_lines, workspace_path
from toolkit.verification.compare import CellPlace, Difference

_MOST_LINES: Final = 15  # of each cell, in text
_LONGEST_LINE: Final = 160  # characters


class Outcome(StrEnum):
    """The result of verifying one notebook."""

    SAME = "same"
    DIFFERS = "differs"
    UPDATED = "updated"
    UNSTABLE = "unstable"
    FAILED = "failed"

    @property
    def is_good(self) -> bool:
        """True if the stored outputs are now equal to the outputs of the run."""
        return self in (Outcome.SAME, Outcome.UPDATED)


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why a notebook did not run to the end, and the next step; `cell` is None if no cell caused it."""

    what: str
    next_step: str
    cell: CellPlace | None = None

    def __str__(self) -> str:
        return f"{self.cell}: {self.what}" if self.cell else self.what


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of verifying one notebook.

    `differences` contains the cells that differ from the stored notebook or, for `UNSTABLE`, from one run to the next.
    `saved_to` is the path that the executed notebook was saved to.
    """

    path: Path
    outcome: Outcome
    cells: int = 0
    seconds: float = 0.0
    differences: tuple[Difference, ...] = ()
    failure: Failure | None = None
    saved_to: Path | None = None

    def __str__(self) -> str:
        """Return the report on this notebook, safe to show: at most 15 lines for each cell that differs."""
        places = f" in {count_text(len(self.differences), 'cell')}" if self.differences else ""
        lines = [f"{self.path}: {self.outcome}{places} ({self.seconds:.1f} s)"]
        if self.failure:
            lines += [f"  {self.failure}", f"  {self.failure.next_step}"]
        for difference in self.differences if not self.outcome.is_good else ():  # git shows what was updated
            lines += [f"  {difference.cell}", *(f"    {line}" for line in _shortened(difference.diff))]
        return "\n".join(masked(printable(line).replace("\n", " ")) for line in lines)


def _shortened(lines: Sequence[str]) -> Iterator[str]:
    most = _MOST_LINES if len(lines) <= _MOST_LINES else _MOST_LINES - 1
    for line in lines[:most]:
        yield line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
    if len(lines) > most:
        yield f"… {count_text(len(lines) - most, 'more line')}"


def _text(verdicts: Sequence[Verdict], _: Path) -> str:
    counts = Counter(str(verdict.outcome) for verdict in verdicts)
    total = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items()) or "nothing to verify"
    lines = [*map(str, verdicts), f"{count_text(len(verdicts), 'notebook')}: {total}."]
    if counts[Outcome.DIFFERS]:
        lines.append("If the new outputs are right, add --update and check the changes in git.")
    if counts[Outcome.UNSTABLE]:
        lines.append("Two runs of an unstable notebook give different outputs, so it was not updated.")
    return "\n".join([*lines, ""])


def _json(verdicts: Sequence[Verdict], _: Path) -> str:
    report: list[dict[str, Any]] = [{**asdict(each), "is_good": each.outcome.is_good} for each in verdicts]
    return json.dumps(report, indent=1, default=str) + "\n"


def _github(verdicts: Sequence[Verdict], checkout: Path) -> str:
    # The outputs of notebooks are untrusted text, in which the runner must not look for commands.
    word = secrets.token_hex(16)
    lines = [line for verdict in verdicts if not verdict.outcome.is_good for line in _annotations(verdict, checkout)]
    return "\n".join([f"::stop-commands::{word}", _text(verdicts, checkout), f"::{word}::", *lines, ""])


def _annotations(verdict: Verdict, checkout: Path) -> Iterator[str]:
    about: list[tuple[CellPlace | None, Sequence[str]]] = [(each.cell, each.diff) for each in verdict.differences]
    if verdict.failure:
        about.append((verdict.failure.cell, (verdict.failure.what, verdict.failure.next_step)))
    lines = source_lines(verdict.path.read_text(encoding="utf-8")) if verdict.path.is_file() else []
    for cell, texts in about:
        text = masked("\n".join(_shortened(texts)))
        line = lines[cell.number - 1] if cell and cell.number <= len(lines) else 1
        title = excerpt(f"{verdict.path.name}{f', {cell}' if cell else ''}: {verdict.outcome}")
        yield annotation("error", text, file=workspace_path(verdict.path, checkout), line=line, title=title)


# Keyed by format name. GitHub's paths are relative to the folder of the checkout.
FORMATS: Final = {"text": _text, "json": _json, "github": _github}
