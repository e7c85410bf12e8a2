"""The command line as a person uses it: output, exit status, and errors without a traceback."""

import io
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

import toolkit as tk
from toolkit import cli


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Return a function that runs `toolkit ARGUMENTS` in this process, in a folder without settings."""
    for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(name)
    for name, value in {"COLUMNS": "100", "NO_COLOR": "1", "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments, typed="toolkit", **variables):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", [typed, *arguments])
            patch.setattr("warnings.showwarning", None)  # the command sets its own
            for name, value in variables.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as exit_:
                cli.main()
        shown = capsys.readouterr()
        return SimpleNamespace(status=int(exit_.value.code or 0), stdout=shown.out, stderr=shown.err)

    return run_command


def test_demo(run, tmp_path):
    """The demo needs no configuration, says that it replays, and suggests what to do next."""
    result = run("demo")
    assert result.status == 0
    assert result.stderr == ""
    for expected in ("replaying 5 interactions, recorded", "account_number", "Token lifetimes", "toolkit lab"):
        assert expected in result.stdout
    assert list(tmp_path.iterdir()) == []
    assert run("--version").stdout.strip() == f"service-access-toolkit {tk.__version__}"


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        (["record", "x", "--environment", "paper"], {}, "TOOLKIT_PAPER_KEY_ID"),
        (["record", "x", "--environment", "papre"], {}, "Did you mean paper?"),
        (["record", "x", "--practice", "--mode", "onse"], {}, "Did you mean once?"),
        (["record", "x", "--practice"], {"TOOLKIT_AUTH_URL": "ftp://x"}, "is not an address"),
        (["keys", "new", "a.pem", "--algorithm", "HS256"], {}, "algorithm 'HS256' is not known"),
        (["keys", "new", "a.pem", "--passphrase"], {}, "only in a terminal"),
        (["practice", "--format", "csh"], {}, "Choose one of bash"),
        (["practice"], {"TOOLKIT_OFFLINE": "1"}, "TOOLKIT_OFFLINE"),
    ],
)
def test_bad_input(arguments: list[str], variables: dict[str, str], expected: str, run, tmp_path):
    """An error is printed in two lines on standard error, with exit status 1, and nothing is written."""
    result = run(*arguments, **variables)
    assert result.status == 1
    assert expected in result.stderr
    assert result.stderr.count("\n") == 2
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["record", "x"],
        ["demo", "--rows", "many"],
        ["verify", "--timeout", "soon"],
        ["cassettes", "diff", "a", "b", "--fail-on", "everything"],
        ["credentials", "add", "a", "-e", "paper", "--form-field", "x"],
    ],
)
def test_wrong_usage(run, arguments):
    """Wrong usage gives status 2 and a message without words of a library."""
    result = run(*arguments)
    assert result.status == 2
    assert "Error" in result.stderr
    assert "Value error" not in result.stderr
    assert "Traceback" not in result.stderr


def test_an_interrupt(run, monkeypatch):
    """Ctrl+C ends a command with the status of an interrupted program, and without a traceback."""
    monkeypatch.setattr("toolkit.cli.app.run", Mock(side_effect=KeyboardInterrupt))
    assert run("demo").status == 130


def test_environment_that_is_not_activated(run, tmp_path, monkeypatch):
    """Next steps, notes, usage and errors name the program by its path if the shell would not find it."""
    scripts = tmp_path / ".venv" / "bin"
    scripts.mkdir(parents=True)
    file = scripts / ("toolkit.exe" if os.name == "nt" else "toolkit")
    file.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    toolkit = str(Path(".venv", "bin", "toolkit"))
    for arguments, expected in (
        (["credentials", "list"], "credentials add default --environment paper"),
        (["demo"], "lab"),
        (["record", "--sometimes"], "record"),
        (["record", "x", "--environment", "paper"], "credentials add"),
    ):
        result = run(*arguments, typed=toolkit)
        output = result.stdout + result.stderr
        assert f"{toolkit} {expected}" in output
        assert not re.search(r"(?<!/)toolkit (credentials|lab|keys|record)\b", output), output


def test_characters_that_a_pipe_does_not_have(run, monkeypatch):
    """A pipe whose encoding lacks a character, as on Windows, gets an escape; the command goes on."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))
    assert run("demo").status == 0
    assert b"\\u2026 7 more rows" in written.getvalue()
