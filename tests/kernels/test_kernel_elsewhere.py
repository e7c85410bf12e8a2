"""papermill runs a notebook from another folder: it finds its project, or says where it looked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_files import write_notebook

import toolkit as tk

CELL = (
    "import toolkit as tk\n"
    "session = tk.Session(cassette='tour')\n"
    "print(session.settings.project.name, len(session.accounts()))"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a folder with a project, a notebook of it, and a folder elsewhere."""
    place = tmp_path_factory.mktemp("place")
    project = place / "desk"
    (project / "notebooks").mkdir(parents=True)
    (place / "elsewhere").mkdir()
    (project / "toolkit.toml").write_text("")
    with tk.practice() as service:
        cassette = project / "cassettes" / "tour.yaml"
        tk.Session(
            credentials=service.credentials["sandbox-secret"], cassette=cassette, settings=service.settings
        ).accounts()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    write_notebook(project / "notebooks" / "tour.ipynb", CELL, kernelspec=kernel)
    return place


def papermill(place, *options, **variables):
    """Run papermill elsewhere; return the output of the notebook, or what papermill says of its failure."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLKIT_", "JPY_", "VSCODE_"))}
    own |= {"HOME": str(place), "PYTHONPATH": str(Path(tk.__file__).parents[1]), "IPYTHONDIR": str(place / ".ipython")}
    elsewhere = place / "elsewhere"
    notebook = str(place / "desk" / "notebooks" / "tour.ipynb")
    done = subprocess.run(
        [sys.executable, "-m", "papermill", "--no-progress-bar", notebook, "out.ipynb", *options],
        cwd=elsewhere,
        env={**own, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        return done.stderr
    outputs = json.loads((elsewhere / "out.ipynb").read_text())["cells"][0]["outputs"]
    return "".join("".join(output["text"]) for output in outputs)


def test_papermill(place):
    """The variable or papermill's own option leads to the project."""
    assert papermill(place, TOOLKIT_PROJECT=str(place / "desk")) == "desk 25\n"
    assert papermill(place, "--cwd", str(place / "desk" / "notebooks")) == "desk 25\n"


def test_papermill_without_a_hint(place):
    """papermill does not tell the kernel where the notebook lies: the error says where it looked and what to do."""
    said = papermill(place)
    for text in ("does not exist", str(place / "elsewhere"), "TOOLKIT_PROJECT", "papermill --cwd"):
        assert text in said
