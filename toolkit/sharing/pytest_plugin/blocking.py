"""Refuse connections to other machines and to servers on this one, in all threads, while a test replays.

This replaces functions of the module `socket`, which httpx, requests, urllib and asyncio use. Sockets in the file
system stay allowed, and so do sockets that listen and the pair of sockets that each event loop has. This is for honest
code that forgot to replay; it is not a sandbox.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any, Final
from unittest.mock import patch

from toolkit.core.errors import NetworkBlocked

_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)
_USES: Final = ("connect", "connect_ex", "sendto", "sendmsg")


@contextmanager
def network_blocked(allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> Iterator[None]:
    """Refuse connections and lookups until the block ends.

    Args:
        allowed: host names or addresses; "*" stands for any characters, and "localhost" for every loopback address.
        refusal: makes the error for a host; it is raised where the connection is tried.
    """
    patterns = [pattern.lower() for pattern in allowed]
    resolved: set[str] = set()  # addresses of the hosts that are allowed by name

    def allows(host: str) -> bool:
        is_local = "localhost" in patterns and (host == "localhost" or (_is_address(host) and _is_loopback(host)))
        return is_local or host in resolved or any(fnmatchcase(host, pattern) for pattern in patterns)

    def guarded_use(name: str) -> Callable[..., Any]:
        original = getattr(socket.socket, name)

        def use(self: socket.socket, *args: Any, **kwargs: Any) -> Any:
            # A host and a port; without one, the socket is connected already.
            address = args[-1] if args and isinstance(args[-1], tuple) else None
            is_ours = self.family not in _FAMILIES or getattr(making, "pair", False)
            if address and not is_ours and not allows(_as_text(address[0])):
                raise refusal(":".join(map(str, address[:2])))
            return original(self, *args, **kwargs)

        return use

    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = _as_text(host or "localhost")
        if name not in ("localhost", socket.gethostname().lower()) and not _is_address(name) and not allows(name):
            raise refusal(name)
        answers = getaddrinfo(host, *args, **kwargs)
        if allows(name):
            resolved.update(str(answer[4][0]) for answer in answers)
        return answers

    def socketpair(*args: Any, **kwargs: Any) -> Any:
        making.pair = True  # on Windows, the two are connected over loopback
        try:
            return original_pair(*args, **kwargs)
        finally:
            making.pair = False

    getaddrinfo, original_pair, making = socket.getaddrinfo, socket.socketpair, threading.local()
    with ExitStack() as stack:
        for name in _USES:
            if hasattr(socket.socket, name):  # Windows has no sendmsg
                stack.enter_context(patch.object(socket.socket, name, guarded_use(name)))
        stack.enter_context(patch.multiple(socket, getaddrinfo=look_up, socketpair=socketpair))
        yield


def _as_text(host: Any) -> str:
    return (bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)).lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback
