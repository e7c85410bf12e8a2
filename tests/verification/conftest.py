from __future__ import annotations

import json

import pytest


def _cell(number, source):
    tags = []
    if isinstance(source, tuple):
        source, *tags = source
    cell = {"id": f"c-{number}", "metadata": {"tags": tags} if tags else {}, "source": source}
    if source.startswith("# "):
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **cell}


@pytest.fixture(scope="session")
def write_notebook():
    """Writes a notebook of sources: text in Markdown if it begins with "# ", a tuple for a source with tags."""

    def write(path, *sources, **metadata):
        cells = [_cell(number, source) for number, source in enumerate(sources, start=1)]
        content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write
