"""`toolkit cassettes` as a person uses it: output and exit status."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cli.cassettes_command import app


@pytest.fixture
def folder(project, monkeypatch):
    """Return the cassettes folder of the project in which the command runs."""
    (project / "toolkit.toml").touch()
    (project / "cassettes").mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "160")
    return project / "cassettes"


@pytest.fixture
def record(folder, interaction):
    """Return a function that writes a cassette: a path for each call, with the changes of an interaction."""

    def write(name, *calls):
        made = [call if isinstance(call, tuple) and not isinstance(call, str) else interaction(call) for call in calls]
        file = folder / f"{name}.yaml"
        file.write_bytes(HEADER + b"".join(map(encode, made)))
        return file

    return write


def run(*arguments, status=0):
    """Run a command and return what it printed on standard output."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result.stdout


def test_diff(record, interaction):
    """`diff` lists what changed, with the numbers of the calls."""
    record("old", "/a", "/gone", interaction("/b", b'{"x": 1}'))
    record("new", interaction("/b", b'{"x": "\x1b[31m"}'.replace(b"\x1b", b"\\u001b")), "/a", "/new")
    assert "Nothing changed" in run("diff", "old", "old")
    shown = run("diff", "old", "new")
    assert "3 changes: 1 added, 1 removed, 1 type" in shown
    assert "removed  2 → -  GET broker/gone" in shown
    report = json.loads(run("diff", "old", "new", "--json"))
    assert [(entry["kind"], entry["old"], entry["new"]) for entry in report["changes"]] == [
        ("removed", 2, None),
        ("type", 3, 1),
        ("added", None, 3),
    ]
    assert report["changes"][1] == {
        "kind": "type",
        "method": "GET",
        "uri": "https://broker.svc.invalid/b",
        "place": "$.x",
        "before": "number",
        "after": "string",
        "old": 3,
        "new": 1,
    }


def test_diff_fails_on_request(record):
    """`--fail-on` decides which changes fail; what cannot be compared has a status of its own."""
    record("old", "/a")
    record("new", "/a", "/new")
    run("diff", "old", "new", "--fail-on", "removed,type")
    run("diff", "old", "new", "--fail-on", "removed, added", status=1)
    run("diff", "old", "new", "--fail-on", "aded", status=2)
    run("diff", "old", "missing", status=2)
    record("old").write_text("not a cassette")
    run("diff", "old", "new", status=2)
