"""`toolkit verify`: its output, report and exit status. The runs themselves are tested in tests/verification."""

import io
import json
from pathlib import Path

import pytest
import typer
from notebook_files import write_notebook
from rich.console import Console
from typer.testing import CliRunner

import toolkit.verification
import toolkit.verification.changes
from toolkit.cli import verify
from toolkit.verification import CellPlace, Difference, Failure, Kind, Outcome, Progress, Verdict, VersionChange

CELL = CellPlace(3, "table")
LOOKS = Difference("output 1, text/html", Kind.DATA, CELL, ("-<b>1</b>", "+<i>1</i>"))
RESULT = Difference("output 1, text/plain", Kind.DATA, CELL, ("-1", "+2"), "It holds a hint.")
CHANGED = (VersionChange("pandas", "3.1.0", "3.2.1"),)


@pytest.fixture
def app():
    app = typer.Typer()
    app.command(epilog=verify.EPILOG)(verify.verify)
    return app


@pytest.fixture
def run(app, tmp_path, monkeypatch):
    """Run the command on made-up verdicts."""
    file = tmp_path / "a.ipynb"

    def invoke(*arguments, **verdict):
        outcome = Verdict(file, **{"outcome": Outcome.SAME, "cells": 4, "seconds": 1.25, **verdict})

        def verify(paths, *, watch, stopping, **options):
            invoke.paths = paths
            if invoke.is_interrupted:
                stopping()
                raise KeyboardInterrupt
            watch(Progress(file, 1, 4))
            watch(Progress(file, None, 4, outcome))
            invoke.options = options
            return [outcome]

        monkeypatch.setattr(toolkit.verification, "verify", verify)
        return CliRunner().invoke(app, [str(tmp_path), *arguments], env={"COLUMNS": "200"})

    invoke.is_interrupted = False
    return invoke


def test_same(run):
    """Without a terminal progress is a line per notebook; the summary has cells, seconds and result."""
    result = run("--jobs", "2", "--timeout", "9", "--update")
    assert result.exit_code == 0
    assert "a.ipynb: same (1.2 s)" in result.output
    assert [line.split()[1:] for line in result.output.splitlines() if line.endswith("same  ") or "1.2  " in line] == [
        ["4", "1.2", "same"]
    ]
    assert run.options == {"update": True, "jobs": 2, "timeout": 9.0, "strict": False, "save_to": None}


def test_same_with_other_versions(run):
    """Other library versions are mentioned even if the outputs are the same."""
    result = run(versions=CHANGED)
    assert result.exit_code == 0
    assert "same (Made with pandas 3.1.0, here 3.2.1)" in result.output


def test_difference(run):
    """A difference shows cell, output, kind, lines and hint, and gives exit status 1."""
    result = run(outcome=Outcome.DIFFERS, differences=(RESULT, LOOKS), versions=CHANGED)
    assert result.exit_code == 1
    for words in ("Cell 3 (table): output 1, text/plain [data]", "  -1", "  +2", "It holds a hint."):
        assert words in result.output
    for words in ("differs at 2 places", "--update", "Made with pandas 3.1.0, here 3.2.1."):
        assert words in result.output


def test_failure(run):
    """A failure shows the cell, the error and what to do, and gives exit status 2."""
    result = run(outcome=Outcome.FAILED, failure=Failure("KeyError: 'a'", "Look at it.", CELL))
    assert result.exit_code == 2
    assert "Cell 3 (table): KeyError: 'a'\nLook at it." in result.output


def test_update(run):
    """The lines of an update are left for git to show."""
    result = run(outcome=Outcome.UPDATED, differences=(RESULT,))
    assert result.exit_code == 0
    assert "updated at 1 place" in result.output
    assert "-1" not in [line.strip() for line in result.output.splitlines()]


def test_outputs_are_escaped(run):
    """Control characters and markup in outputs are shown as text or removed, and long outputs are shortened."""
    lines = ("-\x1b[2J[bold]x[/]", "+\u202ey", "+" + "z" * 500, *["+line"] * 40)
    result = run(outcome=Outcome.DIFFERS, differences=(Difference("output 1", Kind.DATA, CELL, lines),) * 25)
    assert "-[2J[bold]x[/]" in result.output
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert "13 more lines" in result.output
    assert "and 5 more; --json" in result.output
    assert "z" * 200 not in result.output


@pytest.mark.parametrize("is_saved", [True, False])
def test_json_report(run, tmp_path, is_saved):
    """The JSON report has everything, in a file or alone on standard output."""
    file = tmp_path / "verdicts.json"
    options = ("--save-json", str(file)) if is_saved else ("--json",)
    result = run(*options, outcome=Outcome.DIFFERS, differences=(RESULT,))
    report = json.loads(file.read_text() if is_saved else result.stdout)
    assert [key for key in report[0] if f"`{key}`" not in verify.verify.__doc__] == []
    assert report[0]["outcome"] == "differs"
    assert report[0]["differences"][0]["cell"] == {"number": 3, "first_line": "table"}
    assert report[0]["differences"][0]["diff"] == ["-1", "+2"]
    assert report[0]["is_good"] is False


def test_wrong_paths(run, app, tmp_path, monkeypatch):
    """A folder without notebooks, or a report that cannot be written, is a two-line error with exit status 2."""
    true_verify = toolkit.verification.verify
    result = run("--save-json", str(tmp_path / "none" / "x.json"))
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
    (tmp_path / "link.json").symlink_to(tmp_path / "victim")
    result = run("--save-json", str(tmp_path / "link.json"))
    assert (result.exit_code, (tmp_path / "victim").exists()) == (2, False)
    assert "link.json: it is a link, which is not followed" in " ".join(result.stderr.split())
    monkeypatch.setattr(toolkit.verification, "verify", true_verify)
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 2)
    assert "has no notebooks in it" in result.stderr.replace("\n", " ")


@pytest.mark.parametrize("seconds", ["inf", "nan", "0"])
def test_wrong_timeout(app, tmp_path, seconds):
    """Infinity, NaN and zero are refused with exit status 2 and without a traceback."""
    file = write_notebook(tmp_path / "a.ipynb", "1")
    result = CliRunner().invoke(app, [str(file), "--timeout", seconds], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert "timeout" in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_interrupt(run):
    """An interrupt prints one line on standard error and gives the exit status of an interrupt."""
    run.is_interrupted = True
    result = run()
    assert result.exit_code == 130
    assert result.stderr.splitlines()[0] == "Stopping the kernels."
    assert "Stopping" not in result.stdout


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
    by_editor = Difference("metadata/language_info/version", Kind.EDITOR, diff=('-"3.11.7"',))
    result = run(differences=(by_editor,))
    assert result.exit_code == 0
    assert "same, as another program saved it" in result.output
    assert "What other programs save in their own way does not count." in result.output
    result = run(outcome=Outcome.DIFFERS, differences=(by_editor, RESULT))
    assert result.exit_code == 1
    assert "differs at 1 place" in result.output
    assert "language_info" not in result.output
    result = run(outcome=Outcome.UNSTABLE, differences=(by_editor,))
    assert result.exit_code == 1
    assert "Two runs give different outputs" in result.output
    assert "Metadata/language_info/version" in result.output


def test_github_format(run, tmp_path, monkeypatch):
    """Annotations stand behind the text, which the runner does not search for commands."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    write_notebook(tmp_path / "a.ipynb", "1", "2", "table")
    foreign = Difference("output 1, stdout", Kind.DATA, CELL, (" ::error::foreign",))
    result = run("--format", "github", outcome=Outcome.DIFFERS, differences=(foreign,))
    assert result.exit_code == 1
    begin, *text, end, annotation = result.output.splitlines()
    token = begin.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert end == f"::{token}::"
    assert any("::error::foreign" in line for line in text)
    assert annotation.startswith("::error file=a.ipynb,line=1,title=a.ipynb%2C cell 3 (table)%3A differs::output 1")
    assert run("--format", "github").output.splitlines()[-1].startswith("::")


def test_github_format_of_an_error(run, tmp_path):
    """A file that is not a notebook is annotated at its first line, and after an error commands are read again."""
    (tmp_path / "a.ipynb").write_text("no notebook")
    failure = Failure("Line 1 is not JSON.", "Restore it.")
    output = run("--format", "github", outcome=Outcome.FAILED, failure=failure).output
    assert "line=1,title=a.ipynb%3A failed::Line 1 is not JSON.%0ARestore it." in output.splitlines()[-1]
    result = run("--format", "github", "--changed")
    assert result.exit_code == 2
    begin, end = result.stdout.splitlines()
    assert end == f"::{begin.removeprefix('::stop-commands::')}::"
    assert "not a git repository" in result.stderr
    assert run("--format", "gitlab").exit_code == 2
    assert run("--format", "github", "--json").exit_code == 2


def test_changed_notebooks_only(run, tmp_path, monkeypatch):
    """Only what changed runs; if nothing did, that is a success with an empty report."""
    paths = [write_notebook(tmp_path / f"{name}.ipynb", "1") for name in "abc"]
    commits = []

    def choose(notebooks, since):
        assert notebooks == paths
        commits.append(since)
        return paths[1:] if since == "main" else []

    monkeypatch.setattr(toolkit.verification.changes, "changed_notebooks", choose)
    result = run("--since", "main")
    assert result.output.startswith("2 of 3 notebooks changed since main.\n")
    assert run.paths == paths[1:]
    result = run("--changed", "--save-json", str(tmp_path / "verdicts.json"))
    assert (result.exit_code, result.output) == (0, "0 of 3 notebooks changed, as git says.\n")
    assert json.loads((tmp_path / "verdicts.json").read_text()) == []
    assert commits == ["main", "HEAD"]


def test_saved_notebook_is_compared_with_nbdiff(run, tmp_path):
    """The command that shows a difference as notebooks can be copied."""
    result = run("--save-notebooks", "my out", outcome=Outcome.DIFFERS, saved_to=tmp_path / "my out" / "a.ipynb")
    assert f"nbdiff {tmp_path}/a.ipynb '{tmp_path}/my out/a.ipynb'" in result.output
    assert run.options["save_to"] == Path("my out")
    assert "nbdiff" not in run("--save-notebooks", "out", saved_to=tmp_path / "out" / "a.ipynb").output
