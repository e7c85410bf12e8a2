"""Run pages, and the program `toolkit`, in forks of a process that has already imported what they need.

    python warm_interpreter.py SOCKET

A fork has the arguments, the working directory, the variables and the standard streams that its client sends, and
shares nothing with other forks. It is killed, with what it started, if its client goes away.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

# What takes long to load in many pages, and does not depend on the variables or folders of a page.
LIBRARIES = (
    "IPython.core.interactiveshell",
    "matplotlib.pyplot",
    "nbclient",
    "nbconvert.exporters",
    "pandas",
    "pyarrow.parquet",
    "vcr",
    "yaml",
)
PROGRAMS = {"page": "page_runner", "toolkit": "toolkit.cli"}  # each with a function `main`
LEFT_OUT = ("toolkit.verification.in_kernel", "toolkit.sharing.pytest_plugin")  # they change the process


END: list[int] = []  # the status of the program that ran in this process


@atexit.register  # before those of the libraries, so that it runs after them
def leave() -> None:
    """End without taking all modules apart, which takes longer than many programs."""
    if END:
        sys.stdout.flush()
        os._exit(END[0])


def load() -> None:
    """Import the toolkit's modules, the runner of pages, and the libraries."""
    import toolkit

    for module in pkgutil.walk_packages(toolkit.__path__, "toolkit."):
        if not module.name.startswith(LEFT_OUT):
            importlib.import_module(module.name)
    for name in (*PROGRAMS.values(), *LIBRARIES):
        importlib.import_module(name)


def serve(address: str) -> None:
    """Serve clients until the process is terminated."""
    signal.signal(signal.SIGCHLD, lambda *_: wait_for_ended())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    attend(connection)


def wait_for_ended() -> None:
    """Remove forks that have ended from the system's list of processes."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def attend(connection: socket.socket) -> NoReturn:
    """Fork once more for the program, and tell the client its status."""
    first, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    with connection.makefile("rb") as rest:
        request = json.loads(first if first.endswith(b"\n") else first + rest.readline())
    process = os.fork()
    if process == 0:
        connection.close()
        run(request, streams)  # waits for its threads, and calls exit functions
    ended = os.pidfd_open(process)
    if ended not in select.select([ended, connection], [], [])[0]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(b"%d\n" % status)
    os._exit(0)


def run(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """Run a program in this process."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # Anew, since an open stream remembers whether its file can seek.
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["variables"])
    program, *arguments = request["arguments"]
    sys.argv = [program, *arguments]
    status: Any = 1
    try:
        status = sys.modules[PROGRAMS[program]].main()
    except SystemExit as exit_:
        status = exit_.code
    except Exception:  # noqa: BLE001 - as an interpreter does it, without the lines of the server
        traceback.print_exc()
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    END.append(status or 0)
    sys.exit()


if __name__ == "__main__":
    load()
    gc.collect()
    gc.freeze()
    serve(sys.argv[1])
