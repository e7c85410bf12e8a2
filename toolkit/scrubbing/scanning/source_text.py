"""Find values that look like secrets in text: recordings, source code, settings, commands and prose.

Most values are found by the same functions as in a recording, and graded by their strength. In files, a strong value
may also follow a name with no colon or other field syntax between them (`--token ...`, `| password | ... |`,
`set_token("...")`, `the token is ...`). Files may also contain logins (`-u me:...`), and passwords that people made up.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolkit.core.text import matches_in
from toolkit.scrubbing.finding.fields import CredentialField, Fields, Notation, columns_in, elements_in, pairs_in
from toolkit.scrubbing.finding.shapes import PROVIDER_KEY, credentials_in
from toolkit.scrubbing.formats import SAMPLES
from toolkit.scrubbing.strength import Strength, grade, is_dummy
from toolkit.scrubbing.vocabulary import (
    Place,
    is_core_name,
    is_placeholder,
    is_weak_pair,
    needs_strong_value,
    secret_kind,
)

_LONGEST: Final = 1 << 13  # characters of a match that begins at the end of a slice
_FIELD: Final = "secret field"
_CUT_KEY: Final = r"-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\W){0,60}+[A-Za-z0-9+/]{16}"
_DUMMY_KEY: Final = r"0123456789|abcdefghij|(?i:example|obviously|redacted|xxxxxxxx)"
_LONGEST_SIGN: Final = 80  # characters before a word that may belong to its name
# A name, separators with at most two words between them, and a value. Patterns are in lower case, so that the first
# word of each is found quickly.
_WORDS: Final = tuple("pass pwd secret token key auth credential login".split())
_SIGNS: Final = r"(?:[^a-z0-9_.\n)]|\n(?=[ \t\"'\]{-])|\)(?= or | \|\|)){1,40}+"
_OTHER: Final = r"(?:(?:string|str|value|default)\b|[a-z0-9_][\w.]{0,30}+(?![\"'\]]{0,2}[ \t]?[:=]))"
_AFTER_WORD: Final = (
    rf"[\w-]{{0,24}}+{_SIGNS}(?:{_OTHER}{_SIGNS}){{0,2}}?(?<=[\s\"'`|*(>=:,\[-])"
    r"([a-z0-9][a-z0-9+/_.~!@#$%^*-]{11,1023}+={0,2})(?![{(<\[])"
)
_LONG_ENOUGH: Final = 20  # characters; a shorter value without digits may be an identifier in code
_NAME: Final = r"(?:(?i:api|access|secret|private|public|account|master|encryption|signing|shared)[ _-])?[\w.-]*\Z"
_PLAIN_NAME: Final = r"(?i)(?:key|auth|pass|login)s?"
_CALL: Final = r"(?:[ ]?=[ ]?[\w.]{0,60}+)?\("
_CALLEE: Final = r"(?i)(?:key_?pair|secret|token|credentials?|password|auth|login|key)\Z"
# curl, wget, HTTPie and others accept a user name and a password in one argument.
_ARGUMENT: Final = (
    r"-(?<![\w-]-)(?:-(?:proxy-)?user|[fgijkLNqRsSv0-9]{0,8}+u|a)[ \t=\"',\\]{0,20}+"
    r"[\w.@+%-]{0,100}+:([^\s\"'\\]{8,400}+)"
)
_PGPASS: Final = (
    r":(?:\*|[0-9]{4,5}+):[^\s:/]{1,100}+:[^\s:/]{1,100}+:([^\s:\"',]{8,200}+)(?=[ \t\r]{0,8}+(?:\n|\\n|\Z|\"))"
)
_COOKIE_HEADER: Final = rb"cookie2?(?<![a-z0-9_.]cookie)\\{0,8}+[\"']?[ \t]{0,20}+[:,]"
_HEADER_VALUES: Final = (
    r"[^\r\n\]}]{0,8192}+(?:\r?\n[ \t]{0,40}+[-\"'][ \"']{0,2}+[\w.$-]{1,100}+=[^\r\n\]}]{0,8192}+){0,100}+"
)
_COOKIE: Final = r"([\w.$-]{1,100}+)=([^\s;,\"'\\]{8,4096}+)"
# Passwords that people make up: letters with a digit, or three or more words.
_MADE_UP: Final = (
    r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[^\s\"'`<>{}()\[\]|\\/=]{8,64}"
    r"|(?=[a-z-]{20,64}\Z)[a-z]{3,12}(?:-[a-z]{3,12}){2,6}"
)
_SETTING: Final = r"[^\s\"'<>,;]{8,64}+(?=[ \t\r]{0,8}+(?:\n|\Z))"
_MARK: Final = r"[!#$%&*?@-]"
_SAMPLE: Final = (
    r"(?i:passw(?:or)?d|secret|token|(?<!mon|tur|don|hoc)key|test|example|sample|fake|dummy|mock|demo|user|client|foo|bar|baz|value|invalid"
    r"|none|string|change|insert|your|my-|redacted|xxx|abc|1234|localhost)|::|\.(?:py|js|json|com|org|net|io)\b|%[sd(]"
    r"|\$[A-Z{(]|^[A-Za-z_]+[0-9]{0,3}$|^[A-Z0-9_]+$|^[a-z]+(?:[_.-][a-z]+)*[_.-]?[0-9]{1,2}$|^v?[0-9.]+|^[0-9a-f-]{16,}$"
)
_ESCAPED_LETTER: Final = r"\\{1,4}+u00(4[1-9A-Fa-f]|5[0-9AaFf]|6[1-9A-Fa-f]|7[0-9Aa]|2[2Dd]|3[0-9])"
_ESCAPED: Final = rf"%(?:3[DdAa]|2[0256BbFf]|40)|&(?:quot|#34|#x22|#39|amp);|{_ESCAPED_LETTER}"
_NEW_LINE: Final = r"(?i)%0([AD])"
_LEVELS: Final = 3  # of escapes within escapes, such as URLs within URLs


class _Hit(NamedTuple):
    start: int
    rank: int  # the lower, the more certain the kind
    end: int
    kind: str
    value: str


def secrets_in(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, kind and value of everything in a string that looks like a secret."""
    seen: set[tuple[int, str]] = set()
    level = text
    for _ in range(_LEVELS + 1):
        line, position = 1, 0
        for hit in _hits_in(level):
            line += level.count("\n", position, hit.start)
            position = hit.start
            if (line, hit.value) not in seen:
                seen.add((line, hit.value))
                yield line, hit.kind, hit.value
        if not re.compile(_ESCAPED).search(level):
            return
        level = "\n".join([_unescaped(each) if re.compile(_ESCAPED).search(each) else "" for each in level.split("\n")])


def _unescaped(line: str) -> str:
    line = re.compile(_ESCAPED_LETTER).sub(lambda code: chr(int(code[1], 16)), line)
    return unquote(re.compile(_NEW_LINE).sub(r"%250\1", html.unescape(line)))


def _hits_in(text: str) -> list[_Hit]:
    """Return the hits in order. If hits overlap, only the one of the most certain kind is kept."""
    hits: list[_Hit] = []
    for hit in sorted(chain(_shaped(text), _fields(text), _logins(text), _beside_names(text), _cookies(text))):
        if is_placeholder(hit.value) or (hits and hit.start < hits[-1].end and hit.rank >= hits[-1].rank):
            continue
        if hits and hit.start < hits[-1].end:
            hits.pop()
        hits.append(hit)
    return hits


def _shaped(text: str) -> Iterator[_Hit]:
    for credential in credentials_in(text):
        start, end, kind, what, value = credential
        if kind != "PRIVATE_KEY" or not re.compile(_DUMMY_KEY).search(value[:400]):
            yield _Hit(start, 0 if what.startswith(PROVIDER_KEY) else 1, end, what, value)
    if "PRIVATE KEY" in text:
        for match in matches_in(_CUT_KEY, text, longest=_LONGEST):
            if not re.compile(_DUMMY_KEY).search(text[match.start() : match.end() + 300]):
                yield _Hit(match.start(), 5, match.end(), "private key", match[0])


def _fields(text: str) -> Iterator[_Hit]:
    for field in chain(Fields(text), pairs_in(text), elements_in(text), columns_in(text)):
        value, start, end = field.written[:3]
        is_listed = "- " in text[max(0, start - 3) : start]  # in YAML, each header of a message has a list of values
        place = Place.HEADER if is_listed else field.place
        if secret_kind(field.name, value, place, grade(value)) is not None or _is_made_by_a_person(text, field):
            yield _Hit(start, 3, end, _FIELD, value)


def _is_made_by_a_person(text: str, field: CredentialField) -> bool:
    """Check whether a value that does not look random is a password rather than a word, a name or a sample."""
    value, start, _, form, is_named = field.written
    if not is_named or not is_core_name(field.name, Place.JSON) or needs_strong_value(field.name, Place.JSON):
        return False
    if form is Notation.BARE:  # in code, an unquoted value is a variable
        before, whole = text[max(0, start - 2) : start], re.compile(_SETTING).match(text, start)
        is_setting = (before[-1:] == "=" and before[:1] not in (" ", "=", ":")) or before == ": "
        if whole is None or not is_setting or not re.compile(_MARK).search(whole[0]):
            return False
        value = whole[0]
    is_made_up = re.compile(_MADE_UP).fullmatch(value) is not None and re.compile(_SAMPLE).search(value) is None
    return is_made_up and value not in SAMPLES and not is_dummy(value)


def _logins(text: str) -> Iterator[_Hit]:
    for pattern, kind in ((_ARGUMENT, "credentials on a command line"), (_PGPASS, "password of a login")):
        for match in matches_in(pattern, text, longest=_LONGEST):
            if grade(match[1]) is not Strength.WEAK:
                yield _Hit(match.start(1), 2, match.end(1), kind, match[1])


def _beside_names(text: str) -> Iterator[_Hit]:
    """Yield strong values that follow credential names, including arguments of functions with such names."""
    shadow = text.encode("ascii", "replace").lower()
    for word in _WORDS:
        pattern = (word + _AFTER_WORD).encode()
        for match in matches_in(pattern, shadow, longest=_LONGEST) if word.encode() in shadow else ():
            start, end = match.span(1)
            value = text[start:end].rstrip(".:,!?")
            strength = grade(value)
            if strength is Strength.WEAK or (len(value) < _LONG_ENOUGH and not re.compile("[0-9]").search(value)):
                continue
            first = max(0, match.start() - _LONGEST_SIGN)
            rest = re.compile(r"[\w-]+").match(text, match.start())
            name = re.compile(_NAME).search(text[first : match.start()])[0] + rest[0]  # type: ignore[index]
            if is_weak_pair(value) or (strength is not Strength.STRONG and not name.startswith("--")):
                continue
            if re.compile(_CALL).match(text, rest.end()) and re.compile(_CALLEE).search(name):  # type: ignore[union-attr]
                yield _Hit(start, 4, start + len(value), "credentials in a call", value)
            elif not re.compile(_PLAIN_NAME).fullmatch(name) and secret_kind(name, value, Place.JSON, strength):
                kind = "credentials on a command line" if name.startswith("--") else _FIELD
                yield _Hit(start, 4, start + len(value), kind, value)


def _cookies(text: str) -> Iterator[_Hit]:
    end = 0
    for match in matches_in(_COOKIE_HEADER, text.encode("ascii", "replace").lower(), longest=_LONGEST):
        if match.start() < end:  # within the values of a header
            continue
        start, end = re.compile(_HEADER_VALUES).match(text, match.end()).span()  # type: ignore[union-attr]
        for cookie in re.compile(_COOKIE).finditer(text, start, end):
            value = unquote(cookie[2])
            if secret_kind(cookie[1], value, Place.COOKIE, grade(value)) is not None:
                yield _Hit(cookie.start(2), 2, cookie.end(2), "cookie", value)
