"""A session in words and as a card for a notebook: who calls, where the answers come from, which token is current."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.token import Token
from toolkit.cassettes.cassette_card import Recording, source_text
from toolkit.core.document import CredentialKind, Environment, Interface
from toolkit.core.escaping import as_html
from toolkit.core.html import badge, card, code
from toolkit.core.ledger import Ledger
from toolkit.core.user_code import name_of
from toolkit.core.words import PRACTICE, REAL_ACCOUNT, count_text, instant_words, minutes_text

KEY_PAIR_NOTE: Final = "none: the key pair goes with every call"


class Shown(Protocol):
    """The facts of a session that its card shows; each is explained in `Session`."""

    @property
    def environment(self) -> Environment: ...

    @property
    def credentials(self) -> Credentials | None: ...

    @property
    def cassette(self) -> Recording | None: ...

    @property
    def is_practice(self) -> bool: ...

    @property
    def token(self) -> Token | None: ...

    @property
    def token_number(self) -> int | None: ...


def caller_text(environment: Environment, credentials: Credentials | None) -> str:
    """Return who calls, such as `desk · client secret · sandbox broker partner`."""
    holder = environment.rules.holder
    return f"{credentials.name} · {credentials.kind} · {holder}" if credentials else f"{holder}, as recorded"


def session_source(environment: Environment, account: str, cassette: Recording | None, ended: datetime | None) -> str:
    """Return the environment and where its answers come from, such as `live · real account · live calls, …`.

    Args:
        account: "real account", "practice" in its place, or "".
        ended: when the last call ended, or None before the first call.
    """
    return " · ".join(filter(None, (environment, account, source_text(cassette, ended))))


def session_html(session: Shown, ledger: Ledger) -> str:
    """Return the card: who calls what, where the answers come from, and which token is current."""
    environment, cassette, ended = session.environment, session.cassette, ledger.last_ended_at()
    interfaces = [interface for interface in environment.rules.addresses if interface is not Interface.AUTH]
    name = name_of(session)
    before = f"{name}." if name else ""
    rows = [
        ("You are", as_html(caller_text(environment, session.credentials))),
        ("You may call", " ".join(code(f"{before}{interface}") for interface in interfaces)),
    ]
    if cassette is not None:
        rows.append(("Cassette", f"{as_html(cassette.path.name)} · {count_text(len(cassette), 'interaction')}"))
    rows.append(("Calls so far", f"{len(ledger.calls()):,}"))
    rows.append(("Token", as_html(_token_text(session, ended))))
    badges = [badge(source_text(cassette, ended))]
    if session.is_practice:
        badges.append(badge(PRACTICE))
    elif environment.rules.real_account:
        badges.append(badge(REAL_ACCOUNT, alarming=True))
    return card(f"{type(session).__name__} {environment}", badges, rows)


def remaining_text(token: Token, number: int | None, now: datetime) -> str:
    """Return how long a token lasts at an instant: `token 1 · 12:07 of 14:59 left`; without a number if it has none."""
    numbered = f"token {number} · " if number else ""
    return f"{numbered}{minutes_text(token.remaining(now))} of {minutes_text(token.lifetime)} left"


def _token_text(session: Shown, ended: datetime | None) -> str:
    token = session.token
    if CredentialKind.KEY_PAIR in session.environment.rules.credentials:
        return KEY_PAIR_NOTE
    if token is None:
        return "none yet: the next call that needs a token asks for it"
    instant = f"expires {instant_words(token.expires_at)}"
    if ended is None:
        return f"{remaining_text(token, session.token_number, token.issued_at)} when it was issued, {instant}"
    return f"{remaining_text(token, session.token_number, ended)} at the end of the last call, {instant}"
