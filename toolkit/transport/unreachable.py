"""What httpx raises when there is no answer, as errors of ours: where, why, and what to do next."""

from __future__ import annotations

import ssl
from typing import Final

import httpx

from toolkit.core.errors import ServiceError, Unreachable

_PASSING: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)


def origin(url: httpx.URL) -> str:
    """Scheme, host and port of a URL, without the path and query, which may hold a secret."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def unreachable(what: str, error: httpx.HTTPError) -> Unreachable:
    """The error for a connection that failed; httpx's class says how."""
    how = {
        "ConnectError": "no connection",
        "ConnectTimeout": "no connection in time",
        "ReadTimeout": "no answer in time",
        "RemoteProtocolError": "the connection was dropped",
        "ReadError": "the connection was dropped",
    }
    kind = type(error).__name__
    if _is_untrusted(error):
        return Unreachable(
            f"{what} shows a certificate that is not trusted here.",
            "Check the address; behind a proxy that opens TLS, give verify= the file of its certificate authority.",
            is_passing=False,
        )
    return Unreachable(
        f"{what} cannot be reached: {how.get(kind, kind)}.",
        "Check the network, the proxy and the address; or replay a cassette, which needs none.",
        is_passing=isinstance(error, _PASSING),
    )


def _is_untrusted(error: BaseException) -> bool:
    """Whether TLS verification is the reason, which lies below what httpx raises."""
    seen: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        seen.append(cause)
        cause = cause.__cause__ or cause.__context__
    return False


def unanswered(error: httpx.TransportError | httpx.DecodingError, url: httpx.URL) -> Unreachable | ServiceError:
    """The error for a call of ours that got no answer, or one that cannot be decoded."""
    if isinstance(error, httpx.TransportError):
        return unreachable(f"The service at {origin(url)}", error)
    return ServiceError(
        "The service's answer cannot be read: it is not encoded as its Content-Encoding says.",
        "Try again; a proxy on the way may have damaged it.",
    )
