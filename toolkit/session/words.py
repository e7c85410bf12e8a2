"""Who calls, from where the answers come and which token is in hand, in words and as a card for a notebook."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.tokens.token import Token
from toolkit.cassettes.cassette import Cassette, source_text
from toolkit.core.document import CredentialKind, Environment, Interface
from toolkit.core.escaping import as_html
from toolkit.core.html import badge, card, code
from toolkit.core.ledger import Ledger
from toolkit.core.words import REAL_ACCOUNT, count_text, instant_words, minutes_text

if TYPE_CHECKING:
    from toolkit.session.session import AsyncSession, Session

KEY_PAIR: Final = "none: the key pair goes with every call"


def who_text(environment: Environment, credentials: Credentials | None) -> str:
    """Who calls: `desk · client secret · sandbox broker partner`."""
    holder = environment.rules.holder
    return f"{credentials.name} · {credentials.kind} · {holder}" if credentials else f"{holder}, as recorded"


def session_source(environment: Environment, cassette: Cassette | None, ended: datetime | None) -> str:
    """The same for a session, with whose account it is."""
    real = f" · {REAL_ACCOUNT}" if environment.rules.real_account else ""
    return f"{environment}{real} · {source_text(cassette, ended)}"


def session_html(session: Session | AsyncSession, ledger: Ledger) -> str:
    """Who calls what, from where the answers come, and which token is in hand."""
    environment, cassette, ended = session.environment, session.cassette, ledger.last_ended_at()
    interfaces = [one for one in environment.rules.addresses if one is not Interface.AUTH]
    rows = [
        ("You are", as_html(who_text(environment, session.credentials))),
        ("You may call", " ".join(code(f"session.{one}") for one in interfaces)),
    ]
    if cassette is not None:
        rows.append(("Cassette", f"{as_html(cassette.path.name)} · {count_text(len(cassette), 'interaction')}"))
    rows.append(("Calls so far", f"{len(ledger.calls()):,}"))
    rows.append(("Token", as_html(_token_words(environment, session.token, ended))))
    badges = [badge(source_text(cassette, ended)), *_real_account(environment)]
    return card(f"{type(session).__name__} {environment}", badges, rows)


def _real_account(environment: Environment) -> list[str]:
    return [badge(REAL_ACCOUNT, alarming=True)] if environment.rules.real_account else []


def _token_words(environment: Environment, token: Token | None, ended: datetime | None) -> str:
    if CredentialKind.KEY_PAIR in environment.rules.credentials:
        return KEY_PAIR
    if token is None:
        return "none at hand: one is asked for when a call needs it"
    left = token.remaining(ended) if ended else token.lifetime
    of = f"{minutes_text(left)} of {minutes_text(token.lifetime)} minutes left"
    return f"{of} at the end of the last call, expires {instant_words(token.expires_at)}"
