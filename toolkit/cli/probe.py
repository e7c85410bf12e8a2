"""Test credentials: call each interface of their environment once, and explain the answers.

The document shows one path of the trading interface and one of the broker interface (section 4.2), and no path of the
market data interface. There the address itself is called; an answer then only proves that the interface was reached and
did not refuse the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolkit.cli import terminal
from toolkit.core.document import TOKEN_PATH, Interface
from toolkit.core.errors import ToolkitError
from toolkit.core.ledger import call_of
from toolkit.transport.errors import as_toolkit_error

if TYPE_CHECKING:
    from rich.console import Console

    from toolkit.session.session import Session

_ROOT: Final = "/"
_LONG: Final = 60  # characters of a meaning that is shown once
_CHECK_CREDENTIALS: Final = "Check that the credentials belong to this environment."


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of one call.

    Attributes:
        call: method and path.
        works: True if the call succeeded, False if not, None if it was not made.
        meaning: the result in words.
        next_step: what to do about it; empty if there is nothing to do.
        status: HTTP status, None without an answer.
        elapsed: seconds until the answer, None without an answer.
    """

    interface: Interface
    call: str
    works: bool | None
    meaning: str
    next_step: str = ""
    status: int | None = None
    elapsed: float | None = None

    @property
    def is_refused(self) -> bool:
        """True if an interface did not accept the credentials. The error of a token request says so itself."""
        return self.status == 401 and self.interface is not Interface.AUTH


def probe(session: Session) -> list[Probe]:
    """Call each interface of a live session once; the token request of a broker partner comes first.

    Failures are part of the result and are not raised. Bodies are not read.
    """
    results: list[Probe] = []
    needs_token = Interface.AUTH in session.environment.rules.addresses
    token_error: ToolkitError | None = None
    for interface in session.environment.rules.addresses:
        if interface is Interface.AUTH:
            continue
        if token_error is None:
            try:
                results.append(_call_interface(session, interface))
                continue
            except ToolkitError as error:  # raised by the authentication, below the client
                if not needs_token:
                    results.append(_failed(interface, _call_text(session, interface), error))
                    continue
                token_error = error
        results.append(Probe(interface, _call_text(session, interface), None, "not called: it needs a token"))
    return [_token_probe(session, token_error), *results] if needs_token else results


def explain_status(status: int, *, is_documented: bool, call: str) -> tuple[bool, str, str]:
    """Return whether a status means success, its meaning (RFC 9110 section 15), and what to do about it.

    Args:
        status: HTTP status of the answer.
        is_documented: True if the document shows the path that was called.
        call: method and URL.
    """
    if status == 401:
        return False, "refused: these credentials are not accepted", _CHECK_CREDENTIALS
    if status == 403:
        return False, "refused: these credentials are not allowed to do this", "Ask the service what they may do."
    if not is_documented:
        return True, "reachable; the service's document shows nothing to call there", ""
    if status < 300:
        return True, "works", ""
    if status == 429:
        return False, "too many requests", "Wait and try again."
    if status >= 500:
        return False, "the service failed", "Try again later; the credentials were not refused."
    next_step = f"Check the address of {call}: a path prefix may be missing or wrong."
    return False, "an unexpected answer; the credentials were not refused", next_step


def print_probes(console: Console, results: list[Probe]) -> None:
    """Print the result of each call, and below the table what to do about those that did not succeed."""
    table = terminal.folding_table("interface", "call", "status", "elapsed", "meaning")
    colours = {True: "green", False: "red", None: "yellow"}
    shown: set[str] = set()
    for result in results:
        words = "as above" if len(result.meaning) > _LONG and result.meaning in shown else result.meaning
        shown.add(result.meaning)
        elapsed = "" if result.elapsed is None else f"{result.elapsed:.3f} s"
        has_error = result.works and (result.status or 0) >= 400  # of a path that the document does not show
        meaning = f"[{'yellow' if has_error else colours[result.works]}]{terminal.escape(words)}[/]"
        table.add_row(result.interface, result.call, str(result.status or ""), elapsed, meaning)
    console.print(table, highlight=False)
    for step in dict.fromkeys(result.next_step for result in results if result.next_step):
        console.print(terminal.escape_hint(step), highlight=False, soft_wrap=True)


def _call_interface(session: Session, interface: Interface) -> Probe:
    import httpx

    call = _call_text(session, interface)
    try:
        client = getattr(session, interface)
    except ToolkitError as error:
        return Probe(interface, call, None, f"not called: {error.what}", error.next_step)
    try:
        with client.stream("GET", _path(session, interface)) as response:
            status, called = response.status_code, call_of(response)
    except httpx.TransportError as error:
        return _failed(interface, call, as_toolkit_error(error, client.base_url))
    is_documented = _path(session, interface) != _ROOT
    works, meaning, next_step = explain_status(status, is_documented=is_documented, call=called)
    return Probe(interface, call, works, meaning, next_step, status, _elapsed(session, interface))


def _token_probe(session: Session, error: ToolkitError | None) -> Probe:
    call = f"POST {TOKEN_PATH}"
    if error is not None:
        return _failed(Interface.AUTH, call, error)
    calls = session.calls()
    statuses = calls.loc[calls["interface"] == Interface.AUTH.value, "status"].tolist()
    if not statuses:
        return Probe(Interface.AUTH, call, None, "not called: no other interface has an address")
    elapsed = _elapsed(session, Interface.AUTH)
    return Probe(Interface.AUTH, call, True, "works: it issued a token", "", int(statuses[-1]), elapsed)


def _failed(interface: Interface, call: str, error: ToolkitError) -> Probe:
    status = getattr(error, "status", None)
    return Probe(interface, call, False, error.what, error.next_step, status or None)


def _path(session: Session, interface: Interface) -> str:
    documented, path = session.environment.rules.accounts
    return path if interface is documented else _ROOT


def _call_text(session: Session, interface: Interface) -> str:
    return f"GET {_path(session, interface)}"


def _elapsed(session: Session, interface: Interface) -> float | None:
    calls = session.calls()
    seconds = calls.loc[calls["interface"] == interface.value, "elapsed"].dropna().tolist()
    return float(seconds[-1]) if seconds else None
