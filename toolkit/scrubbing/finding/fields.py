"""Read name-value pairs from text of any format: JSON (even in JSON strings), queries, settings, XML, and code.

The distinct names are collected first. Values are read only if one of the names means a credential, so text without
such names takes a single pass. Strings are read in slices, because a regex search blocks all other threads.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_plus

from toolkit.core.text import SLICE, matches_in
from toolkit.scrubbing.vocabulary import Place, credential_kind, may_hold_several, needs_strong_value

_OVERLAP: Final = 420  # characters before a slice, for the name before a separator at the start of the slice
_SIGN_BACKWARDS: Final = r"[:=]\s{0,200}+(?:\](?=[\"']))?"
# In reversed text: the separator after a name, and the name in quotes or as a plain word, as in settings["api_key"] =
# ..., and before it a separator of a query.
_NAME_BACKWARDS: Final = _SIGN_BACKWARDS + r"((?:[\"']\\{0,8}+[^\"'\\\n]{1,200}+[\"']|[\])]?[\w.\-$]{1,200}+\\?)[?&#]?)"
# If a string has more names than this, the names are data. Further names are judged by their last word only.
_MOST_NAMES: Final = 4_096
_ENDING: Final = r"(?i)(?:token|secret|password|passwd|passphrase|api_?key|signature|credential|cookie|jwt)s?\Z"
_ESCAPED_BREAK: Final = r"\\[nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}"
_QUOTES: Final = "\"'"
_BEFORE_QUERY: Final = "?&#"
# Includes comments, the block indicators and list dashes of YAML, and the string prefixes of Python.
_BEFORE_VALUE: Final = (
    r"[=>]?\s{0,200}+(?:/\*[^*]{0,200}+\*/\s{0,40}+)?(?:[|>][-+0-9]{0,2}+\s{1,40}+|- {1,8}+)?"
    r"(?:[bBfFrRuU]{1,2}+(?=[\"']))?"
)
# What precedes an unquoted value on the next line in YAML.
_NEXT_LINE: Final = r":[ \t]{0,40}+(?:[|>][-+0-9]{0,2}+[ \t]{0,40}+)?\r?\n[ \t]{0,40}+(?:(?<=[ \t])|- {1,8}+)"
_QUOTED: Final = r"(?s)\"([^\"\\]*+(?:\\.[^\"\\]*+)*+)\""
_ESCAPED_QUOTED: Final = r"\\{1,15}+\"((?:[^\"\\]++|\\++(?!\"))*+)\\{1,15}+\""
_BACKTICKED: Final = r"(?s)`([^`\\]*+(?:\\.[^`\\]*+)*+)`"
_SINGLE_QUOTED: Final = r"'([^'\n\\]*+(?:\\.[^'\n\\]*+)*+)'"
_QUOTE_PATTERNS: Final = {'"': _QUOTED, "'": _SINGLE_QUOTED, "`": _BACKTICKED, "\\": _ESCAPED_QUOTED}
_BARE: Final = (
    r"(?i)(?:(?:bearer|basic|token|apikey|api-key|key|bot|dpop|oauth|jwt) {1,8}+)?([^\s\"'<>&,;\\{}\[\]()|]{1,65536}+)"
)
_DIGITS: Final = r"[0-9]{2,40}+(?![\w.])"
_ESCAPE: Final = r"\\++([\"'/\\nrt])"
_BREAKS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_LONGEST_BARE: Final = 512  # characters; fields in longer values are not read
# A token of an object or a list: punctuation, a string (even with escaped quotes), or anything else.
_PIECE: Final = (
    r"([{}\[\],:])|(\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|\\{1,15}+\"(?:[^\"\\]++|\\++(?!\"))*+\\{1,15}+\""
    r"|'[^'\\\n]*+')|[^\s{}\[\],:\"'\\]++|['\\]"
)
_DEEPEST_WALK: Final = 8  # how deep objects and lists under credential names may be nested
# Members of an object that contain the credential after which the object is named.
_MEMBERS: Final = frozenset("value raw text data content string token secret key".split())


class Notation(Enum):
    """How a value is written: in quotes, as a JSON number, without quotes, or as the text of an element."""

    QUOTED = "quoted"
    NUMBER = "number"
    BARE = "bare"
    ELEMENT = "element"


class Written(NamedTuple):
    """A decoded value, its span and its notation. `is_named` is False if an outer object or a column has the name."""

    value: str
    start: int
    end: int
    form: Notation
    is_named: bool = True


class CredentialField(NamedTuple):
    """A value with a credential name."""

    name: str
    place: Place
    written: Written


class Fields:
    """The credential fields in a string.

    Attributes:
        keys: the names in double quotes, which include all JSON keys.
    """

    def __init__(self, text: str) -> None:
        self.keys: set[str] = set()
        self._text = text
        self._count = 0  # of distinct names
        self._walks: list[int] = []  # ends of the objects and lists that are being read

    def __iter__(self) -> Iterator[CredentialField]:
        done = 0
        for start in range(0, len(self._text), SLICE):
            for name, place, is_quoted, position in self._names(start):
                first = _start_of_value(self._text, position)
                if self._text.startswith(("{", "["), first):
                    yield from self._members(name, place, first, is_quoted=is_quoted)
                elif position >= done:
                    for written in values_at(self._text, position, first, is_quoted=is_quoted):
                        yield CredentialField(name, place, written)
                        if written.form is Notation.BARE and written.end - written.start > _LONGEST_BARE:
                            done = written.end

    def _names(self, start: int) -> list[tuple[str, Place, bool, int]]:
        """Return the credential names in a slice: name, place, whether double-quoted, and the end of the `:` or `=`."""
        end = min(start + SLICE, len(self._text))
        backwards = self._text[max(0, start - _OVERLAP) : end][::-1]
        meanings: dict[str, tuple[str, Place]] = {}
        for written in set(re.compile(_NAME_BACKWARDS).findall(backwards)):
            place = Place.QUERY if written[-1] in _BEFORE_QUERY and written[0] not in _QUOTES else Place.JSON
            name = _name_of(written.rstrip(_BEFORE_QUERY))
            self._count += 1
            if written[0] == '"':
                self.keys.add(name)
            if self._count > _MOST_NAMES:
                ending = re.compile(_ENDING).search(name)
                name = ending[0].lower() if ending is not None else ""
            if credential_kind(name, place) is not None:
                meanings[written] = name, place
        if not meanings:
            return []
        found = []
        for match in re.compile(_NAME_BACKWARDS).finditer(backwards):
            meaning = meanings.get(match[1])
            position = end - match.start()
            if meaning is not None and position > start:
                found.append((*meaning, match[1][0] == '"', position))
        return found[::-1]

    def _members(self, name: str, place: Place, first: int, *, is_quoted: bool) -> Iterator[CredentialField]:
        is_certain = not needs_strong_value(name, place)
        if not (is_certain or may_hold_several(name)):
            return
        self._walks = [end for end in self._walks if end > first]
        if len(self._walks) >= _DEEPEST_WALK:
            return
        walk = _texts_within(self._text, first)
        while True:
            try:
                written = next(walk)
            except StopIteration as stop:
                self._walks.append(stop.value)
                return
            if (written.form is Notation.QUOTED or not is_quoted) and (is_certain or written.is_named):
                yield CredentialField(name, place, written)


def _start_of_value(text: str, position: int) -> int:
    return re.compile(_BEFORE_VALUE).match(text, position).end()  # type: ignore[union-attr]


def values_at(text: str, after_sign: int, position: int, *, is_quoted: bool) -> list[Written]:
    """Return a list with the value at a position; the list is empty unless the value is a string or a number.

    Args:
        text: the text.
        after_sign: the position after the `:` or `=` that precedes the value.
        position: where the value begins.
        is_quoted: True if the name is in double quotes, as in JSON, so that a bare value must be a number.
    """
    match = _quoted_at(text, position)
    if match is not None:
        return [Written(_decoded(match), *match.span(1), Notation.QUOTED)]
    if is_quoted:
        number = re.compile(_DIGITS).match(text, position)
        return [Written(number[0], *number.span(), Notation.NUMBER)] if number is not None else []
    # Only YAML has a value on the next line, after a name with a colon.
    before, match = text[after_sign - 1 : position], re.compile(_BARE).match(text, position)
    is_beside = "\n" not in before or re.compile(_NEXT_LINE).fullmatch(before) is not None
    if match is None or not is_beside or ("\n" in before and match[1][-1] == ":"):
        return []
    return [Written(unquote_plus(match[1]) if "%" in match[1] else match[1], *match.span(1), Notation.BARE)]


def _texts_within(text: str, position: int) -> Generator[Written, None, int]:
    """Yield the values in the object or list at a position, and return where the object or list ends."""
    opened: list[tuple[bool, bool]] = []  # per open object or list: whether a list, and whether values have the name
    member, awaits_value = "", False
    for token in re.compile(_PIECE).finditer(text, position):
        sign, written = token[1], token[2]
        is_list, is_named = opened[-1] if opened else (True, True)
        is_named = is_named and (is_list or member in _MEMBERS)
        if sign in ("{", "["):
            opened.append((sign == "[", is_named))
            member, awaits_value = "", False
        elif sign in ("}", "]", ","):
            member, awaits_value = "", False
            if sign != ",":
                opened.pop()
            if not opened:
                return token.end()
        elif sign == ":":
            awaits_value = True
        elif not is_list and not awaits_value:
            member = token[0].strip("\\\"'")
        elif written is None:
            yield Written(token[0], *token.span(), Notation.BARE, False)
        elif (match := _quoted_at(text, token.start())) is not None:
            yield Written(_decoded(match), *match.span(1), Notation.QUOTED, is_named)
    return len(text)


@lru_cache(maxsize=8192)  # the responses of a service repeat the same names
def _name_of(written: str) -> str:
    """Return a reversed name in normal order, without its quotes or the remainder of an escape before it."""
    name = (written.strip("\"'") if written[0] in _QUOTES else written.lstrip("])"))[::-1]
    escape = re.compile(_ESCAPED_BREAK).match(name)
    return (name[escape.end() :] if escape is not None else name).strip("\\")


def _quoted_at(text: str, position: int) -> re.Match[str] | None:
    pattern = _QUOTE_PATTERNS.get(text[position : position + 1])
    return re.compile(pattern).match(text, position) if pattern is not None else None


def _decoded(match: re.Match[str]) -> str:
    written = match[1]
    if "\\" in written:
        if match[0][0] == '"':
            try:
                return str(json.loads(match[0], strict=False))
            except ValueError:
                pass
        written = re.compile(_ESCAPE).sub(lambda escape: _BREAKS.get(escape[1], escape[1]), written)
    return html.unescape(written) if "&" in written else written


_ELEMENT_NAME: Final = r"<([\w.:\-]{1,80}+)[\s>]"
_TAG: Final = r"<([\w.:\-]{1,80}+)(?:\s[^<>]{0,400}+)?>"
_LONGEST_TAG: Final = 500  # characters
_CONTENT: Final = r"\s{0,40}+(?:<!\[CDATA\[)?((?:[^<\]]|\](?!\]>)){1,65536}+)(?=(?:\]\]>)?</)"
_NEXT_ELEMENT: Final = rf"</[\w.:\-]{{1,80}}+>(?:\s{{0,40}}+{_TAG}){{1,2}}+"
_PAIR_ELEMENTS: Final = frozenset("name key id th td dt Name Key".split())
_HEAD: Final = (
    r"(?<![\w.\-])(?:name|key|keyName|label|id|type|header|parameter|field|variable|Name|Key)\\{0,8}+[\"']?\s{0,20}+[:=]"
    r"\s{0,20}+\\{0,8}+[\"']([^\"'\\<>\n]{1,80}+)\\{0,8}+[\"']"
)
_VALUE: Final = r"(?i)(?<![\w.\-])(?:value|content|text)\\{0,8}+[\"']?\s{0,20}+[:=]"
_END: Final = r"[}>]"
_SEPARATOR: Final = r"[,;\t]"
_AROUND: Final = "\"' \r"
_LONGEST_PAIR: Final = 2_000  # characters of a pair on each side of its name


TITLES: Final = frozenset("columns column_names fields header headers cols names keys".split())


def elements_in(text: str) -> Iterator[CredentialField]:
    """Yield the contents of XML elements whose own name, or the text of the preceding element, names a credential."""
    if "</" not in text:
        return
    names = set(re.compile(_ELEMENT_NAME).findall(text))
    local = {name: name.rpartition(":")[2] for name in names}
    wanted = {name for name, last in local.items() if last in _PAIR_ELEMENTS or credential_kind(last, Place.JSON)}
    for match in matches_in(_TAG, text, longest=_LONGEST_TAG) if wanted else ():
        if match[1] not in wanted:
            continue
        name = local[match[1]]
        content = _content_at(text, match.end())
        if credential_kind(name, Place.JSON) is not None and content is not None:
            yield CredentialField(name, Place.JSON, content)
        if name in _PAIR_ELEMENTS and content is not None and credential_kind(content.value, Place.JSON):
            beside = re.compile(_NEXT_ELEMENT).match(text, content.end)
            value = _content_at(text, beside.end()) if beside is not None else None
            if value is not None:
                yield CredentialField(content.value, Place.JSON, value)


def pairs_in(text: str) -> Iterator[CredentialField]:
    """Yield the values of pairs such as `"name": "token", "value": "…"` that have a credential name."""
    if not any(map(text.__contains__, ("value", "Value", "content", "<"))):
        return
    for match in matches_in(_HEAD, text, longest=_LONGEST_TAG):
        if credential_kind(match[1], Place.JSON) is None:
            continue
        start = max(text.rfind(sign, max(0, match.start() - _LONGEST_PAIR), match.start()) for sign in "{<")
        end = re.compile(_END).search(text, match.end(), match.end() + _LONGEST_PAIR)
        last = end.start() if end is not None else min(len(text), match.end() + _LONGEST_PAIR)
        value = re.compile(_VALUE).search(text, match.end(), last)
        if value is None and start >= 0:
            value = re.compile(_VALUE).search(text, start, match.start())
        if value is not None:
            for written in values_at(text, value.end(), _start_of_value(text, value.end()), is_quoted=False):
                yield CredentialField(match[1], Place.JSON, written)
        elif end is not None and end[0] == ">":
            content = _content_at(text, end.end())
            if content is not None:
                yield CredentialField(match[1], Place.JSON, content)


def columns_in(text: str) -> Iterator[CredentialField]:
    """Yield the credentials in comma-, semicolon- or tab-separated lines below a line of column names."""
    first, _, _ = text[:_LONGEST_PAIR].partition("\n")
    separator = re.compile(_SEPARATOR).search(first)
    if separator is None or first[:1] in "{[<" or len(first) == _LONGEST_PAIR:
        return
    names = [name.strip(_AROUND) for name in first.split(separator[0])]
    wanted = [at for at, name in enumerate(names) if credential_kind(name, Place.JSON)]
    start = len(first) + 1
    while wanted and start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        cells = text[start:end].split(separator[0])
        starts = [0, *accumulate(len(cell) + 1 for cell in cells)]
        for at in wanted if len(cells) == len(names) else ():
            cell = cells[at].strip(_AROUND)
            position = text.find(cell, start + starts[at])
            written = Written(cell, position, position + len(cell), Notation.QUOTED, is_named=False)
            yield CredentialField(names[at], Place.JSON, written)
        start = end + 1


def cells_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield the column name and text of each credential in a JSON table that has its column names in a separate list.

    The caller must first check that the text has one of the keys in TITLES, under which such lists are found.
    """
    levels: list[dict[str, Any]] = []
    with suppress(ValueError, RecursionError):
        json.loads(text, object_pairs_hook=lambda members: levels.append(level := dict(members)) or level)  # type: ignore[func-returns-value]
    for level in levels:
        lists = [value for value in level.values() if isinstance(value, list)]
        rows = [row for each in lists for row in each if isinstance(row, list)]
        for each in lists:
            titles = [str(title.get("name", "")) if isinstance(title, dict) else str(title) for title in each]
            wanted = [at for at, title in enumerate(titles) if credential_kind(title, Place.JSON)]
            for row in (row for row in rows if wanted and len(row) == len(titles)):
                yield from ((titles[at], row[at]) for at in wanted if isinstance(row[at], str))


def _content_at(text: str, position: int) -> Written | None:
    match = re.compile(_CONTENT).match(text, position)
    return Written(html.unescape(match[1]).strip(), *match.span(1), Notation.ELEMENT) if match is not None else None
