"""The bottom of the way of a call: httpx transports, direct and through proxies.

httpx ignores proxy variables when it is handed a transport, and its own `proxy=` would bypass ours;
so the proxied transports are built here, below auth, from the same variables. Never for loopback.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any, cast

import httpx

from toolkit.core.addresses import is_loopback
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.escaping import excerpt

Verify = bool | str | ssl.SSLContext
ProxyTypes = str | httpx.URL | httpx.Proxy
_LONGEST_QUOTE = 40  # characters


class Network(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Sends each request directly or through a proxy, by its host. Owned and closed by one session.

    Args:
        is_async: whether it makes asynchronous transports.
        verify: TLS verification as httpx takes it; False is for loopback only.
        proxy: a proxy for everything but loopback; by default the proxy variables of the environment.
        proxies: scheme to proxy, by default read from the environment.
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
        self._verify = verify
        self._proxy = proxy
        self._proxies = proxies
        self._transports: dict[str, Any] = {}
        self._routes: dict[tuple[bytes, bytes, int | None], Any] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return cast("httpx.Response", self._transport_for(request.url).handle_request(request))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return cast("httpx.Response", await self._transport_for(request.url).handle_async_request(request))

    def close(self) -> None:
        for transport in self._drained():
            transport.close()

    async def aclose(self) -> None:
        for transport in self._drained():
            await transport.aclose()

    def _drained(self) -> list[Any]:
        transports = list(self._transports.values())
        self._transports.clear()
        self._routes.clear()
        return transports

    def _transport_for(self, url: httpx.URL) -> Any:
        place = url.raw_scheme, url.raw_host, url.port
        route = self._routes.get(place)
        if route is None:
            if _verifies_nothing(self._verify) and not is_loopback(url.host):
                raise UnsafeAddress(
                    f"verify=False is for this machine only, not for {url.host}.",
                    "Leave verify out, or give the path of the certificate authority's file.",
                )
            with self._lock:
                route = self._routes[place] = self._transport(self._proxy_for(url), url.scheme)
        return route

    def _proxy_for(self, url: httpx.URL) -> ProxyTypes | None:
        if is_loopback(url.host):
            return None
        if self._proxy is not None:
            return self._proxy
        from urllib import request  # slow to load; replays need none

        proxies = dict(request.getproxies() if self._proxies is None else self._proxies)
        proxy = proxies.get(url.scheme) or proxies.get("all")
        if not proxy or request.proxy_bypass_environment(url.netloc.decode(), proxies):  # type: ignore[attr-defined]
            return None
        return proxy if "://" in proxy else f"http://{proxy}"

    def _transport(self, proxy: ProxyTypes | None, scheme: str) -> Any:
        is_plain = proxy is None and scheme == "http"
        name = scheme if proxy is None else str(proxy.url if isinstance(proxy, httpx.Proxy) else proxy)
        if name not in self._transports:
            make = httpx.AsyncHTTPTransport if self._is_async else httpx.HTTPTransport
            # Reading the certificate authorities takes long; a context without any trusts nobody.
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else _context(self._verify)
            try:
                self._transports[name] = make(verify=verify, proxy=proxy)
            except (ValueError, httpx.InvalidURL):
                raise ConfigurationError(
                    "The proxy is not an address that httpx can use.", "Write it like http://proxy.example:3128."
                ) from None
            except ImportError:
                raise ConfigurationError("A SOCKS proxy needs one more package.", "Install httpx[socks].") from None
        return self._transports[name]


def as_timeout(timeout: object) -> float | httpx.Timeout | None:
    """What a session was given as its timeout, once it is one: httpx would fail with it at the first call only.

    Raises:
        ConfigurationError: it is neither None, nor a number of seconds above 0, nor an httpx.Timeout of such.
    """
    if isinstance(timeout, httpx.Timeout):
        for part, seconds in timeout.as_dict().items():
            if seconds not in (None, 0):  # 0 does not wait at all, which for one part may be meant
                _seconds(seconds, f"The {part} timeout")
        return timeout
    return None if timeout is None else _seconds(timeout, "The timeout")


def _seconds(given: Any, what: str) -> float:
    is_number = isinstance(given, Real) and given is not True and given is not False
    if is_number and 0 < given <= threading.TIMEOUT_MAX:  # no system waits for longer
        return float(given)
    shown = excerpt(str(given), _LONGEST_QUOTE) if is_number else type(given).__name__
    raise ConfigurationError(
        f"{what} is {shown}, not a number of seconds above 0.",
        "Give one such as timeout=30, an httpx.Timeout, or None for no limit.",
    )


def _verifies_nothing(verify: Verify) -> bool:
    return verify is False or (isinstance(verify, ssl.SSLContext) and verify.verify_mode is ssl.CERT_NONE)


def _context(verify: Verify) -> ssl.SSLContext | bool:
    """A file or folder of certificate authorities as the context that httpx wants of it."""
    if not isinstance(verify, str):
        return verify
    try:
        if Path(verify).is_dir():
            return ssl.create_default_context(capath=verify)
        return ssl.create_default_context(cafile=verify)
    except OSError:
        raise ConfigurationError(
            f"The certificate authorities at {verify} cannot be read.",
            "Give the path of a file in PEM format, or of a folder.",
        ) from None
