"""Credentials in text of no format that is known: links, pieces of JSON and XML, settings, event streams.

Patterns find a name of credentials beside a value; every repetition in them is bounded.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, unquote_plus

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.credential_names import FIELD_NAMES, URL_NAMES, field_place, is_url_name_only, url_place
from toolkit.scrubbing.encoded_forms import unescaped_levels
from toolkit.scrubbing.shapes import may_have_shape, secrets_by_shape

_NAMES: Final = FIELD_NAMES.decode("ascii")
_LONGEST: Final = 16_384  # characters
_LEVELS: Final = 3  # of URLs in URLs
_LINK: Final = re.compile(rf"[?&#;]({URL_NAMES.decode('ascii')})=([^&#;\s\"'<>,\\]+)", re.IGNORECASE)
_JSON_FIELD: Final = re.compile(r'"([^"\\]{1,40})"\s*:\s*(?:data:\s*)?("(?:[^"\\]|\\.)*")')
_JSON_WITHIN_JSON: Final = re.compile(rf'\\+"({_NAMES})\\+"\s*:\s*\\+"([^"\\]{{1,{_LONGEST}}})', re.IGNORECASE)
_ELEMENT: Final = re.compile(
    rf"<(?:[\w.-]{{1,40}}:)?({_NAMES})(?:\s[^<>]{{0,400}})?>\s*(?:<!\[CDATA\[(.{{1,{_LONGEST}}}?)\]\]>|([^<]{{1,{_LONGEST}}}))",
    re.IGNORECASE | re.DOTALL,
)
_NAMED_ELEMENT: Final = re.compile(
    rf"\b(?:name|key|id)\s*=\s*[\"']({_NAMES})[\"'](?:[^<>]{{0,400}}?\bvalue\s*=\s*[\"']([^\"'<>]{{1,{_LONGEST}}})[\"']"
    rf"|[^<>]{{0,400}}>([^<]{{1,{_LONGEST}}}))",
    re.IGNORECASE,
)
# Words and calls stand there in prose and in code.
_NO_WORD: Final = (
    r"(?!(?-i:[A-Za-z]?[a-z]*(?:[_-][a-z]+)*)[\s.,;:!?)]*(?:\s|\Z))(?![a-z_]+(?:\.[a-z_]+)*\s*[(\[])(?!\*+)"
)
_SETTING: Final = re.compile(
    rf"(?<![A-Za-z0-9?&#;])({_NAMES})[\"']?[ \t]{{0,20}}[:=][ \t]{{0,20}}"
    rf"(?:\"([^\"\n]{{1,{_LONGEST}}})\"|'([^'\n]{{1,{_LONGEST}}})'"
    rf"|(?![<\"'\[{{|>]){_NO_WORD}([^\s\"'<>&,;\\]{{{SHORTEST_SECRET},{_LONGEST}}}))",
    re.IGNORECASE,
)
_PASSWORD_OF_URL: Final = re.compile(r"(?<=://)[^\s/?#@:\"'<>\\]{0,200}:([^\s/?#@\"'<>\\]{1,400})@")
# What examples show in its place: a word, or any text within brackets.
_SHOWN_FOR_ONE: Final = re.compile(r"[A-Za-z]?[a-z]{0,10}|[A-Z_]{1,20}|[\[({$%*].*")
_MAY_HOLD_PASSWORD_OF_URL: Final = re.compile(rb"(?:://|:\\+/\\+/|%3a%2f%2f)[^\s/?#@\"'<>]{1,600}?(?:@|%40)")
# Some part of every name above; far quicker to look for than the names.
_STEMS: Final = (b"token", b"secret", b"pass", b"key", b"assertion", b"code", b"auth", b"signature", b"sig=", b"sig%")


def may_name_credentials(data: bytes) -> bool:
    """Whether credentials by name or shape, or a URL with a password, may be in `data`: never False when so. Cheap."""
    return any(_has_stem(one) for one in (data, *unescaped_levels(data)))


def _has_stem(data: bytes) -> bool:
    if b"\0" in data:  # UTF-16 and UTF-32
        data = data.replace(b"\0", b"")
    lower = data.lower()
    if any(stem in lower for stem in _STEMS) or may_have_shape(data, lower):
        return True
    return (b"@" in lower or b"%40" in lower) and _MAY_HOLD_PASSWORD_OF_URL.search(lower) is not None


def secrets_in_text(text: str) -> Iterator[tuple[str, Secret]]:
    """What stands beside a name of credentials in any text, and what has the shape of one."""
    yield from secrets_in_links(text)
    for fields in json_fields_in(text):
        for name, value in fields.items():
            yield _kind_of(name), Secret(value)
    for match in _JSON_WITHIN_JSON.finditer(text):
        yield _kind_of(match[1]), Secret(match[2])
    if "<" in text:
        for pattern in (_ELEMENT, _NAMED_ELEMENT):
            for match in pattern.finditer(text):
                value = match[2] or html.unescape(match[3] or "")
                if value.strip():
                    yield _kind_of(match[1]), Secret(value.strip())
    for match in _SETTING.finditer(text):
        yield _kind_of(match[1]), Secret(html.unescape(match[2] or match[3] or match[4]))
    yield from secrets_by_shape(text)


def secrets_in_links(text: str) -> Iterator[tuple[str, Secret]]:
    """What stands before the host, in the query or in the fragment of a URL in a text, or of a URL in that URL."""
    for _ in range(_LEVELS):
        for match in _LINK.finditer(text):
            value = unquote_plus(match[2])
            if not is_url_name_only(match[1]) or len(value) >= SHORTEST_SECRET:
                yield url_place(match[1]) or "SECRET", Secret(value)
        for match in _PASSWORD_OF_URL.finditer(text):
            value = unquote(match[1])
            if len(value) >= SHORTEST_SECRET and not _SHOWN_FOR_ONE.fullmatch(value):
                yield "PASSWORD", Secret(value)
        plainer = unquote(text) if "%" in text else text
        if plainer == text:
            return
        text = plainer


def json_fields_in(text: str) -> Iterator[dict[str, str]]:
    """Fields of credentials, one at a time, in text that is JSON in part."""
    for match in _JSON_FIELD.finditer(text):
        if field_place(match[1]) is not None:
            try:
                yield {match[1]: json.loads(match[2], strict=False)}
            except ValueError:
                continue


def _kind_of(name: str) -> str:
    return field_place(name) or "SECRET"
