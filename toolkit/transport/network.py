"""How a request reaches the network: connections, direct or through a proxy, and the queue in front of them.

httpx ignores proxy variables if it is given a transport, and its own `proxy=` would bypass that transport. So proxied
transports are made here, below authorization, from the same variables; requests to this machine never use a proxy.

Whenever a call ends, an httpx pool looks at all calls waiting in it: with 1,000 waiting calls, this took 50 seconds in
total. So calls queue in `Places` before they reach a pool.
"""

from __future__ import annotations

import ssl
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

import httpx

from toolkit.core.addresses import is_loopback
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.secret import REGISTER, SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import frameless
from toolkit.transport.certificates import Verify, as_verify, make_context, refusal, verifies_nothing
from toolkit.transport.failures import Advice, ProxyNote, origin
from toolkit.transport.flow import Flow, Wait

MOST_AT_ONCE: Final = 100  # calls of one session; httpx has the same limit for connections
ProxyTypes = str | httpx.URL | httpx.Proxy
# Connections are not limited: a limit would only matter if httpx lost track of one, and would then block forever. Idle
# connections are: a pool counts them all for each call. With a hundred, that takes half of the call's time.
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=20)
# Request extension: a number. Requests with the same number share a pool. A pool looks at each of its idle connections
# for every request; with sixteen, that takes as long as the rest of a call.
LANE: Final = "toolkit.lane"


class Network(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that sends each request directly or through a proxy, depending on its host.

    It belongs to one session, which closes it.

    Args:
        is_async: True to handle asynchronous requests.
        verify: which certificates to trust: httpx's (True), the machine's ("system"), or the ones in a file, folder or
            SSLContext; False is accepted for this machine only.
        proxy: the proxy for all other machines; by default the proxy in the environment variables, if any.
    """

    def __init__(self, *, is_async: bool, verify: Verify = True, proxy: ProxyTypes | None = None) -> None:
        self._is_async = is_async
        self.verify = as_verify(verify)
        self.proxy = proxy
        self._transports: dict[tuple[bytes, bytes, int | None, int], Any] = {}
        self._contexts: dict[bool, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return self._transport_to(request).handle_request(request)  # type: ignore[no-any-return]
        except httpx.ConnectError as error:
            self._explain(error, request.url)
            raise

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._transport_to(request).handle_async_request(request)  # type: ignore[no-any-return]
        except httpx.ConnectError as error:
            self._explain(error, request.url)
            raise

    def close(self) -> None:
        while self._transports:
            self._transports.popitem()[1].close()

    async def aclose(self) -> None:
        while self._transports:
            await self._transports.popitem()[1].aclose()

    def _explain(self, error: httpx.ConnectError, url: httpx.URL) -> None:
        """Add notes about the certificate and the proxy to an error, for callers who see only this error."""
        refused, proxy = refusal(error, self.verify), self._proxy_for(url)
        if refused is not None:
            error.add_note(Advice(refused.advice))
        if proxy is not None:
            error.add_note(ProxyNote(f"The proxy is {origin(_as_proxy(proxy).url)}."))

    def _transport_to(self, request: httpx.Request) -> Any:
        url = request.url
        place = url.raw_scheme, url.raw_host, url.port, request.extensions.get(LANE, 0)
        transport = self._transports.get(place)
        if transport is None:
            if verifies_nothing(self.verify) and not is_loopback(url.host):
                raise UnsafeAddress(
                    f"verify=False is allowed for this machine only, not for {url.host}.",
                    'Leave verify out, or pass verify="system" or the path of a CA certificate file.',
                    about="verify",
                )
            with self._lock:
                transport = self._transports.get(place) or self._make_transport(url)
                self._transports[place] = transport
        return transport

    def _proxy_for(self, url: httpx.URL) -> ProxyTypes | None:
        if is_loopback(url.host):
            return None
        if self.proxy is not None:
            return self.proxy
        from urllib import request

        proxies = request.getproxies()
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if not proxy or request.proxy_bypass_environment(url.netloc.decode(), proxies):  # type: ignore[attr-defined]
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    @frameless  # a traceback would show the password of the proxy
    def _make_transport(self, url: httpx.URL) -> Any:
        given = self._proxy_for(url)
        make = httpx.AsyncHTTPTransport if self._is_async else httpx.HTTPTransport
        try:
            proxy = None if given is None else _as_proxy(given)
            if proxy is not None:
                _, password = proxy.auth or ("", "")
                if len(password) >= SHORTEST_SECRET:  # a proxy may repeat it
                    REGISTER.add("PASSWORD", Secret(password))
                if proxy.url.scheme == "https" and given is not proxy:
                    proxy.ssl_context = self._context(is_plain=False)
            return make(
                verify=self._context(is_plain=proxy is None and url.scheme == "http"), proxy=proxy, limits=_LIMITS
            )
        except (AttributeError, TypeError, ValueError, httpx.InvalidURL):  # of another type, or malformed
            raise ConfigurationError(
                "The proxy is not a URL that httpx can use.",
                "Use a form such as http://proxy.example:3128.",
                about="proxy",
            ) from None
        except ImportError:
            raise ConfigurationError(
                "A SOCKS proxy needs one more package.", "Install httpx[socks].", about="proxy"
            ) from None

    def _context(self, *, is_plain: bool) -> ssl.SSLContext:
        """Return the TLS context, shared by hosts where possible, because loading certificate authorities is slow."""
        context = self._contexts.get(is_plain)
        if context is None:
            # Plain http does not need authorities; an empty context trusts nobody.
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else make_context(self.verify)
            if context is self.verify or not type(context).__module__.startswith("truststore"):
                self._contexts[is_plain] = context
        return context


class Places:
    """Slots for concurrent calls, shared by threads and tasks: first come, first served.

    Nothing ever waits for a lock, so a place may be released anywhere, even by the garbage collector in the middle of
    another method of this class.
    """

    def __init__(self, count: int = MOST_AT_ONCE) -> None:
        self._free = deque([None] * count)
        self._waiting: deque[Future[None]] = deque()
        self._handing_over = threading.Lock()  # never waited for

    def enter(self, seconds: float | None) -> Flow[bool]:
        """Wait for a place for at most `seconds`; None for no limit. The outcome is False if a place was free at once.

        Raises:
            httpx.PoolTimeout: if no place became free in time.
        """
        if not self._waiting and self._take():  # the usual case; creating a Future takes a tenth of the time of a call
            return False
        turn: Future[None] = Future()
        self._waiting.append(turn)
        self._hand_over()
        if turn.done():
            return False
        has_place = False
        try:
            has_place = yield Wait(turn, seconds)
        finally:
            if not has_place and not turn.cancel():
                self.leave()  # the place was handed over in the meantime, and is passed on to the next
        if not has_place:
            raise httpx.PoolTimeout(f"{MOST_AT_ONCE} calls were in progress, and none of them finished in time.")
        return True

    def leave(self) -> None:
        """Release a place and pass it to the caller that has waited longest."""
        self._free.append(None)
        self._hand_over()

    def _hand_over(self) -> None:
        """Hand free places to waiting callers. If the lock is taken, just return: its holder will check again."""
        while self._free and self._waiting and self._handing_over.acquire(blocking=False):
            try:
                if self._waiting and self._take():
                    turn = self._waiting.popleft()  # only the holder of the lock shortens the queue
                    if turn.set_running_or_notify_cancel():
                        turn.set_result(None)
                    else:
                        self._free.append(None)
            finally:
                self._handing_over.release()

    def _take(self) -> bool:
        """Take a free place and return True, or return False if another thread was faster."""
        with suppress(IndexError):
            self._free.pop()
            return True
        return False


def _as_proxy(proxy: ProxyTypes) -> httpx.Proxy:
    return proxy if isinstance(proxy, httpx.Proxy) else httpx.Proxy(proxy)
