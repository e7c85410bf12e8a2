"""The shipped notebooks: run offline, they give what is stored, to the byte."""

from pathlib import Path

import nbformat
import pytest

from toolkit.verification import Outcome, Verdict, verify

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def verdicts() -> dict[Path, Verdict]:
    """What `toolkit verify` says of all of them, several at once."""
    return {verdict.path: verdict for verdict in verify(NOTEBOOKS)}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_gives_what_is_stored(path: Path, verdicts: dict[Path, Verdict]) -> None:
    """Run from top to bottom in replay, it gives the stored file, byte by byte."""
    verdict = verdicts[path]
    assert (verdict.failure, verdict.differences) == (None, ())
    assert verdict.outcome is Outcome.SAME


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
