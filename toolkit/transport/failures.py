"""httpx errors and service errors in words: why a service cannot be reached, what a status means, and what to do."""

from __future__ import annotations

import socket
import ssl
from typing import Any, Final

import httpx

from toolkit.core.errors import ServiceError, Unreachable
from toolkit.core.ledger import source_of
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import causes
from toolkit.transport.certificates import refusal

_PASSING: Final = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
_REASONS: Final = {
    "ConnectError": "no connection",
    "ConnectTimeout": "no connection in time",
    "ReadTimeout": "no complete response in time",
    "RemoteProtocolError": "the connection was dropped",
    "ReadError": "the connection was dropped",
}
# Why a connection failed, as the end of a sentence. Recordings store one of these, and no other text is shown.
NAME_UNKNOWN: Final = "its host name is not known"
NO_LISTENER: Final = "nothing listens there"
NO_TLS: Final = "what answers there does not speak TLS"
PROXY_UNKNOWN: Final = "the host name of its proxy is not known"
NO_PROXY: Final = "nothing listens at its proxy"
_PROXY: Final = "Check the address of the proxy: it is set by proxy=, HTTPS_PROXY, HTTP_PROXY or ALL_PROXY."
NO_CONNECTION: Final = {
    NAME_UNKNOWN: "Check the name in the address, and the network; or replay a cassette, which needs no network.",
    NO_LISTENER: "Check the address and its port; if the service runs on this machine, it may have stopped.",
    NO_TLS: "Check the host and the port in the address; only an address on this machine may use http://.",
    PROXY_UNKNOWN: _PROXY,
    NO_PROXY: _PROXY,
}
_ADVICE: Final = {**NO_CONNECTION, "ReadTimeout": "Try again later, or with a longer timeout=."}
_ADVICE_ELSE: Final = "Check the network, the proxy and the address; or replay a cassette, which needs no network."
# Advice for a status, or for a class of statuses (RFC 9110, section 15; for 429 RFC 6585, section 4).
_ADVICE_FOR_STATUS: Final = {
    401: "The service did not accept the credentials: check them, and that they belong to this environment.",
    403: "The credentials are valid, but do not allow this: ask the service for permission.",
    404: "Nothing was found at this address: check the path, and the address in the settings.",
    429: "The service received too many requests: wait before trying again.",
    3: "The service sent a redirect, which was not followed: check the address in the settings.",
    4: "Change the request; `response.text` may say more.",
    5: "The service has a problem: try again later.",
}
# OpenSSL's messages for bytes that are not TLS, such as a response in plain HTTP.
_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"})


class Advice(str):
    """A note on an httpx error: what to do about it."""

    __slots__ = ()


class ReplayedReason(str):
    """A note on a replayed error: why the connection failed. It is one of the keys of NO_CONNECTION."""

    __slots__ = ()


class ProxyNote(str):
    """A note on an httpx error: the proxy that the connection used."""

    __slots__ = ()


def origin(url: httpx.URL) -> str:
    """Return the scheme, host and port of a URL, without its path and query, which may contain a secret."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def unreachable(what: str, error: httpx.HTTPError) -> Unreachable:
    """Return the error for a failed connection to `what`."""
    advice, refused = note_of(error, Advice), refusal(error)
    if refused is not None:
        return Unreachable(f"{what} uses {refused.what}.", advice or refused.advice, about="verify", is_passing=False)
    kind, reason, proxy = type(error).__name__, no_connection(error), note_of(error, ProxyNote)
    return Unreachable(
        f"{what} cannot be reached: {reason or _REASONS.get(kind, kind)}." + (f" {proxy}" if proxy else ""),
        advice or _ADVICE.get(reason or kind, _ADVICE_ELSE),
        is_passing=isinstance(error, _PASSING) and not is_lasting(error),
    )


def as_toolkit_error(error: httpx.TransportError | httpx.DecodingError, url: httpx.URL) -> Unreachable | ServiceError:
    """Return the error for a toolkit call that got no response, or a response that cannot be decoded."""
    if isinstance(error, httpx.TransportError):
        return unreachable(f"The service at {origin(url)}", error)
    return ServiceError(
        "The service's response cannot be read: its encoding does not match its Content-Encoding.",
        "Try again; a proxy may have damaged it.",
    )


def status_error(response: Any) -> ServiceError:
    """Return the error for a response with an error status or a redirect."""
    status, source = response.status_code, source_of(response)
    advice = _ADVICE_FOR_STATUS.get(status) or _ADVICE_FOR_STATUS[min(status // 100, 5)]
    who = "The service"
    if source.replayed_from:
        again = 'Nothing was sent. To send the call again, record with mode="all", or delete the file first.'
        advice = again if status == httpx.codes.UNAUTHORIZED else f"{again} {advice}"
        who = f"Replayed from {source.replayed_from}: the service"
    call = f"{excerpt(source.call)} " if source.call else ""
    return ServiceError(f"{who} answered {call}with status {status}.", advice, status=status, response=response)


def is_lasting(error: BaseException) -> bool:
    """Check whether another try would fail too: the certificate was refused, or the other side does not speak TLS."""
    return refusal(error) is not None or no_connection(error) == NO_TLS


def no_connection(error: BaseException) -> str:
    """Return the reason why the connection failed, as a key of NO_CONNECTION, or "" if it is not known."""
    noted = note_of(error, ReplayedReason)
    if noted:
        return noted
    has_proxy = bool(note_of(error, ProxyNote))  # then the proxy is what cannot be reached
    if any(isinstance(cause, socket.gaierror) for cause in causes(error)):
        return PROXY_UNKNOWN if has_proxy else NAME_UNKNOWN
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes(error)):
        return NO_PROXY if has_proxy else NO_LISTENER
    is_tls_missing = any(isinstance(cause, ssl.SSLError) and cause.reason in _NOT_TLS for cause in causes(error))
    return NO_TLS if is_tls_missing else ""


def note_of(error: BaseException, kind: type[str]) -> str:
    """Return the note of type `kind` on an error, or "" if there is none."""
    return next((note for note in getattr(error, "__notes__", ()) if isinstance(note, kind)), "")
