"""Credentials that code passes by position: `tk.KeyPair("AK...", "...")`, `auth=("me", "...")`, `set_token("...")`.

The arguments may stand in several lines, and the code in a notebook's JSON, where its quotes have backslashes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shaped import ShapedCredential
from toolkit.scrubbing.strength import Strength, grade

_WHAT: Final = "credentials in a call"
_CALL: Final = (
    r"([KSATCPLksatcpl](?i:ey_?pair|ecret|uth|oken|redentials?|lient_?(?:key|secret)|assword|ogin|pi_?key|ey)[A-Za-z]{0,16}+)"
    r"(?:[ ]?=[ ]?)?\("
)
_LONGEST_CALL: Final = 2_000  # characters of its arguments
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


def arguments_of_calls(text: str) -> Iterator[ShapedCredential]:
    """Yield the credentials among the texts that code passes to functions with names of credentials."""
    if "(" not in text:
        return
    for call in matches_in(_CALL, text, longest=_LONGEST_NAME):
        start = call.end()
        end = text.find(")", start, start + _LONGEST_CALL)
        end = start + _LONGEST_CALL if end < 0 else end
        callee = call[1].lower().replace("_", "")
        kinds = _OWN.get(callee)
        for position, argument in enumerate(compiled(_ARGUMENT).finditer(text, start, end)):
            if argument[1]:  # its name is beside it, and says what it is
                break
            if kinds is None:
                kind = next(kind for part, kind in _KINDS if part in callee)
                is_credential = grade(argument[2]) is Strength.STRONG
            else:
                kind = kinds[position] if position < len(kinds) else None
                is_credential = kind is not None and grade(argument[2]) is not Strength.WEAK
            if is_credential and kind is not None:
                yield ShapedCredential(*argument.span(2), kind, _WHAT, argument[2])
