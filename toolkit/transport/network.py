"""The way of a request to the network: connections, directly or through a proxy, and the queue in front of them.

httpx ignores proxy variables if it is given a transport, and its own `proxy=` would bypass ours. So proxied
transports are made here, below authorization, from the same variables; requests to this machine never use a proxy.

httpx keeps many connections in one pool, and looks at all of them twice a request: with a hundred connections that
takes ten times as long as the call itself, and 1,000 calls that wait in the pool cost 50 seconds (measured). So each
connection is a transport of its own, and calls queue in `Places`, before they reach any of them.
"""

from __future__ import annotations

import ssl
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from numbers import Real
from typing import Any, Final

import httpx

from toolkit.core.addresses import is_loopback
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.escaping import excerpt
from toolkit.core.register import REGISTER
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import frameless
from toolkit.transport.certificates import Verify, as_verify, make_context, refusal, verifies_nothing
from toolkit.transport.errors import Advice, ProxyNote, origin
from toolkit.transport.flow import Flow, Wait

PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")  # or in small letters
MOST_AT_ONCE: Final = 100  # calls of one session; httpx has the same limit for connections
ProxyTypes = str | httpx.URL | httpx.Proxy
# No limit on connections: it would only matter for one that httpx lost track of, and then it would block for ever.
_ONE_CONNECTION: Final = httpx.Limits(max_connections=None, max_keepalive_connections=1)


class Network(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that sends each request directly or through a proxy, depending on its host.

    It belongs to one session, which closes it.

    Args:
        is_async: True to handle asynchronous requests.
        verify: whose certificates are trusted: those of httpx (True), those of the machine ("system"), those in a file
            or folder, or those of an SSLContext; False is accepted for this machine only.
        proxy: the proxy for all other machines; by default `proxies` decides.
        proxies: proxies by scheme; by default the proxy variables of the environment.
    """

    def __init__(
        self,
        *,
        is_async: bool,
        verify: Verify = True,
        proxy: ProxyTypes | None = None,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        self._is_async = is_async
        self.verify = as_verify(verify)
        self.proxy = proxy
        self._proxies = proxies
        self._routes: dict[tuple[bytes, bytes, int | None], _Connections] = {}
        self._contexts: dict[bool, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        connections = self._connections_to(request.url)
        transport = connections.take()
        try:
            response = transport.handle_request(request)
        except BaseException as error:
            connections.give_back(transport)
            self._explain(error, request.url)
            raise
        return connections.hold(transport, response)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        connections = self._connections_to(request.url)
        transport = connections.take()
        try:
            response = await transport.handle_async_request(request)
        except BaseException as error:
            connections.give_back(transport)
            self._explain(error, request.url)
            raise
        return connections.hold(transport, response)

    def close(self) -> None:
        for transport in self._take_transports():
            transport.close()

    async def aclose(self) -> None:
        for transport in self._take_transports():
            await transport.aclose()

    def _take_transports(self) -> list[Any]:
        routes = list(self._routes.values())
        self._routes.clear()
        return [transport for route in routes for transport in route.take_all()]

    def _explain(self, error: BaseException, url: httpx.URL) -> None:
        """Add notes to an error, for callers who see only this error: about the certificate and the proxy."""
        if not isinstance(error, httpx.ConnectError):
            return
        refused, proxy = refusal(error, self.verify), self._proxy_for(url)
        if refused is not None:
            error.add_note(Advice(refused.advice))
        if proxy is not None:
            error.add_note(ProxyNote(f"The proxy is {origin(_url_of(proxy))}."))

    def _connections_to(self, url: httpx.URL) -> _Connections:
        place = url.raw_scheme, url.raw_host, url.port
        route = self._routes.get(place)
        if route is None:
            if verifies_nothing(self.verify) and not is_loopback(url.host):
                raise UnsafeAddress(
                    f"verify=False is allowed for this machine only, not for {url.host}.",
                    'Leave verify out, or pass verify="system" or the path of a file with the certificate authority.',
                    about="verify",
                )
            proxy, scheme = self._proxy_for(url), url.scheme

            @frameless
            def make() -> Any:  # its repr does not show the proxy
                return self._transport(proxy, scheme)

            with self._lock:
                route = self._routes.setdefault(place, _Connections(make))
        return route

    def _proxy_for(self, url: httpx.URL) -> ProxyTypes | None:
        if is_loopback(url.host):
            return None
        if self.proxy is not None:
            return self.proxy
        from urllib import request

        proxies = dict(request.getproxies() if self._proxies is None else self._proxies)
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if not proxy or request.proxy_bypass_environment(url.netloc.decode(), proxies):  # type: ignore[attr-defined]
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    def _transport(self, proxy: ProxyTypes | None, scheme: str) -> Any:
        make = httpx.AsyncHTTPTransport if self._is_async else httpx.HTTPTransport
        try:
            if proxy is not None:
                _note_password(proxy)
                if _url_of(proxy).scheme == "https" and not isinstance(proxy, httpx.Proxy):
                    proxy = httpx.Proxy(proxy, ssl_context=self._context(is_plain=False))
            context = self._context(is_plain=proxy is None and scheme == "http")
            return make(verify=context, proxy=proxy, limits=_ONE_CONNECTION)
        except (AttributeError, TypeError, ValueError, httpx.InvalidURL):  # of another type, or malformed
            raise ConfigurationError(
                "The proxy is not a URL that httpx can use.",
                "Write it like http://proxy.example:3128.",
                about="proxy",
            ) from None
        except ImportError:
            raise ConfigurationError(
                "A SOCKS proxy needs one more package.", "Install httpx[socks].", about="proxy"
            ) from None

    def _context(self, *, is_plain: bool) -> ssl.SSLContext:
        """Return the TLS context, which connections share where they can: loading certificate authorities is slow."""
        with self._lock:
            context = self._contexts.get(is_plain)
            if context is None:
                # Plain http does not need authorities; an empty context trusts nobody.
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else make_context(self.verify)
                if context is self.verify or not type(context).__module__.startswith("truststore"):
                    self._contexts[is_plain] = context
            return context


class _Connections:
    """The connections to one host: as many as there are requests at once, each a transport of its own.

    The connection that was used last is used first, so that those which are not needed stay idle and expire.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._idle: list[Any] = []
        self._all: set[Any] = set()

    def take(self) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            transport = self._make()
            self._all.add(transport)
            return transport

    def give_back(self, transport: Any) -> None:
        if transport in self._all:
            self._idle.append(transport)

    def hold(self, transport: Any, response: httpx.Response) -> httpx.Response:
        """Return the response; its connection is free when it is closed, and lost when it is dropped before."""
        return with_release(response, lambda: self.give_back(transport), lambda: self._all.discard(transport))

    def take_all(self) -> set[Any]:
        """Return all transports for closing; none of them is used again."""
        transports, self._all, self._idle = self._all, set(), []
        return transports


class Places:
    """Places for calls that are under way at the same time, shared by threads and tasks: first come, first served.

    No lock is ever waited for, so a place may be given back anywhere, even by the garbage collector in the midst of
    another method of this class.
    """

    def __init__(self, count: int = MOST_AT_ONCE) -> None:
        self._free = deque([None] * count)
        self._waiting: deque[Future[None]] = deque()
        self._handing_over = threading.Lock()  # never waited for

    def enter(self, seconds: float | None) -> Flow[bool]:
        """Wait for a place, for so many seconds at most; None for no limit. The outcome is False if one was free.

        Raises:
            httpx.PoolTimeout: if no place became free in time.
        """
        if not self._waiting and self._take():
            return False
        turn: Future[None] = Future()
        self._waiting.append(turn)
        self._hand_over()
        has_place = False
        try:
            has_place = yield Wait(turn, seconds)
        finally:
            if not has_place and not turn.cancel():
                self.leave()  # it was handed over in this very moment, and goes to the next
        if not has_place:
            raise httpx.PoolTimeout(f"{MOST_AT_ONCE} calls were under way, and none of them ended in time.")
        return True

    def leave(self) -> None:
        """Give a place back; it goes to whoever has waited longest."""
        self._free.append(None)
        self._hand_over()

    def _take(self) -> bool:
        """Take a free place, which another thread may do at the same time; return False if there is none."""
        try:
            self._free.pop()
        except IndexError:
            return False
        return True

    def _hand_over(self) -> None:
        """Hand free places to those who wait. Whoever finds the lock taken goes away: its holder looks again."""
        while self._free and self._waiting and self._handing_over.acquire(blocking=False):
            try:
                if self._waiting and self._take():  # only the holder of the lock shortens the queue
                    turn = self._waiting.popleft()
                    if turn.set_running_or_notify_cancel():
                        turn.set_result(None)
                    else:
                        self._free.append(None)
            finally:
                self._handing_over.release()


def with_release(response: httpx.Response, on_close: Callable[[], None], on_drop: Callable[[], None]) -> httpx.Response:
    """Return a response that calls a function once: when its body is closed, or when it is dropped while open.

    A response that has its body already, as transports for tests make it, counts as closed.
    """
    if response.is_stream_consumed:
        on_close()
    else:
        response.stream = _HeldStream(response.stream, on_close, on_drop)
    return response


class _HeldStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A response body that gives something back when it is closed, or dropped without being closed."""

    __slots__ = ("_is_open", "_on_close", "_on_drop", "_stream")

    def __init__(self, stream: Any, on_close: Callable[[], None], on_drop: Callable[[], None]) -> None:
        self._stream = stream
        self._on_close = on_close
        self._on_drop = on_drop
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._let_go(self._on_close)

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._let_go(self._on_close)

    def _let_go(self, release: Callable[[], None]) -> None:
        if self._is_open:
            self._is_open = False
            release()

    def __del__(self) -> None:
        self._let_go(self._on_drop)


def _url_of(proxy: ProxyTypes) -> httpx.URL:
    return proxy.url if isinstance(proxy, httpx.Proxy) else httpx.URL(proxy)


def _note_password(proxy: ProxyTypes) -> None:
    """Make the password of a proxy a known secret: a proxy may repeat it."""
    password = (proxy.auth or ("", ""))[1] if isinstance(proxy, httpx.Proxy) else httpx.URL(proxy).password
    if len(password) >= SHORTEST_SECRET:
        REGISTER.add("PASSWORD", Secret(password))


def as_timeout(timeout: Any) -> httpx.Timeout | None:
    """Return the timeout of a session; httpx itself would notice a malformed timeout only at the first call.

    A number of seconds limits connecting, sending and each part of the answer. It does not limit the time in which a
    call waits for others of the session to end: a queue is not a failure. An httpx.Timeout limits what it names.

    Raises:
        ConfigurationError: if it is not None, a number of seconds above 0, or an httpx.Timeout of such numbers.
    """
    if isinstance(timeout, httpx.Timeout):
        for part, seconds in timeout.as_dict().items():
            if seconds not in (None, 0):  # 0 means not to wait at all, which makes sense for a part
                _seconds(seconds, f"The {part} timeout")
        return timeout
    return None if timeout is None else httpx.Timeout(_seconds(timeout, "The timeout"), pool=None)


def _seconds(value: Any, what: str) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and 0 < value <= threading.TIMEOUT_MAX:  # the longest wait of the system
        return float(value)
    raise ConfigurationError(
        f"{what} is {excerpt(str(value), 40) if is_number else type(value).__name__}, not a number of seconds above 0.",
        "Pass a number such as timeout=30, an httpx.Timeout, or None for no limit.",
        about="timeout",
    )


def pool_timeout(request: httpx.Request) -> float | None:
    """Return the seconds that a request may queue, by its timeouts; None for no limit."""
    seconds = request.extensions.get("timeout", {}).get("pool")
    return None if seconds is None else float(seconds)
