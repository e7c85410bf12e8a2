"""`toolkit verify`: its output, report and exit status. The runs themselves are tested in tests/verification."""

import json
from pathlib import Path

import pytest
import typer
from notebook_files import write_notebook
from typer.testing import CliRunner

import toolkit.verification.changes
from toolkit.cli import verify
from toolkit.verification import (
    CellPlace,
    Difference,
    Failure,
    Kind,
    Outcome,
    Progress,
    Verdict,
    VersionChange,
    verifier,
)

CELL = CellPlace(3, "table")
RESULT = Difference("output 1, text/plain", Kind.DATA, CELL, ("-1", "+2"), "It holds a hint.")
CHANGED = (VersionChange("pandas", "3.1.0", "3.2.1"),)


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(verify.verify)
    return app


@pytest.fixture
def run(app, tmp_path, monkeypatch):
    """Run the command on a made-up verdict, or on an exception."""
    file = tmp_path / "a.ipynb"

    def invoke(*arguments, error=None, **verdict):
        outcome = Verdict(file, **{"outcome": Outcome.SAME, "cells": 4, "seconds": 1.25, **verdict})

        def verify(paths, *, watch, stopping, **options):
            invoke.paths, invoke.options = paths, options
            if error is not None:
                stopping()
                raise error
            watch(Progress(file, 1, 4))
            watch(Progress(file, None, 4, outcome))
            return [outcome]

        monkeypatch.setattr(verifier, "verify", verify)
        return CliRunner().invoke(app, [str(tmp_path), *arguments], env={"COLUMNS": "200"})

    return invoke


def test_same(run):
    """A line for each notebook tells the progress; the summary has cells, seconds and result."""
    result = run("--jobs", "2", "--timeout", "9", "--update", versions=CHANGED)
    assert result.exit_code == 0
    assert "a.ipynb: same (1.2 s)" in result.output
    assert "same (made with pandas 3.1.0, here 3.2.1)" in result.output
    assert run.options == {"update": True, "jobs": 2, "timeout": 9.0, "strict": False, "save_to": None}


def test_difference(run):
    """A difference shows cell, output, kind, lines and hint, and gives exit status 1; text from outside is harmless."""
    foreign = Difference("output 1", Kind.DATA, CELL, ("-\x1b[2J[bold]x[/]", "+\u202ey", "+" + "z" * 500))
    result = run(outcome=Outcome.DIFFERS, differences=(RESULT, foreign), versions=CHANGED)
    assert result.exit_code == 1
    for words in ("cell 3 (table): output 1, text/plain [data]", "  -1", "  +2", "It holds a hint.", "-[2J[bold]x[/]"):
        assert words in result.output
    for words in ("differs at 2 places", "toolkit verify --update", "made with pandas 3.1.0, here 3.2.1"):
        assert words in result.output
    for words in ("\x1b", "\u202e", "z" * 200):
        assert words not in result.output


def test_failure(run):
    """A failure shows the cell, the error and what to do, and gives exit status 2."""
    result = run(outcome=Outcome.FAILED, failure=Failure("KeyError: 'a'", "Look at it.", CELL))
    assert result.exit_code == 2
    assert "cell 3 (table): KeyError: 'a'\nLook at it." in result.output


@pytest.mark.parametrize("is_saved", [True, False])
def test_json_report(run, tmp_path, is_saved):
    """The JSON report has everything, in a file or alone on standard output."""
    file = tmp_path / "verdicts.json"
    options = ("--save-json", str(file)) if is_saved else ("--json",)
    result = run(*options, outcome=Outcome.DIFFERS, differences=(RESULT,))
    [report] = json.loads(file.read_text() if is_saved else result.stdout)
    assert [key for key in report if f"`{key}`" not in verify.verify.__doc__] == []
    assert (report["outcome"], report["is_good"]) == ("differs", False)
    assert report["differences"][0]["cell"] == {"number": 3, "first_line": "table"}
    assert report["differences"][0]["diff"] == ["-1", "+2"]


def test_wrong_paths(run, app, tmp_path, monkeypatch):
    """A folder without notebooks, or a report that cannot be written, is a two-line error with exit status 2."""
    (tmp_path / "link.json").symlink_to(tmp_path / "victim")
    for file, words in (("none/x.json", "No such file"), ("link.json", "it is a link, which is not followed")):
        result = run("--save-json", str(tmp_path / file))
        assert (result.exit_code, result.stderr.count("\n")) == (2, 2)
        assert words in result.stderr
    assert not (tmp_path / "victim").exists()
    monkeypatch.undo()
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 2)
    assert "has no notebooks in it" in result.stderr
    assert CliRunner().invoke(app, [str(tmp_path), "--timeout", "inf"]).exit_code == 2


def test_interrupt(run):
    """An interrupt prints one line on standard error and gives the exit status of an interrupt."""
    result = run(error=KeyboardInterrupt())
    assert result.exit_code == 130
    assert "Stopping the kernels." in result.stderr
    assert result.stdout == ""


def test_github_format(run, tmp_path, monkeypatch):
    """Annotations stand at the lines of cells, or at the first line; nothing else is printed for the runner."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    write_notebook(tmp_path / "a.ipynb", "1", "2", "table")
    foreign = Difference("output 1, stdout", Kind.DATA, CELL, ("\n::error::foreign",))
    result = run("--format", "github", outcome=Outcome.DIFFERS, differences=(foreign,))
    assert result.exit_code == 1
    [line] = result.output.splitlines()
    assert line.startswith("::error file=a.ipynb,line=1,title=a.ipynb%2C cell 3 (table)%3A differs::output 1")
    assert run("--format", "github").output == ""
    (tmp_path / "a.ipynb").write_text("no notebook")
    failure = Failure("Line 1 is not JSON.", "Restore it.")
    [line] = run("--format", "github", outcome=Outcome.FAILED, failure=failure).output.splitlines()
    assert "line=1,title=a.ipynb%3A failed::Line 1 is not JSON.%0ARestore it." in line
    assert run("--format", "gitlab").exit_code == 2


def test_changed_notebooks_only(run, tmp_path, monkeypatch):
    """Only what changed runs; if nothing did, that is a success with an empty report."""
    paths = [write_notebook(tmp_path / f"{name}.ipynb", "1") for name in "abc"]

    def choose(notebooks, since):
        assert notebooks == paths
        return paths[1:] if since == "main" else []

    monkeypatch.setattr(toolkit.verification.changes, "changed_notebooks", choose)
    result = run("--since", "main", "--save-notebooks", "out")
    assert "2 of 3 notebooks changed since main." in result.stderr
    assert (run.paths, run.options["save_to"]) == (paths[1:], Path("out"))
    result = run("--changed", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, [])
