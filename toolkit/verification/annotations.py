"""Show verdicts as annotations of GitHub Actions, at the cells that they are about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from toolkit.core.json_lines import lines_of_values
from toolkit.core.text import annotation, workspace_path
from toolkit.verification.verdict import CellPlace, Difference, Outcome, Verdict, describe_changes

_MOST_LINES: Final = 20  # of one difference
_NEXT_STEP: Final = {
    Outcome.DIFFERS: "If the new outputs are right: toolkit verify --update, and commit the notebook.",
    Outcome.UNSTABLE: "Two runs give different outputs, so the notebook was not updated.",
}


def cell_lines(data: bytes) -> list[int]:
    """Return the line of each cell's source, from 1; the line of the cell itself if it has no source.

    Args:
        data: the bytes of a notebook that can be read (see `read_notebook`).
    """
    lines = lines_of_values(data.decode(json.detect_encoding(data)), depth=3)
    cells = (path for path in lines if len(path) == 2 and path[0] == "cells")
    return [lines.get((*path, "source"), lines[path]) for path in cells]


def cell_annotations(verdict: Verdict, lines: Sequence[int], workspace: Path) -> list[str]:
    """Return an annotation for each cell of a notebook that fails or differs, and for the rest of its file.

    Args:
        verdict: the result of one notebook.
        lines: the line of each cell (see `cell_lines`); empty if the file cannot be read.
        workspace: the folder of the checkout, from which GitHub counts paths.
    """
    if verdict.outcome.is_good:
        return []
    file = workspace_path(verdict.path, workspace)
    by_cell: dict[CellPlace | None, list[str]] = {}
    if verdict.failure is not None:
        by_cell[verdict.failure.cell] = [verdict.failure.what, verdict.failure.next_step]
    for difference in verdict.decisive_differences:
        by_cell.setdefault(difference.cell, []).extend(_lines(difference))
    ends = [_NEXT_STEP.get(verdict.outcome, ""), describe_changes(verdict.versions)]
    return [
        annotation(
            "error",
            "\n".join(filter(None, [*texts, *ends])),
            file=file,
            line=_line_of(cell, lines),
            title=f"{verdict.path.name}{f', {cell}' if cell else ''}: {verdict.outcome}",
        )
        for cell, texts in by_cell.items()
    ]


def _lines(difference: Difference) -> Iterator[str]:
    yield f"{difference.place} [{difference.kind}]"
    yield from difference.excerpt(_MOST_LINES)
    if difference.hint:
        yield difference.hint


def _line_of(cell: CellPlace | None, lines: Sequence[int]) -> int:
    """Return the line of a cell; the first line of the file for a place that is unknown."""
    return lines[cell.number - 1] if cell is not None and cell.number <= len(lines) else 1
