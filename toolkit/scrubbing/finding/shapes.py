"""Credentials that are recognized by their shape, anywhere in a string.

These are PEM keys (RFC 7468), signed tokens (RFC 7519), what follows `Bearer` (RFC 6750) or `Basic` (RFC 7617), the
password in a URL, webhook URLs, other credentials that are part of a path, and keys in providers' formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolkit.core.text import matches_in
from toolkit.scrubbing.strength import Strength, grade, provider_credentials
from toolkit.scrubbing.vocabulary import password_of_pair

PROVIDER_KEY: Final = "key in the format of"  # followed by the provider
SHORTEST_SHAPED: Final = 12  # characters of a string that can contain a credential
_LONGEST: Final = 1 << 14  # characters of a credential that starts in a slice
_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){16,16384}+)"
    r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
)
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{16}")
_ESCAPED_BREAK: Final = re.compile(r"\\{1,8}+([rn])")
_ESCAPED_SLASH: Final = re.compile(r"\\{1,8}+/")
# A literal text first, which can be searched for quickly; then a check that it is not the end of a longer word.
_SIGNED: Final = (
    r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.(?:eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"
    r"|[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{8,}+){3})"
)
# Matched in the lower-case copy of a text.
_SCHEME: Final = rb"bearer(?<![a-z0-9_]bearer)(?:[ +]|%20){1,20}+(?:[\"'][ ]?[+.,][ ]?[\"'])?([a-z0-9._~+/=-]{16,}+)"
_PAIR: Final = rb"basic(?<![a-z0-9_]basic)(?:[ +]|%20){1,20}+([a-z0-9+/_=-]{8,}+)"
# Services whose credentials are part of a path: Telegram bots, and incoming webhooks of Slack, Discord, Microsoft
# Teams, Zapier and IFTTT.
_PATH: Final = (
    r"/(?:bot([0-9]{8,10}:[A-Za-z0-9_-]{35})"
    r"|(?:services|workflows|triggers)/T[A-Z0-9]{6,14}/(?:B[A-Z0-9]{6,14}|[A-Z0-9]{8,16}/[0-9]{10,20})/"
    r"([A-Za-z0-9]{16,40}+)"
    r"|webhooks/[0-9]{15,22}+/([A-Za-z0-9_-]{60,90}+)"
    r"|webhookb2/[0-9a-f-]{36}@[0-9a-f-]{36}/IncomingWebhook/([0-9a-f]{32}/[0-9a-f-]{36})"
    r"|hooks/catch/([0-9]{5,12}+/[a-z0-9]{5,20}+)"
    r"|with/key/([A-Za-z0-9_-]{20,60}+))"
)
_SEGMENT: Final = r"/(?<=[A-Za-z]/)([\w.~=-]{16,2000}+)"
# A path segment after which many services put a token.
_WORD_BEFORE: Final = (
    r"(?i)(?:token|reset|password|verify|verification|confirm|confirmation|activate|activation|invite|invitation"
    r"|magic|magic-link|unsubscribe|apikey|api-key|key|secret|session|login)s?/\Z"
)
_LONGEST_WORD: Final = 20  # characters
_USER_INFO: Final = r":(?:\\{0,8}+/){2}([^\s/?#@:\"'<>\\]{0,400}+)(?::([^\s/?#@\"'<>\\]{1,400}+))?@"


class ShapedCredential(NamedTuple):
    """A credential without escapes, its position, its kind for placeholders, and its name in findings."""

    start: int
    end: int
    kind: str
    what: str
    value: str


def credentials_in(text: str) -> Iterator[ShapedCredential]:
    """Yield the credentials that are recognized by their shape, the most certain kinds first."""
    if len(text) < SHORTEST_SHAPED:
        return
    # Searching for a pattern that begins with a literal text is many times faster than ignoring case.
    shadow = text.encode("ascii", "replace").lower()
    for sign, find in _FINDERS:
        if sign in shadow:
            yield from find(text, shadow)
    for start, end, form in provider_credentials(text):
        yield ShapedCredential(start, end, form.kind, f"{PROVIDER_KEY} {form.provider}", text[start:end])


def _private_keys(text: str, _: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_PRIVATE_KEY, text, longest=_LONGEST):
        key = _ESCAPED_SLASH.sub("/", _ESCAPED_BREAK.sub(lambda sign: {"n": "\n", "r": "\r"}[sign[1]], match[0]))
        if _KEY_LINE.search(match[1]):
            yield ShapedCredential(*match.span(), "PRIVATE_KEY", "private key", key)


def _bearers(text: str, shadow: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_SCHEME, shadow, longest=_LONGEST):
        token = text[slice(*match.span(1))].rstrip(".")
        if grade(token) is not Strength.WEAK:
            start = match.start(1)
            yield ShapedCredential(start, start + len(token), "ACCESS_TOKEN", "bearer token", token)


def _signed_tokens(text: str, _: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_SIGNED, text, longest=_LONGEST):
        yield ShapedCredential(*match.span(), "SIGNED_TOKEN", "signed token", match[0])


def _basic_pairs(text: str, shadow: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_PAIR, shadow, longest=_LONGEST):
        pair = text[slice(*match.span(1))]
        password = password_of_pair(pair)
        if grade(password) is not Strength.WEAK:
            yield ShapedCredential(*match.span(1), "AUTHORIZATION", "basic credentials", pair)
            yield ShapedCredential(*match.span(1), "PASSWORD", "basic credentials", password)


def _passwords_of_urls(text: str, _: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_USER_INFO, text, longest=_LONGEST):
        for group in (1, 2):
            value = unquote(match[group] or "")
            strength = grade(value)
            if strength is Strength.STRONG or (group == 2 and strength is Strength.LOOKALIKE):
                yield ShapedCredential(*match.span(group), "PASSWORD", "password in a URL", value)


def _parts_of_paths(text: str, _: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_PATH, text, longest=_LONGEST):
        group = match.lastindex or 1
        is_bot = group == 1
        what = "token in a path" if is_bot else "address of a webhook"
        yield ShapedCredential(*match.span(group), "ACCESS_TOKEN", what, match[group])


def _segments_after_words(text: str, _: bytes) -> Iterator[ShapedCredential]:
    for match in matches_in(_SEGMENT, text, longest=_LONGEST):
        before = text[max(0, match.start() - _LONGEST_WORD) : match.start(1)]
        if re.compile(_WORD_BEFORE).search(before) and grade(match[1]) is Strength.STRONG:
            yield ShapedCredential(*match.span(1), "TOKEN", "token in a path", match[1])


# A lower-case text that occurs in every such credential and can be found quickly, and the search itself.
_FINDERS: Final = (
    (b"private key", _private_keys),
    (b"bearer", _bearers),
    (b"eyj", _signed_tokens),
    (b"@", _passwords_of_urls),
    (b"/", _parts_of_paths),
    (b"/", _segments_after_words),
    (b"basic", _basic_pairs),
)
