"""The bundled files, and a project made from the notebooks."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import toolkit as tk
from toolkit.cli.demo import TOUR_CASSETTE
from toolkit.cli.lab import copy_notebooks
from toolkit.sharing.saved_secrets import scan

ROOT = Path(tk.__file__).parents[1]
RECORDINGS = runpy.run_path(str(ROOT / "cassettes" / "record.py"), run_name="record")["RECORDINGS"]
LINK = re.compile(r"\]\(([^)#:]+)\)")


def text_of(notebook, *kinds):
    """Return the text of the cells of these kinds; by default of all."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if not kinds or cell["cell_type"] in kinds)


def test_bundled_files_belong_together():
    """The script records the cassettes that notebooks replay. They are small, and nothing looks like a credential."""
    cassettes = [path for path in (ROOT / "cassettes").glob("*.yaml") if path.stem in RECORDINGS]
    notebooks = sorted((ROOT / "notebooks").glob("0*.ipynb"))
    code = "".join(text_of(notebook, "code") for notebook in notebooks)
    assert len(cassettes) == len(RECORDINGS)
    assert [path.name for path in cassettes if f'"{path.stem}"' not in code] == []
    assert sum(path.stat().st_size for path in cassettes) < 400_000
    assert scan([*cassettes, *notebooks]) == []


def test_a_copy_is_a_project(tmp_path, monkeypatch):
    """Notebooks of a copy find its cassettes, and links lead to files; a second copy keeps changes."""
    copy = tmp_path / "mine"
    copy_notebooks(copy)
    monkeypatch.chdir(copy / "notebooks")
    assert tk.Session(cassette=TOUR_CASSETTE).cassette.path == copy / "cassettes" / f"{TOUR_CASSETTE}.yaml"
    texts = [(path, text_of(path)) for path in (copy / "notebooks").glob("*.ipynb")]
    texts += [(path, path.read_text("utf-8")) for path in [copy / "README.md", *(copy / "notebooks").rglob("*.md")]]
    links = [(path, link) for path, text in texts for link in LINK.findall(text)]
    assert len(links) > 20
    assert [(path.name, link) for path, link in links if not (path.parent / link).exists()] == []
    first, second, *_ = sorted((copy / "notebooks").glob("0*.ipynb"))
    first.write_text("changed", encoding="utf-8")
    second.unlink()
    copy_notebooks(copy)
    assert (first.read_text(encoding="utf-8"), second.is_file()) == ("changed", True)
