"""The files that come with the package, and a project made from them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import toolkit as tk
from toolkit.cli import bundled
from toolkit.cli.bundled import FILES, bundled_folder, copy_to
from toolkit.sharing.saved_secrets import scan

NOTEBOOKS, CASSETTES = FILES["notebooks"], FILES["cassettes"]
LINK = re.compile(r"\]\(([^)#:]+)\)")


def test_bundled_files_contain_no_secret() -> None:
    """Neither cassettes nor notebooks contain anything that looks like a credential."""
    for kind, names in FILES.items():
        assert scan([bundled_folder(kind) / name for name in names]) == []


def test_every_cassette_of_a_notebook_is_bundled() -> None:
    """Every bundled cassette is replayed by a notebook, and the list has all notebooks of the folder."""
    sources = "".join(
        "".join(cell["source"])
        for name in NOTEBOOKS
        if name.endswith(".ipynb")
        for cell in json.loads((bundled_folder("notebooks") / name).read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    )
    assert [name for name in CASSETTES if f'"{Path(name).stem}"' not in sources] == []
    assert {path.name for path in bundled_folder("notebooks").glob("0*.ipynb")} <= set(NOTEBOOKS)


@pytest.fixture
def copied_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the notebooks, and work in the folder of the copy."""
    notebooks = copy_to(tmp_path / "mine")
    monkeypatch.chdir(notebooks)
    return notebooks


def test_a_copy_is_a_project(copied_notebooks: Path) -> None:
    """Notebooks of a copy find its cassettes from the folder in which their kernels run."""
    session = tk.Session(cassette=bundled.TOUR_CASSETTE)
    assert session.cassette is not None
    assert session.cassette.path == copied_notebooks.parent / "cassettes" / f"{bundled.TOUR_CASSETTE}.yaml"


def test_a_copy_follows_no_link(tmp_path: Path) -> None:
    """A link that dangles where a file would be copied to counts as a file that exists."""
    (tmp_path / "mine").mkdir()
    for name in ("README.md", "toolkit.toml"):
        (tmp_path / "mine" / name).symlink_to(tmp_path / "victim")
    copy_to(tmp_path / "mine")
    assert not (tmp_path / "victim").exists()


def test_links_of_a_copy_lead_somewhere(copied_notebooks: Path) -> None:
    """Links in the notebooks and in the README of a copy lead to files that exist, so the pages are copied too."""
    texts = [
        (path, "".join("".join(c["source"]) for c in json.loads(path.read_text("utf-8"))["cells"]))
        for path in copied_notebooks.glob("*.ipynb")
    ]
    texts += [(path, path.read_text("utf-8")) for path in copied_notebooks.rglob("*.md")]
    readme = copied_notebooks.parent / "README.md"
    links = [
        (path, link) for path, text in [*texts, (readme, readme.read_text("utf-8"))] for link in LINK.findall(text)
    ]
    assert len(links) > 20
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []


def test_copying_again_keeps_changes(copied_notebooks: Path) -> None:
    """Copying again restores missing files and keeps changed ones."""
    (copied_notebooks / bundled.TOUR_NOTEBOOK).write_text("changed", encoding="utf-8")
    (copied_notebooks / NOTEBOOKS[1]).unlink()
    copy_to(copied_notebooks.parent)
    assert (copied_notebooks / bundled.TOUR_NOTEBOOK).read_text(encoding="utf-8") == "changed"
    assert (copied_notebooks / NOTEBOOKS[1]).is_file()


def test_only_bundled_cassettes_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cassettes that a reader recorded beside the bundled ones are not copied."""
    checkout = copy_to(tmp_path / "checkout").parent
    (checkout / "cassettes" / "own.yaml").write_text("version: 1\n", encoding="utf-8")
    (checkout / "toolkit").mkdir()
    monkeypatch.setattr("toolkit.cli.bundled._PACKAGE", checkout / "toolkit")
    copy_to(tmp_path / "copy")
    assert {path.name for path in (tmp_path / "copy" / "cassettes").iterdir()} == set(CASSETTES)


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    """A file in place of the target folder is a ConfigurationError."""
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(tk.ConfigurationError, match="Cannot copy the notebooks to"):
        copy_to(tmp_path / "taken")


def test_missing_files_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without the files says how to restore them."""
    monkeypatch.setattr("toolkit.cli.bundled._PACKAGE", tmp_path / "toolkit")
    with pytest.raises(tk.ConfigurationError, match="bundled cassettes are missing"):
        bundled_folder("cassettes")
