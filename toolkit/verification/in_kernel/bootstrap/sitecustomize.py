# ruff: noqa: INP001 - a script of its own, which Python is pointed to
"""Shuts the network of a Python process before its first own line, and of every one that it starts.

Handed on by PYTHONPATH: Python imports the first `sitecustomize` that it finds. The rule is an audit hook,
which refuses sockets of the network in Python on every system and cannot be taken out again. On Linux a
filter of system calls (seccomp) refuses them below Python as well, in libraries in C and in programs of any
kind that the process starts; it needs no privileges. Sockets of this machine's file system stay: the kernel
of a notebook has its channels there.

For honest code that forgot to replay. It is no sandbox: files can be read and programs run.
"""

from __future__ import annotations

import errno
import os
import sys
from types import FrameType
from typing import Any, Final

REASON: Final = "the network is shut while a notebook is verified"
CHANNELS: Final = "NOTEBOOK_CHANNELS"  # "ipc": no address of the network is needed; "tcp": the kernel's own
_LOOKUPS: Final = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
)
_USES: Final = frozenset(
    {"socket.__new__", "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"},
)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not event.startswith("socket."):
        return
    import _socket  # where an event of it comes from, it is loaded

    if event in _LOOKUPS:
        raise _socket.gaierror(_socket.EAI_FAIL, REASON)
    if event in _USES:
        # A socket made from a descriptor has no family yet; it is asked again when it is used.
        family = arguments[1] if event == "socket.__new__" else arguments[0].family
        local = {-1, getattr(_socket, "AF_UNIX", -1)}
        if family not in local and not _makes_a_pair(sys._getframe(1)):  # noqa: SLF001 - whose call it is
            raise OSError(errno.ENETUNREACH, REASON)


def _makes_a_pair(frame: FrameType | None) -> bool:
    """Whether the standard library joins two ends within this process, as it must over loopback on Windows."""
    for _ in range(4):
        if frame is None:
            return False
        if frame.f_globals.get("__name__") == "socket" and "socketpair" in frame.f_code.co_name:
            return True
        frame = frame.f_back
    return False


def _filter_system_calls() -> None:
    """Let socket(2) refuse every address family of the network, for this process and its descendants.

    A program of the kernel's packet filter (linux/filter.h, linux/seccomp.h); where it is not to be had, the
    rule above remains.
    """
    number_and_architecture = {"x86_64": (41, 0xC000003E), "aarch64": (198, 0xC00000B7)}.get(os.uname().machine)
    if number_and_architecture is None:
        return
    import ctypes  # needed on Linux alone
    import struct  # likewise

    number, architecture = number_and_architecture
    load, equal, give = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.ENETUNREACH  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
    families = (2, 10, 17)  # AF_INET, AF_INET6, AF_PACKET; the others of them are exotic
    steps = [
        (load, 0, 0, 4),  # the architecture of the call
        (equal, 0, 3 + len(families), architecture),
        (load, 0, 0, 0),  # its number
        (equal, 0, 1 + len(families), number),
        (load, 0, 0, 16),  # its first argument
        *((equal, len(families) - at, 0, family) for at, family in enumerate(families)),
        (give, 0, 0, allow),
        (give, 0, 0, refuse),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    head = ctypes.create_string_buffer(struct.pack("HL", len(steps), ctypes.addressof(program)))
    call = ctypes.CDLL(None, use_errno=True).prctl
    call.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    call(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, without which an ordinary user may not
    call(22, 2, ctypes.addressof(head), 0, 0)  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _run_the_next() -> None:
    """Run the `sitecustomize` that this one stands before, as some distributions have one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow to load
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]  # noqa: PTH100
    from importlib.machinery import PathFinder  # the rest of this file is for before any import

    found = PathFinder.find_spec("sitecustomize", sys.path)
    if found is not None and found.loader is not None:
        from importlib.util import module_from_spec  # likewise

        found.loader.exec_module(module_from_spec(found))


sys.addaudithook(_refuse)
if sys.platform == "linux" and os.environ.get(CHANNELS) == "ipc":
    _filter_system_calls()
_run_the_next()
