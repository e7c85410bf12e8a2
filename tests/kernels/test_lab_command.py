"""`toolkit lab` starts JupyterLab in its own place: a signal ends JupyterLab and its kernels."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psutil
import pytest

import toolkit

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")
PATIENCE = 60  # seconds; for a machine that is busy with other things


def start(program, *arguments, folder, **options):
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TOOLKIT_", "JUPYTER_"))},
        "HOME": str(folder),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": str(Path(toolkit.__file__).parents[1]),
    }
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, **options)


def wait_for(condition):
    """Return the first true value of a condition."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
    return value


def end(process, number):
    """Send a signal to the process alone; return its exit status and the processes below it that are left."""
    below = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    status = process.wait(PATIENCE)
    _, left = psutil.wait_procs(below, timeout=PATIENCE)
    return status, left


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_lab_ends_its_kernels(tmp_path, number):
    """A signal to `toolkit lab` alone ends JupyterLab and its kernel."""
    arguments = ("lab", "--copy-to", str(tmp_path / "copy"), "--", "--no-browser", "--allow-root", "--ServerApp.port=0")
    program = "from toolkit.cli import main; main()"
    process = start(program, *arguments, folder=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        files = wait_for(lambda: list((tmp_path / "runtime").glob("jpserver-*.json")))
        server = wait_for(lambda: json.loads(files[0].read_text() or "null"))
        headers = {"Authorization": f"token {server['token']}"}
        with httpx.Client(base_url=server["url"], headers=headers, timeout=PATIENCE) as client:
            assert client.post("api/kernels", json={"name": "python3"}).status_code == 201
            assert client.get("api/kernels").json()
        below = psutil.Process(process.pid).children(recursive=True)
        assert any("ipykernel_launcher" in " ".join(child.cmdline()) for child in below)
        status, left = end(process, number)
    finally:
        for child in (*psutil.Process(process.pid).children(recursive=True),) if process.poll() is None else ():
            child.kill()
        process.kill()
    assert status == 0
    assert left == []
