"""`toolkit practice --format`: what it prints is enough for whoever reads it; a process of its own tests the rest."""

from __future__ import annotations

import re

import pytest
from shell_readers import READERS, read_cmd
from typer.testing import CliRunner

from toolkit.cli import practice
from toolkit.cli.app import app

BEGIN = {"bash": "export ", "powershell": r"\$env:", "cmd": "set ", "env": "TOOLKIT_"}
SETTINGS = {"bash": 8, "powershell": 8, "cmd": 8, "env": 0}


@pytest.mark.parametrize("form", BEGIN)
@pytest.mark.parametrize("options", [(), ("--client-keys",)])
def test_variables(monkeypatch, form, options):
    """Each form has the addresses, which are comments in `.env`, and the credentials of all environments."""
    monkeypatch.setattr(practice, "_wait_for_interrupt", lambda: None)
    result = CliRunner().invoke(app, ["practice", "--accounts", "1", "--format", form, *options])
    assert result.exit_code == 0, result.output
    lines = [line for line in result.output.split("\n") if not re.match("#|rem ", line)]
    text = "\n".join(lines).strip()
    read = {**READERS, "cmd": read_cmd}[form]
    parts = re.split(rf"^(?={BEGIN[form]})", text, flags=re.MULTILINE)
    found = {name: value for part in parts if part for name, value in read(part.rstrip("\n")).items()}
    assert sum(name.endswith("_URL") for name in found) == SETTINGS[form]
    assert sum("_CLIENT_ID" in name or name.endswith("_SECRET_KEY") for name in found) == 4
    keys = [value for name, value in found.items() if name.endswith("_PRIVATE_KEY")]
    assert len(keys) == 2 * len(options)
    assert all("-----BEGIN PRIVATE KEY-----" in key for key in keys)
    assert ("# [addresses]" in result.output) == (form == "env")
