"""`toolkit lab` ends JupyterLab, its kernels and what they started when it is asked to end."""

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
IGNORES_TERMINATION = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("ready", flush=True)
time.sleep(600)
"""


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


def test_program_that_does_not_end(tmp_path):
    """A program that ignores the signal is killed after a while, with what it started in a group of its own."""
    program = (
        "import sys\nfrom toolkit.cli import lab\nlab._GRACE = 0.2\n"
        f"sys.exit(lab.run_to_its_end([sys.executable, '-c', {IGNORES_TERMINATION!r}]))"
    )
    with start(program, folder=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        status, left = end(process, signal.SIGTERM)
    assert status == 128 + signal.SIGKILL
    assert left == []


def test_exit_status_of_the_program(tmp_path):
    """Without a signal the exit status is the program's own."""
    program = "import sys\nfrom toolkit.cli import lab\nsys.exit(lab.run_to_its_end([sys.executable, '-c', 'exit(7)']))"
    assert start(program, folder=tmp_path).wait(PATIENCE) == 7


def test_programs_of_an_environment_that_is_not_activated(tmp_path, monkeypatch):
    """Terminals and cells of JupyterLab find the toolkit, which hints there name without a path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    code = "import os, sysconfig; exit(os.environ['PATH'].split(os.pathsep)[0] != sysconfig.get_path('scripts'))"
    program = f"import sys\nfrom toolkit.cli import lab\nsys.exit(lab.run_to_its_end([sys.executable, '-c', {code!r}]))"
    assert start(program, folder=tmp_path).wait(PATIENCE) == 0
