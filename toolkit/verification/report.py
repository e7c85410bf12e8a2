"""Reports of verdicts: text for people, JSON for programs, and annotations of GitHub Actions at the cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from toolkit.core.json_lines import lines_of_values
from toolkit.core.text import annotation, count_text, workspace_path
from toolkit.verification.notebook_files import NotANotebook, read_notebook
from toolkit.verification.verdict import CellPlace, Difference, Outcome, Verdict, describe_changes

_MOST_DIFFERENCES: Final = 20  # of a notebook, in text; JSON has all
_MOST_LINES: Final = 20  # of one difference
_NEXT_STEP: Final = {
    Outcome.DIFFERS: "If the new outputs are right: toolkit verify --update, and commit the notebook.",
    Outcome.UNSTABLE: "Two runs give different outputs, so the notebook was not updated.",
}


def result_text(verdict: Verdict) -> str:
    """Return the result of a notebook in a few words: "differs at 2 places"."""
    count = len(verdict.decisive_differences)
    words = f"{verdict.outcome} at {count_text(count, 'place')}" if count else str(verdict.outcome)
    if verdict.outcome is Outcome.SAME and verdict.differences:
        words += ", as another program saved it"
    versions = describe_changes(verdict.versions)
    return f"{words} ({versions})" if versions else words


def details_text(verdict: Verdict) -> str:
    """Return where a notebook differs or why it failed, and what to do; empty if all is well."""
    if verdict.outcome.is_good:  # git shows what was updated
        return ""
    lines = [str(verdict.path)]
    if verdict.failure is not None:
        place = "" if verdict.failure.cell is None else f"{verdict.failure.cell}: "
        lines += [f"{place}{verdict.failure.what}", verdict.failure.next_step]
    differences = verdict.decisive_differences
    for difference in differences[:_MOST_DIFFERENCES]:
        cell = "" if difference.cell is None else f"{difference.cell}: "
        first, *rest = _lines(difference)
        lines += [f"{cell}{first}", *(f"  {line}" for line in rest)]
    if len(differences) > _MOST_DIFFERENCES:
        lines.append(f"… and {len(differences) - _MOST_DIFFERENCES} more; --json has them all")
    return "\n".join(filter(None, [*lines, _NEXT_STEP.get(verdict.outcome)]))


def json_text(verdicts: Sequence[Verdict]) -> str:
    """Return verdicts as JSON: a list of their attributes, and `is_good`."""
    report = [{**asdict(verdict), "is_good": verdict.outcome.is_good} for verdict in verdicts]
    return json.dumps(report, indent=1, default=str) + "\n"


def github_text(verdicts: Sequence[Verdict], workspace: Path) -> str:
    """Return annotations for the cells that fail or differ, a line each.

    Args:
        verdicts: the results.
        workspace: the folder of the checkout, from which GitHub counts paths.
    """
    return "".join(f"{line}\n" for verdict in verdicts for line in _annotations(verdict, workspace))


def _annotations(verdict: Verdict, workspace: Path) -> Iterator[str]:
    if verdict.outcome.is_good:
        return
    try:
        lines = _cell_lines(read_notebook(verdict.path).data)
    except NotANotebook:
        lines = []
    by_cell: dict[CellPlace | None, list[str]] = {}
    if verdict.failure is not None:
        by_cell[verdict.failure.cell] = [verdict.failure.what, verdict.failure.next_step]
    for difference in verdict.decisive_differences:
        by_cell.setdefault(difference.cell, []).extend(_lines(difference))
    ends = [_NEXT_STEP.get(verdict.outcome, ""), describe_changes(verdict.versions)]
    for cell, texts in by_cell.items():
        yield annotation(
            "error",
            "\n".join(filter(None, [*texts, *ends])),
            file=workspace_path(verdict.path, workspace),
            line=lines[cell.number - 1] if cell is not None and cell.number <= len(lines) else 1,
            title=f"{verdict.path.name}{f', {cell}' if cell else ''}: {verdict.outcome}",
        )


def _cell_lines(data: bytes) -> list[int]:
    """Return the line of each cell's source, from 1; the line of the cell itself if it has no source."""
    lines = lines_of_values(data.decode(json.detect_encoding(data)), depth=3)
    cells = (path for path in lines if len(path) == 2 and path[0] == "cells")
    return [lines.get((*path, "source"), lines[path]) for path in cells]


def _lines(difference: Difference) -> Iterator[str]:
    yield f"{difference.place} [{difference.kind}]"
    yield from difference.excerpt(_MOST_LINES)
    if difference.hint:
        yield difference.hint
