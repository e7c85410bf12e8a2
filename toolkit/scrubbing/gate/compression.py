"""Open compressed data wherever it begins in some bytes: streams and archives, recognized by their magic numbers.

False beginnings cost little: the header is checked first, and the input is read in small pieces. A member that ends
well is skipped. Output before an error counts.
"""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from toolkit.scrubbing.gate.budget import ATTEMPT, CHUNK, Budget, TooMuchError

_LARGE: Final = 1 << 15  # bytes of data for which numpy is loaded
_FIRST: Final = 512  # bytes of input in the first piece, which most false beginnings do not survive
_PIECE: Final = 1 << 12  # bytes of input in the following pieces; deflate makes at most a thousand times as much of it
_SHORT_ATTEMPT: Final = 256  # bytes that an attempt costs that is made once for each run of text, not each position
_MOST: Final = 1 << 18  # bytes of output at a time, where a library takes a limit
_LARGEST_WINDOW: Final = 1 << 27
_SHORTEST: Final = 8  # bytes of output that can hold a secret
_LONGEST_NAME: Final = 1024

_BZIP2: Final = re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)")
_LZMA: Final = re.compile(rb"\x5d\x00\x00[\x00-\xff]{2}(?:\xff{8}|[\x00-\xff]{4}\x00{4})")
_ENTRY: Final = struct.Struct("<4x3H8xI4x2H")  # the header of an entry of a zip archive
_HARDLY_SET: Final = 0xE0  # flags of gzip that RFC 1952 reserves

# What an opener returns: the output, and where the input ended if it ended well.
Opened = tuple[bytes, int | None]


def opened_in(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the name of a format with everything of it that could be opened, once for each format.

    A few bytes at the beginning of a stream may come out by chance.
    """
    outputs: dict[str, list[bytes]] = {}
    done = 0
    for at in _beginnings(data):
        if at < done or not data.startswith(_LONGER_MAGICS, at):
            continue
        name, opener = OPENERS[data[at : at + 2]]
        budget.spend(ATTEMPT)
        output, end = opener(data, at, budget)
        if len(output) >= _SHORTEST:
            outputs.setdefault(name, []).append(output)
        if end is not None and len(output) >= _SHORTEST:
            done = end
    for name, parts in outputs.items():
        # The members of a stream continue each other, those of an archive do not.
        yield name, (b"\n" if name == "zip" else b"").join(parts)


def headerless_opened(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield data without a magic number, decompressed as raw deflate and as brotli."""
    budget.spend(_SHORT_ATTEMPT)
    if data and (data[0] >> 1) & 3 != 3:  # a block type of deflate
        output, _ = inflate(data, 0, budget)
        if len(output) >= _SHORTEST:
            yield "deflate", output
    output = _brotli(data, budget)
    if len(output) >= _SHORTEST:
        yield "brotli", output


def _beginnings(data: bytes) -> list[int]:
    """Return where a magic number may begin, in order."""
    if len(data) < _LARGE:
        places = []
        for magic in _LONGER_MAGICS:
            at = data.find(magic)
            while at >= 0:
                places.append(at)
                at = data.find(magic, at + 1)
        return sorted(places)
    import numpy as np

    is_magic = np.zeros(1 << 16, bool)
    for magic in OPENERS:
        is_magic[int.from_bytes(magic, sys.byteorder)] = True
    places = []
    for start in range(0, len(data), CHUNK):
        for first in (start, start + 1):
            count = min(CHUNK, len(data) - first) // 2
            pairs = np.frombuffer(data, np.uint16, count, first)
            places += (np.flatnonzero(is_magic[pairs]) * 2 + first).tolist()
    return sorted(places)


def inflate(data: bytes, at: int, budget: Budget) -> Opened:
    """Inflate a raw deflate stream (RFC 1951) that begins at a position."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    parts: list[bytes] = []
    size = _FIRST
    while at < len(data):
        try:
            part = inflater.decompress(data[at : at + size])
        except zlib.error:
            return b"".join(parts), None
        at += size
        budget.spend(size + len(part))
        parts.append(part)
        if inflater.eof:
            return b"".join(parts), min(at, len(data)) - len(inflater.unused_data)
        size = _PIECE
    return b"".join(parts), None


def _gzip(data: bytes, at: int, budget: Budget) -> Opened:
    """Open a gzip member (RFC 1952)."""
    if data[at + 2 : at + 3] != b"\x08" or len(data) < at + 18 or data[at + 3] & _HARDLY_SET:
        return b"", None
    flags = data[at + 3]
    start = at + 10
    if flags & 4:
        start += 2 + int.from_bytes(data[start : start + 2], "little")
    for flag in (8, 16):  # a name, a comment
        if flags & flag:
            zero = data.find(b"\0", start, start + _LONGEST_NAME)
            if zero < 0:
                return b"", None
            start = zero + 1
    output, end = inflate(data, start + (flags & 2), budget)
    return output, None if end is None else end + 8


def zlib_opened(data: bytes, at: int, budget: Budget) -> Opened:
    """Open a zlib stream (RFC 1950)."""
    header = data[at : at + 3]
    # Three bits after the header tell whether a block can follow.
    if len(header) < 3 or header[0] & 15 != 8 or header[1] & 32 or (header[2] >> 1) & 3 == 3:
        return b"", None
    if int.from_bytes(header[:2], "big") % 31:
        return b"", None
    if (header[2] >> 1) & 3 == 0:  # stored: a length and its complement
        length, complement = (int.from_bytes(data[at + k : at + k + 2], "little") for k in (3, 5))
        if header[2] < 8 and length ^ complement != 0xFFFF:
            return b"", None
    output, end = inflate(data, at + 2, budget)
    return output, None if end is None else end + 4


def _zip(data: bytes, at: int, budget: Budget) -> Opened:
    """Open an entry of a zip archive (APPNOTE.TXT section 4.3.7); an encrypted one is opaque."""
    header = data[at : at + 30]
    if header[:4] != b"PK\x03\x04" or len(header) < 30:
        return b"", None
    version, flags, method, size, name, extra = _ENTRY.unpack(header)
    is_plausible = version & 0xFF <= 63 and 0 < name <= _LONGEST_NAME and at + 30 + name + extra <= len(data)
    if not is_plausible or flags & 1 or method in (0, 99):  # an entry stored as it is stands there plainly
        return b"", None
    start = at + 30 + name + extra
    if method == 8:
        return inflate(data, start, budget)
    body = data[start : start + size] if size else data[start:]
    if method == 12:
        return _bzip2(body, 0, budget)[0], None
    if method == 93:
        return _zstd(body, 0, budget)[0], None
    if method == 95:
        return _xz(body, 0, budget)[0], None
    if method == 14:  # LZMA: a version, the size of the properties, and these
        properties = body[4 : 4 + int.from_bytes(body[2:4], "little")]
        if len(properties) != 5:
            return b"", None
        alone = properties + b"\xff" * 8 + body[9:]
        return _stepwise(lzma.LZMADecompressor(lzma.FORMAT_ALONE, _LARGEST_WINDOW), alone, 0, budget)[0], None
    if method in _OTHER_METHODS:
        raise TooMuchError
    return b"", None


_OTHER_METHODS: Final = frozenset({1, 6, 9, 10, 18, 96, 97, 98})  # methods of compression that Python cannot undo


def _stepwise(decompressor: Any, data: bytes, at: int, budget: Budget) -> Opened:
    budget.spend(1 << 16)  # the buffers of these formats are large
    parts: list[bytes] = []
    size = _FIRST
    try:
        while not decompressor.eof:
            if decompressor.needs_input and at >= len(data):
                return b"".join(parts), None
            piece = data[at : at + size] if decompressor.needs_input else b""
            at += len(piece)
            part = decompressor.decompress(piece, _MOST)
            budget.spend(len(piece) + len(part) + 64)
            parts.append(part)
            size = _PIECE
    except (OSError, EOFError, ValueError, lzma.LZMAError):
        return b"".join(parts), None
    return b"".join(parts), at - len(decompressor.unused_data)


def _bzip2(data: bytes, at: int, budget: Budget) -> Opened:
    return _stepwise(bz2.BZ2Decompressor(), data, at, budget) if _BZIP2.match(data, at) else (b"", None)


def _xz(data: bytes, at: int, budget: Budget) -> Opened:
    if data[at : at + 6] != b"\xfd7zXZ\x00":
        return b"", None
    return _stepwise(lzma.LZMADecompressor(lzma.FORMAT_XZ, _LARGEST_WINDOW), data, at, budget)


def _lzma(data: bytes, at: int, budget: Budget) -> Opened:
    if not _LZMA.match(data, at):
        return b"", None
    return _stepwise(lzma.LZMADecompressor(lzma.FORMAT_ALONE, _LARGEST_WINDOW), data, at, budget)


def _zstd(data: bytes, at: int, budget: Budget) -> Opened:
    """Open a Zstandard frame (RFC 8878)."""
    if data[at : at + 4] != b"\x28\xb5\x2f\xfd" or len(data) < at + 8 or data[at + 4] & 8:
        return b"", None
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise TooMuchError from None
    decoder = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj(write_size=_MOST)
    budget.spend(1 << 14)
    parts: list[bytes] = []
    while at < len(data) and not decoder.eof:
        piece = data[at : at + _FIRST]
        try:
            part = decoder.decompress(piece)
        except zstandard.ZstdError:
            return b"".join(parts), None
        at += len(piece)
        budget.spend(len(piece) + len(part))
        parts.append(part)
    return b"".join(parts), at - len(decoder.unused_data) if decoder.eof else None


def _brotli(data: bytes, budget: Budget) -> bytes:
    """Open a brotli stream (RFC 7932); without the package, it is opaque, since nothing tells that it is brotli."""
    try:
        import brotli  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        try:
            import brotlicffi as brotli  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            return b""
    decoder = brotli.Decompressor()
    parts: list[bytes] = []
    at, size = 0, 64
    while at < len(data) and not decoder.is_finished():
        try:
            part = decoder.process(data[at : at + size])
        except brotli.error:
            break
        at += size
        budget.spend(size + len(part))
        parts.append(part)
        size = _FIRST
    return b"".join(parts)


# By the first two bytes of the magic number.
OPENERS: Final[dict[bytes, tuple[str, Callable[[bytes, int, Budget], Opened]]]] = {
    b"\x1f\x8b": ("gzip", _gzip),
    b"PK": ("zip", _zip),
    b"\x28\xb5": ("zstd", _zstd),
    b"\xfd7": ("xz", _xz),
    b"BZ": ("bzip2", _bzip2),
    b"\x5d\x00": ("lzma", _lzma),
    **dict.fromkeys((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), ("zlib", zlib_opened)),
}
# Longer ones are found faster, and occur less in text; zlib has two bytes only.
_LONGER_MAGICS: Final = (
    *(b"\x1f\x8b\x08", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh", b"\x5d\x00\x00"),
    *(b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
)
