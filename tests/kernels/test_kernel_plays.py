"""Kernels note what their notebooks play, and `toolkit cassettes` tells from that what nothing plays."""

from __future__ import annotations

import json

from notebook_files import write_notebook
from recordings import paths_in
from typer.testing import CliRunner

from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cli.cassettes_command import app


def test_what_no_notebook_plays(tmp_path, interaction, monkeypatch):
    """`check --unplayed` runs the notebooks and finds what none plays; one that fails says nothing about the others."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toolkit.toml").touch()
    cassette = tmp_path / "cassettes" / "a.yaml"
    cassette.parent.mkdir()
    cassette.write_bytes(HEADER + b"".join(encode(interaction(path)) for path in ("/a", "/b", "/c")))
    opening = "import httpx, toolkit as tk\nclient = httpx.Client(transport=tk.Cassette('a', 'none').transport())"
    for name, path in (("one", "/a"), ("two", "/c")):
        call = f"client.get('https://broker.svc.invalid{path}').status_code"
        write_notebook(tmp_path / "notebooks" / f"{name}.ipynb", opening, call)
    result = CliRunner().invoke(app, ["check", "--unplayed", "notebooks", "--json"])
    assert result.exit_code == 1, result.output
    problems = json.loads(result.stdout)
    assert [(problem["kind"], problem["interaction"]) for problem in problems] == [("unplayed", 2)]
    assert CliRunner().invoke(app, ["prune", "a", "--unplayed", "notebooks", "--yes"]).exit_code == 0
    assert paths_in(cassette) == ["a", "c"]
    write_notebook(tmp_path / "notebooks" / "three.ipynb", "1 / 0")
    failed = CliRunner().invoke(app, ["check", "--unplayed", "notebooks"])
    assert failed.exit_code == 2
