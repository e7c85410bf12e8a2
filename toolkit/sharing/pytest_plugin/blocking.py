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
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import wraps
from typing import Any, Final

from toolkit.core.errors import NetworkBlocked

_MISSING: Final = object()
_CONNECTING: Final = ("connect", "connect_ex")
_SENDING: Final = ("sendto", "sendmsg")
_LOOKUPS: Final = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr")
_FAMILIES: Final = (socket.AF_INET, socket.AF_INET6)


class Guard:
    """Decides which hosts may be reached.

    Args:
        allowed: host names or addresses; "*" stands for any characters, and "localhost" for every loopback address.
        refusal: makes the error for a host.
    """

    def __init__(self, allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> None:
        self.is_active = True
        self.pair = threading.local()  # `making` is set while this thread makes a pair of sockets
        self._allowed = [pattern.lower() for pattern in allowed]
        self._refusal = refusal
        self._resolved: set[str] = set()

    def check_address(self, address: Any) -> None:
        """Refuse an address that is not allowed.

        Raises:
            NetworkBlocked: if it is not allowed.
        """
        if self.is_active and not getattr(self.pair, "making", False) and isinstance(address, tuple) and address:
            host = as_text(address[0])
            if not (self._allows(host) or host in self._resolved):
                port = f":{address[1]}" if len(address) > 1 else ""
                raise self._refusal(f"{f'[{host}]' if ':' in host else host}{port}")

    def check_lookup(self, host: Any) -> None:
        """Refuse to look up a name that is not allowed. Addresses and names of this machine need no network.

        Raises:
            NetworkBlocked: if it is not allowed.
        """
        if not self.is_active or host is None:
            return
        name = as_text(host)
        if name not in ("", "localhost", socket.gethostname()) and not is_address(name) and not self._allows(name):
            raise self._refusal(name)

    def note_resolved(self, host: Any, answers: Any) -> None:
        """Allow the addresses of a host that is allowed by name."""
        if self.is_active and host is not None and self._allows(as_text(host)):
            self._resolved.update(str(answer[4][0]) for answer in answers)

    def _allows(self, host: str) -> bool:
        host = host.lower()
        loopback = "localhost" in self._allowed and (host == "localhost" or is_loopback(host))
        return loopback or any(fnmatchcase(host, pattern) for pattern in self._allowed)


@contextmanager
def network_blocked(allowed: Sequence[str], refusal: Callable[[str], NetworkBlocked]) -> Iterator[None]:
    """Refuse connections and lookups until the block ends.

    Args:
        allowed: see `Guard`.
        refusal: makes the error for a host; it is raised where the connection is tried.
    """
    guard = Guard(allowed, refusal)
    uses = [name for name in (*_CONNECTING, *_SENDING) if hasattr(socket.socket, name)]  # Windows has no sendmsg
    replaced = [_replace(socket.socket, name, _guarded_use(name, guard)) for name in uses]
    replaced += [_replace(socket, name, _guarded_lookup(name, guard)) for name in _LOOKUPS]
    replaced.append(_replace(socket, "socketpair", _marked_pair(guard)))
    try:
        yield
    finally:
        guard.is_active = False  # also where another tool has kept our function
        for owner, name, old, new in reversed(replaced):
            if vars(owner).get(name) is not new:
                continue
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


def as_text(host: Any) -> str:
    """Return a host as text."""
    return bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)


def is_address(host: str) -> bool:
    """Return True for an IP address, False for a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return True for an address of this machine that no other machine can reach."""
    return is_address(host) and ipaddress.ip_address(host.partition("%")[0]).is_loopback


def _replace(owner: Any, name: str, new: Callable[..., Any]) -> tuple[Any, str, Any, Callable[..., Any]]:
    old = vars(owner).get(name, _MISSING)
    setattr(owner, name, new)
    return owner, name, old, new


def _guarded_use(name: str, guard: Guard) -> Callable[..., Any]:
    original = getattr(socket.socket, name)

    @wraps(original)
    def use(self: socket.socket, *args: Any, **kwargs: Any) -> Any:
        if self.family in _FAMILIES:
            if name in _CONNECTING:
                guard.check_address(args[0] if args else None)
            elif (name == "sendto" and len(args) > 1) or len(args) > 3:  # otherwise the socket is connected already
                guard.check_address(args[-1])
        return original(self, *args, **kwargs)

    return use


def _guarded_lookup(name: str, guard: Guard) -> Callable[..., Any]:
    original = getattr(socket, name)

    @wraps(original)
    def look_up(*args: Any, **kwargs: Any) -> Any:
        host = args[0] if args else kwargs.get("host")
        guard.check_lookup(host)
        answers = original(*args, **kwargs)
        if name == "getaddrinfo":
            guard.note_resolved(host, answers)
        return answers

    return look_up


def _marked_pair(guard: Guard) -> Callable[..., Any]:
    """Return `socketpair`, which connects two sockets over loopback on Windows."""
    original = socket.socketpair

    @wraps(original)
    def socketpair(*args: Any, **kwargs: Any) -> Any:
        guard.pair.making = True
        try:
            return original(*args, **kwargs)
        finally:
            guard.pair.making = False

    return socketpair
