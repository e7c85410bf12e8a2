"""`toolkit keys new` as a person uses it: output, files and errors."""

from __future__ import annotations

import json
import os
import re
import shlex

import jwt
import pytest
from key_forms import thumbprint
from typer.testing import CliRunner

from toolkit.auth.private_keys import as_signer
from toolkit.auth.profiles.saving import load_credentials
from toolkit.cli import keys_command
from toolkit.cli.app import app
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.folders import config_folder
from toolkit.local.settings import Settings

JWK = re.compile(r"^\{$.*?^\}$", re.DOTALL | re.MULTILINE)
PEM = re.compile(r"-----BEGIN PUBLIC KEY-----\n.*?-----END PUBLIC KEY-----", re.DOTALL)


def run(*arguments):
    result = CliRunner().invoke(app, ["keys", "new", *arguments], env={"COLUMNS": "60"})
    if isinstance(result.exception, ConfigurationError):
        raise result.exception
    assert result.exception is None
    return result.output


def test_default_file():
    """By default a new file in the user's configuration folder has the private key, and the output says where."""
    shown = run()
    (file,) = config_folder().rglob("keys/*.pem")
    assert str(file) in shown
    if os.name == "posix":
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "PS384"])
def test_printed_key_matches_file(algorithm, tmp_path):
    """The printed PEM and JWK belong to the private key in the file, of which nothing is printed."""
    file = tmp_path / "my key.pem"
    shown = run(str(file), "--algorithm", algorithm, "--key-id", "desk-2026")
    jwk = json.loads(JWK.search(shown)[0])
    assert (jwk["alg"], jwk["use"], jwk["kid"]) == (algorithm, "sig", "desk-2026")
    assert f"Thumbprint (RFC 7638)  {thumbprint(jwk)}" in shown
    private = as_signer(file, algorithm=algorithm)
    implementation = jwt.get_algorithm_by_name(algorithm)
    for public in (implementation.prepare_key(PEM.search(shown)[0].encode()), implementation.from_jwk(jwk)):
        assert implementation.verify(b"data", public, private.sign(b"data"))
    assert [line for line in file.read_text().splitlines() if "-----" not in line and line in shown] == []


@pytest.mark.parametrize("algorithm", ["ES256", "PS384"])
@pytest.mark.filterwarnings("ignore:No system keyring")
@pytest.mark.skipif(os.name != "posix", reason="words are quoted for a POSIX shell here")
def test_printed_command_saves_the_key(algorithm, tmp_path, monkeypatch):
    """With a client ID, the printed command saves credentials that sign as the new key does."""
    monkeypatch.chdir(tmp_path)
    for name in ("auth_sandbox", "broker_sandbox", "market_data_sandbox"):
        monkeypatch.setenv(f"TOOLKIT_{name.upper()}_URL", f"https://{name}.example".replace("_", "-"))
    shown = run("my key.pem", "--algorithm", algorithm)
    line = next(line for line in shown.splitlines() if "toolkit credentials add" in line)
    words = shlex.split(line.partition("  once the key")[0])
    result = CliRunner().invoke(app, [*words[1:], "--client-id", "client-1", "--yes"])
    assert result.exit_code == 0, result.output
    saved = load_credentials(Environment.BROKER_SANDBOX, "default", settings=Settings.load(), anywhere=True)
    assert (saved.client_id, saved.algorithm) == ("client-1", algorithm)
    assert saved.key_id == json.loads(JWK.search(shown)[0])["kid"]


def test_passphrase(tmp_path, monkeypatch):
    """A passphrase is asked for until two answers agree, encrypts the file and is never printed."""
    answers = "correct horse\nQXZ0123456789\ncorrect horse\ncorrect horse\n"
    monkeypatch.setattr(keys_command, "can_ask", lambda: True)
    shown = CliRunner().invoke(app, ["keys", "new", str(tmp_path / "key.pem"), "--passphrase"], input=answers).output
    assert as_signer(tmp_path / "key.pem", passphrase="correct horse").algorithm == "ES256"
    assert "correct horse" not in shown
    assert "encrypted with your passphrase" in " ".join(shown.split())
