"""The shipped notebooks: executed offline, they say what they said when they were stored."""

import copy
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


def outputs(notebook: nbformat.NotebookNode) -> dict[str, list[dict[str, object]]]:
    """Outputs by cell, without what names a widget of one run."""
    found = {}
    for cell in copy.deepcopy(notebook.cells):
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET, None)
        found[cell["id"]] = cell.get("outputs", [])
    return found


@pytest.fixture
def shut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay only, and none of the settings of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")


@pytest.mark.usefixtures("shut")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_gives_its_stored_outputs(path: Path) -> None:
    """Executed from top to bottom in replay, every cell gives what is stored with it."""
    stored = nbformat.read(path, as_version=4)
    executed = copy.deepcopy(stored)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(executed, timeout=120, record_timing=False, coalesce_streams=True, resources=resources).execute()
    assert outputs(executed) == outputs(stored)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_stored_tidily(path: Path) -> None:
    """Cells have readable ids, run numbers in order, and no errors, timings or widget state in the file."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    stem = path.stem.partition("-")[2]
    assert [cell["id"] for cell in notebook.cells] == [f"{stem}-{number:02}" for number in range(len(notebook.cells))]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    assert all(not cell.metadata for cell in notebook.cells)
    assert "widgets" not in notebook.metadata
