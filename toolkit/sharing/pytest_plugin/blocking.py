"""Refuse connections to other machines and to servers on this one, in all threads, while a test replays.

This replaces functions of the module `socket`, which httpx, requests, urllib and asyncio use. Sockets in the file
system stay allowed, and so do sockets that listen. This is for honest code that forgot to replay; it is not a sandbox.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fnmatch import fnmatchcase
from typing import Any
from unittest.mock import patch

from toolkit.core.errors import NetworkBlocked


@contextmanager
def network_blocked(allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> Iterator[None]:
    """Refuse connections and lookups until the block ends.

    Args:
        allowed: host names or addresses; "*" stands for any characters, and "localhost" for every loopback address.
        refusal: makes the error for a host; it is raised where the connection is tried.
    """
    patterns = [*map(str.lower, allowed), *(["127.*", "::1"] if "localhost" in allowed else [])]
    resolved = set[str]()  # addresses of the hosts that are allowed by name
    lookup = socket.getaddrinfo

    def is_allowed(host: str) -> bool:
        return host in resolved or any(fnmatchcase(host, pattern) for pattern in patterns)

    def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
        def use(connection: socket.socket, *args: Any) -> Any:
            # A host and a port; without one, the socket is connected already.
            address = args[-1] if args and isinstance(args[-1], tuple) else None
            # On Windows, the pair of sockets that each event loop has is connected over loopback.
            is_pair = "socketpair" in sys._getframe(1).f_code.co_name  # noqa: SLF001 - the cheapest way to the caller
            is_local = is_pair or connection.family not in (socket.AF_INET, socket.AF_INET6)
            if address and not is_local and not is_allowed(_as_text(address[0])):
                raise refusal(":".join(map(str, address[:2])))
            return original(connection, *args)

        return use

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = _as_text(host or "localhost")
        if not is_allowed(name) and name != "localhost" and not _is_address(name):
            raise refusal(name)
        answers = lookup(host, *args, **kwargs)
        resolved.update(str(answer[4][0]) for answer in answers if is_allowed(name))
        return answers

    with ExitStack() as stack:
        for name in ("connect", "connect_ex", "sendto", "sendmsg"):
            if hasattr(socket.socket, name):  # Windows has no sendmsg
                stack.enter_context(patch.object(socket.socket, name, guarded(getattr(socket.socket, name))))
        stack.enter_context(patch.object(socket, "getaddrinfo", getaddrinfo))
        yield


def _as_text(host: Any) -> str:
    return (bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)).lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
