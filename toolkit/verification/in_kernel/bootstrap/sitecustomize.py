# ruff: noqa: INP001 - a script, not part of a package
"""Shut off the network for a Python process before its first line runs, and for every Python process that it starts.

PYTHONPATH passes it on: Python imports the first `sitecustomize` that it finds. An audit hook, which cannot be removed,
refuses network sockets on every system. Sockets in the file system are allowed, because the kernel has its channels
there. This is for honest code that forgot to replay; it is not a sandbox: code can read files and run other programs.
"""

from __future__ import annotations

import errno
import os
import sys
from types import FrameType
from typing import Any, Final

REASON: Final = "the network is off while a notebook is verified"
_LOOKUPS: Final = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
)
_USES: Final = frozenset(
    {"socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"},
)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    import _socket  # loaded already if such an event occurs

    if event in _LOOKUPS:
        raise _socket.gaierror(_socket.EAI_FAIL, REASON)
    if event in _USES:
        # A socket made from a descriptor does not have a family yet; its use is checked later.
        family = arguments[1] if event == "socket.__new__" else arguments[0].family
        local = {-1, getattr(_socket, "AF_UNIX", -1)}
        if family not in local and not _is_socketpair(sys._getframe(1)):  # noqa: SLF001 - finds the caller
            raise OSError(errno.ENETUNREACH, REASON)


def _is_socketpair(frame: FrameType | None) -> bool:
    """Return True if the standard library connects two ends within this process, over loopback on Windows."""
    for _ in range(4):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == "socket" and "socketpair" in frame.f_code.co_name:
            return True
        frame = frame.f_back
    return False


def _run_next_sitecustomize() -> None:
    """Run the `sitecustomize` that this one hides, because some distributions have one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow to load
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]  # noqa: PTH100
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        spec.loader.exec_module(module_from_spec(spec))


sys.addaudithook(_refuse)
_run_next_sitecustomize()
