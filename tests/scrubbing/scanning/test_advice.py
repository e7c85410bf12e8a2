"""The steps after a finding: end the secret first, then clean the file, then git's history."""

from pathlib import Path

import pytest

from toolkit.scrubbing.scanning.advice import PAGE, advice_for

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("private key", "new key pair"),
        ("cookie", "Sign out"),
        ("signed token", "Revoke the token"),
        ("bearer token", "Revoke the token"),
        ("basic credentials", "Change the password"),
        ("password in a URL", "Change the password"),
        ("known secret, in base64", "toolkit credentials add"),
        ("Slack webhook", "Delete the webhook"),
        ("key in a provider's format", "Revoke it where it was issued"),
        ("something new", "Revoke it where it was issued"),
    ],
)
def test_ending(kind, words):
    """The first step ends the secret, as its kind is ended."""
    assert words in advice_for(kind)[0]


@pytest.mark.parametrize(
    ("name", "part", "words"),
    [
        ("cassettes/tour.yaml", "", "toolkit cassettes scrub cassettes/tour.yaml."),
        ("a b.har", "", "toolkit cassettes import 'a b.har' NAME"),
        ("a.ipynb", "source", "Take it out of the cell"),
        ("a.ipynb", "output text/html", "Clear the outputs of the cell"),
        ("a.ipynb", "widget state", "state of widgets"),
        ("a.ipynb", "attachment note.txt", "Delete the attachment"),
        ("a.ipynb", "metadata", "the notebook's metadata"),
        (".ipynb_checkpoints/a-checkpoint.ipynb", "source", "Delete the checkpoint"),
        ("old.zip", "keys.json", "make it again"),
        ("chart.png", "text", "without its texts"),
        ("calls.log", "", "what writes the secret"),
        ("settings.toml", "", "keep it in a variable"),
    ],
)
def test_cleaning(name, part, words):
    """The second step cleans the file, and the third names the command for git's history with its path."""
    ending, cleaning, history = advice_for("bearer token", Path(name), part)
    assert ending != cleaning
    assert words in cleaning
    path = f"'{name}'" if " " in name else name
    assert f"git filter-repo --invert-paths --path {path} " in history


def test_without_a_file():
    """Without a file the steps are general."""
    assert "--path FILE " in advice_for("bearer token")[2]


def test_name_of_a_file():
    """A name cannot add commands or move the cursor."""
    step = advice_for("bearer token", Path("x; rm -rf \x1b[2J.yaml"))[1]
    assert "scrub 'x; rm -rf [2J.yaml'." in step


def test_page():
    """The page that reports name is part of the documentation."""
    assert (ROOT / PAGE).is_file()
