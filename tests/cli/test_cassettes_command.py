"""`toolkit cassettes` as a person uses it: output and exit status."""

from __future__ import annotations

import json
import secrets

import canaries
import pandas as pd
import pytest
from recordings import paths_in
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cassettes.format.interactions import HEADER, encode
from toolkit.cli import cassettes_command, terminal
from toolkit.cli.cassettes_command import app
from toolkit.session.session import Session

ADDRESSES = '[addresses]\nbroker_sandbox = "https://b.example.com"\nauth_sandbox = "https://a.example.com"\n'


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


def run(*arguments, status=0, typed=None):
    """Run a command, and return what it printed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed, env={"COLUMNS": "120"})
    assert result.exit_code == status, result.output
    return result.stdout if "--json" in arguments else result.output


def rows(*arguments, status=0):
    return json.loads(run(*arguments, "--json", status=status))


def test_list(record, folder, interaction, authorization):
    """`list` has a line for each recording, also for one that cannot be read; `--json` has the same as Python."""
    assert "no recordings" in run("list")
    record("good", interaction(authorized_by=authorization()))
    record("broken").write_text("interactions: [")
    (folder / "gone.yaml").symlink_to("nowhere.yaml")
    (folder.parent / "toolkit.toml").write_text('stale_after = "1d"')
    shown = {line.split()[0]: line for line in run("list").splitlines() if line[:1].islower()}
    assert "broker-sandbox" in shown["good"]
    assert "2026-05-12T09:30:00Z" in shown["good"]
    assert len(shown["broken"].split()) > 3
    frame = tk.list_cassettes()
    assert [row["name"] for row in rows("list")] == list(frame["name"]) == ["broken", "gone", "good"]
    assert rows("list")[2].keys() == set(frame)
    assert rows("list")[2]["stale"] is True


def test_list_keeps_names_whole(record, interaction, authorization):
    """A name that is wider than the terminal is in one piece, beside columns that can be read."""
    record("a" * 130, interaction(authorized_by=authorization()))
    lines = run("list").splitlines()
    assert any(line.startswith("a" * 130 + "  broker") for line in lines)


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
    assert "https://broker.svc.invalid/a" in table
    full = run("show", "a", "2")
    assert '{\n  "name": "' in full
    assert "--characters shows more" in full
    assert '"amount": 1.10' in run("show", "a", "2", "--characters", "100000")
    [one] = rows("show", "a", "1")
    assert (one["token"], one["response"]["body"]) == (1, '{\n  "id": 1\n}')
    for output in (table, full, json.dumps(rows("show", "a", "1", "2"))):
        assert secret not in output
        assert "\x1b" not in output
    run("show", "a", "3", status=2)


def test_check(record, folder):
    """`check` says what is wrong and what to do, with a status of its own for what it cannot check."""
    record("a", "/a")
    assert "No problems found" in run("check")
    file = record("torn", "/a")
    file.write_bytes(file.read_bytes() + b"- request:\n")
    assert "torn: incomplete: " in run("check", status=1)
    assert {problem["name"] for problem in rows("check", status=1)} == {"torn"}
    run("check", "a", "missing", status=2)
    run("check", "a", "--play-log", folder / "missing", status=2)


def test_diff(record, interaction):
    """`diff` lists what changed, and fails for the kinds of changes that it is told."""
    record("old", "/a", "/gone", interaction("/b", b'{"x": 1}'))
    record("new", interaction("/b", b'{"x": "\\u001b[31m"}'), "/a", "/new")
    assert "Nothing changed" in run("diff", "old", "old")
    assert "$.x" in run("diff", "old", "new")
    assert [(change["kind"], change["old"], change["new"]) for change in rows("diff", "old", "new")] == [
        ("removed", 2, None),
        ("type", 3, 1),
        ("added", None, 3),
    ]
    run("diff", "old", "new", "--fail-on", "removed, added", status=1)
    run("diff", "old", "new", "--fail-on", "aded", status=2)
    run("diff", "old", "missing", status=2)


def test_prune(record, monkeypatch):
    """`prune` shows what would go, and drops it with --yes, or where it can ask and hears yes."""
    file = record("a", "/a", "/b", "/c")
    before = file.read_bytes()
    assert "2 interactions would be removed" in run("prune", "a", "2", "3", "--dry-run", "--yes")
    assert [row["number"] for row in rows("prune", "a", "--uri", "/b", "--dry-run")] == [2]
    assert "add --yes" in run("prune", "a", "2", "3", status=2)
    monkeypatch.setattr(terminal, "can_ask", lambda: True)
    assert "Drop 2 interactions from a? [y/N]" in run("prune", "a", "2", "3", typed="n\n", status=1)
    assert file.read_bytes() == before
    assert "Dropped 1 interaction" in run("prune", "a", "2", typed="y\n")
    assert paths_in(file) == ["a", "c"]
    for arguments in ((), ("7",), ("--method", "DELETE"), ("1", "2", "--yes"), ("x",)):
        run("prune", "a", *arguments, status=2)
    assert paths_in(file) == ["a", "c"]


def test_scrub(record, interaction):
    """`scrub` says what it replaces, by kind, and never what it was."""
    secret = secrets.token_urlsafe(30)
    file = record("a", interaction(body=json.dumps({"client_secret": secret}).encode()), "/b")
    before = file.read_bytes()
    shown = run("scrub", "a", "--dry-run")
    assert "CLIENT_SECRET" in shown
    assert "Nothing was changed" in shown
    assert file.read_bytes() == before
    assert rows("scrub", "a") == [{"number": 1, "kind": "CLIENT_SECRET", "count": 1}]
    assert secret not in shown
    assert secret.encode() not in file.read_bytes()
    assert "Nothing needs to be replaced" in run("scrub", "a")


def test_import(folder):
    """The report counts what was imported and left out, and names the next steps; no secret is shown."""
    (folder.parent / "toolkit.toml").write_text(ADDRESSES)
    secret, source = canaries.new(), folder.parent / "session.har"
    headers = [{"name": "Authorization", "value": f"Bearer {secret}"}]
    request = {"method": "GET", "url": "https://b.example.com/v1/accounts", "headers": headers}
    answers = [{"status": 200, "headers": [], "content": content} for content in ({"text": "[]"}, {"size": 9})]
    entries = [{"request": request, "response": answer} for answer in answers]
    source.write_text(json.dumps({"log": {"entries": entries}}))
    shown = run("import", source, "mine", "--environment", "broker-sandbox")
    for words in ("1 interaction imported", "1 left out", "still contains its secrets"):
        assert words in shown
    canaries.assert_absent([shown, folder], secret)
    assert "mine.yaml already exists" in run("import", source, "mine", status=2)
    assert "needs a suffix" in run("import", source, "../x", status=2)
    assert rows("import", source, "mine", "--replace")["imported"] == 1
    assert "no file was written" in run("import", source, "x", "--only", "c.example.com", status=1)


def test_drift(folder, service, settings, make_credentials, monkeypatch):
    """Recorded reads are repeated live, in the recorded environment with the recorded profile."""
    service.answer = lambda request: service.reply([{"cash": 1}])
    credentials = make_credentials("broker-sandbox")
    with Session(credentials=credentials, settings=settings, cassette=folder / "a.yaml", transport=service) as session:
        session.broker.get("/v1/accounts")
        session.broker.post("/v1/accounts")
    asked = []

    def connect(environment, profile, **options):
        asked.append((environment, profile))
        return Session(credentials=credentials, settings=settings, transport=service)

    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    monkeypatch.setattr(cassettes_command, "Session", connect)
    assert "1 not repeated because " in (shown := run("drift", folder / "a.yaml"))
    assert "Nothing changed" in shown
    assert asked == [("broker-sandbox", credentials.name)]
    service.answer = lambda request: service.reply([{"cash": "1"}])
    assert "$[].cash" in run("drift", folder / "a.yaml", "--fail-on", "type", status=1)
    assert rows("drift", folder / "a.yaml")[0]["kind"] == "type"
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    assert "TOOLKIT_OFFLINE is set" in run("drift", folder / "a.yaml", status=2)


def test_tables_of_answers(capsys, monkeypatch):
    """A terminal, and the log of a pipeline, show some columns of a live answer, without the secrets in it."""
    monkeypatch.setenv("COLUMNS", "200")
    secret = canaries.new()
    tk.KeyPair("key-id-1", secret, environment="paper")
    frame = pd.DataFrame({"note": [f"x {secret}", "\x1b[2J"], secret: [1, 2.5], **{f"c{n}": [n, n] for n in range(9)}})
    terminal.print_frame(f"GET /v1/{secret}", frame, rows=1)
    shown = capsys.readouterr().out
    assert "x <API_SECRET_KEY>" in shown
    assert "… 1 more row and 5 more columns" in shown
    assert canaries.found_in(shown, secret[:12]) == []
