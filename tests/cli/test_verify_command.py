"""`toolkit verify`: its options and exit status. What it prints is tested in tests/verification."""

import json

import pytest
import typer
from typer.testing import CliRunner

import toolkit.verification
from toolkit.cli import verify
from toolkit.verification import CellPlace, Difference, Failure, Outcome, Verdict

CELL = CellPlace(3, "table")


@pytest.fixture
def app():
    app = typer.Typer()
    app.command()(verify.verify)
    return app


@pytest.fixture
def run(app, tmp_path, monkeypatch):
    """Run the command on made-up verdicts."""
    file = tmp_path / "a.ipynb"

    def invoke(*arguments, **verdict):
        def verify(paths, *, watch, **options):
            watch("a.ipynb: cell 1 of 4")
            invoke.options = options
            return [Verdict(file, **{"outcome": Outcome.SAME, "cells": 4, "seconds": 1.25, **verdict})]

        monkeypatch.setattr(toolkit.verification, "verify", verify)
        return CliRunner().invoke(app, [str(tmp_path), *arguments], env={"COLUMNS": "200"})

    return invoke


@pytest.mark.parametrize(
    ("verdict", "status"),
    [
        ({"outcome": Outcome.SAME}, 0),
        ({"outcome": Outcome.DIFFERS, "differences": (Difference(CELL, ("-1",)),)}, 1),
        ({"outcome": Outcome.UNSTABLE, "differences": (Difference(CELL, ("-1",)),)}, 1),
        ({"outcome": Outcome.FAILED, "failure": Failure("KeyError", "Look at it.", CELL)}, 2),
    ],
)
def test_status(run, verdict, status):
    """The exit status says the worst result, and the report is printed."""
    result = run(**verdict)
    assert result.exit_code == status
    assert f"a.ipynb: {verdict['outcome']}" in result.stdout


def test_options(run):
    """What changed is a commit, or what is not committed."""
    run("--jobs", "2", "--timeout", "9", "--update", "--changed")
    assert run.options == {"update": True, "jobs": 2, "timeout": 9.0, "since": "HEAD", "save_to": None}
    run("--since", "main", "--changed")
    assert run.options["since"] == "main"


@pytest.mark.parametrize("is_saved", [True, False])
def test_json_report(run, tmp_path, is_saved):
    """The JSON report stands in a file, or alone on standard output; the help names its keys."""
    file = tmp_path / "verdicts.json"
    result = run(*(("--save-json", str(file)) if is_saved else ("--json",)))
    (report,) = json.loads(file.read_text() if is_saved else result.stdout)
    assert [key for key in report if f"`{key}`" not in verify.verify.__doc__] == []


def test_github_format(run):
    """The format of annotations; only one format at a time."""
    assert run("--format", "github").stdout.startswith("::stop-commands::")
    assert run("--format", "gitlab").exit_code == 2


def test_wrong_arguments(app, run, tmp_path, monkeypatch):
    """What is wrong is a two-line error with exit status 2."""
    true_verify = toolkit.verification.verify
    result = run("--save-json", str(tmp_path / "none" / "x.json"))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 2)
    monkeypatch.setattr(toolkit.verification, "verify", true_verify)
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 2)
    assert "contains no notebooks" in result.stderr.replace("\n", " ")
    assert "is not a sandbox" in " ".join(run("--help").output.split())
