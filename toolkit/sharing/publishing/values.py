"""Decide which of the values that the rules replaced in recordings are replaced in all texts of a notebook.

A long value is replaced wherever it stands. A short one is, too, unless it is an ordinary word: "USD" may be the name
of an account, and then most of its places mean the currency. What is ordinary is learned from the recordings
themselves: names of fields, segments of paths, and values of other fields.
"""

from __future__ import annotations

import html
import html.entities
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote, urlsplit

from toolkit.cassettes.format.interactions import Interaction
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import HeaderList
from toolkit.scrubbing.vocabulary import is_placeholder
from toolkit.sharing.publishing.replacements import in_case_of, is_unspaced, normal_text, words_of

_SHORTEST: Final = 3  # characters of a value that is replaced where no rule finds it
_SHORTEST_PART: Final = 3  # letters of a part of a name
_MOST_PARTS: Final = 4  # words of a value that may be the name of a person
_LONG: Final = 8  # letters and digits; as in `replacements`
_IDENTIFIER: Final = 6  # letters and digits of which one is a digit: not a word, an amount or a year
_TELLING_PART: Final = 6  # letters of a part of a name that is not taken for another word in small letters
_PHONE: Final = re.compile(r"\+\d[\d\s()./-]{7,25}")
_DIGRAPHS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"})
_ENTITIES: Final = {chr(code): f"&{name};" for code, name in html.entities.codepoint2name.items() if code > 127}
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
        for form, replacement in (*_forms_of_name(value, new), *_forms_of_number(value, new)):
            if len(normal_text(form)) >= _LONG or form.casefold() not in ordinary:
                result.setdefault(form, replacement)
    for value, new in parts_of_names(values, ordinary).items():
        for form in (value.upper(), value)[: 2 if len(value) >= _TELLING_PART else 1]:
            result.setdefault(form, in_case_of(form, new))
    return {form: new for value, new in result.items() for form in _written_forms(value)}


def parts_of_names(values: Mapping[str, str], ordinary: Collection[str]) -> dict[str, str]:
    """Return the parts of names of persons that are not ordinary words, each with its part of the replacement."""
    pairs = (pair for value, new in values.items() for pair in _parts_of_name(value, new))
    return {normal_text(part): new for part, new in pairs if part.casefold() not in ordinary}


def candidates(texts: Iterable[str]) -> list[str]:
    """Return the pieces of texts that may be values: words, runs of words, and the fields of tables and literals."""
    pieces: dict[str, None] = {}
    for text in texts:
        for match in _FIELDS.finditer(text):
            pieces[html.unescape(next(filter(None, match.groups()))).strip()] = None
        pieces.update(dict.fromkeys(piece.strip(_SIGNS) for piece in _PIECES.findall(text)))
        plain = html.unescape(_MARKUP.sub(" ", text))
        parts = [piece.strip(_SIGNS) for piece in _PIECES.findall(plain)]
        for size in range(1, _MOST_PARTS + 1):
            pieces.update(dict.fromkeys(" ".join(parts[at : at + size]) for at in range(len(parts) - size + 1)))
        pieces.update(dict.fromkeys(words_of(plain)))
        if len(pieces) > _MOST_CANDIDATES:
            break
    short = (piece for piece in pieces if _SHORTEST <= len(piece) <= _LONGEST_CANDIDATE)
    return [piece for piece, _ in zip(short, range(_MOST_CANDIDATES), strict=False)]


def _is_telling(value: str, ordinary: Collection[str]) -> bool:
    normal = normal_text(value)
    if len(normal) >= _LONG:
        return True
    if is_unspaced(normal):
        return True
    if len(value) < _SHORTEST or not normal or normal in _CONSTANTS or is_placeholder(value):
        return False
    if len(normal) >= _IDENTIFIER and any(map(str.isdigit, normal)):
        return True
    return value.casefold() not in ordinary


def _forms_of_name(value: str, replacement: str) -> Iterator[tuple[str, str]]:
    """Yield a name with the family name first, and its parts, each with its part of the replacement."""
    yield from _parts_of_name(value, replacement)
    if (name := _given_name_first(value)) != value:
        yield name, _given_name_first(replacement)
    words, new = name.split(), _given_name_first(replacement).split()
    if not _is_name(words):
        return
    for front, back in ((words[-1], words[:-1]), (words[0], words[1:])):
        turned = f"{new[-1]}, {' '.join(new[:-1])}" if len(new) == len(words) else replacement
        yield f"{front}, {' '.join(back)}", turned


def _parts_of_name(value: str, replacement: str) -> Iterator[tuple[str, str]]:
    words, new = _given_name_first(value).split(), _given_name_first(replacement).split()
    unspaced = len(words) > 1 and all(map(is_unspaced, words))
    for number, word in enumerate(words if unspaced or _is_name(words) else ()):
        part = word.strip(".")
        if len(part) >= _SHORTEST_PART or (unspaced and is_unspaced(part)):
            yield part, new[number].strip(".") if len(new) == len(words) else replacement


def _given_name_first(name: str) -> str:
    """Return a name without its comma if the family name is before one."""
    family, comma, given = name.partition(", ")
    return f"{given} {family}" if comma and "," not in given and _is_name([*given.split(), *family.split()]) else name


def _is_name(words: list[str]) -> bool:
    return 2 <= len(words) <= _MOST_PARTS and all(
        word[0].isupper() and all(letter.isalpha() or letter in "-.'\u2019" for letter in word) for word in words
    )


def _written_forms(value: str) -> Iterator[str]:
    """Yield a value, and as JSON, URLs and HTML may write it: the recorder does this for long values only."""
    yield value
    if not value.isascii():
        yield value.translate(_DIGRAPHS)
        yield json.dumps(value)[1:-1]
        yield value.encode("ascii", "xmlcharrefreplace").decode()
        yield "".join(_ENTITIES.get(letter, letter) for letter in value)
    yield quote(value, safe="")
    yield quote_plus(value)


def _forms_of_number(value: str, replacement: str) -> Iterator[tuple[str, str]]:
    """Yield a number without its leading zeros, as computing leaves it, and a phone number as dialled at home."""
    if value.isascii() and value.isdecimal() and value[0] == "0" and len(value.lstrip("0")) >= _IDENTIFIER + 1:
        yield value.lstrip("0"), (replacement.lstrip("0") or "0") if replacement.isdecimal() else replacement
    if _PHONE.fullmatch(value):
        digits = normal_text(value)
        yield f"00{digits}", replacement
        for size in (1, 2, 3):  # digits of the code of a country
            code, rest = digits[:size], digits[size:]
            for form in (f"0{rest}", f"+{code}0{rest}", f"({rest}"):
                if len(normal_text(form)) > _LONG:
                    yield form, replacement


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
