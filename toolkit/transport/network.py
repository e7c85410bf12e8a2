"""The httpx transports that send requests, directly or through proxies, and errors for those that fail.

httpx ignores proxy variables if it is given a transport, and its own `proxy=` would bypass ours. So proxied
transports are made here, below authorization, from the same variables; requests to this machine never use a proxy.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any, Final, cast

import httpx

from toolkit.core.addresses import is_loopback
from toolkit.core.errors import ConfigurationError, ServiceError, Unreachable, UnsafeAddress
from toolkit.core.escaping import excerpt

Verify = bool | str | ssl.SSLContext
ProxyTypes = str | httpx.URL | httpx.Proxy
_LONGEST_QUOTE = 40  # characters
_PASSING: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


class Network(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that sends each request directly or through a proxy, depending on its host.

    It belongs to one session, which closes it.

    Args:
        is_async: True to handle asynchronous requests.
        verify: TLS verification as in httpx, except that False is accepted for this machine only.
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
        self.verify = verify
        self.proxy = proxy
        self._proxies = proxies
        self._transports: dict[str, Any] = {}
        self._routes: dict[tuple[bytes, bytes, int | None], Any] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return cast("httpx.Response", self._transport_for(request.url).handle_request(request))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return cast("httpx.Response", await self._transport_for(request.url).handle_async_request(request))

    def close(self) -> None:
        for transport in self._take_transports():
            transport.close()

    async def aclose(self) -> None:
        for transport in self._take_transports():
            await transport.aclose()

    def _take_transports(self) -> list[Any]:
        transports = list(self._transports.values())
        self._transports.clear()
        self._routes.clear()
        return transports

    def _transport_for(self, url: httpx.URL) -> Any:
        place = url.raw_scheme, url.raw_host, url.port
        route = self._routes.get(place)
        if route is None:
            if _verifies_nothing(self.verify) and not is_loopback(url.host):
                raise UnsafeAddress(
                    f"verify=False is allowed for this machine only, not for {url.host}.",
                    "Leave verify out, or pass the path of a file with the certificate authority.",
                    about="verify",
                )
            with self._lock:
                route = self._routes[place] = self._transport(self._proxy_for(url), url.scheme)
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
        is_plain = proxy is None and scheme == "http"
        name = scheme if proxy is None else str(proxy.url if isinstance(proxy, httpx.Proxy) else proxy)
        if name not in self._transports:
            make = httpx.AsyncHTTPTransport if self._is_async else httpx.HTTPTransport
            # Loading certificate authorities is slow. Plain http does not need them; an empty context trusts nobody.
            verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else _context(self.verify)
            try:
                self._transports[name] = make(verify=verify, proxy=proxy)
            except (ValueError, httpx.InvalidURL):
                raise ConfigurationError(
                    "The proxy is not a URL that httpx can use.",
                    "Write it like http://proxy.example:3128.",
                    about="proxy",
                ) from None
            except ImportError:
                raise ConfigurationError(
                    "A SOCKS proxy needs one more package.", "Install httpx[socks].", about="proxy"
                ) from None
        return self._transports[name]


def as_timeout(timeout: object) -> float | httpx.Timeout | None:
    """Return the timeout of a session; httpx itself would notice a malformed timeout only at the first call.

    Raises:
        ConfigurationError: if it is not None, a number of seconds above 0, or an httpx.Timeout of such numbers.
    """
    if isinstance(timeout, httpx.Timeout):
        for part, seconds in timeout.as_dict().items():
            if seconds not in (None, 0):  # 0 means not to wait at all, which makes sense for a part
                _seconds(seconds, f"The {part} timeout")
        return timeout
    return None if timeout is None else _seconds(timeout, "The timeout")


def origin(url: httpx.URL) -> str:
    """Return scheme, host and port of a URL; its path and query may hold a secret."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def unreachable(what: str, error: httpx.HTTPError) -> Unreachable:
    """Return the error for a failed connection to `what`."""
    reasons = {
        "ConnectError": "no connection",
        "ConnectTimeout": "no connection in time",
        "ReadTimeout": "no response in time",
        "RemoteProtocolError": "the connection was dropped",
        "ReadError": "the connection was dropped",
    }
    kind = type(error).__name__
    if is_untrusted(error):
        return Unreachable(
            f"{what} shows a certificate that is not trusted here.",
            "Check the address. Behind a proxy that inspects TLS, pass its certificate file as verify.",
            is_passing=False,
        )
    return Unreachable(
        f"{what} cannot be reached: {reasons.get(kind, kind)}.",
        "Check the network, the proxy and the address; or replay a cassette, which needs no network.",
        is_passing=isinstance(error, _PASSING),
    )


def as_toolkit_error(error: httpx.TransportError | httpx.DecodingError, url: httpx.URL) -> Unreachable | ServiceError:
    """Return the error for a call of the toolkit that got no response, or one that cannot be decoded."""
    if isinstance(error, httpx.TransportError):
        return unreachable(f"The service at {origin(url)}", error)
    return ServiceError(
        "The response of the service cannot be read: it is not encoded as its Content-Encoding says.",
        "Try again; a proxy may have damaged it.",
    )


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


def _verifies_nothing(verify: Verify) -> bool:
    return verify is False or (isinstance(verify, ssl.SSLContext) and verify.verify_mode is ssl.CERT_NONE)


def _context(verify: Verify) -> ssl.SSLContext | bool:
    """Return `verify` with a context in place of the path of certificate authorities, as httpx wants it."""
    if not isinstance(verify, str):
        return verify
    try:
        if Path(verify).is_dir():
            return ssl.create_default_context(capath=verify)
        return ssl.create_default_context(cafile=verify)
    except OSError:
        raise ConfigurationError(
            f"The certificate authorities at {verify} cannot be read.",
            "Pass the path of a PEM file or of a folder.",
            about="verify",
        ) from None


def is_untrusted(error: BaseException) -> bool:
    """Return True if the reason is TLS verification, which is deeper in the chain of causes."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return False
