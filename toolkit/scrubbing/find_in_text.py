"""Secrets in text of an unknown format: links, fragments of JSON and XML, settings, event streams.

Patterns find the name of a credential beside a value, and credentials that are recognized by their shape: PEM keys
(RFC 7468), bearer tokens (RFC 6750) and signed tokens (RFC 7519). Every repetition in the patterns is bounded.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, unquote_plus

from toolkit.core.patterns import compiled
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.credential_names import FIELD_NAMES, URL_NAMES, field_kind, is_url_name_only, url_kind
from toolkit.scrubbing.encoded_forms import unescaped_levels

_NAMES: Final = FIELD_NAMES.decode("ascii")
_LONGEST: Final = 16_384  # characters
_LEVELS: Final = 3  # of URLs within URLs
_LINK: Final = rf"(?i)[?&#;]({URL_NAMES.decode('ascii')})=([^&#;\s\"'<>,\\]+)"
_JSON_FIELD: Final = r'"([^"\\]{1,40})"\s*:\s*(?:data:\s*)?("(?:[^"\\]|\\.)*")'
_JSON_WITHIN_JSON: Final = rf'(?i)\\+"({_NAMES})\\+"\s*:\s*\\+"([^"\\]{{1,{_LONGEST}}})'
_ELEMENT: Final = (
    rf"(?is)<(?:[\w.-]{{1,40}}:)?({_NAMES})(?:\s[^<>]{{0,400}})?>\s*"
    rf"(?:<!\[CDATA\[(.{{1,{_LONGEST}}}?)\]\]>|([^<]{{1,{_LONGEST}}}))"
)
_NAMED_ELEMENT: Final = (
    rf"(?i)\b(?:name|key|id)\s*=\s*[\"']({_NAMES})[\"']"
    rf"(?:[^<>]{{0,400}}?\bvalue\s*=\s*[\"']([^\"'<>]{{1,{_LONGEST}}})[\"']"
    rf"|[^<>]{{0,400}}>([^<]{{1,{_LONGEST}}}))"
)
# Words in prose and calls in code are not values.
_NO_WORD: Final = (
    r"(?!(?-i:[A-Za-z]?[a-z]*(?:[_-][a-z]+)*)[\s.,;:!?)]*(?:\s|\Z))(?![a-z_]+(?:\.[a-z_]+)*\s*[(\[])(?!\*+)"
)
_SETTING: Final = (
    rf"(?i)(?<![A-Za-z0-9?&#;])({_NAMES})[\"']?[ \t]{{0,20}}[:=][ \t]{{0,20}}"
    rf"(?:\"([^\"\n]{{1,{_LONGEST}}})\"|'([^'\n]{{1,{_LONGEST}}})'"
    rf"|(?![<\"'\[{{|>]){_NO_WORD}([^\s\"'<>&,;\\]{{{SHORTEST_SECRET},{_LONGEST}}}))"
)
_PASSWORD_OF_URL: Final = re.compile(r"(?<=://)[^\s/?#@:\"'<>\\]{0,200}:([^\s/?#@\"'<>\\]{1,400})@")
# What examples show as a password: a word, or any text in brackets.
_EXAMPLE_PASSWORD: Final = re.compile(r"[A-Za-z]?[a-z]{0,10}|[A-Z_]{1,20}|[\[({$%*].*")
_MAY_HOLD_PASSWORD_OF_URL: Final = re.compile(rb"(?:://|:\\+/\\+/|%3a%2f%2f)[^\s/?#@\"'<>]{1,600}?(?:@|%40)")
# Every name contains one of these, and searching for them is far quicker.
_STEMS: Final = (b"token", b"secret", b"pass", b"key", b"assertion", b"code", b"auth", b"signature", b"sig=", b"sig%")
# Words in prose and names in code are not tokens.
_NO_PROSE: Final = (
    r"(?!(?-i:(?:(?:[A-Z][a-z]{2,})+|[A-Za-z]?[a-z]*)(?:[_./-][A-Z]?[a-z]+)*|[A-Z]+(?:_[A-Z]+)+)"
    r"[._/-]*(?![A-Za-z0-9._~+/=%-])|[a-z_]+=[^=\s])"
)
# Parts of patterns that ignore case: what precedes a token, and the first line of a key.
BEARER: Final = rf"\bbearer {{1,20}}{_NO_PROSE}"
PRIVATE_KEY: Final = r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY-----"
SIGNED_TOKEN: Final = (
    rf"(?<![A-Za-z0-9_-])(?-i:eyJ)[A-Za-z0-9_-]{{8,{_LONGEST}}}\.(?-i:eyJ)[A-Za-z0-9_-]{{8,{_LONGEST}}}"
    rf"\.[A-Za-z0-9_-]{{8,{_LONGEST}}}"
)
_BEARER: Final = rf"(?i){BEARER}([A-Za-z0-9._~+/=-]{{16,{_LONGEST}}})"
_PRIVATE_KEY: Final = (
    rf"(?s){PRIVATE_KEY}((?:(?!-----).){{16,{_LONGEST}}})-----END (?:[A-Z0-9]{{1,20}} ){{0,3}}PRIVATE KEY-----"
)
# As written in text, in forms and in URLs.
_BEARER_STEMS: Final = (b"earer ", b"earer+", b"earer%20")
_KEY_LINE: Final = re.compile(r"[A-Za-z0-9+/]{16}")
_ESCAPED_BREAK: Final = re.compile(r"\\{1,8}([rn])")
_ESCAPED_SLASH: Final = re.compile(r"\\{1,8}/")


def may_name_credentials(data: bytes) -> bool:
    """Check quickly whether `data` may hold a credential; False means that these functions would not find any."""
    return any(_has_stem(level) for level in (data, *unescaped_levels(data)))


def _has_stem(data: bytes) -> bool:
    if b"\0" in data:  # UTF-16 and UTF-32
        data = data.replace(b"\0", b"")
    lower = data.lower()
    if any(stem in lower for stem in _STEMS) or may_have_shape(data, lower):
        return True
    return (b"@" in lower or b"%40" in lower) and _MAY_HOLD_PASSWORD_OF_URL.search(lower) is not None


def secrets_in_text(text: str) -> Iterator[tuple[str, Secret]]:
    """Yield the values beside names of credentials in any text, and the texts with the shape of a credential."""
    yield from secrets_in_links(text)
    yield from _secrets_in_json_fragments(text)
    for match in compiled(_JSON_WITHIN_JSON).finditer(text):
        yield _kind_of(match[1]), Secret(match[2])
    if "<" in text:
        for pattern in (_ELEMENT, _NAMED_ELEMENT):
            for match in compiled(pattern).finditer(text):
                value = match[2] or html.unescape(match[3] or "")
                if value.strip():
                    yield _kind_of(match[1]), Secret(value.strip())
    for match in compiled(_SETTING).finditer(text):
        yield _kind_of(match[1]), Secret(html.unescape(match[2] or match[3] or match[4]))
    yield from secrets_by_shape(text)


def secrets_in_links(text: str) -> Iterator[tuple[str, Secret]]:
    """Yield secrets in the userinfo, query and fragment of URLs in a text, and of URLs within these."""
    for _ in range(_LEVELS):
        for match in compiled(_LINK).finditer(text):
            value = unquote_plus(match[2])
            if not is_url_name_only(match[1]) or len(value) >= SHORTEST_SECRET:
                yield url_kind(match[1]) or "SECRET", Secret(value)
        for match in _PASSWORD_OF_URL.finditer(text):
            value = unquote(match[1])
            if len(value) >= SHORTEST_SECRET and not _EXAMPLE_PASSWORD.fullmatch(value):
                yield "PASSWORD", Secret(value)
        plainer = unquote(text) if "%" in text else text
        if plainer == text:
            return
        text = plainer


def _secrets_in_json_fragments(text: str) -> Iterator[tuple[str, Secret]]:
    for match in compiled(_JSON_FIELD).finditer(text):
        kind = field_kind(match[1])
        if kind is not None:
            try:
                value = json.loads(match[2], strict=False)
            except ValueError:
                continue
            yield kind, Secret(value)


def _kind_of(name: str) -> str:
    return field_kind(name) or "SECRET"


def may_have_shape(data: bytes, lower: bytes) -> bool:
    """Check quickly whether `data` may hold a credential with such a shape; `lower` is `data` in lower case."""
    return b"eyJ" in data or b"private key" in lower or any(stem in lower for stem in _BEARER_STEMS)


def secrets_by_shape(text: str) -> Iterator[tuple[str, Secret]]:
    """Yield each text with the shape of a credential, with its kind."""
    if "PRIVATE KEY" in text:
        for match in compiled(_PRIVATE_KEY).finditer(text):
            key = _ESCAPED_SLASH.sub("/", _ESCAPED_BREAK.sub(_line_break, match[0]))
            if _KEY_LINE.search(key.partition("KEY-----")[2]):
                yield "PRIVATE_KEY", Secret(key)
    if "earer " in text or "EARER " in text:
        for match in compiled(_BEARER).finditer(text):
            yield "ACCESS_TOKEN", Secret(match[1].rstrip("."))
    if "eyJ" in text:
        for match in compiled(SIGNED_TOKEN).finditer(text):
            yield "SIGNED_TOKEN", Secret(match[0])


def _line_break(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else "\r"
