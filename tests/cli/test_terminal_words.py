"""Errors that are raised below the command line, in the words of a terminal."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from typer.testing import CliRunner

import toolkit
from toolkit.cli import terminal_words
from toolkit.cli.app import app
from toolkit.cli.terminal_words import for_terminal

OPTIONS = {"--scheme", "--replace", "--mode", "--play-log", "--key-file"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('Use scheme="headers".', "Use --scheme headers."),
        ("Choose another name, or pass replace=True.", "Choose another name, or pass --replace."),
        ('Read play_log="plays" again.', "Read --play-log plays again."),
        ('Write cassettes = "cassettes".', 'Write cassettes = "cassettes".'),
        ('Use token_store="shared".', 'Use token_store="shared".'),
        ("Choose a first port, or port=0 for any.", "Choose a first port, or --port 0 for any."),
        (
            'Choose one by its name: tk.Session("paper", "fund").',
            "Choose one by its name: --credentials fund, or `toolkit credentials test fund --environment paper`.",
        ),
        ('Choose another cassette; or replay this one with mode="none".', "Choose another cassette."),
        ("Copy all of it with its line breaks, or give its file as a pathlib.Path.", "Give its file with --key-file."),
        (
            "Free some disk space. The response, if there was one, is this error's `response`. Nothing was recorded.",
            "Free some disk space. Nothing was recorded.",
        ),
    ],
)
def test_words(text, shown):
    """An argument that has an option is named as that option; other text stays."""
    assert for_terminal(text, OPTIONS) == shown


def texts_of(file):
    """Yield the text of each string in a module; what an f-string inserts is left out."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_phrases_exist():
    """Every phrase that is replaced is still the text of an error."""
    files = [file for file in Path(toolkit.__file__).parent.rglob("*.py") if file.name != "terminal_words.py"]
    texts = "\n".join(text for file in files for text in texts_of(file))
    assert [phrase for phrase, _ in terminal_words._PHRASES if phrase not in texts] == []


def test_errors_of_commands(project, monkeypatch):
    """A command that fails speaks of options and commands, not of Python."""
    (project / "toolkit.toml").write_text('[addresses]\ntrading_paper = "https://paper.example"\n')
    (project / "key.pem").write_text("no key")
    monkeypatch.chdir(project)
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    for arguments in (
        ["record", "x", "-e", "paper"],
        ["credentials", "test", "-e", "paper"],
        ["cassettes", "show", "missing"],
        ["cassettes", "import", "missing.har", "x"],
        ["publish", "missing.ipynb", "-o", "out"],
    ):
        result = CliRunner().invoke(app, arguments)
        text = result.output + str(result.exception or "")
        shown = for_terminal(text, OPTIONS)
        assert not [word for word in ("tk.", "pathlib", "save_credentials", "=True") if word in shown], shown
