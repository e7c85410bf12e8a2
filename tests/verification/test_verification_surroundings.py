"""What a verifying kernel is given of the world outside: programs, and nothing of its user's."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from toolkit.verification.kernel_environment import Surroundings

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
for each in tries:
    try:
        each()
    except OSError as error:
        print("network is shut" in str(error))
    else:
        print("open")
one, other = socket.socketpair()
one.sendall(b"pair")
print(other.recv(4).decode(), "sitecustomize" in str(sys.path), sep="")
"""


@pytest.fixture
def surroundings(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    return Surroundings.make(tmp_path / "kernel", shared)


def run(surroundings, code, **environment):
    given = {**surroundings.environment(os.environ), **environment}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def port():
    """A port of this machine where somebody listens: without the rule, calling it succeeds."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_only_what_is_listed_is_handed_on(surroundings):
    """Whatever the variable is called, a value that nobody listed does not arrive; programs are still found."""
    secret = secrets.token_hex(16)
    outside = dict.fromkeys(("TOOLKIT_PAPER_SECRET_KEY", "AWS_SECRET", "PGPASSFILE", "HOME", "EDITOR", "X"), secret)
    environment = surroundings.environment({**outside, "PATH": "/bin", "PYTHONPATH": "lib"})
    assert secret not in str(environment)
    assert environment["PATH"] == "/bin"
    assert environment["PYTHONPATH"].split(os.pathsep)[1:] == [str(Path("lib").absolute())]
    assert environment["TOOLKIT_OFFLINE"] == "1"


def test_home_configuration_and_cache_are_folders_of_its_own(surroundings, tmp_path):
    """Nothing that names a folder for a user's files points outside of what was made for this kernel."""
    environment = surroundings.environment({})
    named = [
        name for name in environment if name.startswith(("XDG_", "JUPYTER_", "HOME", "IPYTHON", "MPL", "TMP", "APP"))
    ]
    assert len(named) >= 10
    assert all(Path(environment[name]).is_relative_to(tmp_path) for name in named)
    assert list(surroundings.home.iterdir()) == []


@pytest.mark.parametrize("channels", ["ipc", "tcp"])
def test_python_reaches_no_address_of_the_network(surroundings, port, channels):
    """With the filter of system calls or without it, every way to a socket of the network is refused by name."""
    told = run(surroundings, TRIES.format(port=port), NOTEBOOK_CHANNELS=channels)
    assert told == ["True"] * 7 + ["pairFalse"]


def test_processes_that_it_starts_reach_none_either(surroundings, port):
    """The rule goes with the environment."""
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {TRIES.format(port=port)!r}], check=True)"
    assert run(surroundings, code) == ["True"] * 7 + ["pairFalse"]


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"), reason="system calls of Linux"
)
@pytest.mark.parametrize("family", [2, 10, 17])
def test_below_python_the_network_is_shut_too(surroundings, family):
    """A library in C, in a child without the rule as well, is refused a socket; one of the file system it gets."""
    code = f"import ctypes; call = ctypes.CDLL(None).socket; print(call({family}, 2, 0), call(1, 1, 0) > 0)"
    isolated = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {code!r}], check=True)"
    assert run(surroundings, code) == ["-1", "True"]
    assert run(surroundings, isolated) == ["-1", "True"]


def test_another_start_up_module_still_runs(surroundings, tmp_path):
    """The one that ours stands before, such as a distribution's, is run after it."""
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.was_here = 'yes'\n")
    environment = surroundings.environment({"PYTHONPATH": str(tmp_path)})
    command = [sys.executable, "-c", "print(was_here)"]
    assert subprocess.check_output(command, env=environment, text=True, timeout=60) == "yes\n"


def test_channels_need_no_address_where_paths_fit(tmp_path):
    """A socket's path is short by nature: where a folder's is too long, the loopback address is taken."""
    shared = tmp_path / "shared"
    short = Surroundings.make(tmp_path / "a", shared)
    fits = os.name == "posix" and len(str(short.channels)) <= 98
    assert short.transport == ("ipc" if fits else "tcp")
    assert Surroundings.make(tmp_path / ("long" * 30), shared).transport == "tcp"


def test_folders_are_named_for_what_they_are(surroundings, tmp_path):
    """Home, project and libraries each have a word, the longest path first."""
    notebook = tmp_path / "project" / "notebooks" / "a.ipynb"
    places = surroundings.places(notebook, tmp_path / "project")
    assert places[str(surroundings.home)] == "~"
    assert places[str(tmp_path / "project")] == "<project>"
    assert places[str(notebook.parent)] == "<project>/notebooks"
    assert "<packages>" in places.values()
    lengths = [len(folder) for folder in places]
    assert lengths == sorted(lengths, reverse=True)
    assert "/" not in places
