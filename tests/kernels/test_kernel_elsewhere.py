"""papermill runs a notebook from another folder: it finds its project, or says where it looked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from notebook_files import write_notebook

import toolkit as tk

CELL = (
    "import toolkit as tk\n"
    "session = tk.Session(cassette='tour')\n"
    "print(session.settings.project.name, len(session.accounts()))"
)


def test_papermill(tmp_path):
    """The variable or papermill's own option leads to the project; without them, the error says where it looked."""
    elsewhere, project = tmp_path / "elsewhere", tmp_path / "desk"
    elsewhere.mkdir()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = write_notebook(project / "notebooks" / "tour.ipynb", CELL, kernelspec=kernel)
    (project / "toolkit.toml").write_text("")
    with tk.practice() as service:
        credentials, cassette = service.credentials["sandbox-secret"], project / "cassettes" / "tour.yaml"
        tk.Session(credentials=credentials, cassette=cassette, settings=service.settings).accounts()
    own = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLKIT_", "JPY_", "VSCODE_"))}
    own |= {"HOME": str(tmp_path), "PYTHONPATH": str(Path(tk.__file__).parents[1]), "IPYTHONDIR": str(tmp_path / "i")}

    def papermill(*options, **variables):
        """Run papermill elsewhere; return the output of the notebook, or what papermill says of its failure."""
        command = [sys.executable, "-m", "papermill", "--no-progress-bar", str(notebook), "out.ipynb", *options]
        done = subprocess.run(
            command, cwd=elsewhere, env={**own, **variables}, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            return done.stderr
        outputs = json.loads((elsewhere / "out.ipynb").read_text())["cells"][0]["outputs"]
        return "".join("".join(output["text"]) for output in outputs)

    assert papermill(TOOLKIT_PROJECT=str(project)) == "desk 25\n"
    assert papermill("--cwd", str(notebook.parent)) == "desk 25\n"
    said = papermill()
    for text in ("does not exist", str(elsewhere), "TOOLKIT_PROJECT", "papermill --cwd"):
        assert text in said
