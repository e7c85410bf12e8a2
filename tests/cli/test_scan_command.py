"""`toolkit scan`: its exit status and options. What is found, and the formats, are tested in tests/scrubbing."""

import json
from random import Random

import pytest
from typer.testing import CliRunner

from tests.planted_project import letters
from toolkit.cli.app import app

SECRET = f"client_secret = '{letters(Random(3), 40)}'\n"  # noqa: S311


@pytest.fixture
def run(project, monkeypatch):
    """Run the command in an empty project."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)

    def invoke(*arguments, **options):
        result = CliRunner().invoke(app, ["scan", *map(str, arguments)], **options)
        assert SECRET.split("'")[1] not in result.output
        assert "correct-horse" not in result.output
        return result

    return invoke


def test_findings(run, project):
    """A finding gives status 1, its place and the next steps, in each format; SARIF also in a file."""
    (project / "a.py").write_text(f"\n{SECRET}")
    result = run("a.py", "--save-sarif", "scan.sarif")
    assert result.exit_code == 1
    assert result.output.startswith("a.py:2: secret field  [")
    assert len(json.loads((project / "scan.sarif").read_text())["runs"][0]["results"]) == 1
    for form, start in (("json", '{\n "version"'), ("sarif", '{\n "$schema"'), ("github", "::error file=a.py,line=2,")):
        result = run("--json") if form == "json" else run("a.py", "--format", form)
        assert result.exit_code == 1
        assert result.output.startswith(start)


def test_wrong_usage(run, project):
    """What is wrong gives status 2 and says what to do."""
    for arguments, words in (
        (["--format", "xml"], "Choose one of text, github, sarif."),
        (["--secret-from", "correct-horse-battery"], "Pass a variable that is set"),
        (["--save-sarif", "nowhere/scan.sarif"], "Cannot write"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert words in result.output
    assert run("--stdin", input=b"\xff\xfe").exit_code == 2
    assert run("--stdin", input=b"short\n").exit_code == 2


def test_secrets_to_look_for(run, project, monkeypatch):
    """Secrets come from variables or a pipe, one in each line, and are not printed."""
    (project / "a.log").write_text("x correct-horse-battery y\n")
    assert (run().output, run().exit_code) == ("No findings (1 file read).\n", 0)
    monkeypatch.setenv("OLD_PASSWORD", "correct-horse-battery")
    assert "known secret" in run("--secret-from", "OLD_PASSWORD").output
    assert run("--stdin", input="\nother-horse\ncorrect-horse-battery\n").exit_code == 1
