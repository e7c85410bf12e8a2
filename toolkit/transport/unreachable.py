"""Errors of the toolkit for requests that httpx could not send or that got no usable response."""

from __future__ import annotations

import ssl
from typing import Final

import httpx

from toolkit.core.errors import ServiceError, Unreachable

_PASSING: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


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
    if _is_untrusted(error):
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


def _is_untrusted(error: BaseException) -> bool:
    """Return True if the reason is TLS verification, which is deeper in the chain of causes."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return False


def as_toolkit_error(error: httpx.TransportError | httpx.DecodingError, url: httpx.URL) -> Unreachable | ServiceError:
    """Return the error for a call of the toolkit that got no response, or one that cannot be decoded."""
    if isinstance(error, httpx.TransportError):
        return unreachable(f"The service at {origin(url)}", error)
    return ServiceError(
        "The response of the service cannot be read: it is not encoded as its Content-Encoding says.",
        "Try again; a proxy between may have damaged it.",
    )
