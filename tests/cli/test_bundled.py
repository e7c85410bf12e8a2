"""What comes with the toolkit, and a project of one's own made from it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import toolkit as tk
from toolkit.cli.bundled import CASSETTES, NOTEBOOKS, copy_to, shipped
from toolkit.cli.main import tour
from toolkit.scrubbing.findings import scan

LINK = re.compile(r"\]\(([^)#:]+)\)")


def test_shipped_files_hold_no_secret() -> None:
    """Neither cassettes nor notebooks hold anything that looks like a credential."""
    for kind, names in (("notebooks", NOTEBOOKS), ("cassettes", CASSETTES)):
        assert scan([shipped(kind) / name for name in names]) == []


def test_the_notebook_that_opens_first_is_there() -> None:
    """The one that `toolkit lab` opens."""
    assert tour.NOTEBOOK in NOTEBOOKS


def test_every_cassette_that_a_notebook_replays_is_shipped() -> None:
    """And no notebook is forgotten: those of the folder are those of the list, but for what a reader added."""
    sources = "".join(
        "".join(cell["source"])
        for name in NOTEBOOKS
        if name.endswith(".ipynb")
        for cell in json.loads((shipped("notebooks") / name).read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == "code"
    )
    assert [name for name in CASSETTES if f'"{Path(name).stem}"' not in sources] == []
    assert {one.name for one in shipped("notebooks").glob("0*.ipynb")} <= set(NOTEBOOKS)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebooks of a copy, in which somebody works."""
    notebooks = copy_to(tmp_path / "mine")
    monkeypatch.chdir(notebooks)
    return notebooks


def test_a_copy_is_a_project_of_its_own(mine: Path) -> None:
    """Its notebooks find its cassettes, from the folder in which their kernels run."""
    session = tk.Session(cassette=tour.CASSETTE)
    assert session.cassette is not None
    assert session.cassette.path == mine.parent / "cassettes" / f"{tour.CASSETTE}.yaml"


def test_links_of_a_copy_lead_somewhere(mine: Path) -> None:
    """Those of the notebooks, and of the README that they link to."""
    texts = [
        (path, "".join("".join(c["source"]) for c in json.loads(path.read_text("utf-8"))["cells"]))
        for path in mine.glob("*.ipynb")
    ]
    readme = mine.parent / "README.md"
    links = [
        (path, link) for path, text in [*texts, (readme, readme.read_text("utf-8"))] for link in LINK.findall(text)
    ]
    assert len(links) > 20
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []


def test_what_was_changed_in_a_copy_stays(mine: Path) -> None:
    """Copying again brings back what is missing, and nothing else."""
    (mine / tour.NOTEBOOK).write_text("changed", encoding="utf-8")
    (mine / NOTEBOOKS[1]).unlink()
    copy_to(mine.parent)
    assert (mine / tour.NOTEBOOK).read_text(encoding="utf-8") == "changed"
    assert (mine / NOTEBOOKS[1]).is_file()


def test_a_copy_takes_nothing_else_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader recorded beside the shipped cassettes is the reader's."""
    checkout = copy_to(tmp_path / "checkout").parent
    (checkout / "cassettes" / "own.yaml").write_text("version: 1\n", encoding="utf-8")
    (checkout / "toolkit").mkdir()
    monkeypatch.setattr("toolkit.cli.bundled._PACKAGE", checkout / "toolkit")
    copy_to(tmp_path / "copy")
    assert {one.name for one in (tmp_path / "copy" / "cassettes").iterdir()} == set(CASSETTES)


def test_nowhere_to_copy_to(tmp_path: Path) -> None:
    """A file in the way is said in words."""
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(tk.ConfigurationError, match="Cannot copy the notebooks to"):
        copy_to(tmp_path / "taken")


def test_an_installation_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation that lost them says how to get them back."""
    monkeypatch.setattr("toolkit.cli.bundled._PACKAGE", tmp_path / "toolkit")
    with pytest.raises(tk.ConfigurationError, match="shipped cassettes are missing"):
        shipped("cassettes")
