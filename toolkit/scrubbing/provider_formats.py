"""Search for keys and tokens in the formats of providers, which `formats` lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, NamedTuple

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.formats import chat, clouds, code, keys, payments, services
from toolkit.scrubbing.formats.form import Format, InnerFormat


class Credential(NamedTuple):
    """A key or token in a provider's format.

    Attributes:
        kind: its kind, such as "ACCESS_TOKEN".
        provider: who issued it.
        start: position where it starts in the text.
        end: position where it ends.
    """

    kind: str
    provider: str
    start: int
    end: int


_FORMATS: Final[tuple[Format, ...]] = (
    *clouds.FORMATS,
    *code.FORMATS,
    *chat.FORMATS,
    *payments.FORMATS,
    *services.FORMATS,
    *keys.FORMATS,
)
_INNER_FORMATS: Final[tuple[InnerFormat, ...]] = clouds.INNER_FORMATS
# Formats without a literal start: Mailchimp, Telegram, Discord, Twitter. They count as whole values only.
_WHOLE: Final = (
    r"[0-9a-f]{32}-us[0-9]{1,2}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"
    r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|A[A-Z]AAA[A-Za-z0-9_-]{20,60}%[A-Za-z0-9%]{20,200}"
)
_BEFORE: Final = "A-Za-z0-9_+/-"  # characters before which a key does not start
_NOT_BEFORE: Final = re.compile(f"[{_BEFORE}]")
_LONGEST: Final = 2_048  # characters of a credential that begins at the end of a slice
# Texts that hold a credential beside other things: the password of a URL, the key of a connection string.
_URL_WITH_PASSWORD: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,30}+://[^\s/?#@:\"'<>\\]{0,200}+:([^\s/?#@\"'<>\\]{6,400}+)@"
)
_CONNECTION_STRING: Final = re.compile(
    r"(?:\A|[;\s\"'])(?:AccountKey|SharedAccessKey|SharedAccessSignature|AccessKey|Password|Pwd)[ ]?=[ ]?"
    r"(?![<$*{%]|xxx|your)[^;\s\"'<>]{8,400}+(?:;|\Z)",
    re.IGNORECASE,
)
# The addresses of incoming webhooks, which are credentials: Slack, Discord, Microsoft Teams, Zapier.
_WEBHOOK: Final = re.compile(
    r"https://(?:hooks\.slack\.com/(?:services|workflows|triggers)/T[A-Za-z0-9]+/[A-Za-z0-9/]{10,80}+"
    r"|(?:canary\.|ptb\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]{20,100}+"
    r"|[a-z0-9-]+\.webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/[0-9]+/[a-z0-9]{5,20}+)"
)
_DUMMY: Final = re.compile(r"example|x{6}|0123456|123456789|abcdefgh|(.)\1{7}", re.IGNORECASE)


@cache
def _starts() -> dict[str, list[tuple[Format, re.Pattern[str]]]]:
    """Return formats and their patterns by the first two characters."""
    starts: dict[str, list[tuple[Format, re.Pattern[str]]]] = {}
    for form in _FORMATS:
        starts.setdefault(form.start[:2], []).append((form, re.compile(re.escape(form.start) + form.rest)))
    return starts


def has_provider_format(value: str) -> bool:
    """Check whether a value begins with a key or token in a provider's format, or is text around a credential."""
    for form, pattern in _starts().get(value[:2], ()):
        if value.startswith(form.start) and pattern.match(value):
            return True
    if any(match.start() == 0 for match, _ in _inner_matches(value[:100])):
        return True
    if "://" in value[:40]:
        return bool(_URL_WITH_PASSWORD.match(value) or _WEBHOOK.match(value))
    if "=" in value and ";" in value and _CONNECTION_STRING.search(value[:_LONGEST]):
        return True
    return len(value) <= 300 and compiled(_WHOLE).fullmatch(value) is not None


def provider_credentials(text: str) -> Iterator[Credential]:
    """Yield the keys and tokens in providers' formats anywhere in a text, except samples of documentation.

    Only formats that cannot be mistaken for anything else are looked for.
    """
    for sign in matches_in(_any_start(), text, longest=_LONGEST):
        for form, pattern in _starts()[text[sign.start() : sign.start() + 2]]:
            match = pattern.match(text, sign.start()) if form.is_certain else None
            if match is not None:
                if not _DUMMY.search(match[0]):
                    yield Credential(form.kind, form.provider, *match.span())
                break
    for match, inner in _inner_matches(text):
        if not _DUMMY.search(match[0]):
            yield Credential(inner.kind, inner.provider, *match.span())


def _inner_matches(text: str) -> Iterator[tuple[re.Match[str], InnerFormat]]:
    for form in _INNER_FORMATS:
        at = text.find(form.sign)
        while at >= 0:
            start = at - form.before
            if start >= 0 and not (start and _NOT_BEFORE.match(text, start - 1)):
                match = compiled(form.pattern).match(text, start)
                if match is not None:
                    yield match, form
            at = text.find(form.sign, at + 1)


@cache
def _any_start() -> str:
    """Return a pattern of the literal starts. It begins with a set of characters, which is searched for quickly."""
    starts = sorted({form.start for form in _FORMATS if form.is_certain})
    firsts = "".join(sorted({start[0] for start in starts}))
    rests = [f"(?<={first}){_choice([start[1:] for start in starts if start[0] == first])}" for first in firsts]
    return f"[{firsts}](?<![{_BEFORE}].)(?:{'|'.join(rests)})"


def _choice(texts: Iterable[str]) -> str:
    """Return a pattern of several texts that share their beginnings."""
    by_first: dict[str, list[str]] = {}
    for text in texts:
        by_first.setdefault(text[:1], []).append(text[1:])
    if "" in by_first:  # one of them ends here, and what follows is left to its pattern
        return ""
    branches = [re.escape(first) + _choice(rests) for first, rests in by_first.items()]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
