"""Finding and reading notebooks, and storing outputs in them."""

import json

import pytest
from notebook_files import odd_notebooks, write_notebook

from toolkit.core.errors import ConfigurationError
from toolkit.verification.notebooks import as_bytes, find_notebooks, read_notebook, with_outputs

STREAM = {"output_type": "stream", "name": "stdout", "text": "ä\nb"}
RESULT = {"output_type": "execute_result", "data": {"text/plain": "3"}, "metadata": {}, "execution_count": None}


def test_notebooks_of_a_folder(tmp_path):
    """Each notebook is found once, sorted; checkpoints, and hidden folders are left out."""
    for name in ("b", "a", ".ipynb_checkpoints/a", ".venv/x", "site-packages/y", "sub/c"):
        write_notebook(tmp_path / f"{name}.ipynb", "1")
    link = tmp_path / "z.ipynb"
    link.symlink_to(tmp_path / "a.ipynb")
    found = find_notebooks([tmp_path, tmp_path / "a.ipynb"])
    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["a.ipynb", "b.ipynb", "sub/c.ipynb"]


def test_no_notebooks(tmp_path):
    """What is no notebook is named."""
    (tmp_path / "a.py").touch()
    (tmp_path / "empty").mkdir()
    for path, words in (("a.py", "is not a notebook"), ("empty", "has no notebooks"), ("none", "is missing")):
        with pytest.raises(ConfigurationError, match=words):
            find_notebooks([tmp_path / path])


@pytest.mark.parametrize(
    ("name", "text"), [*odd_notebooks().items(), ("torn", '{"cells": ['), ("old", '{"nbformat": 3}')]
)
def test_odd_files(tmp_path, name, text):
    """A file that is not a notebook of format 4 is an error of two sentences."""
    file = tmp_path / f"{name}.ipynb"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=f"{name}.ipynb is not a notebook of format 4") as caught:
        read_notebook(file)
    assert "\n" not in caught.value.what


def test_what_is_stored(tmp_path):
    """Outputs come from the run, counts are numbers in order, and what editors add is not stored; tags stay."""
    file = write_notebook(
        tmp_path / "a.ipynb", ("1 / 0", "skip-execution"), "# Words", "", "2", "3", mine=1, widgets={}
    )
    content = json.loads(file.read_text())
    skipped = {"outputs": [{**STREAM, "text": "<x at 0x7fa40bb8fc90>"}], "execution_count": 7}
    content["cells"][0] |= skipped
    content["cells"][3]["metadata"] = {"execution": {}, "trusted": True, "tags": ["x"]}
    file.write_text(json.dumps(content))
    stored = read_notebook(file)
    new = with_outputs(stored, [[], [], [], [STREAM], [RESULT]])
    first, _, empty, second, third = new["cells"]
    assert {name: first[name] for name in skipped} == skipped
    assert [cell["execution_count"] for cell in (empty, second, third)] == [None, 1, 2]
    assert third["outputs"][0]["execution_count"] == 2
    assert second["metadata"] == {"tags": ["x"]}
    assert {name: new["metadata"].get(name) for name in ("mine", "widgets")} == {"mine": 1, "widgets": None}
    assert new["metadata"]["language_info"] == {"name": "python"}
    file.write_bytes(as_bytes(new))
    assert as_bytes(read_notebook(file)) == file.read_bytes()
