"""Test credentials: call each interface of their environment once, and explain the answers.

The document shows one path of the trading interface and one of the broker interface (section 4.2), and no path of the
market data interface. There the address itself is called; an answer then only proves that the interface was reached and
did not refuse the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import httpx

from toolkit.core.document import TOKEN_PATH, Interface
from toolkit.core.errors import ToolkitError
from toolkit.core.ledger import call_of
from toolkit.transport.errors import as_toolkit_error

if TYPE_CHECKING:
    from toolkit.session.session import Session

_ROOT: Final = "/"
_NEEDS_TOKEN: Final = "not called: it needs a token"  # noqa: S105 - words


class Probe(NamedTuple):
    """The result of one call.

    Attributes:
        interface: the interface.
        call: method and path.
        works: True if the call succeeded, False if not, None if nothing was called.
        meaning: the result in words.
        next_step: what to do about it; empty if there is nothing to do.
        status: HTTP status, None without an answer.
    """

    interface: Interface
    call: str
    works: bool | None
    meaning: str
    next_step: str = ""
    status: int | None = None


def probe(session: Session) -> list[Probe]:
    """Call each interface of a live session once; the token request of a broker partner comes first.

    Failures are part of the result and are not raised. Bodies are not read.
    """
    results: list[Probe] = []
    rules, token_error = session.environment.rules, None
    needs_token = Interface.AUTH in rules.addresses
    for interface in rules.addresses:
        if interface is Interface.AUTH:
            continue
        path = rules.accounts[1] if interface is rules.accounts[0] else _ROOT
        try:
            if token_error is None:
                results.append(_call(session, interface, path))
                continue
        except ToolkitError as error:  # raised by the authentication, below the client
            if not needs_token:
                results.append(_failed(interface, f"GET {path}", error))
                continue
            token_error = error
        results.append(Probe(interface, f"GET {path}", None, _NEEDS_TOKEN))
    return [_token_request(session, token_error), *results] if needs_token else results


def explain_status(status: int, *, is_documented: bool, call: str) -> tuple[bool, str, str]:
    """Return whether a status means success, its meaning (RFC 9110 section 15), and what to do about it.

    Args:
        status: HTTP status of the answer.
        is_documented: True if the document shows the path that was called.
        call: method and URL.
    """
    if status == 401:
        what = "refused: these credentials are not accepted"
        return False, what, "Check that the credentials belong to this environment."
    if status == 403:
        return False, "refused: these credentials are not allowed to do this", "Ask the service what they may do."
    if not is_documented:
        return True, "reached, and not refused; the service's document shows nothing to call there", ""
    if status < 300:
        return True, "works", ""
    if status == 429:
        return False, "too many requests", "Wait and try again."
    if status >= 500:
        return False, "the service failed", "Try again later; the credentials were not refused."
    next_step = f"Check the address of {call}: a path prefix may be missing or wrong."
    return False, "an unexpected answer; the credentials were not refused", next_step


def _call(session: Session, interface: Interface, path: str) -> Probe:
    call = f"GET {path}"
    try:
        client: httpx.Client = getattr(session, interface)
    except ToolkitError as error:  # its address is not set, for example
        return Probe(interface, call, None, f"not called: {error.what}", error.next_step)
    try:
        with client.stream("GET", path) as response:
            status, called = response.status_code, call_of(response)
    except httpx.TransportError as error:
        return _failed(interface, call, as_toolkit_error(error, client.base_url))
    works, meaning, next_step = explain_status(status, is_documented=path != _ROOT, call=called)
    return Probe(interface, call, works, meaning, next_step, status)


def _token_request(session: Session, error: ToolkitError | None) -> Probe:
    call = f"POST {TOKEN_PATH}"
    if error is not None:
        return _failed(Interface.AUTH, call, error)
    if session.token is None:
        return Probe(Interface.AUTH, call, None, "not called: no other interface has an address")
    return Probe(Interface.AUTH, call, True, "works: it issued a token", "", httpx.codes.OK)


def _failed(interface: Interface, call: str, error: ToolkitError) -> Probe:
    return Probe(interface, call, False, error.what, error.next_step, getattr(error, "status", None) or None)
