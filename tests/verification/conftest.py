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
def odd_notebooks():
    """Contents of files that pass for notebooks at a glance and are none, by what is odd in them."""
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    nested = []
    for _ in range(600):
        nested = [nested]
    return {
        "half": json.dumps({**empty, "cells": [_cell(1, "# half \ud83d emoji")]}),
        "digits": json.dumps({**empty, "metadata": {"x": 0}}).replace('"x": 0', f'"x": {"9" * 5000}'),
        "nested": json.dumps({**empty, "metadata": {"x": nested}}),
        "float": json.dumps({**empty, "nbformat": 4.0}),
    }


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
