"""The files of the shipped notebooks. `tests/notebooks` runs them."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def cells_of(path: Path) -> list[Any]:
    """Return the cells of a notebook."""
    cells: list[Any] = nbformat.read(path, as_version=4).cells
    return cells


@each_notebook
def test_stored_form(path: Path) -> None:
    """Cells have readable ids and consecutive run numbers; no errors, metadata or widget state are stored."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    stem = path.stem.partition("-")[2]
    assert [cell["id"] for cell in notebook.cells] == [f"{stem}-{number:02}" for number in range(len(notebook.cells))]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert all(cell.metadata in ({}, {"tags": ["parameters"]}) for cell in notebook.cells)
    assert "widgets" not in notebook.metadata


@each_notebook
def test_purpose_and_next_steps(path: Path) -> None:
    """A notebook begins with what readers learn and that it runs offline, and ends with links to its neighbours."""
    cells = cells_of(path)
    assert "You will learn " in cells[0].source
    assert "offline" in cells[0].source or "no network" in cells[0].source
    number = NOTEBOOKS.index(path)
    neighbours = [*NOTEBOOKS[max(number - 1, 0) : number], *NOTEBOOKS[number + 1 : number + 2]]
    links = LINK.findall(cells[-1].source.splitlines()[-1])
    assert {"index.md", *(neighbour.name for neighbour in neighbours)} <= set(links)
    assert len(cells) <= 17
