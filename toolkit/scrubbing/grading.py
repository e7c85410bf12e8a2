"""Decide whether a value is a secret: by its name and its strength together.

The recorder and `tk.scan` both ask here, so that a scan finds what the recorder replaces.
"""

from __future__ import annotations

import re
from typing import Final

from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import (
    Place,
    credential_kind,
    is_core_name,
    is_placeholder,
    needs_strong_value,
    normal_name,
)

_LONG_ENOUGH: Final = 16  # characters
# The words of a wallet (BIP 39): secret, although they are words.
_MNEMONIC_NAMES: Final = frozenset(
    {"mnemonic", "seed", "seedphrase", "recoveryphrase", "mnemonicphrase", "secretphrase"}
)
_PRIVATE_EXPONENT: Final = re.compile(r"[A-Za-z0-9_-]{40,}={0,2}")  # of a JWK (RFC 7518); one letter names much else
_MNEMONIC: Final = re.compile(r"[a-z]{3,8}(?: [a-z]{3,8}){11,23}")


def secret_kind(name: str, value: str, place: Place) -> str | None:
    """Return the kind of secret that a value is under this name, or None.

    A value with a kind is a secret wherever it occurs. Others are at most replaced in their place.
    """
    kind = credential_kind(name, place)
    if kind is None or is_placeholder(value):
        return None
    if normal_name(name) == "d" and _PRIVATE_EXPONENT.fullmatch(value) is None:
        return None
    strength = grade(value)
    if strength is Strength.STRONG:
        # A short text under a doubtful name is more often the identifier of something.
        return kind if len(value) >= _LONG_ENOUGH or not needs_strong_value(name, place) else None
    if strength is Strength.LOOKALIKE:
        # A token in a document may be that of a blockchain, which has an address.
        is_address = value.startswith("0x") and place is Place.JSON and normal_name(name).endswith("token")
        return kind if is_core_name(name, place) and not is_address else None
    if normal_name(name) in _MNEMONIC_NAMES and _MNEMONIC.fullmatch(value):
        return kind
    return None
