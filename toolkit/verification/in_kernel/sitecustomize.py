# ruff: noqa: INP001 - a script, not part of a package
"""Block network access in the Python process of a kernel that verifies a notebook, before the notebook runs.

PYTHONPATH contains this folder. Python imports the first `sitecustomize` that it finds, in the kernel and in every
process that the kernel starts. An audit hook, which cannot be removed, blocks network sockets. Unix sockets are
allowed, because the kernel uses them. This catches code that should replay calls but does not; it is not a sandbox.
"""

from __future__ import annotations

import errno
import sys
from typing import Any, Final

_REASON: Final = "the network is off while a notebook is verified; replay a recording"
_USES: Final = frozenset(
    f"socket.{name}"
    for name in "connect bind sendto sendmsg getaddrinfo gethostbyname gethostbyaddr getnameinfo".split()
)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _USES or getattr(arguments[0], "family", None) == 1:  # AF_UNIX
        return
    frame: Any = sys._getframe(1)  # noqa: SLF001 - finds the caller
    if "socketpair" not in frame.f_code.co_name:  # on Windows, a pair within one process is connected over loopback
        raise OSError(errno.ENETUNREACH, _REASON)


sys.addaudithook(_refuse)
