"""Commands in messages can be pasted where they are read: by name, by path, and in notebooks always by name."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from toolkit.cli import programs
from toolkit.cli.app import app
from toolkit.cli.programs import COMMANDS, pasteable, program
from toolkit.core.errors import ConfigurationError

HINT = "Run `toolkit credentials add default --environment paper`."


@pytest.fixture
def scripts(tmp_path, monkeypatch):
    """Put the programs of an environment that is not activated into `.venv/bin` of the working directory."""
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("toolkit", "pip"):
        make_program(folder / name)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(sys, "argv", ["script.py"])
    monkeypatch.setattr(programs, "scripts_folder", lambda: str(folder))
    monkeypatch.setattr(programs, "shell", lambda: None)
    return folder


def make_program(file):
    file = file.with_suffix(".exe") if os.name == "nt" else file
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)


def test_environment_that_is_not_activated(scripts):
    """In a script, hints and errors name the path of the program, relative to the working directory."""
    assert program() == str(Path(".venv", "bin", "toolkit"))
    assert program("pip") == str(Path(".venv", "bin", "pip"))
    assert pasteable(HINT) == HINT.replace("toolkit", program(), 1)


def test_activated_environment(scripts, monkeypatch):
    """A program that a shell finds is named without its path."""
    monkeypatch.setenv("PATH", str(scripts))
    assert program() == "toolkit"


def test_program_of_another_environment(scripts, tmp_path, monkeypatch):
    """If the shell would start the program of another environment, the path of this one is named."""
    make_program(tmp_path / "elsewhere" / "toolkit")
    assert program() == str(Path(".venv", "bin", "toolkit"))


def test_as_typed(scripts, tmp_path, monkeypatch):
    """At the command line the program is named as it was typed."""
    typed = str(Path("..", tmp_path.name, ".venv", "bin", "toolkit"))
    monkeypatch.setattr(sys, "argv", [typed, "demo"])
    assert program() == typed


def test_path_with_a_space(scripts, tmp_path, monkeypatch):
    """A path with a space is one word for the shell."""
    shutil.copytree(tmp_path / ".venv", tmp_path / "my env")
    monkeypatch.setattr(sys, "argv", [str(Path("my env", "bin", "toolkit"))])
    assert program() in (f"'{sys.argv[0]}'", f'"{sys.argv[0]}"')


def test_in_the_folder_of_programs(scripts, monkeypatch):
    """In the folder itself the path has a separator, or a shell would not look there."""
    monkeypatch.chdir(scripts)
    assert program() == f".{os.sep}toolkit"


def test_notebook(scripts, monkeypatch):
    """A notebook names no path, so that its outputs are the same on every machine."""
    monkeypatch.setattr(programs, "shell", lambda: SimpleNamespace(kernel=object()))
    assert program() == "toolkit"
    assert str(ConfigurationError("No profile exists.", HINT)).endswith(HINT)


def test_without_programs(scripts, monkeypatch):
    """An environment without the programs names them all the same."""
    monkeypatch.setattr(programs, "scripts_folder", lambda: str(scripts.parent))
    assert program() == "toolkit"


@pytest.mark.parametrize(
    "text",
    [
        "The toolkit records it.",
        ".venv/bin/toolkit demo",
        "toolkit.toml",
        "my-toolkit scan",
        'Set cassettes in toolkit.toml, as "toolkit" says.',
    ],
)
def test_other_texts(scripts, text):
    """What is not a command of the toolkit, or has its path already, stays."""
    assert pasteable(text) == text


def test_every_command():
    """Each command of the toolkit is recognized."""
    names = [*(command.name for command in app.registered_commands), *(group.name for group in app.registered_groups)]
    assert sorted(names) == list(COMMANDS)
