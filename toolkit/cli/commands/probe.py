"""Trying credentials out: one call of each interface that their environment has, and what the answers mean.

The document shows a path of the trading and broker interfaces (section 4.2) and none of market data: there
the address itself is called, and an answer says no more than that it was reached and refused nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolkit.core.document import TOKEN_PATH, Interface
from toolkit.core.errors import ToolkitError
from toolkit.transport.unreachable import unanswered

if TYPE_CHECKING:
    from toolkit.session.session import Session

_ROOT: Final = "/"
_LOOK_AT_ADDRESS: Final = "Look at the address; a path in front of those of the document may be missing or too much."
_LOOK_AT_CREDENTIALS: Final = "Check that the credentials belong to this environment, and save them again."


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one call.

    Attributes:
        interface: which interface was called.
        call: method and path below its address.
        works: True when it answered well, False when it refused, failed or was not reached, None when not tried.
        meaning: what that means, in words.
        next_step: what to do about it; empty where there is nothing to do.
        status: HTTP status, None without an answer.
        elapsed: seconds until the answer, None without one.
    """

    interface: Interface
    call: str
    works: bool | None
    meaning: str
    next_step: str = ""
    status: int | None = None
    elapsed: float | None = None


def try_out(session: Session) -> list[Trial]:
    """One call of each interface of a live session, the token request of a broker partner first.

    Nothing is raised for what goes wrong: that is what one wants to see. Bodies are not read.
    """
    trials: list[Trial] = []
    needs_token = Interface.AUTH in session.environment.rules.addresses
    no_token: ToolkitError | None = None
    for interface in session.environment.rules.addresses:
        if interface is Interface.AUTH:
            continue
        if no_token is not None:
            trials.append(Trial(interface, _call(session, interface), None, "not tried: there is no token"))
            continue
        try:
            trials.append(_tried(session, interface))
        except ToolkitError as error:  # from below the client: what authorizes its requests
            if not needs_token:
                trials.append(_failed(interface, _call(session, interface), error))
                continue
            no_token = error
            trials.append(Trial(interface, _call(session, interface), None, "not tried: there is no token"))
    return [*([_token_trial(session, no_token)] if needs_token else []), *trials]


def answered(status: int, *, is_shown: bool) -> tuple[bool, str, str]:
    """Whether a status is good news, what it means (RFC 9110 section 15), and what to do about it.

    Args:
        status: of the answer.
        is_shown: whether the document shows the path that was called.
    """
    if status == 401:
        return False, "refused: these credentials are not accepted", _LOOK_AT_CREDENTIALS
    if status == 403:
        return False, "refused: these credentials may not do this", "Ask the service what they may do."
    if not is_shown:
        return True, "reachable, and refused nobody; the document shows no path to try", ""
    if status < 300:
        return True, "works", ""
    if status == 429:
        return False, "too many requests", "Wait, and try again."
    if status >= 500:
        return False, "the service failed", "Try again later; the credentials were not refused."
    return False, "no answer that the document shows; the credentials were not refused", _LOOK_AT_ADDRESS


def _tried(session: Session, interface: Interface) -> Trial:
    import httpx  # for its errors, where something is sent

    call = _call(session, interface)
    try:
        client = getattr(session, interface)
    except ToolkitError as error:
        return Trial(interface, call, None, f"not tried: {error.what}", error.next_step)
    try:
        with client.stream("GET", _path(session, interface)) as response:
            status = response.status_code
    except httpx.TransportError as error:
        return _failed(interface, call, unanswered(error, client.base_url))
    works, meaning, next_step = answered(status, is_shown=_path(session, interface) != _ROOT)
    return Trial(interface, call, works, meaning, next_step, status, _elapsed(session, interface))


def _token_trial(session: Session, problem: ToolkitError | None) -> Trial:
    call = f"POST {TOKEN_PATH}"
    if problem is not None:
        return _failed(Interface.AUTH, call, problem)
    calls = session.calls()
    statuses = calls.loc[calls["interface"] == Interface.AUTH.value, "status"].tolist()
    if not statuses:
        return Trial(Interface.AUTH, call, None, "not tried: no other interface has an address")
    elapsed = _elapsed(session, Interface.AUTH)
    return Trial(Interface.AUTH, call, True, "works: it gave a token", "", int(statuses[-1]), elapsed)


def _failed(interface: Interface, call: str, error: ToolkitError) -> Trial:
    status = getattr(error, "status", None)
    return Trial(interface, call, False, error.what, error.next_step, status or None)


def _path(session: Session, interface: Interface) -> str:
    shown, path = session.environment.rules.accounts
    return path if interface is shown else _ROOT


def _call(session: Session, interface: Interface) -> str:
    return f"GET {_path(session, interface)}"


def _elapsed(session: Session, interface: Interface) -> float | None:
    calls = session.calls()
    seconds = calls.loc[calls["interface"] == interface.value, "elapsed"].dropna().tolist()
    return float(seconds[-1]) if seconds else None
