# ruff: noqa: INP001 - a script, not part of a package
"""Refuse the network in the Python process of a kernel that verifies a notebook, before its first line runs.

PYTHONPATH leads here: Python imports the first `sitecustomize` that it finds, also in the processes that it starts. An
audit hook, which cannot be removed, refuses network sockets; those in the file system are allowed, because the kernel
has its channels there. This is for honest code that forgot to replay; it is not a sandbox.
"""

from __future__ import annotations

import errno
import sys
from typing import Any, Final

_REASON: Final = "the network is off while a notebook is verified; replay a recording"
_LOOKUPS: Final = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo")
_USES: Final = ("socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg")


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    import _socket  # loaded already if such an event occurs

    if event in _LOOKUPS:
        raise _socket.gaierror(_socket.EAI_FAIL, _REASON)
    if event in _USES:
        # A socket made from a descriptor does not have a family yet; its use is checked later.
        family = arguments[1] if event == "socket.__new__" else arguments[0].family
        if family in (-1, getattr(_socket, "AF_UNIX", -1)):
            return
        frame: Any = sys._getframe(1)  # noqa: SLF001 - finds the callers
        for _ in range(4):  # on Windows, a pair of sockets within one process is connected over loopback
            if frame and "socketpair" in frame.f_code.co_name:
                return
            frame = frame and frame.f_back
        raise OSError(errno.ENETUNREACH, _REASON)


sys.addaudithook(_refuse)
