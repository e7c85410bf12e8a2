"""A file of vcrpy in which one interaction cannot be read: the others play, and commands name the one."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cassettes.catalog.checking import check_files
from toolkit.cassettes.catalog.facts import cassettes_in, facts_of
from toolkit.cli.cassettes_command import app
from toolkit.core.ledger import EPOCH
from toolkit.local.settings import Settings

ITEM = """- request: {{body: null, headers: {{}}, method: GET, uri: 'https://api.example.com/{path}'}}
  response:
    body: {body}
    headers: {{}}
    status: {{code: {status}, message: OK}}
"""
BAD = "a text where a mapping belongs"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    items = [
        ("empty", "{}", 200),
        ("bad", BAD, 200),
        ("status", "{string: x}", "hello"),
        ("good", "{string: fine}", 200),
    ]
    text = "".join(ITEM.format(path=path, body=body, status=status) for path, body, status in items)
    (tmp_path / "recorded").write_text(f"interactions:\n{text}version: 1\n")
    return tmp_path / "recorded"


def test_playing(file: Path) -> None:
    """Only the interaction that cannot be read is an error, when it is played; a body without `string` is empty."""
    with httpx.Client(transport=tk.Cassette(file, "none").transport(), base_url="https://api.example.com") as client:
        assert client.get("/good").text == "fine"
        assert client.get("/empty").text == ""
        for path in ("/bad", "/status"):
            with pytest.raises(tk.CassetteCorrupt, match="in interaction"):
                client.get(path)
        with pytest.raises(tk.CassetteMiss):
            client.get("/other")


def test_nothing_can_be_read(tmp_path: Path) -> None:
    """A file of which nothing can be read opens; a call is told why, and each interaction has a line in `check`."""
    file = tmp_path / "recorded.yaml"
    text = "".join(ITEM.format(path=path, body=BAD, status=200) for path in "ab")
    file.write_text(f"interactions:\n{text}version: 1\n")
    with httpx.Client(transport=tk.Cassette(file, "none").transport(), base_url="https://api.example.com") as client:
        for path in "ab":
            with pytest.raises(tk.CassetteCorrupt, match="in interaction"):
                client.get(path)
    assert [(problem.kind, problem.number) for problem in check_files([file], Settings(), EPOCH)] == [
        ("corrupt", 1),
        ("corrupt", 2),
    ]
    assert facts_of(file, Settings()).interactions == 2


def test_commands(file: Path) -> None:
    """A file without a suffix is found, listed with all of its interactions, and checked line by line."""
    assert cassettes_in(file.parent) == [file]
    assert facts_of(file, Settings()).interactions == 4
    problems = check_files([file], Settings(), EPOCH)
    assert [(problem.kind, problem.number) for problem in problems] == [("corrupt", 2), ("corrupt", 3)]
    assert None not in [problem.line for problem in problems]


def test_other_files_without_a_suffix(tmp_path: Path) -> None:
    """Other files without a suffix are not listed, and neither are empty ones."""
    (tmp_path / "LICENCE").write_text("Free to use.")
    (tmp_path / "empty").touch()
    assert cassettes_in(tmp_path) == []


@pytest.mark.parametrize("value", ["REDACTED", "your-api-key", "xxxxxxxx", "Suppress", "test_set_cookie", "[FILTERED]"])
def test_dummies(tmp_path: Path, value: str) -> None:
    """There is nothing to say about a stand-in that somebody wrote in the place of a secret."""
    text = ITEM.format(path=f"?api_key={value}", body="{string: fine}", status=200)
    (tmp_path / "a.yaml").write_text(f"interactions:\n{text}version: 1\n")
    assert check_files([tmp_path / "a.yaml"], Settings(), EPOCH) == []
    (tmp_path / "a.yaml").write_text(f"interactions:\n{text.replace(value, 'hunter2-demo')}version: 1\n")
    assert [problem.kind for problem in check_files([tmp_path / "a.yaml"], Settings(), EPOCH)] == ["rules"]


def test_dummies_in_answers(tmp_path: Path) -> None:
    """The same holds in an answer, whose length changes when a stand-in is replaced."""
    body = """{string: '{"access_token": "dummy-token-1"}'}"""
    text = ITEM.format(path="a", body=body, status=200)
    (tmp_path / "a.yaml").write_text(f"interactions:\n{text}version: 1\n")
    assert check_files([tmp_path / "a.yaml"], Settings(), EPOCH) == []


def test_show(file: Path) -> None:
    """`toolkit cassettes show` goes on after an interaction that cannot be read, and says why it cannot."""
    shown = CliRunner().invoke(app, ["show", str(file), "--json"])
    rows = json.loads(shown.output)
    assert [row["uri"].rpartition("/")[2] for row in rows] == ["empty", "bad", "status", "good"]
    assert [bool(row["problem"]) for row in rows] == [False, True, True, False]
    shown = CliRunner().invoke(app, ["show", str(file), "2"])
    assert (shown.exit_code, "has no content" in shown.output) == (0, True)
    assert CliRunner().invoke(app, ["show", str(file)]).exit_code == 0
