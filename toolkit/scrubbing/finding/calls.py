"""Credentials that code passes by position: `tk.KeyPair("AK...", "...")`, `auth=("me", "...")`, `set_token("...")`.

The arguments may stand in several lines, and the code in a notebook's JSON, where its quotes have backslashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shaped import ShapedCredential
from toolkit.scrubbing.strength import Strength, grade

_WHAT: Final = "credentials in a call"
# Words of names of functions; each begins a pattern, and is searched for by itself.
_WORDS: Final = tuple(
    word.encode() for word in "key_pair keypair secret auth token credential password login connect fernet key".split()
)
_AFTER_WORD: Final = rb"[a-z_]{0,16}+(?:[ ]?=[ ]?)?\("
_FIRST_TEXT: Final = r"[^\"'()]{0,100}+[\"']"
_LONGEST_CALL: Final = 600  # characters of its arguments
_MOST_ARGUMENTS: Final = 6
_LONGEST_NAME: Final = 60
_ARGUMENT: Final = r"((?<![\w.])\w{1,40}+\s{0,8}+=\s{0,8}+)?\\{0,8}+[\"']([^\s\"'\\(){}\[\],;<>]{1,1024}+)\\{0,8}+[\"']"
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
            for call in matches_in(word + _AFTER_WORD, shadow, longest=_LONGEST_NAME):
                yield from _credentials_of(text, shadow, call.start(), call.end())


def _credentials_of(text: str, shadow: bytes, word: int, start: int) -> Iterator[ShapedCredential]:
    """Yield the credentials of a call, given the positions of a word in its name and of its arguments."""
    first = compiled(rb"[a-z0-9_]*\Z").search(shadow[max(0, word - _LONGEST_NAME) : word])
    callee = (first[0] if first else b"") + shadow[word:start]
    name = callee.rstrip(b"= (").replace(b"_", b"").decode()
    if not compiled(_FIRST_TEXT).match(text, start):
        return
    kinds = _OWN.get(name)
    end = text.find(")", start, start + _LONGEST_CALL)
    end = start + _LONGEST_CALL if end < 0 else end
    for position, argument in enumerate(islice(compiled(_ARGUMENT).finditer(text, start, end), _MOST_ARGUMENTS)):
        if argument[1]:  # its name is beside it, and says what it is
            break
        if kinds is None:
            kind = next((kind for part, kind in _KINDS if part in name), None)
            is_credential = grade(argument[2]) is Strength.STRONG
        else:
            kind = kinds[position] if position < len(kinds) else None
            is_credential = kind is not None and grade(argument[2]) is not Strength.WEAK
        if is_credential and kind is not None:
            yield ShapedCredential(*argument.span(2), kind, _WHAT, argument[2])
