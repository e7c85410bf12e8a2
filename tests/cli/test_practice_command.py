"""`toolkit practice --format`: what it prints is enough for whoever reads it."""

from __future__ import annotations

import re
import tomllib

import pytest
from shell_readers import READERS, read_cmd
from typer.testing import CliRunner

import toolkit as tk
from toolkit.cli import practice as practice_command
from toolkit.cli.app import app
from toolkit.cli.practice import how_to_call
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.shells import Form

NAMES = {
    "secrets": ["live", "paper", "broker-secret", "sandbox-secret"],
    "keys": ["paper", "broker-key", "sandbox-key"],
}
ADDRESSES = {name: f"http://127.0.0.1:{8800 + number}" for number, name in enumerate(ADDRESS_NAMES)}


@pytest.fixture(scope="module")
def credentials():
    with tk.practice() as service:
        return service.credentials


def statements(form, text):
    """Return the text without comments, split where an assignment begins."""
    begin = {"bash": "export ", "powershell": r"\$env:", "cmd": "set ", "env": "TOOLKIT_"}[form]
    lines = [line for line in text.split("\n") if not re.match("#|rem ", line)]
    return [
        part.rstrip("\n") for part in re.split(rf"^(?={begin})", "\n".join(lines), flags=re.MULTILINE) if part.strip()
    ]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("form", ["bash", "powershell", "cmd", "env"])
def test_variables(credentials, project, monkeypatch, form, kind):
    """In each form, the variables give the same sessions: client keys too."""
    monkeypatch.chdir(project)
    printed = {name: credentials[name] for name in NAMES[kind]}
    text = "\n".join(how_to_call(Form(form), ADDRESSES, printed))
    read = {**READERS, "cmd": read_cmd}[form]
    if form == "env":  # which the toolkit takes no addresses from; a comment has them for toolkit.toml
        commented = [
            line.removeprefix("# ") for line in text.split("\n") if re.match(r"# (\[addresses\]|\w+ = )", line)
        ]
        (project / "toolkit.toml").write_text("\n".join(commented))
    for statement in statements(form, text):
        for name, value in read(statement).items():
            assert form != "env" or not name.endswith("_URL")
            monkeypatch.setenv(name, value)
    assert tk.Settings.load().addresses == ADDRESSES
    for same in printed.values():
        assert tk.Session(same.environment).credentials.fingerprint() == same.fingerprint()


def test_toml(credentials, project):
    """The TOML form is one document; its addresses are those of a toolkit.toml, which would refuse the rest."""
    text = "\n".join(how_to_call(Form.TOML, ADDRESSES, credentials))
    document = tomllib.loads(text)
    assert document["addresses"] == ADDRESSES
    key = document["credentials"]["sandbox-key"]
    made = tk.ClientKey(key["client_id"], key["private_key"], environment=key["environment"])
    assert made.client_id == credentials["sandbox-key"].client_id
    assert set(document["credentials"]) == set(credentials)
    file = project / "toolkit.toml"
    file.write_text(text)
    with pytest.raises(tk.ConfigurationError, match="looks like a credential"):
        tk.Settings.load(file)
    file.write_text(text[: text.index("[credentials")])
    assert tk.Settings.load(file).addresses == ADDRESSES


def test_command(monkeypatch):
    """The command prints the form that is asked for, else that of the shell."""
    monkeypatch.setattr(practice_command, "_wait_for_interrupt", lambda: None)
    monkeypatch.setattr(practice_command, "usual_form", lambda os_name, environ: Form.CMD)
    result = CliRunner().invoke(app, ["practice", "--accounts", "1", "--format", "powershell"])
    assert result.exit_code == 0, result.output
    assert re.search(r"^\$env:TOOLKIT_AUTH_SANDBOX_URL = 'http://127\.0\.0\.1:\d+'$", result.output, re.MULTILINE)
    result = CliRunner().invoke(app, ["practice", "--accounts", "1"])
    assert re.search(r'^set "TOOLKIT_PAPER_KEY_ID=', result.output, re.MULTILINE)
    assert result.output.endswith("rem Stopped.\n")
