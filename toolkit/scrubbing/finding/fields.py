"""Fields in text of any format: JSON, also within JSON, queries, settings, XML, and prose or code that shows these.

The distinct names are collected first. Only where the name of a credential is among them are values read, so that
text without one costs a single pass. A text is read in slices, since a regular expression blocks all other threads.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from toolkit.core.patterns import compiled
from toolkit.scrubbing.vocabulary import Place, credential_kind

_SLICE: Final = 1 << 18  # characters
_OVERLAP: Final = 160  # characters before a slice, which hold the name that belongs to a sign at its start
# In reversed text: the sign after a name, then the name, in quotes or as a plain word, and what precedes it.
_NAME_BACKWARDS: Final = (
    r"(?a)[:=]\s{0,20}+(?:[\"']\\{0,8}+([^\"'\\\n]{1,80}+)(?=([\"']))|[\])]?([\w.\-$]{1,80}+\\?)(?=([?&;#]?)))"
)
_ELEMENT_NAME: Final = r"<([\w.:\-]{1,80}+)"
_ELEMENT: Final = r"<([\w.:\-]{1,80}+)(?:\s[^<>]{0,400}+)?>"
_LONGEST_ELEMENT: Final = 500  # characters of the tag that opens it
_CONTENT: Final = r"\s{0,40}+(?:<!\[CDATA\[)?((?:[^<\]]|\](?!\]>)){1,65536}+)(?=(?:\]\]>)?</)"
_ESCAPED_BREAK: Final = r"\\[nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}"
_BEFORE_VALUE: Final = r"[=>]?\s{0,40}+(?:data:\s{0,4}+)?"
_QUOTED: Final = r"(?s)\"([^\"\\]*+(?:\\.[^\"\\]*+)*+)\""
_ESCAPED_QUOTED: Final = r"\\{1,15}+\"((?:[^\"\\]++|\\++(?!\"))*+)\\{1,15}+\""
_SINGLE_QUOTED: Final = r"'([^'\n\\]*+(?:\\.[^'\n\\]*+)*+)'"
_BARE: Final = (
    r"(?i)(?:(?:bearer|basic|token|apikey|api-key|key|bot|dpop|oauth|jwt) {1,8}+)?([^\s\"'<>&,;\\{}\[\]()|]{1,65536}+)"
)
_ITEM: Final = r"\s{0,40}+,?\s{0,40}+"
_LONGEST_NAME: Final = 80  # characters
_ESCAPE: Final = r"\\++([\"'/\\nrt])"
_BREAKS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_MOST_ITEMS: Final = 100  # of a list under the name of a credential
_LONGEST_RETRY: Final = 512  # characters of a value that is not accepted, and is searched for fields itself
# Settings as pairs: {"name": "client_secret", "value": "..."}, <add key="client_secret" value="..."/>.
_PAIR_NAMES: Final = frozenset({"name", "key", "id", "header", "parameter", "field", "variable", "Name", "Key"})
_PAIR_VALUES: Final = frozenset({"value", "Value"})
_PAIR_VALUE: Final = r"\\{0,8}+[\"'][^<>{}]{0,200}?(?:(?i:\bvalue)\\{0,8}+[\"']?\s{0,20}+[:=]|>(?=[^<\s]))"


class Field(NamedTuple):
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


class _Sign(NamedTuple):
    """A sign between a name and a value, such as a colon.

    Attributes:
        kind: the kind of credential that the name means, or None if it may be the head of a pair.
        is_quoted: True if the name is in double quotes, as in JSON, so that a bare value is not text.
        end: position after the sign.
    """

    name: str
    kind: str | None
    place: Place
    is_quoted: bool
    end: int


class Fields:
    """The fields of credentials in a text.

    Attributes:
        keys: the names in double quotes; the keys of JSON are among them.
    """

    def __init__(self, text: str) -> None:
        self.keys: set[str] = set()
        self._text = text
        self._kinds: dict[tuple[str, str, str, str], tuple[str, str | None, Place]] = {}  # of matches of a name
        self._slices = [start for start in range(0, len(text), _SLICE) if self._has_names(start)]
        self._elements = _element_kinds(text) if "<" in text else {}

    def accepted(self, accepts: Callable[[Field], bool]) -> list[Field]:
        """Return the fields that a function accepts, in their order and without overlaps."""
        if not self._slices and not self._elements:
            return []
        fields: list[Field] = []
        done = 0
        for start in self._slices:
            for sign in self._signs(start):
                if sign.end < done:
                    continue
                for field in self._fields_after(sign):
                    if accepts(field):
                        fields.append(field)
                        done = field.end
                    elif field.end - field.start > _LONGEST_RETRY:
                        done = field.end
        return _without_overlaps([*fields, *filter(accepts, self._fields_of_elements())]) if self._elements else fields

    def _backwards(self, start: int) -> tuple[str, int]:
        """Return a slice reversed, with what precedes it, and the position in the text where it ends."""
        end = min(start + _SLICE, len(self._text))
        return self._text[max(0, start - _OVERLAP) : end][::-1], end

    def _has_names(self, start: int) -> bool:
        """Note the names in a slice; return True if credentials are among them."""
        names = set(compiled(_NAME_BACKWARDS).findall(self._backwards(start)[0]))
        has_pairs, is_wanted = False, False
        for match in names:
            quoted, quote, word, before = match
            if quoted and quote == '"':
                self.keys.add(quoted[::-1])
            name = _forwards(quoted or word)
            if not name:
                continue
            place = Place.QUERY if before else Place.JSON
            kind = credential_kind(name, place)
            if kind is not None or name in _PAIR_NAMES:
                self._kinds[match] = name, kind, place
            is_wanted = is_wanted or kind is not None
            has_pairs = has_pairs or name in _PAIR_VALUES
        return is_wanted or has_pairs

    def _signs(self, start: int) -> list[_Sign]:
        """Return the signs after names of credentials in a slice, in their order."""
        backwards, end = self._backwards(start)
        signs = []
        for match in compiled(_NAME_BACKWARDS).finditer(backwards):
            known = self._kinds.get(match.groups(""))  # type: ignore[arg-type]
            position = end - match.start()
            if known is not None and position > start:
                signs.append(_Sign(*known, match[2] == '"', position))
        return signs[::-1]

    def _fields_after(self, sign: _Sign) -> Iterator[Field]:
        values = list(self._values_at(sign.end, sign.is_quoted))
        if sign.name in _PAIR_NAMES and len(values) == 1 and len(values[0][0]) <= _LONGEST_NAME:
            named, _, end = values[0]
            kind = credential_kind(named, sign.place)
            match = compiled(_PAIR_VALUE).match(self._text, end) if kind is not None else None
            if match is not None:
                sign = sign._replace(name=named, kind=kind)
                is_element = match[0].endswith(">")
                values = list(self._texts_at(match.end()) if is_element else self._values_at(match.end(), False))
        if sign.kind is not None:
            for value, start, end in values:
                yield Field(sign.name, sign.kind, sign.place, value, start, end)

    def _values_at(self, position: int, is_quoted: bool) -> Iterator[tuple[str, int, int]]:
        """Yield the text or the list of texts at a position, each with its start and end."""
        text = self._text
        after_sign, position = position, compiled(_BEFORE_VALUE).match(text, position).end()  # type: ignore[union-attr]
        first = text[position : position + 1]
        if first == "[":
            position += 1
            for _ in range(_MOST_ITEMS):
                item = compiled(_ITEM).match(text, position)
                match = _quoted_at(text, item.end()) if item is not None else None
                if match is None:
                    return
                yield _decoded(match), match.start(1), match.end(1)
                position = match.end()
        elif first in ('"', "'", "\\"):
            match = _quoted_at(text, position)
            if match is not None:
                yield _decoded(match), match.start(1), match.end(1)
        elif not is_quoted:
            match = compiled(_BARE).match(text, position)
            if match is not None and "\n" not in text[after_sign : match.start(1)]:
                value = match[1]
                yield unquote_plus(value) if "%" in value else value, match.start(1), match.end(1)

    def _texts_at(self, position: int) -> Iterator[tuple[str, int, int]]:
        match = compiled(_CONTENT).match(self._text, position)
        if match is not None:
            yield html.unescape(match[1]).strip(), match.start(1), match.end(1)

    def _fields_of_elements(self) -> Iterator[Field]:
        """Yield the contents of XML elements with names of credentials."""
        if not self._elements:
            return
        for start in range(0, len(self._text), _SLICE):
            for match in compiled(_ELEMENT).finditer(self._text, start, start + _SLICE + _LONGEST_ELEMENT):
                kind = self._elements.get(match[1])
                if kind is not None and match.start() < start + _SLICE:
                    for value, first, end in self._texts_at(match.end()):
                        yield Field(_local(match[1]), kind, Place.JSON, value, first, end)


def _element_kinds(text: str) -> dict[str, str]:
    """Return the names of XML elements that are names of credentials, each with its kind."""
    names: set[str] = set()
    for start in range(0, len(text), _SLICE):
        names.update(compiled(_ELEMENT_NAME).findall(text, start, start + _SLICE + _OVERLAP))
    kinds = ((name, credential_kind(_local(name), Place.JSON)) for name in names)
    return {name: kind for name, kind in kinds if kind is not None}


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _forwards(backwards: str) -> str:
    """Return a name that was read backwards, without the rest of an escape before it."""
    name = backwards[::-1]
    escape = compiled(_ESCAPED_BREAK).match(name)
    return name[escape.end() :] if escape is not None else name.lstrip("\\")


def _quoted_at(text: str, position: int) -> re.Match[str] | None:
    first = text[position : position + 1]
    pattern = {'"': _QUOTED, "'": _SINGLE_QUOTED, "\\": _ESCAPED_QUOTED}.get(first)
    return compiled(pattern).match(text, position) if pattern is not None else None


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


def _without_overlaps(fields: list[Field]) -> list[Field]:
    result: list[Field] = []
    for field in sorted(fields, key=lambda field: (field.start, -field.end)):
        if not result or field.start >= result[-1].end:
            result.append(field)
    return result
