"""Credentials that code passes by position: `tk.KeyPair("AK...", "...")`, `auth=("me", "...")`, `set_token("...")`.

The arguments may stand in several lines, and the code in a notebook's JSON, where its quotes have backslashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shapes import ShapedCredential
from toolkit.scrubbing.strength import Strength, grade

_WHAT: Final = "credentials in a call"
# Words of names of functions; each begins a pattern, and is searched for by itself.
_WORDS: Final = tuple(
    word.encode() for word in "key_pair keypair secret auth token credential password login connect fernet key".split()
)
_AFTER_WORD: Final = rb"[a-z_]{0,16}+(?:[ ]?=[ ]?)?\("
_FIRST_TEXT: Final = r"(?:#[ ][^\n\\]*+|[^\"'()#]){0,100}+[\"']"
_LONGEST_CALL: Final = 600  # characters of its arguments
_MOST_PARTS: Final = 8  # arguments and comments
_LONGEST_NAME: Final = 60
# An argument in quotes, perhaps with its name; a comment; the end of the arguments.
_PART: Final = (
    r"((?<![\w.])\w{1,40}+\s{0,8}+=\s{0,8}+)?\\{0,8}+[\"']([^\s\"'\\(){}\[\],;<>]{1,1024}+)\\{0,8}+[\"']"
    r"|(?<=\s)#[ ][^\n\\]*+|\)"
)
# Our own constructors by their names in small letters: the kinds of their arguments by position.
_OWN: Final = {
    "keypair": ("API_KEY_ID", "API_SECRET_KEY"),
    "clientsecret": (None, "CLIENT_SECRET"),
    "clientkey": (None, "PRIVATE_KEY"),
    "secret": ("SECRET",),
}
_KINDS: Final = (("secret", "SECRET"), ("token", "ACCESS_TOKEN"), ("key", "API_KEY"), ("", "PASSWORD"))


def arguments_of_calls(text: str, shadow: bytes) -> Iterator[ShapedCredential]:
    """Yield the credentials among the texts that code passes to functions, given a text and its shadow."""
    if b"(" not in shadow:
        return
    for word in _WORDS:
        if word in shadow:
            calls = matches_in(word + _AFTER_WORD, shadow, longest=_LONGEST_NAME)
            spans = (call.span() for call in calls)
            # The arguments end where those of another call begin, so that no text is searched for both.
            for (start, end), (following, _) in pairwise(chain(spans, [(len(text), 0)])):
                yield from _credentials_of(text, shadow, start, end, min(end + _LONGEST_CALL, following))


def _credentials_of(text: str, shadow: bytes, word: int, start: int, end: int) -> Iterator[ShapedCredential]:
    """Yield the credentials of a call, given where a word of its name starts, and its arguments start and end."""
    first = compiled(rb"[a-z0-9_]*\Z").search(shadow[max(0, word - _LONGEST_NAME) : word])
    callee = (first[0] if first else b"") + shadow[word:start]
    name = callee.rstrip(b"= (").replace(b"_", b"").decode()
    if not compiled(_FIRST_TEXT).match(text, start, end):
        return
    kinds = _OWN.get(name)
    position = -1
    for part in islice(compiled(_PART).finditer(text, start, end), _MOST_PARTS):
        if part[0] == ")" or part[1]:  # a name beside an argument says what it is
            break
        argument = part[2]
        if argument is None:
            continue
        position += 1
        if kinds is None:
            kind = next((kind for part, kind in _KINDS if part in name), None)
            is_credential = grade(argument) is Strength.STRONG
        else:
            kind = kinds[position] if position < len(kinds) else None
            is_credential = kind is not None and grade(argument) is not Strength.WEAK
        if is_credential and kind is not None:
            yield ShapedCredential(*part.span(2), kind, _WHAT, argument)
