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


class _Guard:
    """Decides which hosts may be reached; the arguments are those of `network_blocked`."""

    def __init__(self, allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> None:
        self._patterns = [pattern.lower() for pattern in allowed]
        self._refusal = refusal
        self._resolved: set[str] = set()  # addresses of the hosts that are allowed by name
        self._getaddrinfo, self._socketpair = socket.getaddrinfo, socket.socketpair
        self._making = threading.local()  # `pair` is set while this thread makes a pair of sockets

    def use(self, name: str) -> Callable[..., Any]:
        """Return a method of sockets that refuses other hosts."""
        original = getattr(socket.socket, name)

        def guarded(connection: socket.socket, *args: Any, **kwargs: Any) -> Any:
            # A host and a port; without one, the socket is connected already.
            address = args[-1] if args and isinstance(args[-1], tuple) else None
            is_ours = connection.family not in _FAMILIES or getattr(self._making, "pair", False)
            if address and not is_ours and not self._allows(_as_text(address[0])):
                raise self._refusal(":".join(map(str, address[:2])))
            return original(connection, *args, **kwargs)

        return guarded

    def getaddrinfo(self, host: Any, *args: Any, **kwargs: Any) -> Any:
        """Look up a host that is allowed, or an address or this machine, which needs no network."""
        name = _as_text(host or "localhost")
        needs_network = name not in ("localhost", socket.gethostname().lower()) and not _is_address(name)
        if needs_network and not self._allows(name):
            raise self._refusal(name)
        answers = self._getaddrinfo(host, *args, **kwargs)
        if self._allows(name):
            self._resolved.update(str(answer[4][0]) for answer in answers)
        return answers

    def socketpair(self, *args: Any, **kwargs: Any) -> Any:
        """Make a pair of sockets; on Windows, the two are connected over loopback."""
        self._making.pair = True
        try:
            return self._socketpair(*args, **kwargs)
        finally:
            self._making.pair = False

    def _allows(self, host: str) -> bool:
        is_local = host == "localhost" or (
            _is_address(host) and ipaddress.ip_address(host.partition("%")[0]).is_loopback
        )
        is_named = any(fnmatchcase(host, pattern) for pattern in self._patterns)
        return is_named or host in self._resolved or ("localhost" in self._patterns and is_local)


@contextmanager
def network_blocked(allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> Iterator[None]:
    """Refuse connections and lookups until the block ends.

    Args:
        allowed: host names or addresses; "*" stands for any characters, and "localhost" for every loopback address.
        refusal: makes the error for a host; it is raised where the connection is tried.
    """
    guard = _Guard(allowed, refusal)
    with ExitStack() as stack:
        for name in ("connect", "connect_ex", "sendto", "sendmsg"):
            if hasattr(socket.socket, name):  # Windows has no sendmsg
                stack.enter_context(patch.object(socket.socket, name, guard.use(name)))
        stack.enter_context(patch.multiple(socket, getaddrinfo=guard.getaddrinfo, socketpair=guard.socketpair))
        yield


def _as_text(host: Any) -> str:
    return (bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)).lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
