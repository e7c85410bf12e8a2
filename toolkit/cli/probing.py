"""Test credentials: call each interface of their environment once, and explain the answers.

The document shows no path of the market data interface (section 4.2). There the address itself is called; an answer
then only proves that the interface was reached and did not refuse the caller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import httpx

from toolkit.core.document import Interface
from toolkit.core.errors import ToolkitError
from toolkit.core.ledger import advice_for
from toolkit.session.session import Session
from toolkit.transport.errors import as_toolkit_error


class Probe(NamedTuple):
    """The result of one call, in words for people."""

    interface: Interface
    call: str  # method and path
    works: bool | None  # None if nothing was called
    meaning: str
    next_step: str = ""
    status: int | None = None


def probe(session: Session) -> Iterator[Probe]:
    """Call each interface of a live session once; the first call of a broker partner requests a token.

    Failures are part of the result and are not raised. Bodies are not read.
    """
    rules = session.environment.rules
    for interface in rules.addresses:
        if interface is not Interface.AUTH:
            path = rules.accounts[1] if interface is rules.accounts[0] else "/"
            try:
                yield _called(session, interface, path)
            except ToolkitError as error:  # raised by the authentication, below the client
                yield Probe(interface, f"GET {path}", False, error.what, error.next_step)


def _called(session: Session, interface: Interface, path: str) -> Probe:
    call = f"GET {path}"
    try:
        client: httpx.Client = getattr(session, interface)
    except ToolkitError as error:  # its address is not set, for example
        return Probe(interface, call, None, f"not called: {error.what}", error.next_step)
    try:
        with client.stream("GET", path) as response:
            status, is_refusal = response.status_code, response.status_code in (401, 403)
    except httpx.TransportError as error:
        raise as_toolkit_error(error, client.base_url) from None
    if response.is_success:
        return Probe(interface, call, True, "works", status=status)
    if path == "/" and not is_refusal:
        meaning = "reached, and not refused; the service's document shows nothing to call there"
        return Probe(interface, call, True, meaning, status=status)
    meaning = "refused: these credentials are not accepted" if is_refusal else "an error, which is not a refusal"
    return Probe(interface, call, False, meaning, advice_for(status), status)
