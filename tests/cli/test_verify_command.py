"""`toolkit verify`: its output, report and exit status. The runs themselves are tested in tests/verification."""

import io
import json

import pytest
import typer
from notebook_files import write_notebook
from rich.console import Console
from typer.testing import CliRunner

import toolkit.verification
from toolkit.cli import verify
from toolkit.verification import CellPlace, Difference, Failure, Kind, Outcome, Progress, Verdict, VersionChange

CELL = CellPlace(3, "table")
LOOKS = Difference("output 1, text/html", Kind.PRESENTATION, CELL, ("-<b>1</b>", "+<i>1</i>"))
RESULT = Difference("output 1, text/plain", Kind.DATA, CELL, ("-1", "+2"), "It holds a hint.")
CHANGED = (VersionChange("pandas", "3.1.0", "3.2.1"),)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the command on made-up verdicts."""
    app = typer.Typer()
    app.command(epilog=verify.EPILOG)(verify.verify)
    file = tmp_path / "a.ipynb"

    def invoke(*arguments, **verdict):
        given = Verdict(file, **{"outcome": Outcome.SAME, "cells": 4, "seconds": 1.25, **verdict})

        def verify(paths, *, watch, stopping, **options):
            assert paths
            if invoke.is_interrupted:
                stopping()
                raise KeyboardInterrupt
            watch(Progress(file, 1, 4))
            watch(Progress(file, None, 4, given))
            invoke.options = options
            return [given]

        monkeypatch.setattr(toolkit.verification, "verify", verify)
        return CliRunner().invoke(app, [str(tmp_path), *arguments], env={"COLUMNS": "200"})

    invoke.is_interrupted = False
    return invoke


def test_same(run):
    """Without a terminal progress is a line per notebook; the summary has cells, seconds and result."""
    done = run("--jobs", "2", "--timeout", "9", "--update")
    assert done.exit_code == 0
    assert "a.ipynb: same (1.2 s)" in done.output
    assert [line.split()[1:] for line in done.output.splitlines() if line.endswith("same  ") or "1.2  " in line] == [
        ["4", "1.2", "same"]
    ]
    assert run.options == {"update": True, "jobs": 2, "timeout": 9.0}


def test_same_with_other_versions(run):
    """Other library versions are mentioned even if the outputs are the same."""
    done = run(versions=CHANGED)
    assert done.exit_code == 0
    assert "same (Made with pandas 3.1.0, here 3.2.1)" in done.output


def test_difference(run):
    """A difference shows cell, output, kind, lines and hint, and gives exit status 1."""
    done = run(outcome=Outcome.DIFFERS, differences=(RESULT, LOOKS), versions=CHANGED)
    assert done.exit_code == 1
    for words in ("Cell 3 (table): output 1, text/plain [data]", "  -1", "  +2", "It holds a hint."):
        assert words in done.output
    for words in ("differs at 2 places", "--update", "Made with pandas 3.1.0, here 3.2.1."):
        assert words in done.output


def test_difference_in_presentation(run):
    """A difference in presentation only is named as such, together with the library versions."""
    done = run(outcome=Outcome.DIFFERS, differences=(LOOKS,), versions=CHANGED)
    assert done.exit_code == 1
    assert "It differs in presentation only; made with pandas 3.1.0, here 3.2.1." in done.output
    assert "differs in presentation only" in done.output.splitlines()[-3]


def test_failure(run):
    """A failure shows the cell, the error and what to do, and gives exit status 2."""
    done = run(outcome=Outcome.FAILED, failure=Failure("KeyError: 'a'", "Look at it.", CELL))
    assert done.exit_code == 2
    assert "Cell 3 (table): KeyError: 'a'\nLook at it." in done.output


def test_unstable(run):
    """A refused update says that two runs give different outputs."""
    done = run(outcome=Outcome.UNSTABLE, differences=(RESULT,))
    assert done.exit_code == 1
    assert "Two runs give different outputs" in done.output


def test_update(run):
    """The lines of an update are left for git to show."""
    done = run(outcome=Outcome.UPDATED, differences=(RESULT,))
    assert done.exit_code == 0
    assert "updated at 1 place" in done.output
    assert "-1" not in [line.strip() for line in done.output.splitlines()]


def test_outputs_are_escaped(run):
    """Control characters and markup in outputs are shown as text or removed, and long outputs are shortened."""
    lines = ("-\x1b[2J[bold]x[/]", "+\u202ey", "+" + "z" * 500, *["+line"] * 40)
    done = run(outcome=Outcome.DIFFERS, differences=(Difference("output 1", Kind.DATA, CELL, lines),) * 25)
    assert "-[2J[bold]x[/]" in done.output
    assert "\x1b" not in done.output
    assert "\u202e" not in done.output
    assert "13 more lines" in done.output
    assert "and 5 more; --json" in done.output
    assert "z" * 200 not in done.output


@pytest.mark.parametrize("to", ["file", "-"])
def test_json_report(run, tmp_path, to):
    """The JSON report has everything, in a file or alone on standard output."""
    file = tmp_path / "verdicts.json"
    done = run("--json", to if to == "-" else str(file), outcome=Outcome.DIFFERS, differences=(RESULT,))
    told = json.loads(done.stdout if to == "-" else file.read_text())
    assert told[0]["outcome"] == "differs"
    assert told[0]["differences"][0]["cell"] == {"number": 3, "first_line": "table"}
    assert told[0]["differences"][0]["diff"] == ["-1", "+2"]
    assert (told[0]["is_good"], told[0]["in_presentation_only"]) == (False, False)


def test_wrong_paths(run, tmp_path, monkeypatch):
    """A folder without notebooks, or a report that cannot be written, is a two-line error with exit status 2."""
    true_verify = toolkit.verification.verify
    done = run("--json", str(tmp_path / "none" / "x.json"))
    assert done.exit_code == 2
    assert "There is no folder for" in done.stderr
    app = typer.Typer()
    app.command()(verify.verify)
    monkeypatch.setattr(toolkit.verification, "verify", true_verify)
    done = CliRunner().invoke(app, [str(tmp_path)])
    assert (done.exit_code, done.stderr.count("\n")) == (2, 2)
    assert "There are no notebooks in" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize("seconds", ["inf", "nan", "0"])
def test_wrong_timeout(tmp_path, seconds):
    """Infinity, NaN and zero are refused with exit status 2 and without a traceback."""
    file = write_notebook(tmp_path / "a.ipynb", "1")
    app = typer.Typer()
    app.command()(verify.verify)
    done = CliRunner().invoke(app, [str(file), "--timeout", seconds], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert "timeout" in done.stderr
    assert isinstance(done.exception, SystemExit)


def test_interrupt(run):
    """An interrupt prints one line on standard error and gives the exit status of an interrupt."""
    run.is_interrupted = True
    done = run()
    assert done.exit_code == 130
    assert done.stderr.splitlines()[0] == "Stopping the kernels."
    assert "Stopping" not in done.stdout


def test_verify_help(run):
    """The help says that the code runs and what the exit status means."""
    words = " ".join(run("--help").output.split())
    assert "is not a sandbox" in words
    assert "runs the code of the notebooks" in words
    assert "Exit status" in words


def test_progress_bar(tmp_path):
    """At a terminal a bar moves with the cells and disappears at the end."""
    console = Console(force_terminal=True, width=100, record=True, file=io.StringIO())
    with verify._progress_display(console) as watch:
        watch(Progress(tmp_path / "a.ipynb", 1, 4))
        watch(Progress(tmp_path / "a.ipynb", None, 4, Verdict(tmp_path, Outcome.SAME)))
    assert "a.ipynb" in console.export_text()


def test_editor_metadata(run):
    """An editor's metadata does not count, and is shown only between two runs of ours."""
    kept = Difference("metadata/language_info/version", Kind.EDITOR, diff=('-"3.11.7"',))
    done = run(differences=(kept,))
    assert done.exit_code == 0
    assert "same, with an editor's metadata" in done.output
    assert "--update removes it" in done.output
    done = run(outcome=Outcome.DIFFERS, differences=(kept, RESULT))
    assert done.exit_code == 1
    assert "differs at 1 place" in done.output
    assert "language_info" not in done.output
    done = run(outcome=Outcome.UNSTABLE, differences=(kept,))
    assert "Metadata/language_info/version" in done.output
