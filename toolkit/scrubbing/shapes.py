"""Credentials that are recognized by their shape alone: PEM keys, bearer tokens, signed tokens.

The formats are those of RFC 7468, 6750 and 7519. Every repetition in the patterns is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolkit.core.secret import Secret

_LONGEST: Final = 16_384  # characters
# Words in prose and names in code are not tokens.
_NO_WORD: Final = (
    r"(?!(?-i:(?:(?:[A-Z][a-z]{2,})+|[A-Za-z]?[a-z]*)(?:[_./-][A-Z]?[a-z]+)*|[A-Z]+(?:_[A-Z]+)+)"
    r"[._/-]*(?![A-Za-z0-9._~+/=%-])|[a-z_]+=[^=\s])"
)
# Parts of patterns that ignore case: what precedes a token, and the first line of a key.
BEARER: Final = rf"\bbearer {{1,20}}{_NO_WORD}"
PRIVATE_KEY: Final = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY-----"
SIGNED_TOKEN: Final = (
    rf"(?<![A-Za-z0-9_-])(?-i:eyJ)[A-Za-z0-9_-]{{8,{_LONGEST}}}\.(?-i:eyJ)[A-Za-z0-9_-]{{8,{_LONGEST}}}"
    rf"\.[A-Za-z0-9_-]{{8,{_LONGEST}}}"
)
_BEARER: Final = re.compile(rf"{BEARER}([A-Za-z0-9._~+/=-]{{16,{_LONGEST}}})", re.IGNORECASE)
_SIGNED_TOKEN: Final = re.compile(SIGNED_TOKEN)
_PRIVATE_KEY: Final = re.compile(
    rf"{PRIVATE_KEY}((?:(?!-----).){{16,{_LONGEST}}})-----END (?:[A-Z0-9]{{1,20}} ){{0,3}}PRIVATE KEY-----", re.DOTALL
)
# As written in text, in forms and in URLs.
_BEARER_STEMS: Final = (b"earer ", b"earer+", b"earer%20")
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{16}")
_ESCAPED_BREAK: Final = re.compile(r"\\{1,8}([rn])")
_ESCAPED_SLASH: Final = re.compile(r"\\{1,8}/")


def may_have_shape(data: bytes, lower: bytes) -> bool:
    """Check cheaply whether `data` may hold such a credential; `lower` is `data` in small letters."""
    return b"eyJ" in data or b"private key" in lower or any(stem in lower for stem in _BEARER_STEMS)


def secrets_by_shape(text: str) -> Iterator[tuple[str, Secret]]:
    """Yield each text with the shape of a credential, with its kind."""
    if "PRIVATE KEY" in text:
        for match in _PRIVATE_KEY.finditer(text):
            key = _ESCAPED_SLASH.sub("/", _ESCAPED_BREAK.sub(_line_break, match[0]))
            if _KEY_LINE.search(key.partition("KEY-----")[2]):
                yield "PRIVATE_KEY", Secret(key)
    if "earer " in text or "EARER " in text:
        for match in _BEARER.finditer(text):
            yield "ACCESS_TOKEN", Secret(match[1].rstrip("."))
    if "eyJ" in text:
        for match in _SIGNED_TOKEN.finditer(text):
            yield "SIGNED_TOKEN", Secret(match[0])


def _line_break(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else "\r"
