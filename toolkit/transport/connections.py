"""The connections to one host, each a transport of httpx of its own.

httpx keeps many connections in one pool, and looks at all of them twice a request: with a hundred connections that
takes ten times as long as the call itself (measured). A transport with one connection has nothing to look through.
The connection that was used last is used first, so that those which are not needed stay idle and expire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolkit.transport.family import httpx
from toolkit.transport.places import with_release

# No limit on connections: it would only matter for one that httpx lost track of, and then it would block for ever.
ONE_CONNECTION: Final = httpx.Limits(max_connections=None, max_keepalive_connections=1)


class Connections:
    """The connections to one host: as many as there are requests at once.

    Args:
        make: makes a transport for one connection, of httpx or with its methods.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._idle: list[Any] = []
        self._all: set[Any] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        transport = self._take()
        try:
            response = transport.handle_request(request)
        except BaseException:
            self._give_back(transport)
            raise
        return self._held(transport, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        transport = self._take()
        try:
            response = await transport.handle_async_request(request)
        except BaseException:
            self._give_back(transport)
            raise
        return self._held(transport, response)

    def take_all(self) -> set[Any]:
        """Return all transports for closing; none of them is used again."""
        transports, self._all, self._idle = self._all, set(), []
        return transports

    def _take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            transport = self._make()
            self._all.add(transport)
            return transport

    def _give_back(self, transport: Any) -> None:
        if transport in self._all:
            self._idle.append(transport)

    def _held(self, transport: Any, response: httpx.Response) -> httpx.Response:
        return with_release(response, lambda: self._give_back(transport), lambda: self._all.discard(transport))
