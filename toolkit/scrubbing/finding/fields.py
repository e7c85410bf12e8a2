"""Fields in text of any format: JSON, also within JSON, queries, settings, XML, and prose or code that shows these.

The distinct names are collected first. Only where the name of a credential is among them are values read, so that
text without one costs a single pass. A text is read in slices, since a regular expression blocks all other threads.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from toolkit.core.patterns import SLICE, compiled, matches_in
from toolkit.scrubbing.vocabulary import Place, credential_kind

_OVERLAP: Final = 160  # characters before a slice, which hold the name that belongs to a sign at its start
# In reversed text: the sign after a name, then the name, in quotes or as a plain word; also settings["api_key"] = ...
_NAME_BACKWARDS: Final = (
    r"(?a)[:=]\s{0,20}+(?:\](?=[\"']))?([\"']\\{0,8}+[^\"'\\\n]{1,80}+[\"']|[\])]?[\w.\-$]{1,80}+\\?)"
)
_ELEMENT: Final = r"<([\w.:\-]{1,80}+)(?:\s[^<>]{0,400}+)?>"
_NEXT_ELEMENT: Final = rf"</[\w.:\-]{{1,80}}+>(?:\s{{0,40}}+{_ELEMENT}){{1,2}}+"
_LONGEST_ELEMENT: Final = 500  # characters of the tag that opens it
_CONTENT: Final = r"\s{0,40}+(?:<!\[CDATA\[)?((?:[^<\]]|\](?!\]>)){1,65536}+)(?=(?:\]\]>)?</)"
# A text with more names than these has data as names, and the rest is judged by their last word only.
_MOST_NAMES: Final = 4_096
_ENDING: Final = r"(?i)(?:token|secret|password|passwd|passphrase|api_?key|signature|credential|cookie|jwt)s?\Z"
_ESCAPED_BREAK: Final = r"\\[nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}"
# Also the dash of a list in YAML, an object that holds the value, and the letters before quotes in Python.
_BEFORE_VALUE: Final = (
    r"[=>]?\s{0,40}+(?:- {1,8}+|\{\s{0,40}+\\{0,8}+\"value\\{0,8}+\"\s{0,8}+:\s{0,8}+)?(?:data:\s{0,4}+)?"
    r"(?:[bBfFrRuU]{1,2}+(?=[\"']))?"
)
_NEXT_LINE: Final = r":[ \t]{0,40}+\r?\n[ \t]{0,40}+(?:(?<=[ \t])|- {1,8}+)"  # in YAML, a value without quotes
_QUOTED: Final = r"(?s)\"([^\"\\]*+(?:\\.[^\"\\]*+)*+)\""
_ESCAPED_QUOTED: Final = r"\\{1,15}+\"((?:[^\"\\]++|\\++(?!\"))*+)\\{1,15}+\""
_ESCAPED_SINGLE: Final = r"\\{1,15}+'((?:[^'\\\n]++|\\++(?!'))*+)\\{1,15}+'"
# Three quotes: the first word counts, since a credential has no spaces.
_TRIPLE_QUOTED: Final = r"(?:\"{3}|'{3})(?:\\?\s){0,40}+([^\s\"'\\]{1,8192}+)"
_BACKTICKED: Final = r"(?s)`([^`\\]*+(?:\\.[^`\\]*+)*+)`"
_SINGLE_QUOTED: Final = r"'([^'\n\\]*+(?:\\.[^'\n\\]*+)*+)'"
_QUOTE_PATTERNS: Final = {'"': _QUOTED, "'": _SINGLE_QUOTED, "`": _BACKTICKED, "\\": _ESCAPED_QUOTED}
_BARE: Final = (
    r"(?i)(?:(?:bearer|basic|token|apikey|api-key|key|bot|dpop|oauth|jwt) {1,8}+)?([^\s\"'<>&,;\\{}\[\]()|]{1,65536}+)"
)
_ITEM: Final = r"\s{0,40}+,?\s{0,40}+"
_ESCAPE: Final = r"\\++([\"'/\\nrt])"
_BREAKS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_MOST_ITEMS: Final = 100  # of a list under the name of a credential
_LONGEST_RETRY: Final = 512  # characters of a value that is not accepted, and is searched for fields itself
_MOST_RETRIED: Final = 4  # items of a list
# Settings as pairs: {"name": "client_secret", "value": "..."}, <add key="client_secret" value="..."/>,
# <meta name="csrf-token" content="..."/>, <key>client_secret</key><string>...</string>.
_PAIR_HEADS: Final = frozenset({"name", "key", "id", "header", "parameter", "field", "variable", "Name", "Key"})
_PAIR_ELEMENTS: Final = _PAIR_HEADS | {"th", "td", "dt"}
_QUOTES: Final = "\"'"
_BEFORE_QUERY_FIELDS: Final = frozenset("?&;#")
_PAIR_VALUES: Final = frozenset({"value", "Value"})
_PAIR_HEAD: Final = r"\s{0,20}+\\{0,8}+[\"']([^\"'\\<>]{1,80}+)(?=\\{0,8}+[\"'])"
_PAIR_VALUE: Final = r"\\{0,8}+[\"'][^<>{}]{0,200}?(?:(?i:\b(?:value|content))\\{0,8}+[\"']?\s{0,20}+[:=]|>(?=[^<\s]))"


class NamedValue(NamedTuple):
    """A value beside the name of a credential.

    Attributes:
        name: the name.
        kind: the kind of credential that the name means.
        place: the kind of place, such as a query.
        value: the value, decoded.
        start: position where the written value starts, without quotes.
        end: position where it ends.
    """

    name: str
    kind: str
    place: Place
    value: str
    start: int
    end: int


class _Name(NamedTuple):
    """A name of credentials, or one that may be the head of a pair.

    Attributes:
        kind: the kind of credential that it means.
        is_quoted: True if it is in double quotes, as in JSON, so that a bare value is not text.
    """

    name: str
    kind: str | None
    place: Place
    is_quoted: bool


class Fields:
    """The fields of credentials in a text.

    Attributes:
        keys: the names in double quotes; the keys of JSON are among them.
    """

    def __init__(self, text: str) -> None:
        self.keys: set[str] = set()
        self._text = text
        # Names as written and reversed, elsewhere and in queries, each with the name if it is of interest.
        self._names: tuple[dict[str, _Name | None], dict[str, _Name | None]] = ({}, {})
        self._has_pairs = False

    def accepted(self, accepts: Callable[[NamedValue], bool]) -> list[NamedValue]:
        """Return the fields that a function accepts, in their order and without overlaps."""
        result: list[NamedValue] = []
        done = 0
        for start in range(0, len(self._text), SLICE):
            for name, position in self._signs(start):
                fields = self._fields_after(name, position) if position >= done else []
                accepted = [field for field in fields if accepts(field)]
                result += accepted
                if accepted or len(fields) > _MOST_RETRIED or (fields and fields[-1].end > position + _LONGEST_RETRY):
                    done = fields[-1].end
        elements = [field for field in self._fields_of_elements() if accepts(field)] if "<" in self._text else []
        return _without_overlaps(result + elements) if elements else result

    def _signs(self, start: int) -> list[tuple[_Name, int]]:
        """Return the names of interest in a slice, each with the position after the sign that follows it."""
        end = min(start + SLICE, len(self._text))
        backwards = self._text[max(0, start - _OVERLAP) : end][::-1]
        elsewhere, in_queries = self._names
        signs = []
        for match in compiled(_NAME_BACKWARDS).finditer(backwards):
            written, names = match[1], elsewhere
            if written[0] not in _QUOTES and backwards[match.end() : match.end() + 1] in _BEFORE_QUERY_FIELDS:
                names = in_queries
            if written not in names:
                names[written] = self._noted(written, Place.QUERY if names is in_queries else Place.JSON)
            name = names[written]
            if name is not None and end - match.start() > start:
                signs.append((name, end - match.start()))
        return signs[::-1]

    def _noted(self, written: str, place: Place) -> _Name | None:
        """Note a name, written in reverse; return it if it is the name of a credential or of the head of a pair."""
        name, of_interest = _meaning(written, place is Place.QUERY)
        if written[0] == '"':
            self.keys.add(name)
        if len(self._names[0]) + len(self._names[1]) > _MOST_NAMES:
            ending = compiled(_ENDING).search(name)
            return None if ending is None else _of_interest(ending[0].lower(), written, place)
        self._has_pairs = self._has_pairs or name in _PAIR_VALUES or (name in _PAIR_HEADS and written[0] not in _QUOTES)
        return of_interest

    def _fields_after(self, named: _Name, position: int) -> list[NamedValue]:
        name, kind, place, is_quoted = named
        if name in _PAIR_HEADS and self._has_pairs:
            head = compiled(_PAIR_HEAD).match(self._text, position)
            kind_of_pair = credential_kind(head[1], place) if head is not None else None
            match = compiled(_PAIR_VALUE).match(self._text, head.end()) if head is not None and kind_of_pair else None
            if head is not None and kind_of_pair is not None and match is not None:
                is_element = match[0][-1] == ">"
                values = self._texts_at(match.end()) if is_element else self._values_at(match.end(), is_quoted=False)
                return [NamedValue(head[1], kind_of_pair, place, *value) for value in values]
        if kind is None:
            return []
        return [NamedValue(name, kind, place, *value) for value in self._values_at(position, is_quoted=is_quoted)]

    def _values_at(self, position: int, *, is_quoted: bool) -> list[tuple[str, int, int]]:
        """Return the text or the list of texts at a position, each with its start and end."""
        text = self._text
        after_sign, position = position, compiled(_BEFORE_VALUE).match(text, position).end()  # type: ignore[union-attr]
        first = text[position : position + 1]
        values = []
        match: re.Match[str] | None
        if first == "[":
            position += 1
            for _ in range(_MOST_ITEMS):
                item = compiled(_ITEM).match(text, position)
                match = _quoted_at(text, item.end()) if item is not None else None
                if match is None:
                    break
                values.append((_decoded(match), match.start(1), match.end(1)))
                position = match.end()
            if not values and not is_quoted:  # in YAML without quotes
                values += [
                    value for value in self._bare_at(position, position) if text[value[2] : value[2] + 1] in (",", "]")
                ]
        elif first in _QUOTE_PATTERNS:
            triple = compiled(_TRIPLE_QUOTED).match(text, position)
            match = _quoted_at(text, position) if triple is None else None
            if triple is not None:
                values.append((triple[1], *triple.span(1)))
            elif match is not None:
                values.append((_decoded(match), match.start(1), match.end(1)))
        elif not is_quoted:
            values += self._bare_at(after_sign, position)
        return values

    def _bare_at(self, after_sign: int, position: int) -> list[tuple[str, int, int]]:
        """Return the text without quotes at a position, given where the sign before it ends."""
        match = compiled(_BARE).match(self._text, position)
        before = self._text[after_sign - 1 : match.start(1)] if match is not None else ""
        if match is None:
            return []
        value = match[1]
        # In the next line, only YAML has a value, and a name has a colon after it.
        if "\n" in before and (value.endswith(":") or not compiled(_NEXT_LINE).fullmatch(before)):
            return []
        return [(unquote_plus(value) if "%" in value else value, *match.span(1))]

    def _texts_at(self, position: int) -> list[tuple[str, int, int]]:
        match = compiled(_CONTENT).match(self._text, position)
        return [(html.unescape(match[1]).strip(), match.start(1), match.end(1))] if match is not None else []

    def _fields_of_elements(self) -> Iterator[NamedValue]:
        """Yield the contents of XML elements with names of credentials."""
        kinds: dict[str, str | None] = {}
        for match in matches_in(_ELEMENT, self._text, longest=_LONGEST_ELEMENT):
            name = match[1]
            if name not in kinds and len(kinds) < _MOST_NAMES:
                kinds[name] = credential_kind(_local(name), Place.JSON)
            kind = kinds.get(name)
            if kind is not None:
                for value, first, end in self._texts_at(match.end()):
                    yield NamedValue(_local(name), kind, Place.JSON, value, first, end)
            if _local(name) in _PAIR_ELEMENTS:
                yield from self._value_beside(match.end())

    def _value_beside(self, position: int) -> Iterator[NamedValue]:
        """Yield the content of the element after the one whose content, a name of credentials, is at a position."""
        for name, _, end_of_name in self._texts_at(position):
            kind = credential_kind(name, Place.JSON)
            beside = compiled(_NEXT_ELEMENT).match(self._text, end_of_name) if kind is not None else None
            if kind is not None and beside is not None:
                yield from (NamedValue(name, kind, Place.JSON, *value) for value in self._texts_at(beside.end()))


def _local(name: str) -> str:
    return name.rpartition(":")[2]


@lru_cache(maxsize=8192)  # the answers of a service have the same names again and again
def _meaning(written: str, is_in_query: bool) -> tuple[str, _Name | None]:
    """Return a name that is written in reverse, and the result of `_of_interest`."""
    name = _forwards(written.strip("\"'") if written[0] in _QUOTES else written.lstrip("])"))
    return name, _of_interest(name, written, Place.QUERY if is_in_query else Place.JSON)


def _of_interest(name: str, written: str, place: Place) -> _Name | None:
    """Return a name if it is the name of a credential or of the head of a pair."""
    kind = credential_kind(name, place)
    return _Name(name, kind, place, written[0] == '"') if kind is not None or name in _PAIR_HEADS else None


def _forwards(backwards: str) -> str:
    """Return a name that was read backwards, without the rest of an escape before it."""
    name = backwards[::-1]
    escape = compiled(_ESCAPED_BREAK).match(name)
    return (name[escape.end() :] if escape is not None else name).strip("\\")


def _quoted_at(text: str, position: int) -> re.Match[str] | None:
    pattern = _QUOTE_PATTERNS.get(text[position : position + 1])
    match = compiled(pattern).match(text, position) if pattern is not None else None
    return compiled(_ESCAPED_SINGLE).match(text, position) if match is None and pattern == _ESCAPED_QUOTED else match


def _decoded(match: re.Match[str]) -> str:
    """Return a quoted text without its escapes."""
    written = match[1]
    if "\\" in written:
        if match[0][0] == '"':
            try:
                return str(json.loads(match[0], strict=False))
            except ValueError:
                pass
        written = compiled(_ESCAPE).sub(lambda escape: _BREAKS.get(escape[1], escape[1]), written)
    return html.unescape(written) if "&" in written else written


def _without_overlaps(fields: list[NamedValue]) -> list[NamedValue]:
    result: list[NamedValue] = []
    for field in sorted(fields, key=lambda field: (field.start, -field.end)):
        if not result or field.start >= result[-1].end:
            result.append(field)
    return result
