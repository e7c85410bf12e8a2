"""`toolkit scan`: its exit status, its options, and what it does with files and names that are out of the ordinary."""

import json
import os
from random import Random

import pytest
import typer
from typer.testing import CliRunner

from tests.planted_files import letters
from toolkit.cli import scan

SECRET = f"client_secret = '{letters(Random(3), 40)}'\n"  # noqa: S311
VALUE = SECRET.split("'")[1]


@pytest.fixture
def run(project, monkeypatch):
    """Run the command in an empty project."""
    monkeypatch.chdir(project)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    app = typer.Typer()
    app.command()(scan.scan)

    def invoke(*arguments, **options):
        result = CliRunner().invoke(app, list(map(str, arguments)), **options)
        assert VALUE not in result.output
        return result

    return invoke


def test_clean(run, project):
    """A clean or empty folder, which is this one by default, gives status 0 and one line."""
    assert run().output == "No findings (0 files read).\n"
    (project / "a.txt").write_text("nothing\n")
    result = run()
    assert (result.exit_code, result.output) == (0, "No findings (1 file read).\n")


def test_findings(run, project):
    """A finding gives status 1, its place and the next steps, in each format."""
    (project / "a.py").write_text(f"\n{SECRET}")
    result = run("a.py")
    assert result.exit_code == 1
    assert result.output.startswith("a.py:2: secret field  [")
    assert "What to do:" in result.output
    for form, start in (("json", '{\n "version"'), ("sarif", '{\n "$schema"'), ("github", "::error file=a.py,line=2,")):
        result = run("--json") if form == "json" else run("--format", form)
        assert result.exit_code == 1
        assert result.output.startswith(start)


def test_wrong_usage(run, project):
    """A missing path, an unknown format and malformed settings give status 2 and say what to do."""
    result = run("nowhere")
    assert result.exit_code == 2
    assert "nowhere is neither a file nor a folder." in result.output
    assert run("--format", "xml").exit_code == 2
    (project / "toolkit.toml").write_text("[scan]\nallow = [{path = 'a'}]\n")
    result = run()
    assert result.exit_code == 2
    assert "has no reason" in result.output


def test_what_was_not_looked_at(run, project):
    """Without findings the report names the folders that were not looked at, and allowances that nothing needs."""
    (project / "node_modules").mkdir()
    (project / "toolkit.toml").write_text("[scan]\nallow = [{path = 'gone.py', reason = 'an example'}]\n")
    result = run()
    assert result.exit_code == 0
    assert "not looked at: node_modules\nunused: entry 1" in result.output


def test_secret_from_a_variable(run, project, monkeypatch):
    """A secret is looked for by value; its variable is named, and a missing one is not quoted."""
    (project / "a.log").write_text("x correct-horse-battery y\n")
    assert run().exit_code == 0
    monkeypatch.setenv("OLD_PASSWORD", "correct-horse-battery")
    result = run("--secret-from", "OLD_PASSWORD")
    assert result.exit_code == 1
    assert "known secret" in result.output
    assert "correct-horse" not in result.output
    result = run("--secret-from", "correct-horse-battery")
    assert result.exit_code == 2
    assert "Name a variable that is set" in result.output
    assert "correct-horse" not in result.output


def test_secrets_from_a_pipe(run, project):
    """Each line of standard input is a secret."""
    (project / "a.log").write_text("x correct-horse-battery y\n")
    result = run("--stdin", input="\nother-horse\ncorrect-horse-battery\n")
    assert result.exit_code == 1
    assert "correct-horse" not in result.output


@pytest.mark.parametrize("text", [b"\xff\xfe", b"short\n"])
def test_secrets_that_cannot_be_looked_for(run, text):
    """Standard input that is not text, or a secret that would occur anywhere, gives status 2 and is not quoted."""
    result = run("--stdin", input=text)
    assert result.exit_code == 2
    assert "short\n" not in result.output


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("form", ["text", "github"])
def test_odd_names(run, project, form):
    """A name with control characters, or that is not UTF-8, neither breaks a report nor moves the cursor."""
    for name in (b"a\x1b[2J.py", b"a\nb.py", b"\xff.py", b"a\xe2\x80\xae.py"):
        (project / os.fsdecode(name)).write_text(SECRET)
    result = run(".", "--format", form)
    assert result.exit_code == 1
    assert not {"\x1b", "\u202e"} & set(result.output)


def test_sarif_beside_the_report(run, project):
    """SARIF can be written to a file, beside a report for people."""
    (project / "a.py").write_text(SECRET)
    result = run("a.py", "--save-sarif", "scan.sarif")
    assert result.exit_code == 1
    assert result.output.startswith("a.py:1: ")
    assert len(json.loads((project / "scan.sarif").read_text())["runs"][0]["results"]) == 1
    assert run("a.py", "--save-sarif", "nowhere/scan.sarif").exit_code == 2
