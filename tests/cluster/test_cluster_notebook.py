"""The cluster cell of the notebook about many calls: it runs with a network and Dask, and is skipped otherwise."""

import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import toolkit as tk

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "07-many-calls.ipynb"


def cluster_cell(notebook):
    """Return the cell that lends a session."""
    (cell,) = (cell for cell in notebook.cells if cell.cell_type == "code" and "tk.lend" in cell.source)
    return cell


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a project with the notebook and its recording, in which calls are allowed."""
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    (tmp_path / "toolkit.toml").touch()
    for file in (NOTEBOOK, ROOT / "cassettes" / "many-calls.yaml"):
        (tmp_path / file.parent.name).mkdir()
        shutil.copy(file, tmp_path / file.parent.name)
    return tmp_path


def test_a_reader_with_dask_sees_the_cluster_at_work(project):
    """In a kernel with a network, two workers find as many positions as the recorded sweep, with one token request."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=180, resources={"metadata": {"path": str(project / "notebooks")}})
    client.execute()
    assert [output.get("text") for output in cluster_cell(notebook).outputs] == ["152 positions, 1 token request\n"]


@pytest.mark.parametrize("missing", ["network", "dask"])
def test_other_readers_see_what_is_stored(missing, monkeypatch, capsys):
    """Without a network, and with one but without Dask, the cell prints what the stored notebook shows."""
    cell = cluster_cell(nbformat.read(NOTEBOOK, as_version=4))
    if missing == "network":
        monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    else:
        monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
        monkeypatch.setitem(sys.modules, "dask.distributed", None)
    names = {"tk": tk}
    exec(cell.source, names)  # noqa: S102 - a notebook of this project
    names["service"].close()
    assert capsys.readouterr().out == cell.outputs[0].text
