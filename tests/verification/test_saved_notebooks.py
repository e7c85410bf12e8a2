"""Where notebooks are saved as executed, and what is never replaced."""

import os

import pytest
from notebook_files import write_notebook

from toolkit.core.errors import ConfigurationError
from toolkit.verification.notebook_files import find_notebooks
from toolkit.verification.saving import save_notebook, saved_paths


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_paths_in_the_folder(folder):
    """Notebooks keep their paths: from here if all lie below, else from what they have in common."""
    a, b = write_notebook(folder / "x" / "a.ipynb", "1"), write_notebook(folder / "y" / "z" / "a.ipynb", "1")
    out = folder / "out"
    assert list(saved_paths([a, b.relative_to(folder)], out).values()) == [out / "x" / "a.ipynb", out / "y/z/a.ipynb"]
    os.chdir(folder / "x")
    assert list(saved_paths([a], out).values()) == [out / "a.ipynb"]
    assert list(saved_paths([a, b], out).values()) == [out / "x" / "a.ipynb", out / "y/z/a.ipynb"]


@pytest.mark.parametrize("name", [".", "link", "../{}"])
def test_no_notebook_is_replaced(folder, name):
    """A folder where a notebook of the run would be replaced is refused, through links too."""
    path = write_notebook(folder / "a.ipynb", "1")
    (folder / "link").symlink_to(folder)
    with pytest.raises(ConfigurationError, match="would replace the notebook"):
        saved_paths([path], folder / name.format(folder.name))


def test_folder_that_cannot_be_written(folder, monkeypatch):
    """A file in place of the folder, and a folder of others, are refused before anything runs."""
    path = write_notebook(folder / "a.ipynb", "1")
    with pytest.raises(ConfigurationError, match="cannot be written") as caught:
        saved_paths([path], path / "out")
    assert caught.value.about == "save_to"
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigurationError, match="Permission denied"):
        saved_paths([path], folder / "out")


def test_save_notebook(folder):
    """Folders are made, an earlier file is replaced, and an error names the file."""
    target = folder / "out" / "x" / "a.ipynb"
    save_notebook(target, b"1")
    save_notebook(target, b"2")
    assert target.read_bytes() == b"2"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        save_notebook(target / "b.ipynb", b"3")


def test_saved_notebooks_are_not_found(folder):
    """The saved notebooks of an earlier run are not verified, unless they are named."""
    path, saved = write_notebook(folder / "a.ipynb", "1"), write_notebook(folder / "out" / "a.ipynb", "1")
    assert find_notebooks([folder], without=folder / "out") == [path]
    assert find_notebooks([saved], without=folder / "out") == [saved]
    assert find_notebooks([folder], without=folder) == [path, saved]
