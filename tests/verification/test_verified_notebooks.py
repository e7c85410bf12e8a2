"""Finding and reading notebooks."""

import sys

import pytest
from notebook_files import write_notebook

from toolkit.core.errors import ConfigurationError
from toolkit.verification import verify
from toolkit.verification.notebooks import find_notebooks


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
    for path, words in (("a.py", "is not a notebook"), ("empty", "contains no notebooks"), ("none", "is missing")):
        with pytest.raises(ConfigurationError, match=words):
            find_notebooks([tmp_path / path])


def test_without_nbclient(tmp_path, monkeypatch):
    """An error says what to install, before a notebook runs."""
    monkeypatch.setitem(sys.modules, "nbclient", None)
    with pytest.raises(ConfigurationError, match="nbclient is not installed"):
        verify([write_notebook(tmp_path / "a.ipynb", "1")])
