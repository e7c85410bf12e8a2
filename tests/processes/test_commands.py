"""Commands in processes of their own: without a network, at a terminal, and until Ctrl+C."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import toolkit as tk
from toolkit.auth.private_keys import as_signer

PROCESS = [sys.executable, "-c", "from toolkit.cli import main; main()"]


def environment_of_process(folder: Path) -> dict[str, str]:
    """Return the variables of a process of its own: no TOOLKIT_* variables, and this package."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("TOOLKIT_")}
    return {**variables, "COLUMNS": "100", "HOME": str(folder), "PYTHONPATH": str(Path(tk.__file__).parents[1])}


def run(*arguments: str, folder: Path, start: Sequence[str] = (), **variables: str) -> str:
    """Return what `toolkit ARGUMENTS` prints, in a folder without settings."""
    environment = {**environment_of_process(folder), "NO_COLOR": "1", **variables}
    command = [*start, *PROCESS, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_demo_needs_no_network(tmp_path: Path) -> None:
    """Without any network interface, loopback included, the demo prints the same bytes."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not make a network namespace")
    assert run("demo", folder=tmp_path, start=["unshare", "-n"]) == run("demo", folder=tmp_path)


def test_practice_command(tmp_path: Path) -> None:
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
        run("record", "live", "--environment", "broker-sandbox", folder=tmp_path, **exported)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    secrets = [value for name, value in exported.items() if name.endswith(("_KEY_ID", "_SECRET_KEY", "_CLIENT_SECRET"))]
    assert len(secrets) == 6
    assert tk.scan(tmp_path / "cassettes", secrets=secrets) == []


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_passphrase_at_a_terminal(tmp_path: Path) -> None:
    """At a real terminal the passphrase is not echoed."""
    file = tmp_path / "key.pem"
    import pty

    arguments = ["toolkit", "keys", "new", str(file), "--passphrase"]
    program = f"import sys; sys.argv = {arguments!r}\nfrom toolkit.cli import main; main()"
    environ = {**os.environ, "PYTHONPATH": str(Path(tk.__file__).parents[1]), "HOME": str(tmp_path)}
    child, descriptor = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-c", program], environ)  # noqa: S606
    shown = b""
    for question in (b"Passphrase: ", b"Repeat for confirmation: "):
        while question not in shown:
            shown += os.read(descriptor, 1000)
        os.write(descriptor, b"correct horse\n")
    try:
        while chunk := os.read(descriptor, 1000):
            shown += chunk
    except OSError:  # the child has closed its end
        pass
    assert os.waitpid(child, 0)[1] == 0, shown
    assert b"correct horse" not in shown
    assert as_signer(file, passphrase="correct horse").algorithm == "ES256"
