"""Decide which of the values that the rules replaced in recordings are replaced in all texts of a notebook.

A long value is replaced wherever it stands. A short one is, too, unless it is an ordinary word: "USD" may be the name
of an account, and then most of its places mean the currency. What is ordinary is learned from the recordings
themselves: names of fields, segments of paths, and values of other fields.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from toolkit.cassettes.format.interactions import Interaction
from toolkit.scrubbing.content_encodings import decompress_body
from toolkit.scrubbing.messages import HeaderList
from toolkit.scrubbing.vocabulary import is_placeholder
from toolkit.sharing.publishing.replacements import normal_text, words_of

_SHORTEST: Final = 3  # characters of a value that is replaced where no rule finds it
_SHORTEST_PART: Final = 3  # letters of a part of a name
_MOST_PARTS: Final = 4  # words of a value that may be the name of a person
_LONG: Final = 8  # letters and digits; as in `replacements`
_IDENTIFIER: Final = 6  # letters and digits of which one is a digit: not a word, an amount or a year
_CONSTANTS: Final = frozenset({"true", "false", "null", "none", "nan"})
_TAG: Final = re.compile(r"</?([\w.:-]{1,80})")
_MOST_CANDIDATES: Final = 50_000
_LONGEST_CANDIDATE: Final = 200  # characters
_SIGNS: Final = ".:!?*_`|"
_MARKUP: Final = re.compile(r"<[^<>]{0,400}>")
_PIECES: Final = re.compile(r"[^\s\"'<>,;()\[\]{}]+")
_FIELDS: Final = re.compile(
    r"\"([^\"\n]+)\"|'([^'\n]+)'|>([^<>\n]+)<|(?:(?<=\s\s)|(?<=[|\t]))(\S+(?: \S+)*)", re.MULTILINE
)


def settled(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return each value with what finally stands for it: the stand-in of a stand-in replaces both."""
    values = {value: replacement for value, replacement in pairs if value and value != replacement}
    result = {}
    for value, replacement in values.items():
        seen, last = {value}, replacement
        while last in values and last not in seen:
            seen.add(last)
            last = values[last]
        if last != value:
            result[value] = last
    return result


def ordinary_words(interactions: Iterable[Interaction]) -> set[str]:
    """Return the ordinary words of recordings to which the rules were applied: names and whole values, folded."""
    words: set[str] = set()
    for interaction in interactions:
        parts = urlsplit(interaction.request.uri)
        words.update(unquote(part).casefold() for part in re.split(r"[/&=]", f"{parts.path}/{parts.query}"))
        for headers, body in (interaction.request[2:4], interaction.response[2:4]):
            for name, value in headers:
                words |= {name.casefold(), value.casefold()}
            words.update(_words_of_body(headers, body))
    return words


def values_for_texts(values: Mapping[str, str], ordinary: Collection[str]) -> dict[str, str]:
    """Return the values to replace in all texts, with those forms of them that are values of their own.

    Args:
        values: the values that the rules replaced, with their replacements.
        ordinary: words that stay if they are short, folded.
    """
    result = {value: new for value, new in values.items() if _is_telling(value, ordinary)}
    for value, new in values.items():
        for form, replacement in _forms_of_name(value, new):
            if form not in result and (len(normal_text(form)) >= _LONG or form.casefold() not in ordinary):
                result[form] = replacement
    return result


def candidates(texts: Iterable[str]) -> list[str]:
    """Return the pieces of texts that may be values: words, runs of words, and the fields of tables and literals."""
    pieces: dict[str, None] = {}
    for text in texts:
        for match in _FIELDS.finditer(text):
            pieces[html.unescape(next(filter(None, match.groups()))).strip()] = None
        pieces.update(dict.fromkeys(piece.strip(_SIGNS) for piece in _PIECES.findall(text)))
        plain = html.unescape(_MARKUP.sub(" ", text))
        found = [piece.strip(_SIGNS) for piece in _PIECES.findall(plain)]
        for size in range(1, _MOST_PARTS + 1):
            pieces.update(dict.fromkeys(" ".join(found[at : at + size]) for at in range(len(found) - size + 1)))
        pieces.update(dict.fromkeys(words_of(plain)))
        if len(pieces) > _MOST_CANDIDATES:
            break
    short = (piece for piece in pieces if _SHORTEST <= len(piece) <= _LONGEST_CANDIDATE)
    return [piece for piece, _ in zip(short, range(_MOST_CANDIDATES), strict=False)]


def _is_telling(value: str, ordinary: Collection[str]) -> bool:
    normal = normal_text(value)
    if len(normal) >= _LONG:
        return True
    if len(value) < _SHORTEST or not normal or normal in _CONSTANTS or is_placeholder(value):
        return False
    if len(normal) >= _IDENTIFIER and any(map(str.isdigit, normal)):
        return True
    return value.casefold() not in ordinary


def _forms_of_name(value: str, replacement: str) -> Iterator[tuple[str, str]]:
    """Yield a name with the family name first, and its parts, each with its part of the replacement."""
    words = value.split()
    is_name = 2 <= len(words) <= _MOST_PARTS and all(
        word[0].isupper() and all(letter.isalpha() or letter in "-.'\u2019" for letter in word) for word in words
    )
    if not is_name:
        return
    new = replacement.split()
    has_parts = len(new) == len(words)
    for front, back in ((words[-1], words[:-1]), (words[0], words[1:])):
        turned = f"{new[-1]}, {' '.join(new[:-1])}" if has_parts else replacement
        yield f"{front}, {' '.join(back)}", turned
    for number, word in enumerate(words):
        part = word.strip(".")
        if len(part) >= _SHORTEST_PART:
            yield part, new[number].strip(".") if has_parts else replacement


def _words_of_body(headers: HeaderList, body: bytes) -> Iterator[str]:
    text = decompress_body(headers, body).decode("utf-8", "replace")
    try:
        waiting: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        yield from (tag.casefold() for tag in _TAG.findall(text))
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield from (name.casefold() for name in value)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif value is not None:
            yield str(value).casefold()
