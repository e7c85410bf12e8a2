"""A session as text and as a card for a notebook: the caller, the source of the responses, and the current token."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.token import Token
from toolkit.core.document import CredentialKind, Environment, Interface
from toolkit.core.ledger import Ledger
from toolkit.core.text import as_html, badge, card, code, count_text, instant_words, minutes_text
from toolkit.core.tracebacks import name_of

if TYPE_CHECKING:
    from toolkit.cassettes.cassette import Cassette
    from toolkit.session.session import BaseSession

    AnySession = BaseSession[Any]

CLOSED: Final = "closed"
REAL_ACCOUNT: Final = "real account"
PRACTICE: Final = "practice"  # in place of the above: a practice service answers


def caller_text(environment: Environment, credentials: Credentials | None) -> str:
    """Return a description of the caller, such as `desk · client secret · sandbox broker partner`."""
    holder = environment.rules.holder
    return f"{credentials.name} · {credentials.kind} · {holder}" if credentials else f"{holder}, as recorded"


def session_html(session: AnySession, ledger: Ledger) -> str:
    """Return the card as HTML: the caller, its interfaces, the source of the responses, and the current token."""
    environment, cassette, ended = session.environment, session.cassette, ledger.last_ended_at()
    interfaces = [interface for interface in environment.rules.addresses if interface is not Interface.AUTH]
    name = name_of(session)
    before = f"{name}." if name else ""
    rows = [("You are", as_html(caller_text(environment, session.credentials)))]
    if not session.is_closed:
        rows.append(("You may call", ", ".join(code(f"{before}{interface}") for interface in interfaces)))
    if cassette is not None:
        rows.append(("Cassette", f"{as_html(cassette.path.name)} · {count_text(len(cassette), 'interaction')}"))
    rows.append(("Calls so far", f"{len(ledger.calls()):,}"))
    rows.append(("Token", as_html(_token_text(session, ledger))))
    badges = [badge(source_text(cassette, ended))]
    if session.is_practice:
        badges.append(badge(PRACTICE))
    elif environment.rules.real_account and not session.replays_only:
        badges.append(badge(REAL_ACCOUNT, alarming=True))
    if session.is_closed:
        badges.append(badge(CLOSED))
    return card(f"{type(session).__name__} {environment}", badges, rows)


def kind_text(cassette: Cassette | None) -> str:
    """Return the source of the responses: `live calls`, or the `source` of the cassette in use."""
    return "live calls" if cassette is None else cassette.source


def source_text(cassette: Cassette | None, ended: datetime | None) -> str:
    """Return the source of the responses, and when they were received.

    Args:
        cassette: the cassette in use, or None for live calls.
        ended: when the last call ended, or None before the first call. It is shown as the date of live responses, so
            that a saved display does not depend on the day on which it is viewed.
    """
    if cassette is not None and (cassette.replays or not cassette.records):
        return kind_text(cassette)
    return kind_text(cassette) + (f", as of {instant_words(ended)}" if ended else ", no call yet")


def remaining_text(token: Token, number: int | None, now: datetime) -> str:
    """Return the time left on a token: `token 1 · 12:07 of 14:59 left`, without `token 1` if it has no number."""
    numbered = f"token {number} · " if number else ""
    return f"{numbered}{minutes_text(token.remaining(now))} of {minutes_text(token.lifetime)} left"


def no_token_text(session: AnySession) -> str:
    """Return why a session currently has no token."""
    if CredentialKind.KEY_PAIR in session.environment.rules.credentials:
        return "none: the key pair is sent with every call"
    return "none now" if session.replays_only or session.is_closed else "none now: one is requested when needed"


def _token_text(session: AnySession, ledger: Ledger) -> str:
    token, ended = session.token, ledger.last_ended_at()
    if token is None:
        return no_token_text(session)
    instant = f"expires {instant_words(token.expires_at)}"
    if ended is None:
        return f"{remaining_text(token, session.token_number, token.issued_at)} when it was issued, {instant}"
    return f"{remaining_text(token, session.token_number, ended)} at the end of the last call, {instant}"
