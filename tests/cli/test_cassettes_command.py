"""`toolkit cassettes` as a person uses it: output and exit status."""

from __future__ import annotations

import json
import secrets

import httpx
import pytest
from recordings import paths_in
from typer.main import get_command
from typer.testing import CliRunner

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cli import cassettes_rewriting
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
    """Run a command and return what it printed on standard output; the help names the keys of JSON."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    if "--json" in arguments:
        described = get_command(app).commands[arguments[0]].help
        assert [key for key in keys_of(json.loads(result.stdout)) if f"`{key}`" not in described] == []
    return result.stdout


def keys_of(value):
    """Return the keys of all objects in a JSON value, but not those of counts by kind."""
    if isinstance(value, list):
        return {key for each in value for key in keys_of(each)}
    if not isinstance(value, dict):
        return set()
    return {*value, *(key for name, each in value.items() if name != "replaced" for key in keys_of(each))}


def test_broken_links(record, folder):
    """A link to a missing file, or to itself, does not end the list and the check of the other files."""
    record("fine", "/a")
    (folder / "gone.yaml").symlink_to("nowhere.yaml")
    (folder / "itself.yaml").symlink_to("itself.yaml")
    listed = {entry["name"]: entry["is_clean"] for entry in json.loads(run("list", "--json"))}
    assert listed == {"fine": True, "gone": False, "itself": False}
    assert "2 problems in 2 of 3 recordings" in run("check", status=1)
    assert "a link to a file that does not exist" in run("check", "gone", status=1)
    run("check", "missing", status=2)


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


def test_list(record, folder, interaction, authorization):
    """`list` has a line for each recording, and says what is wrong in a word."""
    assert "no recordings" in run("list")
    record("good", interaction(authorized_by=authorization()))
    record("leak", interaction(body=json.dumps({"access_token": secrets.token_urlsafe(30)}).encode()))
    record("empty").write_bytes(b"")
    record("broken").write_text("interactions: [")
    (folder.parent / "toolkit.toml").write_text('stale_after = "1d"')
    shown = [line.split() for line in run("list").splitlines() if line[:1].islower() and "." not in line[:1]]
    states = {cells[0]: " ".join(cells[1:]) for cells in shown}
    assert states["good"].startswith("broker-sandbox 1 2026-05-12")
    assert states["good"].endswith("clean, stale")
    assert states["leak"].endswith("not clean, stale")
    assert states["empty"].endswith("empty")
    assert states["broken"].endswith("not readable")
    report = {entry["name"]: entry for entry in json.loads(run("list", "--json"))}
    assert sorted(report) == ["broken", "empty", "good", "leak"]
    age = report["good"].pop("age_days")
    assert age > 100
    assert report["good"] == {
        "name": "good",
        "path": str(folder / "good.yaml"),
        "environments": ["broker-sandbox"],
        "interactions": 1,
        "recorded_at": "2026-05-12T09:30:00.000000Z",
        "last_recorded_at": "2026-05-12T09:30:00.000000Z",
        "is_stale": True,
        "size": (folder / "good.yaml").stat().st_size,
        "written_by": "toolkit",
        "is_clean": True,
        "problem": None,
    }
    run("list", "missing-folder", status=2)


def test_show(record, interaction, authorization):
    """`show` lists the interactions, or shows some in full: escaped, cut, and without secrets of unscrubbed files."""
    secret = secrets.token_urlsafe(30)
    body = json.dumps({"name": "\x1b[31mred", "list": list(range(2_000)), "amount": 1.10}).replace("1.1}", "1.10}")
    record(
        "a",
        interaction("/a", authorized_by=authorization()),
        interaction("/b?api_key=" + secret, body.encode(), request={"method": "POST", "body": b"a=1"}),
    )
    table = run("show", "a")
    assert "a: 2 interactions" in table
    assert "GET broker/a" in table
    full = run("show", "a", "2")
    assert "POST https://broker.svc.invalid/b?api_key=" in full
    assert '{\n  "name": "' in full
    assert "--characters shows more" in full
    assert len(full) < 4_000
    assert '"amount": 1.10' in run("show", "a", "2", "--characters", "100000")
    report = json.loads(run("show", "a", "--json"))
    assert [row["number"] for row in report] == [1, 2]
    assert report[0]["token"] == 1
    [one] = json.loads(run("show", "a", "1", "--json"))
    assert one["response"]["body"] == '{\n  "id": 1\n}'
    for output in (table, full, json.dumps(report)):
        assert secret not in output
        assert "\x1b[31m" not in output
    record("raw", interaction(body=b"\x1b[31mred\xe2\x80\xae"))
    assert "\n[31mred\n" in run("show", "raw", "1")
    assert json.loads(run("show", "raw", "1", "--json"))[0]["response"]["body"] == "[31mred"
    run("show", "a", "3", status=2)
    run("show", "missing", status=2)


def test_check(record, folder, interaction):
    """`check` says what is wrong and what to do, with a status of its own for what it cannot check."""
    record("a", "/a")
    assert "1 recording checked: nothing is wrong" in run("check")
    file = record("torn", "/a")
    file.write_bytes(file.read_bytes() + b"- request:\n")
    shown = run("check", status=1)
    assert "1 problem in 1 of 2 recordings" in shown
    assert "incomplete" in shown
    report = json.loads(run("check", "torn", "--json", status=1))
    assert report["files"] == 1
    assert report["problems"][0].keys() == {"path", "kind", "what", "next_step", "line", "number", "fails"}
    run("check", "a")
    run("check", "a", "missing", status=2)
    run("check", "a", "--play-log", folder / "missing", status=2)


def test_check_of_what_nothing_plays(record, folder, monkeypatch):
    """A log of what a run played tells what it did not play, to `check` and to `prune`."""
    file = record("a", "/a", "/b")
    monkeypatch.setenv("TOOLKIT_PLAY_LOG", str(folder / "log"))
    with httpx.Client(transport=Cassette(file, "none").transport()) as client:
        client.get("https://broker.svc.invalid/b")
    monkeypatch.delenv("TOOLKIT_PLAY_LOG")
    assert "Nothing plays GET" in run("check", "a", "--play-log", folder / "log", status=1)
    run("prune", "a", "--play-log", folder / "log", "--yes")
    assert paths_in(file) == ["b"]


def test_prune(record, monkeypatch):
    """`prune` shows what would go, and drops it with --yes, or where it can ask and hears yes."""
    file = record("a", "/a", "/b", "/c")
    before = file.read_bytes()
    assert "2 interactions would go, 1 would be left" in run("prune", "a", "2-3")
    assert json.loads(run("prune", "a", "--uri", "/b", "--json"))["kept"] == 2
    assert "Nothing was changed" in run("prune", "a", "2-3", "--dry-run", "--yes")
    monkeypatch.setattr(cassettes_rewriting, "can_ask", lambda: True)
    result = CliRunner().invoke(app, ["prune", "a", "2-3"], input="n\n")
    assert "Drop 2 interactions and keep 1? [y/N]" in result.stdout
    assert file.read_bytes() == before
    assert "Dropped 1 interaction" in run("prune", "a", "2", "--yes")
    assert paths_in(file) == ["a", "c"]
    for arguments in ((), ("7",), ("--method", "DELETE"), ("1-2", "--yes"), ("x",)):
        run("prune", "a", *arguments, status=2)
    run("prune", "missing", "1", status=2)
    assert paths_in(file) == ["a", "c"]


def test_scrub(record, folder, interaction):
    """`scrub` says what it replaces, by kind, and never what it was."""
    secret = secrets.token_urlsafe(30)
    file = record("a", interaction(body=json.dumps({"client_secret": secret}).encode()), "/b")
    before = file.read_bytes()
    shown = run("scrub", "a", "--dry-run")
    assert "CLIENT_SECRET" in shown
    assert "Nothing was changed" in shown
    assert file.read_bytes() == before
    assert json.loads(run("scrub", "a", "--json")) == {
        "path": str(file),
        "interactions": 1,
        "replaced": {"CLIENT_SECRET": 1},
        "is_written": True,
    }
    assert secret not in shown
    assert secret.encode() not in file.read_bytes()
    assert "Nothing needs to be replaced" in run("scrub", "a")
    (folder / "b.json").write_text("{}")
    run("scrub", folder / "b.json", status=2)


def test_requests_fold_between_the_parts_of_a_uri(record, monkeypatch):
    """At 80 columns a request goes on in the next line after a slash or an ampersand, not in the middle of a word."""
    record("a", "/v2/practice/quotes-of-instruments?symbols=ALFA&since=2026-11-02&key=%3CAPI_KEY%3E")
    monkeypatch.setenv("COLUMNS", "80")
    record("b", "/b")
    for shown in (run("show", "a"), run("diff", "a", "b")):
        lines = shown.splitlines()
        assert any("quotes-of-instruments?" in line for line in lines)
        assert any("key=<API_KEY>" in line for line in lines)
        assert max(map(len, lines)) <= 80


def test_list_of_a_folder_that_does_not_exist(record):
    """`list` says that the folder is missing."""
    record("a", "/a")
    result = CliRunner().invoke(app, ["list", "nowhere"])
    assert result.exit_code == 2
    assert "The folder or cassette nowhere does not exist" in result.stderr
