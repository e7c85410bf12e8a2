"""Undo the codes that write bytes as text: base64, base32, hex, and lists of numbers.

Characters that are foreign to a code are deleted, and the whole is decoded at once, at each position at which a group
of characters may begin. So neither line breaks nor separators matter, and all work is done by a few calls into C.
"""

from __future__ import annotations

import binascii
import re
import sys
from collections.abc import Iterator
from typing import Final

from toolkit.scrubbing.gate.budget import CHUNK

SHORTEST_RUN: Final = 12  # characters: eight bytes in base64
_FEWEST_NUMBERS: Final = 8
_LONGEST_NUMBER: Final = 12  # characters
_SHORTEST64: Final = 11  # characters: eight bytes
_LONG64: Final = 16
_LAST_LINE: Final = 28  # characters of a short last line of base64, with white space before it
_LAST: Final = re.compile(rb"(?:[\r\n]\s{0,60}+[A-Za-z0-9+/_-]++)++")
_LINE_ENDS: Final = (b"\n", b"\r")
_SHORTEST16: Final = 16
_SHORTEST_BASE32: Final = 13  # characters: eight bytes
_LARGE: Final = 1 << 15  # bytes of text for which numpy is loaded
_MEDIUM: Final = 1 << 10

_DIGITS64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_UPPER32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_DIGITS16: Final = b"0123456789ABCDEFabcdef"
_FOR_URLS: Final = bytes.maketrans(b"-_", b"+/")
_FOR_INT: Final = bytes.maketrans(_UPPER32 + _UPPER32.lower(), b"0123456789abcdefghijklmnopqrstuv" * 2)
_RUN32: Final = re.compile(rb"[A-Z2-7]{%d,}+|[a-z2-7]{%d,}+" % (_SHORTEST_BASE32, _SHORTEST_BASE32))
_NUMBERED: Final = (b'"0', b"[0]", b"{0:")
_WORD_ARRAYS: Final = (b'"words"', b"'words'", b"{words", b" words:")
_NEGATIVE: Final = (b"[-", b",-", b", -")


def _others(alphabet: bytes) -> bytes:
    return bytes(byte for byte in range(256) if byte not in alphabet)


def _flags(alphabet: bytes) -> bytes:
    return bytes(byte in alphabet for byte in range(256))


_NOT64: Final = _others(_DIGITS64 + b"-_")
# Digits beside letters are not numbers; the letters of 0b11 and 0o17 are not part of one.
_NUMBERS: Final = bytes(
    byte if 48 <= byte < 58 else 97 if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256)
)
_SIGNED: Final = _NUMBERS[:45] + b"-" + _NUMBERS[46:]
_IS_64: Final = _flags(_DIGITS64 + b"-_")
_NOT16: Final = _others(_DIGITS16)
# Other letters end a segment of hex, signs between its digits do not.
_IS_16: Final = _flags(_DIGITS16)
_SEGMENT16: Final = re.compile(rb"\x01" * _SHORTEST16 + rb"\x01*+")
_SEPARATORS: Final = bytes(byte for byte in range(128) if not chr(byte).isalpha() and byte not in _DIGITS16)
_IS_UPPER32: Final = _flags(_UPPER32)
_IS_LOWER32: Final = _flags(_UPPER32.lower())
_DECIMAL: Final = {b"%0*d" % (width, value): value for value in range(256) for width in (1, 2, 3)}
_BINARY: Final = {format(value, f"0{width}b").encode(): value for value in range(256) for width in (7, 8)}
_FROM_DECIMAL: Final = _DECIMAL | _BINARY
_FROM_SIGNED: Final = _DECIMAL | {b"-%d" % -value: value & 0xFF for value in range(-128, 0)}
_FROM_OCTAL: Final = {format(value, f"0{width}o").encode(): value for value in range(256) for width in (1, 3, 4)}


def base64_decoded(text: bytes) -> Iterator[bytes]:
    """Yield a text decoded as base64 or base64url, for each position at which the first group may begin."""
    runs = _runs64(text) if len(text) < _LARGE else dense_runs(text, _IS_64, _SHORTEST64, more=_LAST_LINE)
    digits = _kept(runs, _FOR_URLS, _NOT64)
    if len(digits) >= _SHORTEST64:
        for first in range(4):
            yield b"".join(_groups_decoded(digits, first))


def _runs64(text: bytes) -> bytes:
    """Return the runs of a small text that may be base64, with the lines that go on after them."""
    flags = text.translate(_IS_64)
    if b"\1" * _SHORTEST64 not in flags:
        return b""
    runs = []
    end = 0
    for match in _ONES.finditer(flags):
        if match.start() >= end:
            run = text[match.start() : match.end()]
            # A short run in one case is a word or a date.
            end = match.end()
            if len(run) >= _LONG64 or not (run.islower() or run.isupper()):
                if text[end : end + 1] in _LINE_ENDS and (last := _LAST.match(text, end)):
                    end = last.end()
                runs.append(text[match.start() : end])
    return b"".join(runs)


def _groups_decoded(digits: bytes, first: int) -> Iterator[bytes]:
    for start in range(first, len(digits), CHUNK):
        piece = digits[start : start + CHUNK]
        if len(piece) % 4 == 1:
            piece = piece[:-1]
        yield binascii.a2b_base64(piece + b"=" * (-len(piece) % 4))


def hex_decoded(text: bytes) -> Iterator[bytes]:
    """Yield a text decoded as hex, for both positions at which the first byte may begin."""
    if b"0x" in text:
        text = text.replace(b"0x", b"")
    if len(text) < _LARGE:
        flags = text.translate(_IS_16, _SEPARATORS)
        spans = [match.span() for match in _SEGMENT16.finditer(flags)]
        dense = text.translate(None, _SEPARATORS) if spans else b""
        digits = b"".join([dense[start:end] for start, end in spans])
    else:
        digits = _kept(text, None, _NOT16)
    if len(digits) >= _SHORTEST16:
        for first in range(2):
            end = first + (len(digits) - first) // 2 * 2
            yield b"".join(
                binascii.unhexlify(digits[start : min(start + CHUNK, end)]) for start in range(first, end, CHUNK)
            )


def base32_decoded(text: bytes) -> Iterator[bytes]:
    """Yield the long runs of a text decoded as base32, for each position at which the first group may begin."""
    for flags in (_IS_UPPER32, _IS_LOWER32):
        candidates = dense_runs(text, flags, _SHORTEST_BASE32)
        # A run of hex digits alone is a hash.
        runs = [run for chunk in _slices(candidates) for run in _RUN32.findall(chunk) if run.translate(None, _DIGITS16)]
        digits = b"".join(run for run in runs if run.isupper() == (flags is _IS_UPPER32))
        for first in range(8 if digits else 0):
            yield b"".join(of_base32(digits[at : at + CHUNK]) for at in range(first, len(digits), CHUNK))


def of_base32(digits: bytes) -> bytes:
    """Decode base32 in upper or lower case, without padding; bits beyond the last whole byte are left out."""
    bits = len(digits) * 5
    return (int(digits.translate(_FOR_INT), 32) >> bits % 8).to_bytes(bits // 8, "big")


def numbers_decoded(text: bytes) -> Iterator[bytes]:
    """Yield the bytes that the numbers of a text stand for: decimal, binary or octal."""
    for prefix in (b"0b", b"0o"):
        if prefix in text:
            text = text.replace(prefix, b" ")
    numbers = _words(text, _NUMBERS)
    if len(numbers) < _FEWEST_NUMBERS:
        return
    yield _values(numbers, _FROM_DECIMAL)
    yield _values(numbers, _FROM_OCTAL)
    if any(sign in text for sign in _NEGATIVE):
        numbers = _words(text, _SIGNED)
        yield _values(numbers, _FROM_SIGNED)
    if any(sign in text for sign in _NUMBERED):  # every second number is the position of a byte
        for first in (0, 1):
            yield _values(numbers[first::2], _FROM_DECIMAL)
    if any(sign in text for sign in _WORD_ARRAYS):  # JavaScript's word arrays, of 32 bits
        words = [
            int(number) & 0xFFFF_FFFF for number in numbers if len(number) <= 11 and number.removeprefix(b"-").isdigit()
        ]
        yield b"".join(word.to_bytes(4, "big") for word in words)


def _words(text: bytes, table: bytes) -> list[bytes]:
    return [word for chunk in _slices(text) for word in chunk.translate(table).split()]


def _values(numbers: list[bytes], table: dict[bytes, int]) -> bytes:
    """Return numbers as bytes; what is not a byte is left out."""
    return bytes(map(table.__getitem__, filter(table.__contains__, numbers)))


def dense_runs(data: bytes, flags: bytes, shortest: int, *, more: int = 0) -> bytes:
    """Return the long runs of certain bytes, with a line break or other bytes between them.

    A run may come with up to seven other bytes on either side.

    Args:
        flags: 256 flags, 1 for the bytes of a run.
        shortest: bytes of the shortest run, 11 or more.
        more: bytes to return after each run, whatever they are.
    """
    is_in = flagged(data, flags)
    if b"\1" * shortest not in is_in:
        return b""
    if len(data) < (_MEDIUM if "numpy" in sys.modules else _LARGE):
        ends = [0]
        for match in _ONES.finditer(is_in):
            ends += [max(ends[-1], match.start()), max(ends[-1], match.end() + more)]
        return b"\n".join(data[start:end] for start, end in zip(ends[1::2], ends[2::2], strict=True))
    import numpy as np

    # A run of eleven bytes holds two aligned groups of four. The groups beside it keep runs apart.
    count = len(data) // 4
    is_whole = np.frombuffer(is_in, np.uint32, count) == 0x01010101
    pairs = is_whole[:-1] & is_whole[1:]
    is_kept = np.zeros(count + 1, bool)
    is_kept[: count - 2] |= pairs[1:]
    for shift in range(min(3 + more // 4, count)):
        is_kept[shift : count - 1 + shift] |= pairs[: count + 1 - shift]
    kept = np.frombuffer(data, np.uint32, count)[is_kept[:count]].tobytes()
    return kept + data[count * 4 :] if is_kept[count] else kept


_ONES: Final = re.compile(rb"\x01{11,}+")


def flagged(data: bytes, flags: bytes) -> bytes:
    """Return the flag of each byte, given 256 flags."""
    return _kept(data, flags, b"")


def _kept(text: bytes, table: bytes | None, deleted: bytes) -> bytes:
    if len(text) <= CHUNK:
        return text.translate(table, deleted)
    return b"".join(piece.translate(table, deleted) for piece in _slices(text))


def _slices(text: bytes) -> Iterator[bytes]:
    """Yield a text in pieces, none of which ends between two digits of a number."""
    start = 0
    while len(text) - start > CHUNK:
        end = start + CHUNK
        while text[end - 1 : end].isdigit() and end > start + CHUNK - _LONGEST_NUMBER:
            end -= 1
        yield text[start:end]
        start = end
    yield text[start:] if start else text
