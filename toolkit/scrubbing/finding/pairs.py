"""Credentials whose name is a value itself: elements of XML, settings as pairs, and columns with rows.

Pairs are `{"name": "client_secret", "value": "..."}` in either order, `<add key="client_secret" value="..."/>`,
`<meta name="csrf-token" content="..."/>` and `<key>client_secret</key><string>...</string>`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

from toolkit.core.text import compiled, matches_in
from toolkit.scrubbing.finding.fields import CredentialField, Notation, Written, values_at
from toolkit.scrubbing.vocabulary import Place, credential_kind

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
# A list or the arguments of a call: ["Authorization", "..."], setItem("access_token", "...").
_TWO_TEXTS: Final = (
    r"[\[(]\s{0,40}+(?:\"([^\"\\\n]{1,80}+)\"\s{0,20}+,\s{0,20}+\"([^\"\\\n]{8,8192}+)\""
    r"|'([^'\\\n]{1,80}+)'\s{0,20}+,\s{0,20}+'([^'\\\n]{8,8192}+)')\s{0,40}+[\])]"
)
_SEPARATOR: Final = r"[,;\t]"
_AROUND: Final = "\"' \r"
_LONGEST_PAIR: Final = 2_000  # characters of a pair on each side of its name
_COLUMNS: Final = (
    r"\"(?:columns|column_names|fields|headers?|cols|names|keys)\"\s{0,40}+:\s{0,40}+\[([^\[\]]{3,4000}+)\]"
)
_NAME_IN_LIST: Final = r"\"([^\"\\]{1,80}+)\"\s{0,40}+(?=[,}\]]|\Z)"


def elements_in(text: str) -> Iterator[CredentialField]:
    """Yield the contents of XML elements with the names of credentials, and of those beside such a name."""
    if "</" not in text:
        return
    names = set(compiled(_ELEMENT_NAME).findall(text))
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
            beside = compiled(_NEXT_ELEMENT).match(text, content.end)
            value = _content_at(text, beside.end()) if beside is not None else None
            if value is not None:
                yield CredentialField(content.value, Place.JSON, value)


def pairs_in(text: str) -> Iterator[CredentialField]:
    """Yield the values of pairs whose name is that of a credential."""
    if not any(map(text.__contains__, ("value", "Value", "content", "<"))):
        return
    for match in matches_in(_HEAD, text, longest=_LONGEST_TAG):
        if credential_kind(match[1], Place.JSON) is None:
            continue
        start = max(text.rfind(sign, max(0, match.start() - _LONGEST_PAIR), match.start()) for sign in "{<")
        end = compiled(_END).search(text, match.end(), match.end() + _LONGEST_PAIR)
        last = end.start() if end is not None else min(len(text), match.end() + _LONGEST_PAIR)
        value = compiled(_VALUE).search(text, match.end(), last)
        if value is None and start >= 0:
            value = compiled(_VALUE).search(text, start, match.start())
        if value is not None:
            for written in values_at(text, value.end(), is_quoted=False):
                yield CredentialField(match[1], Place.JSON, written)
        elif end is not None and end[0] == ">":
            content = _content_at(text, end.end())
            if content is not None:
                yield CredentialField(match[1], Place.JSON, content)


def two_texts_in(text: str) -> Iterator[CredentialField]:
    """Yield the second of two texts in brackets whose first is the name of a credential; it counts if it is strong."""
    for match in matches_in(_TWO_TEXTS, text, longest=10_000):
        at = 1 if match[1] is not None else 3
        if credential_kind(match[at], Place.JSON) is not None:
            written = Written(match[at + 1], *match.span(at + 1), Notation.QUOTED, is_named=False)
            yield CredentialField(match[at], Place.JSON, written)


def columns_in(text: str) -> Iterator[CredentialField]:
    """Yield the values in lines below the names of their columns, with commas, semicolons or tabs between them."""
    first, _, _ = text[:_LONGEST_PAIR].partition("\n")
    separator = compiled(_SEPARATOR).search(first)
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
    """Yield name and text of the values in the rows of JSON that lists the names of its columns apart."""
    if not any(
        credential_kind(name, Place.JSON)
        for columns in matches_in(_COLUMNS, text, longest=5_000)
        for name in compiled(_NAME_IN_LIST).findall(columns[1])
    ):
        return
    try:
        document = json.loads(text)
    except ValueError:
        return
    for level in _objects(document):
        lists = [value for value in level.values() if isinstance(value, list) and value]
        for names in lists:
            titles = [str(name.get("name", "")) if isinstance(name, dict) else str(name) for name in names]
            wanted = [at for at, title in enumerate(titles) if credential_kind(title, Place.JSON)]
            for row in (row for rows in lists if wanted for row in rows if isinstance(row, list)):
                if len(row) == len(titles):
                    yield from ((titles[at], row[at]) for at in wanted if isinstance(row[at], str))


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    waiting = [document]
    while waiting:
        level = waiting.pop()
        if isinstance(level, dict):
            yield level
            waiting += level.values()
        elif isinstance(level, list):
            waiting += level


def _content_at(text: str, position: int) -> Written | None:
    match = compiled(_CONTENT).match(text, position)
    return Written(html.unescape(match[1]).strip(), *match.span(1), Notation.ELEMENT) if match is not None else None
