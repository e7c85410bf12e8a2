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


def wait_for(condition):
    """Return the first true value of a condition."""
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)
    return value


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_lab_ends_its_kernels(tmp_path, number):
    """A signal to `toolkit lab` alone ends JupyterLab and its kernel."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TOOLKIT_", "JUPYTER_"))},
        "HOME": str(tmp_path),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "PYTHONPATH": str(Path(toolkit.__file__).parents[1]),
    }
    arguments = ["lab", "--copy-to", str(tmp_path / "copy"), "--", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    command = [sys.executable, "-c", "from toolkit.cli import main; main()", *arguments]
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, **silent)
    below = []
    try:
        files = wait_for(lambda: list((tmp_path / "runtime").glob("jpserver-*.json")))
        server = wait_for(lambda: json.loads(files[0].read_text() or "null"))
        headers = {"Authorization": f"token {server['token']}"}
        with httpx.Client(base_url=server["url"], headers=headers, timeout=PATIENCE) as client:
            assert client.post("api/kernels", json={"name": "python3"}).status_code == 201
        below = psutil.Process(process.pid).children(recursive=True)
        assert any("ipykernel_launcher" in " ".join(child.cmdline()) for child in below)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert psutil.wait_procs(below, timeout=PATIENCE)[1] == []
    finally:
        if process.poll() is None:
            below = psutil.Process(process.pid).children(recursive=True)
        for child in filter(psutil.Process.is_running, below):
            child.kill()
        process.kill()
