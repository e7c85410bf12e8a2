"""The command line as a person uses it: output, exit status, and errors without a traceback."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import toolkit as tk

COMMANDS = ("demo", "practice", "record", "lab")


def run(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """`toolkit ARGUMENTS` in a folder, without the variables of whoever runs the tests."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TOOLKIT_")}
    environ |= {"COLUMNS": "100", "NO_COLOR": "1", "HOME": str(folder), **variables}
    environ["PYTHONPATH"] = os.pathsep.join([str(Path(tk.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", "from toolkit.cli.main import main; main()", *arguments]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False)


def test_demo_shows_calls_accounts_and_token_lifetimes(tmp_path: Path) -> None:
    """The main job needs no configuration, says that it replays, and says what to do next."""
    done = run("demo", folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    for expected in (
        "replaying 5 interactions, recorded",
        "/v1/oauth2/token",
        "account_number",
        "Token lifetimes",
        "toolkit lab",
    ):
        assert expected in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_demo_needs_no_network(tmp_path: Path) -> None:
    """With no network interface at all, loopback included, the demo is the same to the byte."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a network namespace")
    command = [sys.executable, "-c", "from toolkit.cli.main import main; main()", "demo"]
    environ = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(Path(tk.__file__).parent.parent)}
    shut = subprocess.run(
        ["unshare", "-n", *command], env=environ, capture_output=True, text=True, timeout=120, check=True
    )
    assert shut.stdout == run("demo", folder=tmp_path).stdout


def test_a_recording_against_the_practice_service_replays(tmp_path: Path) -> None:
    """`record --practice` leaves one cassette without secrets, which a session replays."""
    done = run("record", "mine", "--practice", "--environment", "paper", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "cassettes" / "mine.yaml"
    assert str(path) in done.stdout
    assert tk.scan(path) == []
    assert len(tk.Session(cassette=path, mode="none").accounts()) == 1
    again = run("record", "mine", "--practice", folder=tmp_path)
    assert again.returncode == 1
    assert "There is a recording" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "variables", "expected"),
    [
        (["record", "x"], {}, "--environment"),
        (["record", "x", "--environment", "paper"], {}, "TOOLKIT_PAPER_KEY_ID"),
        (["record", "x", "--practice", "--mode", "sometimes"], {}, "There is no record mode"),
        (["record", "x", "--practice"], {"TOOLKIT_AUTH_URL": "ftp://x"}, "is not an address"),
        (["practice", "--port", "3"], {}, "port"),
        (["practice"], {"TOOLKIT_OFFLINE": "1"}, "TOOLKIT_OFFLINE"),
    ],
)
def test_bad_input_is_two_lines_without_a_traceback(
    arguments: list[str], variables: dict[str, str], expected: str, tmp_path: Path
) -> None:
    """What is wrong and what to do next, on standard error, with exit status 1 and nothing written."""
    done = run(*arguments, folder=tmp_path, **variables)
    assert done.returncode == 1
    assert expected in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_malformed_settings_file_is_named_with_its_line(tmp_path: Path) -> None:
    """The message says which file and where; the file stays as it was."""
    file = tmp_path / "toolkit.toml"
    file.write_text("[addresses]\nauth = https://x\n", encoding="utf-8")
    done = run("record", "x", "--practice", folder=tmp_path)
    assert done.returncode == 1
    assert str(file) in done.stderr.replace("\n", "")
    assert "line 2" in done.stderr
    assert file.read_text(encoding="utf-8") == "[addresses]\nauth = https://x\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples(command: str, tmp_path: Path) -> None:
    """Each command's help shows how it is used."""
    done = run(command, "--help", folder=tmp_path)
    assert done.returncode == 0
    assert "Examples" in done.stdout
    assert f"toolkit {command}" in done.stdout


def test_version_is_the_package_version(tmp_path: Path) -> None:
    """`--version` names distribution and version."""
    assert run("--version", folder=tmp_path).stdout.strip() == f"service-access-toolkit {tk.__version__}"


def test_practice_prints_how_to_call_it_and_stops_on_interrupt(tmp_path: Path) -> None:
    """The printed variables are enough for a session in another process; Ctrl+C ends it cleanly."""
    environ = {**os.environ, "PYTHONPATH": str(Path(tk.__file__).parent.parent), "HOME": str(tmp_path)}
    command = [sys.executable, "-u", "-c", "from toolkit.cli.main import main; main()", "practice", "--accounts", "2"]
    with subprocess.Popen(command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        while not (lines and lines[-1].startswith("# Running")):
            lines.append(process.stdout.readline())
        exported = dict(re.findall(r"export (\w+)=(\S+)", "".join(lines)))
        done = run("record", "live", "--environment", "broker-sandbox", folder=tmp_path, **exported)
        assert done.returncode == 0, done.stderr
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    secrets = [value for name, value in exported.items() if name.endswith(("_KEY_ID", "_SECRET_KEY", "_CLIENT_SECRET"))]
    assert len(secrets) == 6
    assert tk.scan(tmp_path / "cassettes", secrets=secrets) == []


def test_a_refused_recording_leaves_no_file(tmp_path: Path) -> None:
    """A wrong secret is an error, not a cassette that replays it for ever."""
    with tk.practice() as service:
        exported = {f"TOOLKIT_{name.upper()}_URL": address for name, address in service.settings.addresses.items()}
        keys = {"TOOLKIT_PAPER_KEY_ID": "PK-of-nobody-0000", "TOOLKIT_PAPER_SECRET_KEY": "wrong-wrong-wrong"}
        done = run("record", "wrong", "--environment", "paper", folder=tmp_path, **exported, **keys)
    assert done.returncode == 1
    assert "did not accept the credentials" in done.stderr
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A recording that cannot be kept is told in two lines, before anything is sent."""
    (tmp_path / "cassettes").write_text("no folder", encoding="utf-8")
    done = run("record", "x", "--practice", folder=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "cassettes" / "x.yaml") in done.stderr.replace("\n", "")
