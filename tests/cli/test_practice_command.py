"""`toolkit practice --format`: what it prints is enough for whoever reads it; a process of its own tests the rest."""

from __future__ import annotations

import io
import re
import shlex

import pytest
from dotenv import dotenv_values
from typer.testing import CliRunner

from toolkit.cli import practice
from toolkit.cli.app import app

READERS = {
    "bash": lambda text: dict(word.split("=", 1) for word in shlex.split(text, comments=True) if word != "export"),
    "powershell": lambda text: dict(re.findall(r"\$env:(\w+) = '([^']*)'", text)),
    "env": lambda text: dict(dotenv_values(stream=io.StringIO(text), interpolate=False)),
}


@pytest.mark.parametrize("form", READERS)
@pytest.mark.parametrize("options", [(), ("--client-keys",)])
def test_variables(monkeypatch, form, options):
    """Each form has the addresses, which are comments in `.env`, and the credentials of all environments."""
    monkeypatch.setattr(practice, "_wait_for_interrupt", lambda: None)
    result = CliRunner().invoke(app, ["practice", "--accounts", "1", "--format", form, *options])
    assert result.exit_code == 0, result.output
    found = READERS[form](result.output)
    assert sum(name.endswith("_URL") for name in found) == (0 if form == "env" else 8)
    assert sum("_CLIENT_ID" in name or name.endswith("_SECRET_KEY") for name in found) == 4
    keys = [value for name, value in found.items() if name.endswith("_PRIVATE_KEY")]
    assert len(keys) == 2 * len(options)
    assert all("-----BEGIN PRIVATE KEY-----\n" in key for key in keys)
    assert ("# [addresses]" in result.output) == (form == "env")
