"""Open what is compressed within some bytes: gzip, zlib, zstd and zip, recognized by their magic numbers.

False beginnings cost little: the header is checked first, and the input is read in small pieces. Output before an
error counts. A new format goes here. Budgets bound the work by bytes, never by the clock, so that every machine
decides alike.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from toolkit.scrubbing.content_encodings import Broken, NotInstalled, capped, zstd_decompressed

_ALLOWANCE: Final = 16 << 20  # bytes
_MULTIPLE: Final = 12  # of the text
_FOR_FILES: Final = 64 << 20  # bytes
_ATTEMPT: Final = 1 << 10  # bytes that each attempt to open something costs: about as long as it takes to begin one
_FIRST: Final = 512  # bytes of input in the first piece, which most false beginnings do not survive
_PIECE: Final = 1 << 12  # bytes of input in the following pieces; deflate makes at most a thousand times as much of it
_SHORTEST: Final = 8  # bytes of output that can hold a secret
_LONGEST_NAME: Final = 1024
_ENTRY: Final = struct.Struct("<4x3H16x2H")  # the header of an entry of a zip archive
_DEFLATED: Final = 8
_ENCRYPTED: Final = 1
_PIXELS: Final = b"IDAT"
_TAR: Final = b"ustar"
_TAR_AT: Final = 257


class DecodingBudget:
    """The bytes that a search may still decode, counted as they are made; formats of files have a budget of their own.

    Args:
        size: bytes of the text that is searched.

    Attributes:
        is_exceeded: True if something was not decoded.
    """

    __slots__ = ("_for_files", "_left", "is_exceeded")

    def __init__(self, size: int) -> None:
        self._left = _ALLOWANCE + _MULTIPLE * size
        self._for_files = _FOR_FILES + _MULTIPLE * size
        self.is_exceeded = False

    def spend(self, size: int) -> bool:
        """Take bytes of a decoded text; return False if there are not enough."""
        self._left -= size
        self.is_exceeded |= self._left < 0
        return self._left >= 0

    def spend_on_files(self, size: int) -> bool:
        """Take bytes of what was compressed; return False if there are not enough."""
        self._for_files -= size
        self.is_exceeded |= self._for_files < 0
        return self._for_files >= 0


class Unpacked(NamedTuple):
    """Something that was compressed.

    Attributes:
        name: its format.
        start, end: where it stands.
        data: the bytes that come out.
    """

    name: str
    start: int
    end: int
    data: bytes


def is_archive(data: bytes) -> bool:
    """Check whether some data is an archive, whose members cannot change their size."""
    return data.startswith(b"PK\x03\x04") or data.startswith(_TAR, _TAR_AT)


def members_of(data: bytes, budget: DecodingBudget) -> Iterator[Unpacked]:
    """Yield everything in some data that can be opened.

    Raises:
        SecretLeak: if something grows out of all proportion.
    """
    done = 0
    before: Unpacked | None = None
    for at in sorted(place for magic in _OPENERS for place in _places_of(magic, data)):
        if at < done:
            continue
        if not budget.spend_on_files(_ATTEMPT):
            break
        name, open_at = next(opener for magic, opener in _OPENERS.items() if data.startswith(magic, at))
        try:
            output, end = open_at(data, at)
        except NotInstalled:
            budget.is_exceeded = True
            continue
        budget.spend_on_files(len(output))
        if len(output) >= _SHORTEST:
            done = max(done, end)
            if before is not None and before.name == name == "gzip" and before.end == at:
                before = before._replace(end=end, data=before.data + output)  # members of one file
                continue
            if before is not None:
                yield before
            before = Unpacked(name, at, max(end, at + 1), output)
    if before is not None:
        yield before


def _places_of(magic: bytes, data: bytes) -> Iterator[int]:
    at = data.find(magic)
    while at >= 0:
        yield at
        at = data.find(magic, at + 1)


def _inflated(data: bytes, at: int, window_bits: int) -> tuple[bytes, int]:
    """Return what a stream holds, and where it ends, or 0 if it is broken."""
    start = at
    end = 0

    def pieces() -> Iterator[bytes]:
        nonlocal at, end
        inflater = zlib.decompressobj(window_bits)
        size = _FIRST
        has_begun = False
        while not inflater.eof and at < len(data):
            try:
                piece = inflater.decompress(data[at : at + size])
            except zlib.error:
                return
            if not piece and not has_begun and size == _PIECE:  # such as a header with a name that does not end
                return
            has_begun = has_begun or bool(piece)
            at += size
            size = _PIECE
            yield piece
        if inflater.eof:
            end = min(at, len(data)) - len(inflater.unused_data)

    return capped(pieces(), len(data) - start), end


def _gzip(data: bytes, at: int) -> tuple[bytes, int]:
    """Open a gzip member (RFC 1952)."""
    return _inflated(data, at, zlib.MAX_WBITS | 16)


def _zlib(data: bytes, at: int) -> tuple[bytes, int]:
    """Open a zlib stream (RFC 1950), unless it has the pixels of a PNG."""
    if data.startswith(_PIXELS, max(0, at - len(_PIXELS))):
        return b"", 0
    # Three bits after the header tell whether a block can follow.
    if len(data) < at + 3 or int.from_bytes(data[at : at + 2], "big") % 31 or (data[at + 2] >> 1) & 3 == 3:
        return b"", 0
    return _inflated(data, at, zlib.MAX_WBITS)


def _zip(data: bytes, at: int) -> tuple[bytes, int]:
    """Open an entry of a zip archive (APPNOTE.TXT section 4.3.7); one that is stored as it is stands there plainly."""
    if len(data) < at + _ENTRY.size:
        return b"", 0
    version, flags, method, name, extra = _ENTRY.unpack_from(data, at)
    if version & 0xFF > 63 or not 0 < name <= _LONGEST_NAME or flags & _ENCRYPTED or method != _DEFLATED:
        return b"", 0
    return _inflated(data, at + _ENTRY.size + name + extra, -zlib.MAX_WBITS)


def _zstd(data: bytes, at: int) -> tuple[bytes, int]:
    """Open the Zstandard frames (RFC 8878) that begin at a position."""
    parts: list[bytes] = []

    def pieces() -> Iterator[bytes]:
        for piece in zstd_decompressed(memoryview(data)[at:]):
            parts.append(piece)
            yield piece

    try:
        return capped(pieces(), len(data) - at), len(data)
    except Broken:  # something else follows
        return b"".join(parts), 0


_OPENERS: Final[dict[bytes, tuple[str, Callable[[bytes, int], tuple[bytes, int]]]]] = {
    b"\x1f\x8b\x08": ("gzip", _gzip),
    b"PK\x03\x04": ("zip", _zip),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    **dict.fromkeys((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), ("zlib", _zlib)),
}
MAGICS: Final = tuple(_OPENERS)
FORMATS: Final = frozenset(name for name, _ in _OPENERS.values())
