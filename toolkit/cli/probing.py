"""Test credentials: call each interface of their environment once, and explain the answers.

The document shows one path of the trading interface and one of the broker interface (section 4.2), and no path of the
market data interface. There the address itself is called; an answer then only proves that the interface was reached and
did not refuse the caller.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import httpx

from toolkit.core.document import TOKEN_PATH, Interface
from toolkit.core.errors import ToolkitError
from toolkit.core.ledger import advice_for
from toolkit.session.session import Session
from toolkit.transport.errors import as_toolkit_error

_REFUSALS: Final = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


class Probe(NamedTuple):
    """The result of one call, in words for people."""

    interface: Interface
    call: str  # method and path
    works: bool | None  # None if nothing was called
    meaning: str
    next_step: str = ""
    status: int | None = None


def probe(session: Session) -> list[Probe]:
    """Call each interface of a live session once; the token request of a broker partner comes first.

    Failures are part of the result and are not raised. Bodies are not read.
    """
    rules, results = session.environment.rules, []
    token_error: ToolkitError | None = None
    for interface in rules.addresses:
        if interface is not Interface.AUTH:
            call = f"GET {rules.accounts[1] if interface is rules.accounts[0] else '/'}"
            try:
                if token_error is None:
                    results.append(_called(session, interface, call))
                    continue
            except ToolkitError as error:  # raised by the authentication, below the client
                if Interface.AUTH not in rules.addresses:
                    results.append(_failed(interface, call, error))
                    continue
                token_error = error
            results.append(Probe(interface, call, None, "not called: it needs a token"))
    if Interface.AUTH not in rules.addresses:
        return results
    call = f"POST {TOKEN_PATH}"
    if token_error is not None:
        return [_failed(Interface.AUTH, call, token_error), *results]
    if session.token is None:
        return [Probe(Interface.AUTH, call, None, "not called: no other interface has an address"), *results]
    return [Probe(Interface.AUTH, call, True, "works: it issued a token", "", httpx.codes.OK), *results]


def _called(session: Session, interface: Interface, call: str) -> Probe:
    try:
        client: httpx.Client = getattr(session, interface)
    except ToolkitError as error:  # its address is not set, for example
        return Probe(interface, call, None, f"not called: {error.what}", error.next_step)
    try:
        with client.stream("GET", call.removeprefix("GET ")) as response:
            status = response.status_code
    except httpx.TransportError as error:
        return _failed(interface, call, as_toolkit_error(error, client.base_url))
    if response.is_success:
        return Probe(interface, call, True, "works", status=status)
    if status in _REFUSALS:
        return Probe(interface, call, False, "refused: these credentials are not accepted", advice_for(status), status)
    if call.endswith(" /"):
        meaning = "reached, and not refused; the service's document shows nothing to call there"
        return Probe(interface, call, True, meaning, status=status)
    meaning = "an error; the credentials were not refused"
    return Probe(interface, call, False, meaning, advice_for(status), status)


def _failed(interface: Interface, call: str, error: ToolkitError) -> Probe:
    return Probe(interface, call, False, error.what, error.next_step, getattr(error, "status", None) or None)
