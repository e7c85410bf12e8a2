"""The command line as a person uses it: output, exit status, and errors without a traceback."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import toolkit as tk
from toolkit import cli

COMMANDS = ("demo", "practice", "record", "lab")
PROCESS = [sys.executable, "-c", "from toolkit.cli import main; main()"]


class Result(NamedTuple):
    """The result of a command."""

    status: int
    stdout: str
    stderr: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Return a function that runs `toolkit ARGUMENTS` in this process, in a folder without settings."""
    for name in [name for name in os.environ if name.startswith("TOOLKIT_")]:
        monkeypatch.delenv(name)
    for name, value in {"COLUMNS": "100", "NO_COLOR": "1", "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def run_command(*arguments: str, **variables: str) -> Result:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["toolkit", *arguments])
            patch.setattr("warnings.showwarning", None)  # the command sets its own
            for name, value in variables.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as exit_:
                cli.main()
        return Result(int(exit_.value.code or 0), *capsys.readouterr())

    return run_command


def environment_of_process(folder: Path) -> dict[str, str]:
    """Return the variables of a process of its own: no TOOLKIT_* variables, and this package."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TOOLKIT_")}
    return {**variables, "COLUMNS": "100", "HOME": str(folder), "PYTHONPATH": str(Path(tk.__file__).parents[1])}


def test_demo(run: Run, tmp_path: Path) -> None:
    """The demo needs no configuration, says that it replays, and suggests what to do next."""
    result = run("demo")
    assert result.status == 0
    assert result.stderr == ""
    for expected in (
        "replaying 5 interactions, recorded",
        "/v1/oauth2/token",
        "account_number",
        "Token lifetimes",
        "toolkit lab",
    ):
        assert expected in result.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_demo_needs_no_network(run: Run, tmp_path: Path) -> None:
    """Without any network interface, loopback included, the demo prints the same bytes."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a network namespace")
    isolated = subprocess.run(
        ["unshare", "-n", *PROCESS, "demo"],
        env={**environment_of_process(tmp_path), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert isolated.stdout == run("demo").stdout


def test_record_and_replay(run: Run, tmp_path: Path) -> None:
    """`record --practice` leaves one cassette without secrets, which a session replays."""
    result = run("record", "mine", "--practice", "--environment", "paper")
    assert result.status == 0, result.stderr
    path = tmp_path / "cassettes" / "mine.yaml"
    assert str(path) in result.stdout
    assert tk.scan(path) == []
    assert len(tk.Session(cassette=path, mode="none").accounts()) == 1
    again = run("record", "mine", "--practice")
    assert again.status == 1
    assert "There is already a recording" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        (["record", "x"], {}, "--environment"),
        (["record", "x", "--environment", "paper"], {}, "TOOLKIT_PAPER_KEY_ID"),
        (["record", "x", "--practice", "--mode", "sometimes"], {}, "does not record"),
        (["record", "x", "--practice"], {"TOOLKIT_AUTH_URL": "ftp://x"}, "is not an address"),
        (["practice", "--port", "3"], {}, "port"),
        (["practice"], {"TOOLKIT_OFFLINE": "1"}, "TOOLKIT_OFFLINE"),
    ],
)
def test_bad_input(arguments: list[str], variables: dict[str, str], expected: str, run: Run, tmp_path: Path) -> None:
    """An error is printed in two lines on standard error, with exit status 1, and nothing is written."""
    result = run(*arguments, **variables)
    assert result.status == 1
    assert expected in result.stderr
    assert "Traceback" not in result.stderr + result.stdout
    assert not list(tmp_path.rglob("*.yaml"))


def test_malformed_settings_file(run: Run, tmp_path: Path) -> None:
    """The error names the file and the line; the file is kept."""
    file = tmp_path / "toolkit.toml"
    file.write_text("[addresses]\nauth = https://x\n", encoding="utf-8")
    result = run("record", "x", "--practice")
    assert result.status == 1
    assert str(file) in result.stderr.replace("\n", "")
    assert "line 2" in result.stderr
    assert file.read_text(encoding="utf-8") == "[addresses]\nauth = https://x\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples(command: str, run: Run) -> None:
    """The help of each command shows how to use it."""
    result = run(command, "--help")
    assert result.status == 0
    assert "Examples" in result.stdout
    assert f"toolkit {command}" in result.stdout


def test_version_option(run: Run, tmp_path: Path) -> None:
    """`--version` prints the name and version of the distribution."""
    assert run("--version").stdout.strip() == f"service-access-toolkit {tk.__version__}"


def test_practice_command(run: Run, tmp_path: Path) -> None:
    """The printed variables are enough for a session in another process; Ctrl+C stops the service."""
    with subprocess.Popen(
        [*PROCESS, "practice", "--accounts", "2"],
        cwd=tmp_path,
        env={**environment_of_process(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = []
        while not (lines and lines[-1].startswith("# Running")):
            lines.append(process.stdout.readline())
        exported = dict(re.findall(r"export (\w+)=(\S+)", "".join(lines)))
        result = run("record", "live", "--environment", "broker-sandbox", **exported)
        assert result.status == 0, result.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    secrets = [value for name, value in exported.items() if name.endswith(("_KEY_ID", "_SECRET_KEY", "_CLIENT_SECRET"))]
    assert len(secrets) == 6
    assert tk.scan(tmp_path / "cassettes", secrets=secrets) == []


def test_refused_recording(run: Run, tmp_path: Path) -> None:
    """A wrong secret is an error and leaves no cassette."""
    with tk.practice() as service:
        exported = {f"TOOLKIT_{name.upper()}_URL": address for name, address in service.settings.addresses.items()}
        keys = {"TOOLKIT_PAPER_KEY_ID": "PK-of-nobody-0000", "TOOLKIT_PAPER_SECRET_KEY": "wrong-wrong-wrong"}
        result = run("record", "wrong", "--environment", "paper", **exported, **keys)
    assert result.status == 1
    assert "did not accept the credentials" in result.stderr
    assert not list(tmp_path.rglob("*.yaml"))


def test_unwritable_folder(run: Run, tmp_path: Path) -> None:
    """A cassette that cannot be written is an error before anything is sent."""
    (tmp_path / "cassettes").write_text("no folder", encoding="utf-8")
    result = run("record", "x", "--practice")
    assert result.status == 1
    assert "Traceback" not in result.stderr
    assert str(tmp_path / "cassettes" / "x.yaml") in result.stderr.replace("\n", "")
