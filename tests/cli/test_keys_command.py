"""`toolkit keys new` as a person uses it: output, files and errors."""

from __future__ import annotations

import json
import os
import re
import shlex

import pytest
import typer
from key_forms import thumbprint
from typer.testing import CliRunner

from toolkit.auth.private_keys import as_signer
from toolkit.auth.profiles.saving import load_credentials
from toolkit.cli import keys
from toolkit.cli.app import app
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.local.settings import Settings

JWK = re.compile(r"^\{$.*?^\}$", re.DOTALL | re.MULTILINE)
PEM = re.compile(r"-----BEGIN PUBLIC KEY-----\n.*?-----END PUBLIC KEY-----", re.DOTALL)


def run(*arguments):
    root = typer.Typer()
    root.add_typer(keys.app, name="keys")
    result = CliRunner().invoke(root, ["keys", "new", *arguments], env={"COLUMNS": "60"})
    if isinstance(result.exception, ConfigurationError):
        raise result.exception
    assert result.exception is None
    return result.output


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Give the test a configuration folder."""
    for variable in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    return tmp_path / "home"


def test_default_file(home):
    """By default the private key is saved in the user's configuration folder, and the output says where."""
    shown = run()
    (file,) = home.rglob("*.pem")
    assert str(file) in shown
    assert file.parent.name == "keys"
    assert file.parent.parent.name == "service-access-toolkit"
    if os.name == "posix":
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert file.name.startswith(f"es256-{thumbprint(json.loads(JWK.search(shown)[0]))[:8]}")
    run()
    assert len(list(home.rglob("*.pem"))) == 2


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "PS384"])
def test_printed_key_matches_file(algorithm, tmp_path):
    """The printed PEM and JWK belong to the file, and the printed Python makes a ClientKey of it."""
    file = tmp_path / "my key.pem"
    shown = run(str(file), "--algorithm", algorithm)
    jwk = json.loads(JWK.search(shown)[0])
    assert (jwk["alg"], jwk["use"], jwk["kid"]) == (algorithm, "sig", thumbprint(jwk))
    private = as_signer(file, algorithm=algorithm)
    code = shown[shown.index("from pathlib import Path") :].replace("CLIENT_ID", "client-1")
    namespace = {}
    exec(code, namespace)  # noqa: S102 - it is meant to be pasted
    credentials = namespace["credentials"]
    assert (credentials.algorithm, credentials.key_id) == (algorithm, jwk["kid"])
    assert credentials.private_key.identity() == private.identity()
    implementation = __import__("jwt").get_algorithm_by_name(algorithm)
    for public in (implementation.prepare_key(PEM.search(shown)[0].encode()), implementation.from_jwk(jwk)):
        assert implementation.verify(b"data", public, private.sign(b"data"))


@pytest.mark.parametrize("algorithm", ["ES256", "PS384"])
@pytest.mark.filterwarnings("ignore:No system keyring")
@pytest.mark.skipif(os.name != "posix", reason="words are quoted for a POSIX shell here")
def test_printed_command_saves_the_key(algorithm, tmp_path, monkeypatch, home):
    """With a client ID, the printed command saves credentials that sign as the new key does."""
    monkeypatch.chdir(tmp_path)
    for name in ("auth_sandbox", "broker_sandbox", "market_data_sandbox"):
        monkeypatch.setenv(f"TOOLKIT_{name.upper()}_URL", f"https://{name}.example".replace("_", "-"))
    shown = run(str(tmp_path / "my key.pem"), "--algorithm", algorithm)
    line = next(line for line in shown.splitlines() if "toolkit credentials add" in line)
    words = shlex.split(line.partition("  save the client ID")[0])
    result = CliRunner().invoke(app, [*words[1:], "--client-id", "client-1", "--yes"])
    assert result.exit_code == 0, result.output
    saved = load_credentials(Environment.BROKER_SANDBOX, "default", settings=Settings.load(), anywhere=True)
    assert (saved.client_id, saved.algorithm) == ("client-1", algorithm)
    assert saved.key_id == json.loads(JWK.search(shown)[0])["kid"]


def test_private_key_is_not_printed(tmp_path):
    """No line of the private key is in the output."""
    file = tmp_path / "key.pem"
    shown = run(str(file), "--algorithm", "RS256")
    secrets = [secret for _, secret in as_signer(file).secrets()]
    lines = [line for line in file.read_text().splitlines() if "-----" not in line]
    assert [line for line in lines if line in shown] == []
    assert [secret for secret in secrets if secret.reveal() in shown] == []


def test_key_id(tmp_path):
    """A key ID of your own is printed and used, beside the thumbprint."""
    shown = run(str(tmp_path / "key.pem"), "--key-id", "desk-2026")
    jwk = json.loads(JWK.search(shown)[0])
    assert jwk["kid"] == "desk-2026"
    assert f"Thumbprint (RFC 7638)  {thumbprint(jwk)}" in shown
    assert 'key_id="desk-2026"' in shown


def test_relative_file_and_home(tmp_path, monkeypatch, home):
    """A relative file is created in the working folder and printed in full; `~` is the home folder."""
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path / "key.pem") in run("key.pem")
    run("~/other.pem")
    assert (home / "other.pem").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--algorithm", "HS256"], "algorithm 'HS256' is not known"),
        (["--key-id", " "], "key ID"),
        (["--passphrase"], "at a terminal only"),
    ],
)
def test_refused_key_options(arguments, words, tmp_path):
    """Wrong options are explained, and no file is written."""
    with pytest.raises(ConfigurationError, match=words) as caught:
        run(str(tmp_path / "key.pem"), *arguments)
    assert caught.value.next_step
    assert list(tmp_path.iterdir()) == []


def test_existing_file_and_repository(tmp_path):
    """An existing file is kept, and no key is written into a repository."""
    (tmp_path / "key.pem").write_text("before")
    with pytest.raises(ConfigurationError, match="the name exists already"):
        run(str(tmp_path / "key.pem"))
    assert (tmp_path / "key.pem").read_text() == "before"
    (tmp_path / ".git").mkdir()
    with pytest.raises(ConfigurationError, match="git repository"):
        run(str(tmp_path / "new.pem"))
    assert not (tmp_path / "new.pem").exists()


def typed(monkeypatch, *answers):
    pending = list(answers)

    def ask(question):
        answer = pending.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr(keys, "can_ask", lambda: True)
    monkeypatch.setattr("getpass.getpass", ask)


def test_passphrase(tmp_path, monkeypatch):
    """A passphrase is asked for twice, encrypts the file and is never printed."""
    typed(monkeypatch, "correct horse", "correct horse")
    file = tmp_path / "key.pem"
    shown = run(str(file), "--passphrase")
    assert "ENCRYPTED" in file.read_text()
    assert as_signer(file, passphrase="correct horse").algorithm == "ES256"
    assert "correct horse" not in shown
    assert "passphrase=getpass.getpass()" in shown
    assert "encrypted with your passphrase" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["QXZ0123456789QXZ", "QXZ0123456789"], "differ"),
        (["", ""], "is empty"),
        ([EOFError()], "the input has ended"),
        ([__import__("getpass").GetPassWarning()], "would be seen"),
    ],
)
def test_bad_passphrase(answers, words, tmp_path, monkeypatch):
    """A mistyped, empty or visible passphrase creates no key."""
    typed(monkeypatch, *answers)
    with pytest.raises(ConfigurationError, match=words) as caught:
        run(str(tmp_path / "key.pem"), "--passphrase")
    assert caught.value.__context__ is None
    assert "QXZ" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
