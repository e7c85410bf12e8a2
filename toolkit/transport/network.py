"""The httpx transports that send requests, directly or through proxies.

httpx ignores proxy variables if it is given a transport, and its own `proxy=` would bypass ours. So proxied
transports are made here, below authorization, from the same variables; requests to this machine never use a proxy.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from numbers import Real
from typing import Any, Final

from toolkit.core.addresses import is_loopback
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.escaping import excerpt
from toolkit.core.register import REGISTER
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import frameless
from toolkit.transport.certificates import (
    Verify,
    add_advice,
    as_verify,
    can_be_shared,
    make_context,
    verifies_nothing,
)
from toolkit.transport.connections import ONE_CONNECTION, Connections
from toolkit.transport.family import httpx, of_either
from toolkit.transport.unreachable import ProxyNote, origin

PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")  # or in small letters
ProxyTypes = str | httpx.URL | httpx.Proxy
_LONGEST_QUOTE = 40  # characters


class Network(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that sends each request directly or through a proxy, depending on its host.

    It belongs to one session, which closes it.

    Args:
        is_async: True to handle asynchronous requests.
        verify: whose certificates are trusted: those of the library (True; httpx2 trusts the machine), those of the
            machine ("system"), those in a file or folder, or those of an SSLContext; False is accepted for this machine
            only.
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
        self.proxy = httpx.URL(str(proxy)) if isinstance(proxy, of_either("URL")) else proxy
        self._proxies = proxies
        self._routes: dict[tuple[bytes, bytes, int | None], Connections] = {}
        self._contexts: dict[bool, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        connections = self._connections_to(request.url)
        try:
            return connections.handle_request(request)
        except httpx.ConnectError as error:
            self._explain(error, request.url)
            raise

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        connections = self._connections_to(request.url)
        try:
            return await connections.handle_async_request(request)
        except httpx.ConnectError as error:
            self._explain(error, request.url)
            raise

    def _explain(self, error: httpx.ConnectError, url: httpx.URL) -> None:
        """Add notes to an error, for callers who see only this error: about the certificate and the proxy."""
        add_advice(error, self.verify)
        proxy = self._proxy_for(url)
        if proxy is not None:
            url = httpx.URL(proxy) if isinstance(proxy, str | httpx.URL) else proxy.url
            error.add_note(ProxyNote(f"The proxy is {origin(url)}."))

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

    def _connections_to(self, url: httpx.URL) -> Connections:
        place = url.raw_scheme, url.raw_host, url.port
        route = self._routes.get(place)
        if route is None:
            if verifies_nothing(self.verify) and not is_loopback(url.host):
                raise UnsafeAddress(
                    f"verify=False is allowed for this machine only, not for {url.host}.",
                    'Leave verify out, or pass verify="system" or the path of a file with the certificate authority.',
                    about="verify",
                )
            make = self._maker(url)
            with self._lock:
                route = self._routes.setdefault(place, Connections(make))
        return route

    def _maker(self, url: httpx.URL) -> Callable[[], Any]:
        """Return a function that makes a transport for the host of a URL; its repr does not show the proxy."""
        proxy, scheme = self._proxy_for(url), url.scheme
        _note_password(proxy)

        @frameless
        def make_transport() -> Any:
            return self._transport(proxy, scheme)

        return make_transport

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
            return make(
                verify=self._context(is_plain=proxy is None and scheme == "http"),
                proxy=self._trusted(proxy),
                limits=ONE_CONNECTION,
            )
        except (AttributeError, TypeError, ValueError, httpx.InvalidURL):  # of another type, or malformed
            raise ConfigurationError(
                "The proxy is not a URL that httpx can use.",
                "Write it like http://proxy.example:3128.",
                about="proxy",
            ) from None
        except ImportError:
            raise ConfigurationError(
                "A SOCKS proxy needs one more package.", f"Install {httpx.__name__}[socks].", about="proxy"
            ) from None

    def _trusted(self, proxy: ProxyTypes | None) -> ProxyTypes | None:
        """Return a proxy whose own certificate is checked as those of services are, if it is called with TLS."""
        if not isinstance(proxy, str | httpx.URL) or httpx.URL(proxy).scheme != "https":
            return proxy
        return httpx.Proxy(proxy, ssl_context=self._context(is_plain=False))

    def _context(self, *, is_plain: bool) -> ssl.SSLContext:
        """Return the TLS context, which connections share where they can: loading certificate authorities is slow."""
        with self._lock:
            context = self._contexts.get(is_plain)
            if context is None:
                # Plain http does not need authorities; an empty context trusts nobody.
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else make_context(self.verify)
                if can_be_shared(context) or context is self.verify:
                    self._contexts[is_plain] = context
            return context


def _note_password(proxy: ProxyTypes | None) -> None:
    """Make the password of a proxy a known secret: a proxy may repeat it."""
    if proxy is None:
        return
    with suppress(httpx.InvalidURL):  # which the transport refuses
        password = (
            httpx.URL(proxy).password
            if isinstance(proxy, str | httpx.URL)
            else (getattr(proxy, "auth", None) or ("", ""))[1]
        )
        if len(password) >= SHORTEST_SECRET:
            REGISTER.add("PASSWORD", Secret(password))


def as_timeout(timeout: object) -> httpx.Timeout | None:
    """Return the timeout of a session; httpx itself would notice a malformed timeout only at the first call.

    A number of seconds limits connecting, sending and each part of the answer. It does not limit the time in which a
    call waits for others of the session to end: a queue is not a failure. An httpx.Timeout limits what it names.

    Raises:
        ConfigurationError: if it is not None, a number of seconds above 0, or an httpx.Timeout of such numbers.
    """
    if isinstance(timeout, of_either("Timeout")):
        timeout = timeout if isinstance(timeout, httpx.Timeout) else httpx.Timeout(**timeout.as_dict())
        for part, seconds in timeout.as_dict().items():
            if seconds not in (None, 0):  # 0 means not to wait at all, which makes sense for a part
                _seconds(seconds, f"The {part} timeout")
        return timeout
    return None if timeout is None else httpx.Timeout(_seconds(timeout, "The timeout"), pool=None)


def _seconds(value: Any, what: str) -> float:
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if is_number and 0 < value <= threading.TIMEOUT_MAX:  # the longest wait of the system
        return float(value)
    shown = excerpt(str(value), _LONGEST_QUOTE) if is_number else type(value).__name__
    raise ConfigurationError(
        f"{what} is {shown}, not a number of seconds above 0.",
        "Pass a number such as timeout=30, an httpx.Timeout, or None for no limit.",
        about="timeout",
    )
