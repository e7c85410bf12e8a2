"""Notebooks written for tests, as JSON; nbformat is not needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def new_cell(number: int, source: str | tuple[str, ...]) -> dict[str, Any]:
    """Return a cell: Markdown if the source begins with "# ", else code; a tuple is a source with its tags."""
    source, *tags = source if isinstance(source, tuple) else (source,)
    cell = {"id": f"c-{number}", "metadata": {"tags": tags} if tags else {}, "source": source}
    if source.startswith("# "):
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **cell}


def write_notebook(path: Path, *sources: str | tuple[str, ...], **metadata: Any) -> Path:
    """Write a notebook with one cell per source, and return its path."""
    cells = [new_cell(number, source) for number, source in enumerate(sources, start=1)]
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def odd_notebooks() -> dict[str, str]:
    """Return contents of files that look like notebooks but are not, by what is odd about them."""
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    nested: list[Any] = []
    for _ in range(600):
        nested = [nested]
    return {
        "half": json.dumps({**empty, "cells": [new_cell(1, "# half \ud83d emoji")]}),
        "digits": json.dumps({**empty, "metadata": {"x": 0}}).replace('"x": 0', f'"x": {"9" * 5000}'),
        "nested": json.dumps({**empty, "metadata": {"x": nested}}),
        "float": json.dumps({**empty, "nbformat": 4.0}),
    }
