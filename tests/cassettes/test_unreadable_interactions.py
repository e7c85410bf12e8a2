"""A file of vcrpy in which one interaction cannot be read: the others play, and commands name the one."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cli.cassettes_command import app
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


def checked(file: Path) -> list[tuple[str, int]]:
    frame = tk.check_cassettes(file, settings=Settings())
    return list(zip(frame["kind"], frame["interaction"], strict=True))


def test_nothing_can_be_read(tmp_path: Path) -> None:
    """A file of which nothing can be read opens; a call is told why, and reports have a line for each interaction."""
    file = tmp_path / "recorded.yaml"
    text = "".join(ITEM.format(path=path, body=BAD, status=200) for path in "ab")
    file.write_text(f"interactions:\n{text}version: 1\n")
    with httpx.Client(transport=tk.Cassette(file, "none").transport(), base_url="https://api.example.com") as client:
        for path in "abc":
            with pytest.raises(tk.CassetteCorrupt, match="in interaction"):
                client.get(path)
    assert checked(file) == [("corrupt", 1), ("corrupt", 2)]
    assert all(row["problem"] for row in json.loads(CliRunner().invoke(app, ["show", str(file), "--json"]).output))
    report = tk.import_cassette(file, tmp_path / "new.yaml", settings=Settings())
    assert (report.path, sum(report.left_out.values())) == (None, 2)
    assert tk.list_cassettes(tmp_path, settings=Settings())["interactions"].tolist() == [2]


def test_catalog(file: Path) -> None:
    """A file without a suffix is found, listed with all of its interactions, and checked by line; others are not."""
    (file.parent / "LICENCE").write_text("Free to use.")
    (file.parent / "empty").touch()
    assert tk.list_cassettes(file.parent, settings=Settings())["interactions"].tolist() == [4]
    assert checked(file) == [("corrupt", 2), ("corrupt", 3)]
    assert tk.check_cassettes(file, settings=Settings())["line"].notna().all()


@pytest.mark.parametrize("value", ["REDACTED", "your-api-key", "xxxxxxxx", "Suppress", "test_set_cookie", "[FILTERED]"])
def test_dummies(tmp_path: Path, value: str) -> None:
    """There is nothing to say about a stand-in that somebody wrote in the place of a secret, whatever its length."""
    file = tmp_path / "a.yaml"
    text = ITEM.format(path=f"?api_key={value}", body="""{string: '{"access_token": "dummy-token-1"}'}""", status=200)
    file.write_text(f"interactions:\n{text}version: 1\n")
    assert checked(file) == []
    file.write_text(f"interactions:\n{text.replace(value, 'hunter2-demo')}version: 1\n")
    assert checked(file) == [("rules", 1)]


def test_show(file: Path) -> None:
    """`toolkit cassettes show` goes on after an interaction that cannot be read, and says why it cannot."""
    shown = CliRunner().invoke(app, ["show", str(file), "--json"])
    rows = json.loads(shown.output)
    assert [row["uri"].rpartition("/")[2] for row in rows] == ["empty", "bad", "status", "good"]
    assert [bool(row["problem"]) for row in rows] == [False, True, True, False]
    shown = CliRunner().invoke(app, ["show", str(file), "2"])
    assert (shown.exit_code, "has no content" in shown.output) == (0, True)
    assert CliRunner().invoke(app, ["show", str(file)]).exit_code == 0
