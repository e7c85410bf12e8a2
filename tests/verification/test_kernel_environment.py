"""The environment of a verifying kernel: programs, but no network and no data of the user."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.verification.kernel_environment import KernelEnvironment

TRIES = """
import asyncio, socket, sys, urllib.request
async def open_stream():
    await asyncio.open_connection("127.0.0.1", {port})
tries = [
    lambda: socket.create_connection(("127.0.0.1", {port})),
    lambda: socket.socket(),
    lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM),
    lambda: socket.getaddrinfo("localhost", {port}),
    lambda: socket.gethostbyname("localhost"),
    lambda: urllib.request.urlopen("http://127.0.0.1:{port}"),
    lambda: asyncio.run(open_stream()),
]
for attempt in tries:
    try:
        attempt()
    except OSError as error:
        print("the network is off" in str(error))
    else:
        print("open")
left, right = socket.socketpair()
left.sendall(b"pair")
print(right.recv(4).decode(), "sitecustomize" in str(sys.path), sep="")
"""


@pytest.fixture
def environment(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    return KernelEnvironment.create(tmp_path / "kernel", shared)


def run(environment, code):
    variables = environment.variables(os.environ)
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.fixture
def port():
    """Listen on a port of this machine, which can be called if there is a network."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_only_allowed_variables_are_passed_on(environment):
    """Variables that are not on the list do not reach the kernel; programs are still found."""
    secret = secrets.token_hex(16)
    outside = dict.fromkeys(("TOOLKIT_PAPER_SECRET_KEY", "AWS_SECRET", "PGPASSFILE", "HOME", "EDITOR", "X"), secret)
    variables = environment.variables({**outside, "PATH": "/bin", "PYTHONPATH": "lib"})
    assert secret not in str(variables)
    assert variables["PATH"] == "/bin"
    assert variables["PYTHONPATH"].split(os.pathsep)[1:] == [str(Path("lib").absolute())]
    assert variables["TOOLKIT_OFFLINE"] == "1"


def test_user_folders_belong_to_the_kernel(environment, tmp_path):
    """Every variable that names a folder of user files points to a folder made for this kernel."""
    variables = environment.variables({})
    named = [
        name for name in variables if name.startswith(("XDG_", "JUPYTER_", "HOME", "IPYTHON", "MPL", "TMP", "APP"))
    ]
    assert len(named) >= 10
    assert all(Path(variables[name]).is_relative_to(tmp_path) for name in named)
    assert list(environment.home.iterdir()) == []


def test_no_network(environment, port):
    """Every way to open a network socket is refused with the reason."""
    output = run(environment, TRIES.format(port=port))
    assert output == ["True"] * 7 + ["pairFalse"]


def test_no_network_in_child_processes(environment, port):
    """Python processes that the kernel starts have no network either."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TRIES.format(port=port)!r}], check=True)"
    assert run(environment, code) == ["True"] * 7 + ["pairFalse"]


def test_another_sitecustomize_runs(environment, tmp_path):
    """A sitecustomize of the distribution runs after ours."""
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.was_here = 'yes'\n")
    variables = environment.variables({"PYTHONPATH": str(tmp_path)})
    command = [sys.executable, "-c", "print(was_here)"]
    assert subprocess.check_output(command, env=variables, text=True, timeout=60) == "yes\n"


def test_transport(tmp_path):
    """Channels are sockets in the file system if their paths are short enough, else loopback addresses."""
    shared = tmp_path / "shared"
    short = KernelEnvironment.create(tmp_path / "a", shared)
    fits = os.name == "posix" and len(str(short.channels)) <= 98
    assert short.transport == ("ipc" if fits else "tcp")
    assert KernelEnvironment.create(tmp_path / ("long" * 30), shared).transport == "tcp"


def test_placeholders(environment, tmp_path):
    """Home, project and libraries have placeholders, and the longest path comes first."""
    notebook = tmp_path / "project" / "notebooks" / "a.ipynb"
    places = environment.placeholders(notebook, tmp_path / "project")
    assert places[str(environment.home)] == "~"
    assert places[str(tmp_path / "project")] == "<project>"
    assert places[str(notebook.parent)] == "<project>/notebooks"
    assert "<packages>" in places.values()
    lengths = [len(folder) for folder in places]
    assert lengths == sorted(lengths, reverse=True)
    assert "/" not in places


def test_play_log(environment, tmp_path):
    """A kernel notes what it plays only on request, whatever this process does."""
    outside = {"TOOLKIT_PLAY_LOG": "/elsewhere"}
    assert "TOOLKIT_PLAY_LOG" not in environment.variables(outside)
    asked = KernelEnvironment.create(tmp_path / "asked", environment.shared, tmp_path / "log")
    assert asked.variables(outside)["TOOLKIT_PLAY_LOG"] == str(tmp_path / "log")
