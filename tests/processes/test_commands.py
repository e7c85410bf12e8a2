"""Commands in processes of their own: without a network, and until Ctrl+C."""

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
