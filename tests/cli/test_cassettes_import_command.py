"""`toolkit cassettes import` and `drift` as a person uses them: output and exit status."""

from __future__ import annotations

import functools
import json

import canaries
import pytest
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cli import cassettes_drift
from toolkit.cli.cassettes_command import app

ADDRESSES = '[addresses]\nbroker_sandbox = "https://b.example.com"\nauth_sandbox = "https://a.example.com"\n'


@pytest.fixture
def folder(project, monkeypatch):
    """Return the folder of a project with addresses, in which the command runs."""
    (project / "toolkit.toml").write_text(ADDRESSES)
    monkeypatch.chdir(project)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.delenv("TOOLKIT_OFFLINE", raising=False)
    return project


def run(*arguments, status=0):
    """Run a command and return all that it printed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result.output


def write_har(path, secret, host="b.example.com"):
    """Write a HAR file with an answer and an entry without a body."""
    request = {"method": "GET", "url": f"https://{host}/v1/accounts", "headers": []}
    request["headers"].append({"name": "Authorization", "value": f"Bearer {secret}"})
    answers = [{"status": 200, "headers": [], "content": content} for content in ({"text": "[]"}, {"size": 9})]
    entries = [{"request": request, "response": answer} for answer in answers]
    path.write_text(json.dumps({"log": {"entries": entries}}))
    return path


def test_import(folder):
    """The report counts what was imported, left out and replaced, and names the next steps; no secret is shown."""
    secret = canaries.new()
    source = write_har(folder / "session.har", secret)
    shown = run("import", source, "mine")
    assert "1 interaction imported into" in shown
    assert "1 left out: its body is not stored." in shown
    assert "Secrets replaced: AUTHORIZATION in 1 place." in shown
    assert "The calls are those of broker-sandbox." in shown
    assert 'tk.Session(cassette="mine")' in shown
    assert "session.har still holds its secrets" in shown
    canaries.assert_absent([shown, folder / "cassettes"], secret)
    assert "mine.yaml exists" in run("import", source, "mine", status=2)
    report = json.loads(run("import", source, "mine", "--replace", "--json"))
    assert (report["imported"], report["replaced"]) == (1, {"AUTHORIZATION": 1})
    assert report["left_out"] == [
        {"number": 2, "method": "GET", "host": "b.example.com", "reason": "its body is not stored"}
    ]


def test_import_of_another_host(folder):
    """Hosts that are not in the settings are named, and stay as they are."""
    source = write_har(folder / "a.har", canaries.new(), host="api.other.com")
    shown = run("import", source, "other")
    assert "1 host kept as in the file: api.other.com." in shown
    assert 'tk.Cassette("other", "none")' in shown
    assert "No request in the file goes to an address of paper." in run("import", source, "x", "-e", "paper", status=2)
    assert "no file was written" in run("import", source, "x", "--only", "b.example.com", status=1)


def test_import_of_what_is_no_recording(folder):
    """Bad input gives two lines and status 2."""
    (folder / "a.txt").write_text("hello")
    for name in ("a.txt", "none.har"):
        assert "Error:" in run("import", name, "x", status=2)
    assert not (folder / "cassettes").exists()


def test_drift(folder, service, make_credentials, monkeypatch):
    """Changes of the live service are printed and can fail; what was not repeated is counted by reason."""
    credentials = make_credentials("broker-sandbox", name="research")
    service.answer = lambda request: service.reply({"cash": "1.50"})
    with tk.Session(credentials=credentials, cassette="story", transport=service) as session:
        session.broker.get("/v1/accounts")
        session.broker.post("/v1/orders", json={"qty": 1})
    live = functools.partial(tk.Session, transport=service, token_store=None)
    monkeypatch.setenv("TOOLKIT_BROKER_SANDBOX_CLIENT_ID", "client-1")
    monkeypatch.setenv("TOOLKIT_BROKER_SANDBOX_CLIENT_SECRET", canaries.new())
    for name, host in {"BROKER": "b", "AUTH": "a"}.items():
        monkeypatch.setenv(f"TOOLKIT_{name}_SANDBOX_URL", f"https://{host}.example.com")
    monkeypatch.setattr(cassettes_drift, "Session", live)
    assert "Nothing changed" in run("drift", "story")
    for name in ("CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.setenv(f"TOOLKIT_BROKER_SANDBOX__TREASURY_{name}", canaries.new())
    assert "recorded as research, and the profiles here are default, treasury." in run("drift", "story", status=2)
    for name in ("CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.delenv(f"TOOLKIT_BROKER_SANDBOX__TREASURY_{name}")
    service.answer = lambda request: service.reply({"cash": 1.5})
    service.requests.clear()
    shown = run("drift", "story", "--fail-on", "type", status=1)
    assert "1 call repeated in broker-sandbox." in shown
    assert "$.cash" in shown
    assert "1 not repeated: POST may change something" in shown
    assert {request.method for request in service.calls} == {"GET"}
    report = json.loads(run("drift", "story", "--json"))
    assert [(change["kind"], change["place"], change["old"]) for change in report["changes"]] == [("type", "$.cash", 2)]
    assert "Error:" in run("drift", "nothing", status=2)
    assert "kind of change 'typ' is not known" in run("drift", "story", "--fail-on", "typ", status=2)
    monkeypatch.setenv("TOOLKIT_OFFLINE", "1")
    assert "TOOLKIT_OFFLINE is set" in run("drift", "story", status=2)
