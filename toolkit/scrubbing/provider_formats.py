"""Search for keys and tokens in the formats of providers, which `formats` lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from toolkit.core.text import SLICE, compiled
from toolkit.scrubbing.formats import FORMATS, INNER_FORMATS, Format, InnerFormat


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


# Starts that are not the beginning of a word, so that a search by words misses them.
_STARTS_WITH_SIGNS: Final = sorted(
    start
    for form in FORMATS
    for start in form.starts.split()
    if form.is_certain and not re.fullmatch(r"[A-Za-z0-9_+/-]{3,}", start)
)
# Formats without a literal start: Mailchimp, Telegram, Discord, Twitter. They count as whole values only.
_WHOLE: Final = (
    r"[0-9a-f]{32}-us[0-9]{1,2}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"
    r"|[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}|A[A-Z]AAA[A-Za-z0-9_-]{20,60}%[A-Za-z0-9%]{20,200}"
)
_BEFORE: Final = "A-Za-z0-9_+/-"  # characters before which a key does not start
_START: Final = 3  # characters of a word that tell whether it may be a key
_SHORTEST: Final = 14  # characters of a word
_WORDS: Final = bytes(byte if re.match(f"[{_BEFORE}]", chr(byte)) else 32 for byte in range(256))
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
def _starts() -> dict[str, list[tuple[Format, str, re.Pattern[str]]]]:
    """Return formats with one of their starts and its pattern, by the first two characters."""
    starts: dict[str, list[tuple[Format, str, re.Pattern[str]]]] = {}
    for form in FORMATS:
        for start in form.starts.split():
            starts.setdefault(start[:2], []).append((form, start, re.compile(re.escape(start) + form.rest)))
    return starts


def has_provider_format(value: str) -> bool:
    """Check whether a value begins with a key or token in a provider's format, or is text around a credential."""
    if any(pattern.match(value) for _, _, pattern in _starts().get(value[:2], ())):
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
    for start in _possible_starts(text):
        for form, whole, pattern in _starts()[start[:2]]:
            if form.is_certain and whole.startswith(start):
                yield from _credentials_of(form, whole, pattern, text)
    for match, inner in _inner_matches(text):
        if not _DUMMY.search(match[0]):
            yield Credential(inner.kind, inner.provider, *match.span())


def _credentials_of(form: Format, start: str, pattern: re.Pattern[str], text: str) -> Iterator[Credential]:
    at = text.find(start)
    while at >= 0:
        match = pattern.match(text, at)
        if match is not None and not (at and _NOT_BEFORE.match(text, at - 1)) and not _DUMMY.search(match[0]):
            yield Credential(form.kind, form.provider, *match.span())
        at = text.find(start, at + 1 if match is None else match.end())


def _possible_starts(text: str) -> list[str]:
    """Return the first characters of formats with which words of a text begin, if the words are long enough."""
    starts: set[bytes] = set()
    certain, shadow = _certain_starts(), text.encode("ascii", "replace")
    for first in range(0, len(shadow), SLICE):  # each step blocks other threads
        part = shadow[max(0, first - _LONGEST) : first + SLICE]
        starts.update([word[:_START] for word in part.translate(_WORDS).split() if len(word) >= _SHORTEST])
    of_words = {start.decode() for start in starts & certain}
    return sorted(of_words | {start for start in _STARTS_WITH_SIGNS if start in text})


@cache
def _certain_starts() -> frozenset[bytes]:
    return frozenset(start[:_START].encode() for form in FORMATS if form.is_certain for start in form.starts.split())


def _inner_matches(text: str) -> Iterator[tuple[re.Match[str], InnerFormat]]:
    for form in INNER_FORMATS:
        at = text.find(form.sign)
        while at >= 0:
            start = at - form.before
            if start >= 0 and not (start and _NOT_BEFORE.match(text, start - 1)):
                match = compiled(form.pattern).match(text, start)
                if match is not None:
                    yield match, form
            at = text.find(form.sign, at + 1)
