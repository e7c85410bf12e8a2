"""Values that stand beside the name of a credential without a plain sign between them.

These are sentences and tables (`the token is ...`, `| password | ...`), settings (`ENV API_KEY ...`, `requirepass`),
pairs of texts in code (`setenv("API_TOKEN", "...")`), and declarations (`api_key: str = "..."`, `token <- "..."`,
`password: |` with the value in the next line). Only strong values count, since the words are common.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shapes import ShapedCredential
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import Place

_LONGEST: Final = 1_024  # characters of a match that begins at the end of a slice
# Beginnings of words of names; each begins a pattern, and is searched for by itself.
_WORDS: Final = ("pass", "pwd", "secret", "token", "key", "auth", "credential", "identified by")
_QUOTE: Final = r"\\{0,8}+[\"'`]"
_OR: Final = r"[ \t]{1,8}+(?:or|\|\||\?\?)[ \t]{1,8}+"
_SIGN: Final = "|".join(
    (
        rf"{_QUOTE}\s{{0,20}}+,\s{{0,20}}+[bru]{{0,2}}{_QUOTE}",  # a pair of texts
        r"[\"'`*]{0,3}+[ \t]{1,60}+(?:(?:is|was)[ \t]{1,4}+|[|][ \t]{0,60}+|-{1,2}+>[ \t]{0,8}+)?[\"'`*]{0,3}+",
        r"[|][ \t]{0,60}+[\"'`]?",
        r":?[*`_]{1,3}+:?[ \t]{1,8}+[*`]{0,3}+",  # a name in bold
        r"[,;](?=[^\s,;\"']{12,1024}+[ \t]{0,8}+(?:[\r\n]|\Z))",  # a row of a table
        r"[ \t]{0,8}+<-[ \t]{0,8}+[\"']",
        # the type between name and value
        r"[ \t]?:[ \t]?(?:&(?:'\w{1,10}[ ])?)?[a-z_][\w.\[\], |]{0,60}+=[ \t]{0,8}+[bru]{0,2}[\"']",
        r"[\"']?:[ \t]{1,8}+[|>][-+0-9]{0,2}+[ \t]{0,8}+\r?\n[ \t]{1,80}+",  # a block of YAML
        r"[ \t]{0,8}+(?:[?+]|\|\|)=[ \t]{0,8}+[\"']?",
        r"[\"']?\]?[ \t]{0,8}+[=:][ \t]{0,8}+[\w.]{0,40}+\(\s{0,40}+[bru]{0,2}[\"']",  # in brackets, or within a call
        rf"[\"']?\]?[ \t]{{0,8}}+=[ \t]{{0,8}}+[\w.]{{1,60}}+(?:\([^()\n]{{0,80}}+\))?{_OR}[\"']",
        r"[\"'][ \t][^<>\n]{0,120}?(?<=[ \t])value=[\"']",  # of an element
        r"[ \t]{1,8}+\*?(?:string|str)[ \t]?=[ \t]?[\"'`]",
        r"[\"']?:[ \t]{1,8}+!{1,2}+[\w:.,/]{0,40}+[ \t]{1,8}+[\"']?",  # a type in YAML
        r"[\"']?[ \t]{0,8}+\r?\n[ \t]{1,40}+(?:value|default)[ \t]?:[ \t]{0,8}+[\"']?",  # a pair in YAML
    )
)
_AFTER_WORD: Final = rf"[\w-]{{0,24}}+(?:{_SIGN})([a-z0-9+/_.~!@#$%^*-]{{12,1024}}+={{0,2}})(?![{{(<\[])"
_PATTERNS: Final = tuple((word.encode(), (word + _AFTER_WORD).encode()) for word in _WORDS)
_LONGEST_NAME: Final = 80
_LONG_ENOUGH: Final = 20  # characters of a value without a digit, which may be a word of code
_PLAIN_WORD: Final = r"(?i)(?:key|auth|pass)s?\Z"
_BEFORE_KEY: Final = (
    r"(?i)(?:api|access|secret|private|auth|account|master|encryption|signing|subscription|shared)[ _-]\Z"
)


def loose_fields(text: str, shadow: bytes) -> Iterator[ShapedCredential]:
    """Yield the strong values after names of credentials, given a text and its shadow."""
    for word, pattern in _PATTERNS:
        if word in shadow:
            for match in matches_in(pattern, shadow, longest=_LONGEST):
                start = match.start(1)
                value = text[slice(*match.span(1))].rstrip(".:,!?")
                if grade(value) is not Strength.STRONG:
                    continue
                if len(value) < _LONG_ENOUGH and not compiled("[0-9]").search(value):
                    continue
                kind = secret_kind(_name_at(text, match.start(), start), value, Place.JSON)
                if kind is not None:
                    yield ShapedCredential(start, start + len(value), kind, "secret field", value)


def _name_at(text: str, start: int, end: int) -> str:
    """Return the name that the word at a position belongs to; for `key`, with the word before it, such as `api`."""
    word = compiled(r"[\w-]+").match(text, start, end)[0]  # type: ignore[index]
    if word.lower() == "identified":
        return "password"
    before = text[max(0, start - _LONGEST_NAME) : start]
    name = compiled(r"[\w.-]*\Z").search(before)[0] + word  # type: ignore[index]
    if compiled(_PLAIN_WORD).fullmatch(name):
        owner = compiled(_BEFORE_KEY).search(before)
        return owner[0].strip() + "_" + name if owner is not None else ""
    return name
