"""Find the places in a file that hold what looks like a secret: what a recorder would replace in a message.

The same vocabulary and grades decide, and the same functions read fields, cookies and shapes. A file is read as text,
in slices, in time that is linear in its size.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.fields import Fields, NamedValue
from toolkit.scrubbing.finding.learning import without_entities
from toolkit.scrubbing.finding.parts import replace_cookies
from toolkit.scrubbing.finding.shapes import SIGNED_SHAPE, password_of_pair
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.provider_formats import provider_credentials
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import Place, is_placeholder

_LONGEST: Final = 1 << 13  # characters of a match that begins at the end of a slice
# The first line, and the beginning of what is in the key: examples in prose have dots there.
_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\{1,8}+[nr]|[^A-Za-z0-9+/\\]){0,60}+"
    r"(?:[A-Za-z0-9+/]{16}|Proc-Type:|DEK-Info:|Version:|Comment:)"
)
_BEARER: Final = r"(?i:\bbearer)(?:[ +]|%20){1,20}+([A-Za-z0-9._~+/=-]{16,}+)"
_BASIC: Final = r"(?i:\bbasic)(?:[ +]|%20){1,20}+(?![a-z]{0,40}+[^A-Za-z0-9+/_=-])([A-Za-z0-9+/_=-]{8,}+)"
_BASIC_HEADER: Final = r"(?i:authorization)\W{1,60}\Z"
_LONGEST_HEADER: Final = 80  # characters from the name of the header to the scheme
_USER_INFO: Final = r":(?:\\{0,8}+/){2}[^\s/?#@:\"'<>\\]{0,400}+:([^\s/?#@\"'<>\\]{1,400}+)@"
_LONGEST_SIGN: Final = 80  # characters from a name to its value
# A header of a recorded message in YAML has a list of values: one item a line.
_FIRST_ITEM: Final = r":[ \t]{0,8}+\r?\n[ \t]{0,40}+- "
_COOKIES: Final = r"(?i)(?<![\w-])((?:set-)?cookie2?)\\{0,8}+[\"']?[ \t]{0,20}+[:,]"
_ITEM: Final = (
    r"\s{0,40}+,?\s{0,40}+(?:-\s{1,8}+|\[\s{0,40}+)?(?:\\{0,8}+\"([^\"\r\n\\]{1,8192}+)\\{0,8}+\"|'([^'\r\n]{1,8192}+)'|b[\"']"
    r"([^\"'\r\n]{1,8192}+)[\"'])"
)
_BARE_ITEM: Final = r"[ \t]{0,40}+(?:\r?\n?[ \t]{0,40}+- {1,8}+)?([^\s\"'\[\]{}][^\r\n\"']{0,8191}+)"
_MOST_ITEMS: Final = 100
_NEW_LINE: Final = r"(?i)%0([AD])"
_ESCAPED_LETTER: Final = r"\\{1,4}+u00(4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9A]|2D|3[0-9])"
_LEVELS: Final = 3  # of URLs within URLs


class SecretPlace(NamedTuple):
    """A place in a text that holds what looks like a secret.

    Attributes:
        start: position where it starts; of a secret that is written with escapes, the start of its line.
        end: position after it, or after its line.
        line: number of its line, from 1.
        kind: what it is called, in words.
        value: the secret itself without escapes, which is never shown; for fingerprints.
    """

    start: int
    end: int
    line: int
    kind: str
    value: str


class _Hit(NamedTuple):
    """A part of a text that looks like a secret, and what it is called."""

    start: int
    end: int
    kind: str


def places_in(data: bytes) -> set[tuple[int, str]]:
    """Return the line, from 1, and the kind of each place in a file that holds what looks like a secret."""
    return {(place.line, place.kind) for place in secrets_in_text(_text_of(data))}


def secrets_in_text(text: str) -> Iterator[SecretPlace]:
    """Yield the places in a text that hold what looks like a secret; first those that are written without escapes."""
    seen: set[tuple[int, str]] = set()
    lines: list[int] = []
    for level in _levels(text):
        line, position = 1, 0
        for hit in _hits_in(level):
            line += level.count("\n", position, hit.start)
            position = hit.start
            value = level[hit.start : hit.end]
            if level is text:
                start, end = hit.start, hit.end
            elif (line, value) in seen:
                continue
            else:
                lines = lines or _line_starts(text)
                start, end = lines[line - 1], lines[line] - 1
                at = text.find(value, start, end)
                start, end = (at, at + len(value)) if at >= 0 else (start, end)
            seen.add((line, value))
            yield SecretPlace(start, end, line, hit.kind, value)


def _line_starts(text: str) -> list[int]:
    """Return the position where each line of a text starts, and of the one that would follow it."""
    return [0, *(match.end() for match in compiled(r"\n").finditer(text)), len(text) + 1]


def _hits_in(text: str) -> list[_Hit]:
    """Return the hits in their order; a hit within another is left out."""
    hits: list[_Hit] = []
    for finder in _FINDERS:
        hits = _merged(hits, finder(text))
    return hits


def _merged(hits: list[_Hit], more: Iterable[_Hit]) -> list[_Hit]:
    """Return hits with more of them, unless they overlap; the earlier kind wins."""
    result: list[_Hit] = []
    waiting = iter(hits)
    first = next(waiting, None)
    for hit in sorted(more):
        while first is not None and first.end <= hit.start:
            result.append(first)
            first = next(waiting, None)
        if (first is None or hit.end <= first.start) and (not result or result[-1].end <= hit.start):
            result.append(hit)
    if first is not None:
        result += [first, *waiting]
    return result


def _private_keys(text: str) -> Iterator[_Hit]:
    if "PRIVATE KEY" in text:
        for match in matches_in(_PRIVATE_KEY, text, longest=_LONGEST):
            yield _Hit(*match.span(), "private key")


def _signed_tokens(text: str) -> Iterator[_Hit]:
    if "eyJ" in text:
        for match in matches_in(SIGNED_SHAPE, text, longest=_LONGEST):
            yield _Hit(*match.span(), "signed token")


def _bearer_tokens(text: str) -> Iterator[_Hit]:
    for match in matches_in(_BEARER, text, longest=_LONGEST):
        if grade(match[1].rstrip(".")) is not Strength.WEAK:
            yield _Hit(*match.span(), "bearer token")


def _basic_credentials(text: str) -> Iterator[_Hit]:
    for match in matches_in(_BASIC, text, longest=_LONGEST):
        first = max(0, match.start() - _LONGEST_HEADER)
        header = compiled(_BASIC_HEADER).search(text[first : match.start()])
        start = match.start() if header is None else first + header.start()
        strength = grade(password_of_pair(match[1]))
        if strength is not Strength.WEAK or (header is not None and grade(match[1]) is not Strength.WEAK):
            yield _Hit(start, match.end(), "basic credentials")


def _passwords_of_urls(text: str) -> Iterator[_Hit]:
    if "@" in text:
        for match in matches_in(_USER_INFO, text, longest=_LONGEST):
            if grade(unquote(match[1])) is Strength.STRONG:
                yield _Hit(*match.span(), "password in a URL")


def _fields(text: str) -> Iterator[_Hit]:
    has_lines = "\n" in text

    def name_start(field: NamedValue) -> int | None:
        """Return the position after the name if the value is the first item of a list, or None."""
        if not has_lines:
            return None
        first = max(0, field.start - _LONGEST_SIGN)
        item = compiled(_FIRST_ITEM + r"[\"'\\]{0,8}+\Z").search(text[first : field.start])
        return None if item is None else first + item.start()

    def accepts(field: NamedValue) -> bool:
        place = field.place if name_start(field) is None else Place.HEADER
        return secret_kind(field.name, field.value, place) is not None

    for field in Fields(text).accepted(accepts):
        start = name_start(field)  # the finding belongs to the line of the name
        yield _Hit(field.start if start is None else start, field.end, "secret field")


def _provider_keys(text: str) -> Iterator[_Hit]:
    for credential in provider_credentials(text):
        yield _Hit(credential.start, credential.end, "key in a provider's format")


def _cookies(text: str) -> Iterator[_Hit]:
    """Yield the cookies in headers, each header by itself or with a list of values."""
    position = 0
    for match in matches_in(_COOKIES, text, longest=_LONGEST):
        if match.start() < position:  # within a value
            continue
        position = match.end()
        item = compiled(_BARE_ITEM).match(text, position)
        for _ in range(_MOST_ITEMS):
            item = item or compiled(_ITEM).match(text, position)
            if item is None:
                break
            value = next(filter(None, item.groups()))
            if _has_secret_cookie(match[1].lower(), value):
                yield _Hit(*item.span(item.lastindex or 0), "cookie")
            position, item = item.end(), None
            if text[position : position + 1] == "\n":
                item = compiled(r"\n[ \t]{0,40}+- {1,8}+([^\s\"'\[\]{}][^\r\n\"']{0,8191}+)").match(text, position)


def _has_secret_cookie(header: str, value: str) -> bool:
    has_secret = False

    def note(name: str, cookie: str) -> str:
        nonlocal has_secret
        text = unquote(cookie)
        has_secret = has_secret or (not is_placeholder(text) and bool(secret_kind(name, text, Place.COOKIE)))
        return cookie

    replace_cookies(header, value, note)
    return has_secret


# What is found first has the more precise name.
_FINDERS: Final = (
    _private_keys,
    _signed_tokens,
    _bearer_tokens,
    _basic_credentials,
    _passwords_of_urls,
    _cookies,
    _fields,
    _provider_keys,
)


def _levels(text: str) -> Iterator[str]:
    """Yield a text, and what it says without escapes. Each has the same lines."""
    yield text
    plainer = compiled("(?i)" + _ESCAPED_LETTER).sub(lambda escape: chr(int(escape[1], 16)), text)
    plainer = without_entities(plainer)
    if plainer != text:
        yield plainer
        text = plainer
    for _ in range(_LEVELS):
        if "%" not in text:
            return
        plainer = unquote(compiled(_NEW_LINE).sub(r"%250\1", text))
        if plainer == text:
            return
        yield plainer
        text = plainer


def _text_of(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        return data.decode(json.detect_encoding(data[:4]), "replace")
    return data.decode("utf-8", "replace")
