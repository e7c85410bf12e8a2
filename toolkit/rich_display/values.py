"""What each kind of object shows of itself: a card in a page, a line or two in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from toolkit.cassettes.cassette import Cassette
from toolkit.errors import ToolkitError
from toolkit.escaping import as_html
from toolkit.ledger import Ledger
from toolkit.rich_display import words
from toolkit.rich_display.elements import badge, card, code, list_html, list_text, notice
from toolkit.secret import Secret
from toolkit.service import ADDRESS_NAMES, CredentialKind, Environment, Interface, Placeholder
from toolkit.settings import Settings
from toolkit.tokens.token import Token

if TYPE_CHECKING:
    from toolkit.cassettes.leaks import Finding
    from toolkit.session import AsyncSession, Session

Bundle = dict[str, str]

_FINDINGS: Final = ("file", "line", "what")
_WHAT_TO_DO: Final = "look at each place; take out what is a secret, and change that secret if the file was passed on."
_NO_FINDINGS: Final = "No findings: nothing there is, or looks like, a secret."
_MODES: Final = {
    "none": "none: replays only",
    "once": "once: records a file that does not exist, replays one that does",
    "new_episodes": "new_episodes: replays what is recorded, and records the rest",
    "all": "all: records everything anew",
}


def session_html(session: Session | AsyncSession, ledger: Ledger) -> str:
    """Who calls what, from where the answers come, and which token is in hand."""
    environment, cassette, ended = session.environment, session.cassette, ledger.last_ended_at()
    interfaces = [one for one in environment.rules.addresses if one is not Interface.AUTH]
    rows = [
        ("You are", as_html(words.who_text(environment, session.credentials))),
        ("You may call", " ".join(code(f"session.{one}") for one in interfaces)),
    ]
    if cassette is not None:
        rows.append(("Cassette", f"{as_html(cassette.path.name)} · {words.count_text(len(cassette), 'interaction')}"))
    rows.append(("Calls so far", f"{len(ledger.calls()):,}"))
    rows.append(("Token", as_html(_token_words(environment, session.token, ended))))
    badges = [badge(words.source_text(cassette, ended)), *_real_account(environment)]
    return card(f"{type(session).__name__} {environment}", badges, rows)


def token_bundle(token: Token) -> Bundle:
    """A token without its text; one of a replay holds a placeholder for it."""
    is_replayed = token.access_token == Secret(Placeholder.ACCESS_TOKEN)
    source = f"{'replayed' if is_replayed else 'live'}, issued {words.date_text(token.issued_at)}"
    rows = [
        ("Text", code(str(token.access_token))),
        ("Issued", words.instant_words(token.issued_at)),
        ("Expires", words.instant_words(token.expires_at)),
        ("Lifetime", f"{words.minutes_text(token.lifetime)} minutes"),
    ]
    text = f"{repr(token).removesuffix('>')}, {'replayed' if is_replayed else 'live'}>"
    return {"text/plain": text, "text/html": card("Token", [badge(source)], rows)}


def cassette_html(cassette: Cassette) -> str:
    """What is recorded, of when, and how much of it was played."""
    count = len(cassette)
    rows = [("Mode", as_html(_MODES[cassette.mode])), ("Interactions", f"{count:,}")]
    if cassette.environments:
        rows.append(("Calls of", as_html(", ".join(cassette.environments))))
    if cassette.replays:
        unplayed = len(cassette.unplayed)
        rows.append(("Played", f"{words.count_text(cassette.play_count, 'time')}; {unplayed:,} not played yet"))
    source = words.source_text(cassette, None) if cassette.replays or not cassette.records else "recording"
    return card(f"Cassette {cassette.path.name}", [badge(source)], rows)


def settings_html(settings: Settings) -> str:
    """The addresses of the service, and what else is set; the file and the folder as they were given."""
    rows = [(name, _address(settings, name)) for name in ADDRESS_NAMES]
    rows += [("header prefix", code(settings.header_prefix)), ("cassettes", code(str(settings.cassettes)))]
    given = len(settings.addresses)
    return card("Settings", [badge(f"{given} of {len(ADDRESS_NAMES)} addresses set")], rows)


def error_html(error: ToolkitError) -> str:
    """What happened, and what to do about it, for an error that is looked at rather than raised."""
    return notice(type(error).__name__, [error.what, error.next_step])


def findings_text(findings: Sequence[Finding]) -> str:
    """How many, what to do, and one line a finding; none are said to be none."""
    if not findings:
        return _NO_FINDINGS
    return f"{_how_many(findings)}: {_WHAT_TO_DO}\n\n{list_text(_FINDINGS, _finding_rows(findings))}"


def findings_html(findings: Sequence[Finding]) -> str:
    """The same as a notice and a table."""
    if not findings:
        return f"<p>{_NO_FINDINGS}</p>"
    return notice(_how_many(findings), [_WHAT_TO_DO]) + list_html(_FINDINGS, _finding_rows(findings))


def _how_many(findings: Sequence[Finding]) -> str:
    files = len({each.path for each in findings})
    return f"{words.count_text(len(findings), 'finding')} in {words.count_text(files, 'file')}"


def _finding_rows(findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    return [(str(each.path), str(each.line), each.kind) for each in findings]


def _real_account(environment: Environment) -> list[str]:
    return [badge(words.REAL_ACCOUNT, alarming=True)] if environment.rules.real_account else []


def _token_words(environment: Environment, token: Token | None, ended: datetime | None) -> str:
    if CredentialKind.KEY_PAIR in environment.rules.credentials:
        return words.KEY_PAIR
    if token is None:
        return "none at hand: one is asked for when a call needs it"
    left = token.remaining(ended) if ended else token.lifetime
    of = f"{words.minutes_text(left)} of {words.minutes_text(token.lifetime)} minutes left"
    return f"{of} at the end of the last call, expires {words.instant_words(token.expires_at)}"


def _address(settings: Settings, name: str) -> str:
    return code(settings.addresses[name]) if name in settings.addresses else "not set"
