"""Values that stand beside the name of a credential without a plain sign between them.

These are sentences and tables (`the token is ...`, `| password | ...`), settings (`ENV API_KEY ...`, `requirepass`),
pairs of texts in code (`setenv("API_TOKEN", "...")`), and declarations (`api_key: str = "..."`, `token <- "..."`,
`password: |` with the value in the next line). Only strong values count, since the words are common.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shaped import ShapedCredential
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import Place

_LONGEST: Final = 1_024  # characters of a match that begins at the end of a slice
_WORD: Final = (
    r"(?:[Pp](?i:ass(?:w(?:or)?d|phrase|code)?|wd)|[Ss](?i:ecret)|[Tt](?i:oken)|[Kk](?i:ey)|[Aa](?i:uthorization|uth)"
    r"|[Cc](?i:redential)|[Ii](?i:dentified by))"
)
_QUOTE: Final = r"\\{0,8}+[\"'`]"
_SIGN: Final = "|".join(
    (
        rf"{_QUOTE}\s{{0,20}}+,\s{{0,20}}+[bru]{{0,2}}{_QUOTE}",  # a pair of texts
        r"[\"'`*]{0,3}+[ \t]{1,60}+(?:(?:is|was)[ \t]{1,4}+|[|→][ \t]{0,60}+|-{1,2}+>[ \t]{0,8}+)?[\"'`*]{0,3}+",
        r"[|][ \t]{0,60}+[\"'`]?",
        r"[ \t]{0,8}+<-[ \t]{0,8}+[\"']",
        r"[ \t]?:[ \t]?[A-Za-z_][\w.\[\], |]{0,60}+=[ \t]{0,8}+[bru]{0,2}[\"']",  # the type between name and value
        r"[\"']?:[ \t]{1,8}+[|>][-+0-9]{0,2}+[ \t]{0,8}+\r?\n[ \t]{1,80}+",  # a block of YAML
        r"[ \t]{0,8}+(?:[?+]|\|\|)=[ \t]{0,8}+[\"']?",
        r"[\"']?\]?[ \t]{0,8}+[=:][ \t]{0,8}+[\w.]{0,40}+\(\s{0,40}+[bru]{0,2}[\"']",  # in brackets, or within a call
        r"[\"']?\]?[ \t]{0,8}+=[ \t]{0,8}+[\w.]{1,60}+(?:\([^()\n]{0,80}+\))?[ \t]{1,8}+(?:or|\|\||\?\?)[ \t]{1,8}+"
        r"[\"']",
        r"[ \t]{1,8}+\*?(?:string|str|String)[ \t]?=[ \t]?[\"'`]",
        r"[\"']?:[ \t]{1,8}+!{1,2}+[\w:.,/]{0,40}+[ \t]{1,8}+[\"']?",  # a type in YAML
        r"[\"']?[ \t]{0,8}+\r?\n[ \t]{1,40}+(?:value|default)[ \t]?:[ \t]{0,8}+[\"']?",  # a pair in YAML
    )
)
_FIELD: Final = rf"{_WORD}[\w-]{{0,24}}+(?:{_SIGN})([A-Za-z0-9+/_.~!@#$%^*-]{{12,1024}}+={{0,2}})(?![{{(<\[])"
_LONGEST_NAME: Final = 80
_LONG_ENOUGH: Final = 20  # characters of a value without a digit, which may be a word of code
_PLAIN_WORD: Final = r"(?i)(?:key|auth|pass)s?\Z"
_BEFORE_KEY: Final = (
    r"(?i)(?:api|access|secret|private|auth|account|master|encryption|signing|subscription|shared)[ _-]\Z"
)


def loose_fields(text: str) -> Iterator[ShapedCredential]:
    """Yield the strong values after names of credentials."""
    for match in matches_in(_FIELD, text, longest=_LONGEST):
        value = match[1].rstrip(".:,!?")
        if grade(value) is not Strength.STRONG or not (len(value) >= _LONG_ENOUGH or compiled("[0-9]").search(value)):
            continue
        first = max(0, match.start() - _LONGEST_NAME)
        written = text[match.start() : match.start(1)]
        word = compiled(r"[\w-]+").match(written)[0]  # type: ignore[index]
        before = compiled(r"[\w.-]*\Z").search(text[first : match.start()])[0]  # type: ignore[index]
        name = "password" if word.lower().startswith("identified") else before + word
        if compiled(_PLAIN_WORD).fullmatch(name):  # a key of what?
            owner = compiled(_BEFORE_KEY).search(text[first : match.start()])
            if owner is None:
                continue
            name = owner[0].strip() + "_" + name
        kind = secret_kind(name, value, Place.JSON)
        if kind is not None:
            start = match.start(1)
            yield ShapedCredential(start, start + len(value), kind, "secret field", value)
