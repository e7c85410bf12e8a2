"""The normal form of a text: its letters and digits in lower case, and every byte beyond ASCII.

A secret keeps its normal form when it is broken into lines, written in another case, with separators or in the other
alphabet of base64. Positions in the normal form lead back to the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Final, cast

from toolkit.core.patterns import compiled

SLICE: Final = 1 << 18  # bytes for one call of a function in C, during which no other thread runs
_LARGE: Final = 1 << 15  # bytes above which numpy pays
_LETTERS_AND_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DROPPED: Final = bytes(sorted(set(range(0x80)) - set(_LETTERS_AND_DIGITS)))
_LOWER: Final = bytes(range(256)).lower()
# What quoting, escaping, encoding as a form and breaking into lines add to a text or take from it.
LOOSE: Final = b"\\'\"+\0 \t\n\r\x0b\x0c"


def normal_form(data: bytes) -> bytes:
    """Return the letters and digits of `data` in lower case, and its bytes beyond ASCII."""
    return _translated(data, _LOWER, _DROPPED)


def cased_form(data: bytes) -> bytes:
    """Return the normal form with capital letters as they are."""
    return _translated(data, None, _DROPPED)


def exact_form(data: bytes) -> bytes:
    """Return `data` without quotes, backslashes, plus signs, white space and null bytes."""
    return _translated(data, None, LOOSE)


def _translated(data: bytes, table: bytes | None, dropped: bytes) -> bytes:
    if len(data) <= SLICE:
        return data.translate(table, dropped)
    return b"".join(data[at : at + SLICE].translate(table, dropped) for at in range(0, len(data), SLICE))


def _flags(dropped: bytes) -> bytes:
    return bytes(byte not in dropped for byte in range(256))


_IN_NORMAL_FORM: Final = _flags(_DROPPED)
_IN_EXACT_FORM: Final = _flags(LOOSE)


def normal_positions(data: bytes) -> Sequence[int]:
    """Return where in `data` each byte of its normal form stands."""
    return _positions(data, _IN_NORMAL_FORM)


def exact_positions(data: bytes) -> Sequence[int]:
    """Return where in `data` each byte of its exact form stands."""
    return _positions(data, _IN_EXACT_FORM)


def _positions(data: bytes, flags: bytes) -> Sequence[int]:
    if len(data) < _LARGE:
        return list(compress(range(len(data)), data.translate(flags)))
    import numpy as np

    parts = [
        np.flatnonzero(np.frombuffer(data[at : at + SLICE].translate(flags), bool)) + at
        for at in range(0, len(data), SLICE)
    ]
    return cast("Sequence[int]", np.concatenate(parts))


def margins(data: bytes) -> tuple[bytes, bytes]:
    """Return the bytes of `data` before the first and after the last byte of its normal form."""
    first = compiled(rb"\A[\x00-/:-@\[-`{-\x7f]*+").match(data)
    length = len(first[0]) if first else 0
    after = len(data) - len(data.rstrip(_DROPPED))
    return data[:length], data[max(length, len(data) - after) :]
