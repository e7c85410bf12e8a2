"""Decide whether a value is a credential: by its name, its strength and the message in which it stands.

The recorder and `tk.scan` both ask here, so that a scan finds what the recorder replaces.
"""

from __future__ import annotations

import base64
import re
from enum import Enum
from typing import Final, NamedTuple

from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.strength import Strength, grade, is_dummy
from toolkit.scrubbing.vocabulary import (
    COOKIE,
    Place,
    credential_kind,
    is_core_name,
    is_placeholder,
    needs_strong_value,
    normal_name,
)

_TO_STANDARD: Final = str.maketrans("-_", "+/")  # from the alphabet of base64 for URLs
_LONG_ENOUGH: Final = 16  # characters
# The words of a wallet (BIP 39): secret, although they are words.
_MNEMONIC_NAMES: Final = frozenset(
    {"mnemonic", "seed", "seedphrase", "recoveryphrase", "mnemonicphrase", "secretphrase"}
)
_PRIVATE_EXPONENT: Final = re.compile(r"[A-Za-z0-9_-]{40,}={0,2}")  # of a JWK (RFC 7518); one letter names much else
_MNEMONIC: Final = re.compile(r"[a-z]{3,8}(?: [a-z]{3,8}){11,23}")
_PATH: Final = re.compile(r"/?(?:[\w.-]+/)*[a-z][a-z_-]{3,}/.*|/.*")  # of a file or an object of storage
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,20}+(?:\.[0-9]{1,20}+)?")
_DIGITS_COUNT: Final = frozenset({"PASSWORD", "PIN", "OTP"})  # kinds of what people type in digits
_NO_VALUES: Final = frozenset(
    "required optional invalid missing string null none nil true false bearer basic mac undefined unknown empty n/a yes"
    " no boolean integer number object array text password hidden jwt".split()
)
_SENTENCE: Final = re.compile(r"\S+(?:\s+\S+){2}")
_LABEL: Final = re.compile(r"\D+\s\D+|[*x•.]+|(?i:redacted|masked|filtered|removed|scrubbed)")
# Words, also with numbers as in examples, and texts in other scripts.
_WORDS: Final = re.compile(r"[^0-9]*|.*[^\x00-\x7f].*|(?:password|passwd|secret|token|key|test)[0-9]{1,4}", re.DOTALL)
_STATE_OF_COOKIE: Final = re.compile(r"(?:[A-Za-z]{1,12}[_-]?){0,3}|[0-9]{1,4}|[a-z]{2}[-_][A-Z]{2}")


class MessageKind(Enum):
    """What a message is: a request, an answer, or an answer with a status of 400 or more, which talks about errors."""

    REQUEST = "request"
    ANSWER = "answer"
    ERROR = "error"


class Decision(NamedTuple):
    """What a value is.

    Attributes:
        kind: its kind of credential, as placeholders name it.
        is_everywhere: True if it is replaced in the rest of the recording too, since no other text is like it.
        is_weak: True if it counts for its place only, however weak it is.
    """

    kind: str
    is_everywhere: bool
    is_weak: bool


def secret_kind(name: str, value: str, place: Place) -> str | None:
    """Return the kind of secret that a strong value is under this name, or None."""
    if credential_kind(name, place) is None or is_placeholder(value):
        return None
    return _kind_of_strength(name, value, place, grade(value))


def _kind_of_strength(name: str, value: str, place: Place, strength: Strength) -> str | None:
    kind = credential_kind(name, place) or ""
    if normal_name(name) == "d" and _PRIVATE_EXPONENT.fullmatch(value) is None:
        return None
    if kind == "AUTHORIZATION" and is_weak_pair(value.rpartition(" ")[2]):
        return None
    if strength is Strength.STRONG:
        # A short text under a doubtful name is more often the identifier of something.
        if needs_strong_value(name, place) and (len(value) < _LONG_ENOUGH or _PATH.fullmatch(value)):
            return None
        return kind
    if strength is Strength.LOOKALIKE:
        # A token in a document may be that of a blockchain, which has an address.
        is_address = value.startswith("0x") and place is Place.JSON and normal_name(name).endswith("token")
        return kind if is_core_name(name, place) and not is_address else None
    if normal_name(name) in _MNEMONIC_NAMES and _MNEMONIC.fullmatch(value):
        return kind
    return None


def decision_on(name: str, value: str, place: Place, message: MessageKind) -> Decision | None:
    """Return what a value beside a name is in a message, or None if it is not a credential."""
    kind = credential_kind(name, place)
    if kind is None or not value.strip() or is_placeholder(value):
        return None
    strength = grade(value)
    if _kind_of_strength(name, value, place, strength) is not None:
        is_certain = place is Place.COOKIE or is_core_name(name, place)
        is_everywhere = is_certain and strength is Strength.STRONG
        return Decision(kind, is_everywhere, is_weak=False)
    if place is Place.COOKIE:
        is_state = credential_kind(name, Place.JSON) is None and _STATE_OF_COOKIE.fullmatch(value)
        return None if is_state else Decision(COOKIE, is_everywhere=False, is_weak=False)
    return Decision(kind, is_everywhere=False, is_weak=True) if _counts(name, kind, value, place, message) else None


def _counts(name: str, kind: str, value: str, place: Place, message: MessageKind) -> bool:
    """Check whether a weak value counts, because its name can only be that of a credential."""
    is_core = is_core_name(name, place)
    if needs_strong_value(name, place) or not (is_core or message is MessageKind.REQUEST):
        return False
    if value.strip().lower() in _NO_VALUES:
        return False
    if _NUMBER.fullmatch(value) and not is_core and kind not in _DIGITS_COUNT:
        return False
    if message is MessageKind.REQUEST:
        # A token may also be a currency or a word.
        return not (name.lower() == "tokens" or (name.lower() == "token" and len(value) < SHORTEST_SECRET))
    if _SENTENCE.match(value.strip()) or _LABEL.fullmatch(value.strip()):
        return False
    is_word = len(value) < SHORTEST_SECRET or is_dummy(value) or _WORDS.fullmatch(value) is not None
    return not (message is MessageKind.ERROR and is_word)


def is_weak_pair(value: str) -> bool:
    """Check whether a value is a user name and a weak password in base64, which only looks random."""
    password = password_of_pair(value)
    return bool(password) and grade(password) is Strength.WEAK


def password_of_pair(written: str) -> str:
    """Return the password of a pair in base64 (RFC 7617), or "" if the text is not a pair."""
    core = written.rstrip("=").translate(_TO_STANDARD)
    try:
        pair = base64.b64decode(core + "=" * (-len(core) % 4)).decode("utf-8")
    except ValueError:
        return ""
    return pair.partition(":")[2] if pair.isprintable() else ""
