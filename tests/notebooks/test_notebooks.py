"""The shipped notebooks: run offline, they give what is stored, to the byte; and run again in any order."""

import asyncio
import os
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest

import toolkit as tk
from toolkit.verification import Outcome, Verdict, verify
from toolkit.verification.kernel_environment import KernelEnvironment
from toolkit.verification.normalize import RunResult
from toolkit.verification.run_notebook import run_notebook

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
# What a reader understands: two lines of ours, or a name that another cell gives.
UNDERSTOOD = {name for name in tk.__all__ if isinstance(getattr(tk, name), type)} | {"NameError"}


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_cells_run_again_in_reverse_order(path: Path, tmp_path: Path) -> None:
    """After all cells, each once more from the last to the first: it runs, or says in two lines why not."""
    content = {**nbformat.read(path, as_version=4)}
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    again = [
        {**cell, "id": f"again-{number}", "metadata": {"tags": ["raises-exception"]}}
        for number, cell in enumerate(code)
    ]
    content["cells"] = [*code, *reversed(again)]
    result = run(content, path.parent, tmp_path)
    errors = [
        output
        for number in range(len(code), 2 * len(code))
        for output in result.cells[number].outputs
        if output["output_type"] == "error"
    ]
    assert all(error["ename"] in UNDERSTOOD for error in errors), errors
    assert all(len(error["traceback"]) <= 2 for error in errors if error["ename"] != "NameError"), errors


def run(content: dict[str, Any], folder: Path, place: Path) -> RunResult:
    """What the cells give, as `toolkit verify` runs them: in replay, with the network shut."""
    (place / "shared").mkdir()
    environment = KernelEnvironment.create(place / "run", place / "shared")
    return asyncio.run(
        run_notebook(content, folder, environment, timeout=60, variables=os.environ, at_cell=lambda _: None)
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_says_what_it_is_for_and_where_to_go_next(path: Path) -> None:
    """It begins with what one learns and that it runs offline, and ends with its neighbours and the README."""
    cells = nbformat.read(path, as_version=4).cells
    assert "You will learn " in cells[0].source
    assert "offline" in cells[0].source or "no network" in cells[0].source
    number = NOTEBOOKS.index(path)
    neighbours = {one.name for one in (*NOTEBOOKS[max(number - 1, 0) : number], *NOTEBOOKS[number + 1 : number + 2])}
    assert neighbours | {"../README.md"} <= set(LINK.findall(cells[-1].source.splitlines()[-1]))
    assert len(cells) <= 17


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_link_leads_to_a_file(path: Path) -> None:
    """What a notebook links to in the checkout is there."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            assert [link for link in LINK.findall(cell.source) if not (path.parent / link).is_file()] == []


def test_every_cassette_is_replayed_by_a_notebook() -> None:
    """No recording is shipped that no notebook uses."""
    sources = "".join(cell.source for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells)
    assert [path.stem for path in (FOLDER.parent / "cassettes").glob("*.yaml") if f'"{path.stem}"' not in sources] == []


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own without recordings, with calls allowed."""
    (tmp_path / "toolkit.toml").touch()
    notebooks = tmp_path / "notebooks"
    notebooks.mkdir()
    shutil.copy(FOLDER / "03-record-your-own.ipynb", notebooks)
    monkeypatch.chdir(notebooks)
    for name in list(os.environ):
        if name.startswith("TOOLKIT_"):
            monkeypatch.delenv(name)
    return tmp_path


def run_here() -> dict[str, Any]:
    """The names that the cells of the notebook about recording leave behind, run in this process."""
    names: dict[str, Any] = {}
    try:
        for cell in nbformat.read("03-record-your-own.ipynb", as_version=4).cells:
            if cell.cell_type == "code":
                exec(cell.source, names)  # noqa: S102 - a notebook of ours
    finally:
        if "service" in names:
            names["service"].close()
    return names


def test_without_a_recording_the_notebook_about_it_makes_one(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Online it records against the practice service; after that the same cells replay the same, offline too."""
    recorded = run_here()
    file = elsewhere / "cassettes" / "first-recording.yaml"
    assert file.is_file()
    assert tk.scan(elsewhere, secrets=recorded["service"].credentials["sandbox-secret"].client_secret) == []
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    before = file.read_bytes()
    replayed = run_here()
    assert file.read_bytes() == before
    assert replayed["session"].replays_only
    pd.testing.assert_frame_equal(replayed["accounts"], recorded["accounts"])
    pd.testing.assert_frame_equal(replayed["session"].calls(), recorded["session"].calls())
