"""The steps after a finding: end the secret first, then clean the file, then git's history."""

from pathlib import Path

import pytest

from toolkit.scrubbing.scanning.findings import PAGE, Finding

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("private key", "new key pair"),
        ("cookie", "Sign out"),
        ("bearer token", "Revoke the token"),
        ("password in a URL", "Change the password"),
        ("known secret, in base64", "toolkit credentials add"),
        ("something new", "Revoke it where it was issued"),
    ],
)
def test_ending(kind, words):
    """The first step ends the secret, as its kind is ended."""
    assert words in Finding(Path("a"), 1, kind).advice[0]


@pytest.mark.parametrize(
    ("name", "part", "words"),
    [
        ("cassettes/tour.yaml", "", "toolkit cassettes scrub cassettes/tour.yaml."),
        ("a.ipynb", "source", "Take it out of the notebook"),
        ("a.ipynb", "output text/html", "Clear the outputs of the cell"),
        ("a.ipynb", "widget state", "state of widgets"),
        ("a b.log", "", "delete the file"),
    ],
)
def test_cleaning(name, part, words):
    """The second step cleans the file, and the third names the command for git's history with its path."""
    _, cleaning, history = Finding(Path(name), 1, "bearer token", part=part).advice
    assert words in cleaning
    path = f"'{name}'" if " " in name else name
    assert f"git filter-repo --invert-paths --path {path} " in history


def test_name_of_a_file():
    """A name cannot add commands or move the cursor."""
    assert "scrub 'x; rm -rf [2J.yaml'." in Finding(Path("x; rm -rf \x1b[2J.yaml"), 1, "bearer token").advice[1]


def test_page():
    """The page that reports name is part of the documentation."""
    assert (ROOT / PAGE).is_file()
