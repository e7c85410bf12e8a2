"""Verification in pipelines: notebooks as executed, an editor's metadata, a table that differs."""

import json

import pytest
from notebook_files import write_notebook

from toolkit.core.errors import ConfigurationError
from toolkit.verification import Kind, Outcome, verify

TABLE = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [0.5, 3.0]})"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a notebook that is the same and one that fails, both with what editors add."""
    folder = tmp_path_factory.mktemp("project")
    write_notebook(folder / "table.ipynb", TABLE, "print('x')")
    assert [verdict.outcome for verdict in verify([folder], update=True)] == [Outcome.UPDATED]
    write_notebook(folder / "fails.ipynb", "1 + 1", "raise KeyError('oops')", "3")
    return folder


def as_saved_by_jupyterlab(path):
    """Add to a notebook what JupyterLab adds; return its bytes before."""
    before = path.read_bytes()
    content = json.loads(before)
    content["metadata"]["language_info"] |= {"version": "3.9.1", "file_extension": ".py", "pygments_lexer": "ipython3"}
    content["metadata"]["kernelspec"] |= {"display_name": "Python (mine)", "name": "mine"}
    content["cells"][0]["metadata"]["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return before


def test_notebooks_as_executed(folder, tmp_path):
    """What is saved is what an update would store; a notebook that fails is saved as far as it ran."""
    path = folder / "table.ipynb"
    stored = as_saved_by_jupyterlab(path)
    edited = path.read_bytes()
    failed, same = verify([folder], save_to=tmp_path / "out")
    assert (failed.outcome, same.outcome) == (Outcome.FAILED, Outcome.SAME)
    assert {difference.kind for difference in same.differences} == {Kind.EDITOR}
    assert same.saved_to.read_bytes() == stored
    assert path.read_bytes() == edited
    cells = json.loads(failed.saved_to.read_bytes())["cells"]
    assert cells[0]["outputs"][0]["data"] == {"text/plain": ["2"]}
    assert [output["ename"] for output in cells[1]["outputs"]] == ["KeyError"]
    assert cells[2]["outputs"] == []
    (verdict,) = verify([path], strict=True)
    assert verdict.outcome is Outcome.DIFFERS
    assert {difference.kind for difference in verdict.differences} == {Kind.METADATA}
    assert all("Other programs" in difference.hint for difference in verdict.differences)
    path.write_bytes(stored)


def test_table_that_differs(folder, tmp_path):
    """A table that differs is one difference, and the saved notebook has the new one."""
    path = tmp_path / "table.ipynb"
    path.write_bytes((folder / "table.ipynb").read_bytes().replace(b"0.5", b"0.7"))
    content = json.loads(path.read_bytes())
    content["cells"][0]["source"] = TABLE
    path.write_text(json.dumps(content))
    (verdict,) = verify([path], save_to=tmp_path / "out")
    shown = [difference for difference in verdict.differences if difference.kind is Kind.DATA]
    assert [difference.place for difference in shown] == ["output 1, text/plain and text/html"]
    assert "-0  1  0.7" in shown[0].diff
    assert b"0.7" not in verdict.saved_to.read_bytes()


def test_no_notebook_is_replaced_by_saving(folder):
    """A folder whose files are the notebooks themselves is refused before anything runs."""
    with pytest.raises(ConfigurationError, match="would replace"):
        verify([folder], save_to=folder)
