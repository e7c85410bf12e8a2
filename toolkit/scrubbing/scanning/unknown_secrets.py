"""Find the places in a file that hold what looks like a secret: what a recorder would replace in a message.

It uses the vocabulary and the grades of the recorder, and its functions for fields, cookies and shapes. A file is read
as text, in slices, in time that is linear in its size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.fields import CredentialField, Fields, Notation
from toolkit.scrubbing.finding.find import without_entities
from toolkit.scrubbing.finding.pairs import elements_in, pairs_in
from toolkit.scrubbing.finding.shapes import PROVIDER_KEY, ShapedCredential, credentials_in
from toolkit.scrubbing.finding.walking import replace_cookies
from toolkit.scrubbing.formats import SAMPLES
from toolkit.scrubbing.grading import is_weak_pair, password_of_pair, secret_kind
from toolkit.scrubbing.scanning.calls import arguments_of_calls
from toolkit.scrubbing.scanning.columns import columns_in
from toolkit.scrubbing.scanning.command_lines import arguments_in
from toolkit.scrubbing.scanning.logins import logins_in
from toolkit.scrubbing.scanning.loose_fields import loose_fields
from toolkit.scrubbing.strength import is_dummy
from toolkit.scrubbing.vocabulary import Place, credential_kind, is_core_name, is_placeholder, needs_strong_value

_LONGEST: Final = 1 << 13  # characters of a match that begins at the end of a slice
# The first line, and the beginning of what is in the key: examples in prose have dots there.
_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:\\{1,8}+[nr]|[^A-Za-z0-9+/\\|<{.]){0,60}+"
    r"(?:[A-Za-z0-9+/]{16}|Proc-Type:|DEK-Info:|Version:|Comment:)"
)
_DUMMY_KEY: Final = re.compile(r"0123456789|abcdefghij|(?i:example|obviously|redacted|xxxxxxxx)")
_LONGEST_SIGN: Final = 80  # characters from a name to its value
# A header of a recorded message in YAML has a list of values: one item a line.
_FIRST_ITEM: Final = r":[ \t]{0,8}+\r?\n[ \t]{0,40}+- [\"'\\]{0,8}+(?i:(?:basic|token)[ ]{1,8}+)?\Z"
_NEXT_ITEM: Final = r"\n[ \t]{0,40}+- {1,8}+([^\s\"'\[\]{}][^\r\n\"']{0,8191}+)"
# Ranks below those of credentials that are recognized by their shape.
_CUT, _COOKIE, _FIELD = 10**9, 10**9 + 1, 10**9 + 2
_COOKIES: Final = (
    rb"cookie(?<![a-z0-9_]cookie)(?:(?<!-cookie)|(?<=set-cookie)(?<![\w-]set-cookie))2?\\{0,8}+[\"']?[ \t]{0,20}+[:,]"
)
_ITEM: Final = (
    r"\s{0,40}+,?\s{0,40}+(?:-\s{1,8}+|\[\s{0,40}+|\\{0,8}+\"value\\{0,8}+\"\s{0,8}+:\s{0,8}+)?"
    r"(?:\\{0,8}+\"([^\"\r\n\\]{1,8192}+)\\{0,8}+\"|'([^'\r\n]{1,8192}+)'|b[\"']"
    r"([^\"'\r\n]{1,8192}+)[\"'])"
)
_BARE_ITEM: Final = r"[ \t]{0,40}+(?:\r?\n?[ \t]{0,40}+- {1,8}+)?([^\s\"'\[\]{}][^\r\n\"']{0,8191}+)"
_MOST_ITEMS: Final = 100
# What people make up: letters with a digit, or three words and more.
_MADE_UP: Final = (
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[^\s\"'`<>{}()\[\]|\\/=]{8,64}"
    r"|(?=[a-z-]{20,64}\Z)[a-z]{3,12}(?:-[a-z]{3,12}){2,6}"
)
_SETTING: Final = r"[^\s\"'<>,;]{8,64}+(?=[ \t\r]{0,8}+(?:\n|\Z))"
_MARK: Final = r"[!#$%&*?@-]"
_SAMPLE: Final = (
    r"(?i:passw(?:or)?d|secret|token|key|test|example|sample|fake|dummy|mock|demo|user|client|foo|bar|baz|value|invalid"
    r"|none|string|change|insert|your|my-|redacted|xxx|abc|1234|localhost)|::|\.(?:py|js|json|com|org|net|io)\b|%[sd(]"
    r"|\$[A-Z{(]|^[A-Za-z_]+[0-9]{0,3}$|^[A-Z0-9_]+$|^[a-z]+(?:[_.-][a-z]+)*[_.-]?[0-9]{1,2}$|^v?[0-9.]+|^[0-9a-f-]{16,}$"
)
_NEW_LINE: Final = r"(?i)%0([AD])"
_ESCAPED_LETTER: Final = r"\\{1,4}+u00(4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9Aa]|2[2Dd]|3[0-9])"
_ENTITY: Final = r"&(?:quot|#34|#x22|#39|amp);"
_PERCENT_SIGN: Final = r"%(?:3[DdAa]|2[0256BbFf]|40)"
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
    """A part of a text that looks like a secret.

    Attributes:
        start: position where it starts.
        rank: the lower it is, the more precise is the kind; of two hits that overlap, the lower rank counts.
        end: position after it.
        kind: what it is called.
        value: the secret.
        place: position of the name that it belongs to, whose line counts; or of itself.
    """

    start: int
    rank: int
    end: int
    kind: str
    value: str
    place: int


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
            line += level.count("\n", position, hit.place)
            position = hit.place
            start, end = hit.start, hit.end
            if level is not text:
                if (line, hit.value) in seen:
                    continue
                lines = lines or _line_starts(text)
                start, end = lines[line - 1], lines[line] - 1
                at = text.find(hit.value, start, end)
                start, end = (at, at + len(hit.value)) if at >= 0 else (start, end)
            seen.add((line, hit.value))
            yield SecretPlace(start, end, line, hit.kind, hit.value)


def _line_starts(text: str) -> list[int]:
    """Return the position where each line of a text starts, and of the one that would follow it."""
    return [0, *(match.end() for match in compiled(r"\n").finditer(text)), len(text) + 1]


def _hits_in(text: str) -> list[_Hit]:
    """Return the hits by the lines of their names; of those that overlap, the most precise."""
    hits: list[_Hit] = []
    for hit in sorted(chain(_shaped(text), _cut_private_keys(text), _cookies(text), _fields(text))):
        if hits and hit.start < hits[-1].end:
            if hit.rank < hits[-1].rank:
                hits[-1] = hit
        else:
            hits.append(hit)
    return sorted(hits, key=lambda hit: hit.place)


def _shaped(text: str) -> Iterator[_Hit]:
    shadow = _shadow_of(text)
    credentials = chain(
        credentials_in(text),
        arguments_in(text),
        logins_in(text),
        arguments_of_calls(text, shadow),
        loose_fields(text, shadow),
        columns_in(text, shadow),
    )
    for number, credential in enumerate(credentials, start=1):
        if not is_placeholder(credential.value) and not _is_dummy_key(credential):
            start, end = credential.start, credential.end
            rank = 0 if credential.what.startswith(PROVIDER_KEY) else number
            yield _Hit(start, rank, end, credential.what, credential.value, _name_before(text, start))


def _is_dummy_key(credential: ShapedCredential) -> bool:
    return credential.kind == "PRIVATE_KEY" and _DUMMY_KEY.search(credential.value[:400]) is not None


def _cut_private_keys(text: str) -> Iterator[_Hit]:
    """Yield the private keys that are cut off."""
    if "PRIVATE KEY" in text:
        for match in matches_in(_PRIVATE_KEY, text, longest=_LONGEST):
            if not _DUMMY_KEY.search(text[match.start() : match.end() + 300]):
                yield _Hit(match.start(), _CUT, match.end(), "private key", match[0], match.start())


def _fields(text: str) -> Iterator[_Hit]:
    for field in chain(Fields(text), pairs_in(text), elements_in(text)):
        value, start, end = field.written[:3]
        kind = credential_kind(field.name, field.place) or ""
        if kind.endswith("AUTHORIZATION") and _is_plain_pair(value):
            continue
        place = field.place if _name_before(text, start) == start else Place.HEADER
        if secret_kind(field.name, value, place) is not None or _is_made_by_a_person(text, field):
            yield _Hit(start, _FIELD, end, "secret field", value, _name_before(text, start))


def _is_made_by_a_person(text: str, field: CredentialField) -> bool:
    """Check whether a value that no machine made is a password all the same, rather than a word, a name or a sample."""
    value, start, _, form, is_named = field.written
    if not is_named or not is_core_name(field.name, Place.JSON) or needs_strong_value(field.name, Place.JSON):
        return False
    if form is Notation.BARE:  # in code, it is a variable
        before, whole = text[max(0, start - 2) : start], compiled(_SETTING).match(text, start)
        is_setting = (before[-1:] == "=" and before[:1] not in (" ", "=", ":")) or before == ": "
        if whole is None or not is_setting or not compiled(_MARK).search(whole[0]):
            return False
        value = whole[0]
    is_made_up = compiled(_MADE_UP).fullmatch(value) is not None and compiled(_SAMPLE).search(value) is None
    return is_made_up and value not in SAMPLES and not is_dummy(value)


def _shadow_of(text: str) -> bytes:
    """Return a text in small letters with one byte for each character, where names are searched for quickly.

    A pattern that begins with a literal text is searched for many times faster than one that takes both cases.
    """
    return text.encode("ascii", "replace").lower()


def _is_plain_pair(value: str) -> bool:
    """Check whether a value is a pair of Basic whose password is a word, as in examples, rather than one to guess."""
    pair = value.rpartition(" ")[2]
    password = password_of_pair(pair)
    return is_weak_pair(pair) and (password.isalpha() or not password.isascii() or " " in password)


def _name_before(text: str, position: int) -> int:
    """Return the position after the name whose list of values, in YAML, begins at a position; or the position."""
    first = max(0, position - _LONGEST_SIGN)
    item = compiled(_FIRST_ITEM).search(text[first:position])
    return position if item is None else first + item.start()


def _cookies(text: str) -> Iterator[_Hit]:
    """Yield the cookies in headers, each header by itself or with a list of values."""
    position = 0
    shadow = _shadow_of(text)
    for match in matches_in(_COOKIES, shadow, longest=_LONGEST):
        if match.start() < position:  # within a value
            continue
        position = match.end()
        header = "set-cookie" if shadow[match.start() - 4 : match.start()] == b"set-" else "cookie"
        item = compiled(_BARE_ITEM).match(text, position)
        for _ in range(_MOST_ITEMS):
            item = item or compiled(_ITEM).match(text, position)
            if item is None:
                break
            value = next(filter(None, item.groups()))
            cookie = _secret_cookie(header, value)
            if cookie is not None:
                start, end = item.span(item.lastindex or 0)
                yield _Hit(start, _COOKIE, end, "cookie", cookie, start)
            position, item = item.end(), None
            if text[position : position + 1] == "\n":
                item = compiled(_NEXT_ITEM).match(text, position)


def _secret_cookie(header: str, value: str) -> str | None:
    """Return the first secret among the cookies of a header, or None."""
    secrets: list[str] = []

    def note(name: str, cookie: str) -> str:
        text = unquote(cookie)
        if not is_placeholder(text) and secret_kind(name, text, Place.COOKIE):
            secrets.append(text)
        return cookie

    replace_cookies(header, value, note)
    return secrets[0] if secrets else None


def _levels(text: str) -> Iterator[str]:
    """Yield a text, and the text of its lines after their escapes are undone, with the same line numbers."""
    yield text
    plainer = text
    if "\\u00" in text:
        letters = compiled(_ESCAPED_LETTER)
        plainer = _changed_lines(plainer, letters, lambda line: letters.sub(lambda code: chr(int(code[1], 16)), line))
    if "&" in text:
        plainer = _changed_lines(plainer, compiled(_ENTITY), without_entities)
    if plainer != text:
        yield plainer
        text = plainer
    for _ in range(_LEVELS):
        plainer = _changed_lines(text, compiled(_PERCENT_SIGN), _without_percent_signs) if "%" in text else text
        if plainer == text:
            return
        yield plainer
        text = plainer


def _changed_lines(text: str, escape: re.Pattern[str], change: Callable[[str], str]) -> str:
    """Return a text with its lines with an escape changed and all others empty; without escapes, the text itself."""
    if escape.search(text) is None:
        return text
    return "\n".join([change(line) if escape.search(line) else "" for line in text.split("\n")])


def _without_percent_signs(line: str) -> str:
    return unquote(compiled(_NEW_LINE).sub(r"%250\1", line))


def _text_of(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        return data.decode(json.detect_encoding(data[:4]), "replace")
    return data.decode("utf-8", "replace")
