"""The shipped notebooks run in replay: the stored outputs come out again, byte by byte, and cells can be run again."""

import os
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

import toolkit as tk
from toolkit.verification import Outcome, Verdict, verify

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
RECORDING_NOTEBOOK = FOLDER / "04-record-and-replay.ipynb"
# Errors that readers understand: those of the toolkit, in two lines, and a name that another cell defines.
EXPECTED_ERRORS = {name for name in tk.__all__ if isinstance(getattr(tk, name), type)} | {"NameError"}

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


@pytest.fixture(scope="module")
def verdicts() -> dict[Path, Verdict]:
    """Return the verdict of `toolkit verify` on each notebook; several run at once."""
    return {verdict.path: verdict for verdict in verify(NOTEBOOKS)}


@each_notebook
def test_stored_outputs(path: Path, verdicts: dict[Path, Verdict]) -> None:
    """Run from top to bottom in replay, a notebook gives the stored file, byte by byte."""
    verdict = verdicts[path]
    assert (verdict.failure, verdict.differences) == (None, ())
    assert verdict.outcome is Outcome.SAME


@each_notebook
def test_cells_run_again_in_reverse_order(path: Path, tmp_path: Path) -> None:
    """After all cells, each runs once more, from the last to the first; it works, or says why not in two lines."""
    content = {**nbformat.read(path, as_version=4)}
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    repeated = [
        {**cell, "id": f"again-{number}", "metadata": {"tags": ["raises-exception"]}}
        for number, cell in enumerate(code)
    ]
    content["cells"] = [*code, *reversed(repeated)]
    again = path.with_name(f"{path.stem}-again.ipynb")  # in its folder, where it finds its project
    again.write_text(nbformat.writes(nbformat.from_dict(content)))
    try:
        (verdict,) = verify([again], save_to=tmp_path)
    finally:
        again.unlink()
    assert verdict.failure is None
    cells = nbformat.read(verdict.saved_to, as_version=4).cells
    outputs = [output for cell in cells[len(code) :] for output in cell.outputs]
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert all(error["ename"] in EXPECTED_ERRORS for error in errors), errors
    assert all(len(error["traceback"]) <= 2 for error in errors if error["ename"] != "NameError"), errors


@pytest.fixture
def other_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project without recordings, in which calls are allowed, and go to its folder of notebooks."""
    (tmp_path / "toolkit.toml").touch()
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    shutil.copy(RECORDING_NOTEBOOK, notebooks)
    monkeypatch.chdir(notebooks)
    for name in list(os.environ):
        if name.startswith("TOOLKIT_"):
            monkeypatch.delenv(name)
    return tmp_path


def run_recording_notebook() -> dict[str, Any]:
    """Run the cells of the notebook about recording in this process, and return the names that they define."""
    names: dict[str, Any] = {}
    try:
        for cell in nbformat.read(RECORDING_NOTEBOOK.name, as_version=4).cells:
            if cell.cell_type == "code":
                exec(cell.source, names)  # noqa: S102 - a notebook of this project
    finally:
        if "service" in names:
            names["service"].close()
    return names


def test_notebook_about_recording(other_project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a recording, the notebook makes one with the practice service; the same cells then replay it offline."""
    recorded = run_recording_notebook()
    file = other_project / "cassettes" / "first-recording.yaml"
    assert file.is_file()
    assert tk.scan(other_project, secrets=recorded["service"].credentials["sandbox-secret"].client_secret) == []
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    content = file.read_bytes()
    replayed = run_recording_notebook()
    assert file.read_bytes() == content
    assert replayed["session"].replays_only
    pd.testing.assert_frame_equal(replayed["accounts"], recorded["accounts"])
    pd.testing.assert_frame_equal(replayed["session"].calls(), recorded["session"].calls())
