"""The normal form of a text, which is used to search for secrets.

The normal form consists of the ASCII letters and digits of a text, in lower case, and its non-ASCII bytes. It stays the
same when a secret is broken into lines, or written in another case, with separators or in the other base64 alphabet.
Positions in the normal form can be mapped back to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import AnyStr, Final

_LETTERS_AND_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DROPPED: Final = bytes(sorted(set(range(0x80)) - set(_LETTERS_AND_DIGITS)))
_LOWER: Final = bytes(range(256)).lower()
# What quoting, escaping, form encoding and line breaking add to a text or remove from it.
LOOSE: Final = b"\\'\"+\0 \t\n\r\x0b\x0c"
CONTROLS: Final = bytes(byte for byte in (*range(1, 32), 127) if byte not in b"\t\n\v\f\r\x1b")
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16
_LEAST_ZEROS: Final = 4  # in UTF-16, more than one byte in this many is zero


def normal_form(data: bytes) -> bytes:
    """Return the letters and digits of `data` in lower case, and its non-ASCII bytes."""
    return data.translate(_LOWER, _DROPPED)


def cased_form(data: bytes) -> bytes:
    """Return the normal form, but with capital letters unchanged."""
    return data.translate(None, _DROPPED)


def exact_form(data: bytes) -> bytes:
    """Return `data` without quotes, backslashes, plus signs, white space and null bytes."""
    return data.translate(None, LOOSE)


def spliced(text: AnyStr, spans: Iterable[tuple[int, int, AnyStr]]) -> AnyStr:
    """Return a text with spans replaced; each span is a start, an end and a replacement, in order of the starts.

    A span that begins within the previous one is ignored. If there are no spans, the text itself is returned.
    """
    pieces: list[AnyStr] = []
    done = 0
    for start, end, written in spans:
        if start >= done:
            pieces += [text[done:start], written]
            done = end
    return text[:0].join((*pieces, text[done:])) if pieces else text  # type: ignore[arg-type]


def flags_of(characters: bytes) -> bytes:
    """Return a table for `bytes.translate` that maps these bytes to 1 and all others to 0."""
    return bytes(byte in characters for byte in range(256))


def is_text(data: bytes) -> bool:
    """Check whether data is UTF-8 or UTF-16 text; it may end in the middle of a character."""
    if has_controls(data):
        return False
    if is_wide(data):
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
    return b"\0" not in data


def is_wide(data: bytes) -> bool:
    """Check whether data seems to be UTF-16 text."""
    return data.startswith(_MARKS) or data.count(0) * _LEAST_ZEROS > len(data)


def has_controls(data: bytes) -> bool:
    """Check whether data contains control characters that do not occur in text."""
    return len(data.translate(None, CONTROLS)) != len(data)


_IN_NORMAL_FORM: Final = bytes(1 - flag for flag in flags_of(_DROPPED))


def normal_positions(data: bytes) -> Sequence[int]:
    """Return the position in `data` of each byte of its normal form."""
    return list(compress(range(len(data)), data.translate(_IN_NORMAL_FORM)))


def margins(data: bytes) -> tuple[bytes, bytes]:
    """Return the bytes of `data` before the first and after the last byte of its normal form."""
    first = re.compile(rb"\A[\x00-/:-@\[-`{-\x7f]*+").match(data)
    length = len(first[0]) if first else 0
    after = len(data) - len(data.rstrip(_DROPPED))
    return data[:length], data[max(length, len(data) - after) :]
