"""Credentials that are recognized by their shape, wherever they stand in a text.

These are PEM keys (RFC 7468), signed tokens (RFC 7519), what follows `Bearer` (RFC 6750) or `Basic` (RFC 7617), the
password in a URL, credentials that are a part of a path, and keys in the formats of providers.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from toolkit.core.patterns import matches_in
from toolkit.scrubbing.provider_formats import provider_credentials
from toolkit.scrubbing.strength import Strength, grade

_LONGEST: Final = 1 << 14  # characters of a credential that starts in a slice
_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----((?:[^-]|-(?!----)){16,16384}+)"
    r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
)
_TO_STANDARD: Final = str.maketrans("-_", "+/")  # from the alphabet of base64 for URLs
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{16}")
_ESCAPED_BREAK: Final = re.compile(r"\\{1,8}+([rn])")
_ESCAPED_SLASH: Final = re.compile(r"\\{1,8}+/")
# A literal text first, which is searched for quickly; then a check that a longer word does not end with it.
SIGNED_SHAPE: Final = (
    r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}+\.(?:eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"
    r"|[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{8,}+){3})"
)
_SCHEME: Final = (
    r"earer(?<=[Bb]earer)(?<![A-Za-z0-9_]\wearer)[ +]{1,20}+([A-Za-z0-9._~+/=-]{16,}+)"
    r"|EARER(?<=BEARER) {1,20}+([A-Za-z0-9._~+/=-]{16,}+)"
)
_PAIR: Final = r"(?:asic(?<=[Bb]asic)|ASIC(?<=BASIC))(?<!\w\w{5})[ +]{1,20}+([A-Za-z0-9+/_=-]{8,}+)"
# Services whose credentials are a part of a path: bots of Telegram, incoming webhooks of Slack and Discord.
_PATH: Final = (
    r"/(?:bot([0-9]{8,10}:[A-Za-z0-9_-]{35})"
    r"|services/T[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/([A-Za-z0-9]{16,40}+)"
    r"|webhooks/[0-9]{15,22}+/([A-Za-z0-9_-]{60,90}+))"
)
_USER_INFO: Final = r":(?:\\{0,8}+/){2}([^\s/?#@:\"'<>\\]{0,400}+)(?::([^\s/?#@\"'<>\\]{1,400}+))?@"


def credentials_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of each credential that is recognized by its shape."""
    for signs, find in _FINDERS:
        if any(map(text.__contains__, signs)):
            yield from find(text)
    for credential in provider_credentials(text):
        if credential.kind != "PRIVATE_KEY":  # only its first line
            yield credential.kind, text[credential.start : credential.end]


def _private_keys(text: str) -> Iterator[tuple[str, str]]:
    for match in matches_in(_PRIVATE_KEY, text, longest=_LONGEST):
        key = _ESCAPED_SLASH.sub("/", _ESCAPED_BREAK.sub(lambda sign: {"n": "\n", "r": "\r"}[sign[1]], match[0]))
        if _KEY_LINE.search(match[1]):
            yield "PRIVATE_KEY", key


def _bearers(text: str) -> Iterator[tuple[str, str]]:
    for match in matches_in(_SCHEME, text, longest=_LONGEST):
        token = (match[1] or match[2]).rstrip(".")
        if grade(token) is not Strength.WEAK:
            yield "ACCESS_TOKEN", token


def _signed_tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in matches_in(SIGNED_SHAPE, text, longest=_LONGEST):
        yield "SIGNED_TOKEN", match[0]


def _basic_pairs(text: str) -> Iterator[tuple[str, str]]:
    for match in matches_in(_PAIR, text, longest=_LONGEST):
        password = password_of_pair(match[1])
        if grade(password) is not Strength.WEAK:
            yield "AUTHORIZATION", match[1]
            yield "PASSWORD", password


def _passwords_of_urls(text: str) -> Iterator[tuple[str, str]]:
    for match in matches_in(_USER_INFO, text, longest=_LONGEST):
        for value in (match[1], match[2] or ""):
            if grade(unquote(value)) is Strength.STRONG:
                yield "PASSWORD", unquote(value)


def _parts_of_paths(text: str) -> Iterator[tuple[str, str]]:
    for match in matches_in(_PATH, text, longest=_LONGEST):
        yield "ACCESS_TOKEN", match[1] or match[2] or match[3]


# Texts of which one occurs in every such credential, and are searched for quickly; and the search itself.
_FINDERS: Final = (
    (("PRIVATE KEY",), _private_keys),
    (("earer", "EARER"), _bearers),
    (("eyJ",), _signed_tokens),
    (("asic", "ASIC"), _basic_pairs),
    (("@",), _passwords_of_urls),
    (("/bot", "/services/T", "/webhooks/"), _parts_of_paths),
)


def password_of_pair(written: str) -> str:
    """Return the password of a pair in base64 (RFC 7617), or "" if the text is not a pair."""
    core = written.rstrip("=").translate(_TO_STANDARD)
    try:
        pair = base64.b64decode(core + "=" * (-len(core) % 4)).decode("utf-8")
    except ValueError:
        return ""
    return pair.partition(":")[2] if pair.isprintable() else ""
