"""Decompress bodies (RFC 9110 section 8.4) and the contents of archives, within limits.

Bodies may have content encodings. Compressed data within a text is found by its magic number; a `DecodingBudget` limits
how much of it a search decompresses.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.normal_form import is_text

_LARGEST_BODY: Final = 64 << 20  # bytes
_LARGEST_RATIO: Final = 250  # of decompressed to compressed size; 5 to 50 for text
_ALWAYS_ALLOWED: Final = 4 << 20  # bytes, whatever the ratio
_STEP: Final = 1 << 20
_PIECE: Final = 1 << 12  # bytes of input to zlib; deflate expands it at most a thousand times
_SMALL_STEP: Final = 64  # bytes of input to brotli, which limits how much comes out at once
# The call was made and may have been an order, so no message suggests repeating it.
AFTER_THE_CALL: Final = "The call was made; its response, if any, is in this error's `response`. For the next call:"
_ADVICE: Final = f"{AFTER_THE_CALL} send the header Accept-Encoding: identity, so that the response is not compressed."
_GZIP: Final = zlib.MAX_WBITS | 16


class TooLarge(SecretLeak):
    """The data exceeds the size limit when decompressed."""


class Broken(Exception):
    """The data is invalid or truncated."""


def decompress_body(headers: Iterable[tuple[str, str]], body: bytes) -> bytes:
    """Return a decoded body, or the same object if it has no content encoding.

    An unknown content encoding is ignored if the body is text, because some servers put a charset or an upload protocol
    in this header. Clients ignore it too.

    Raises:
        SecretLeak: if the body cannot be decompressed completely, or is too large when decompressed.
    """
    values = ",".join(value for name, value in headers if name.lower() == "content-encoding")
    if not values or not body:
        return body
    for coding in reversed(values.lower().split(",")):
        if coding.strip() not in ("", "identity"):
            body = _decompressed(coding.strip(), body)
    return body


def _decompressed(coding: str, body: bytes) -> bytes:
    if coding not in DECOMPRESSORS:
        if is_text(body):
            return body
        what = "A body in an unknown content encoding cannot be checked for secrets; nothing was written."
        raise SecretLeak(what, _ADVICE)
    try:
        return capped(DECOMPRESSORS[coding](body), len(body))
    except (Broken, zlib.error):
        what = "A body cannot be decompressed to check it for secrets; nothing was written."
        raise SecretLeak(what, _ADVICE) from None


def capped(chunks: Iterable[bytes], packed: int) -> bytes:
    """Join the chunks, up to a limit.

    Args:
        chunks: the decompressed data.
        packed: size of the compressed data in bytes, which determines the limit.

    Raises:
        TooLarge: if the chunks exceed the limit.
    """
    limit = min(_LARGEST_BODY, max(_ALWAYS_ALLOWED, packed * _LARGEST_RATIO))
    parts, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise TooLarge(
                f"A body is larger than {limit >> 20} MiB when decompressed, too large to check for secrets; "
                "nothing was written.",
                f"{AFTER_THE_CALL} request less data at a time, or make the call without a cassette.",
            )
        parts.append(chunk)
    return b"".join(parts)


def _pieces(data: bytes, at: int, window_bits: int) -> Generator[bytes, None, int]:
    """Yield the decompressed pieces of the zlib stream that begins at a position, and return where the stream ends.

    `window_bits` is as in `zlib.decompressobj`.

    Raises:
        zlib.error: if the stream is invalid or truncated, or its header is too long.
    """
    start, has_begun = at, False
    inflater = zlib.decompressobj(window_bits)
    while not inflater.eof:
        piece = inflater.decompress(data[at : at + _PIECE])
        has_begun |= bool(piece)
        if at >= len(data) or not (has_begun or at == start):
            raise zlib.error
        at += _PIECE
        yield piece
    return min(at, len(data)) - len(inflater.unused_data)


def _inflated(body: bytes, window_bits: int) -> Iterator[bytes]:
    """Decompress a body with zlib; fail if data follows the stream, because clients ignore such data."""
    if (yield from _pieces(body, 0, window_bits)) < len(body):
        raise zlib.error


def _deflated(body: bytes) -> Iterator[bytes]:
    try:
        zlib.decompressobj(zlib.MAX_WBITS).decompress(body, 1)
    except zlib.error:  # many servers leave out the zlib header that RFC 9110 section 8.4.1.2 demands
        return _inflated(body, -zlib.MAX_WBITS)
    return _inflated(body, zlib.MAX_WBITS)


def _brotli(body: bytes) -> Iterator[bytes]:
    import brotli  # type: ignore[import-not-found,import-untyped,unused-ignore]

    decoder = brotli.Decompressor()
    try:
        for start in range(0, len(body), _SMALL_STEP):
            yield decoder.process(body[start : start + _SMALL_STEP])
    except brotli.error:
        raise Broken from None
    if not decoder.is_finished():
        raise Broken


def zstd_decompressed(body: bytes | memoryview) -> Iterator[bytes]:
    """Decompress a body of one or more Zstandard frames, in steps."""
    import zstandard  # type: ignore[import-not-found,unused-ignore]

    while body:
        decoder = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj(write_size=_STEP)
        try:
            for start in range(0, len(body), 1024):
                yield decoder.decompress(body[start : start + 1024])
                if decoder.eof:
                    body = decoder.unused_data + bytes(body[start + 1024 :])
                    break
            else:
                raise Broken
        except zstandard.ZstdError:
            raise Broken from None


DECOMPRESSORS: Final[dict[str, Callable[[bytes], Iterator[bytes]]]] = {
    "gzip": lambda body: _inflated(body, _GZIP),
    "x-gzip": lambda body: _inflated(body, _GZIP),
    "deflate": _deflated,
    "br": _brotli,
    "zstd": zstd_decompressed,
}


_ALLOWANCE: Final = 16 << 20  # bytes
_MULTIPLE: Final = 12  # times the size of the text
_FOR_FILES: Final = 64 << 20  # bytes
_ATTEMPT: Final = 1 << 10  # cost of each attempt in bytes, as even a failed one takes time
_SHORTEST: Final = 8  # bytes of output that can contain a secret
_LONGEST_NAME: Final = 1024
_ENTRY: Final = struct.Struct("<4x3H16x2H")  # the header of an entry of a zip archive
_DEFLATED: Final = 8
_ENCRYPTED: Final = 1
_PIXELS: Final = b"IDAT"
_TAR: Final = b"ustar"
_TAR_AT: Final = 257


class DecodingBudget:
    """The number of bytes that a search may still decode, with a separate budget for file formats.

    Args:
        size: bytes of the text that is searched.

    Attributes:
        is_exceeded: True if something was not decoded.
    """

    def __init__(self, size: int) -> None:
        self._left = _ALLOWANCE + _MULTIPLE * size
        self._for_files = _FOR_FILES + _MULTIPLE * size
        self.is_exceeded = False

    def spend(self, size: int) -> bool:
        """Deduct the size of a decoded text from the budget; return False if the budget is exceeded."""
        self._left -= size
        self.is_exceeded |= self._left < 0
        return self._left >= 0

    def spend_on_files(self, size: int) -> bool:
        """Deduct the size of decompressed data from the file format budget; return False if that budget is exceeded."""
        self._for_files -= size
        self.is_exceeded |= self._for_files < 0
        return self._for_files >= 0


class Unpacked(NamedTuple):
    """Decompressed data: the name of its format, the position of the compressed data, and the decompressed bytes."""

    name: str
    start: int
    end: int
    data: bytes


def is_archive(data: bytes) -> bool:
    """Check whether the data is an archive. Replacements must not change the size of an archive's members."""
    return data.startswith(b"PK\x03\x04") or data.startswith(_TAR, _TAR_AT)


def members_of(data: bytes, budget: DecodingBudget) -> Iterator[Unpacked]:
    """Yield the content of each compressed stream in the data that can be decompressed.

    Raises:
        SecretLeak: if a stream is too large when decompressed.
    """
    done = 0
    before: Unpacked | None = None
    for at in sorted(match.start() for magic in MAGICS for match in re.finditer(re.escape(magic), data)):
        if at < done:
            continue
        if not budget.spend_on_files(_ATTEMPT):
            break
        name, open_at = next(opener for magic, opener in _OPENERS.items() if data.startswith(magic, at))
        output, end = open_at(data, at)
        budget.spend_on_files(len(output))
        if len(output) < _SHORTEST:
            continue
        done = max(done, end)
        if before is not None and before.name == name == "gzip" and before.end == at:
            before = before._replace(end=end, data=before.data + output)  # members of the same gzip file
            continue
        if before is not None:
            yield before
        before = Unpacked(name, at, max(end, at + 1), output)
    if before is not None:
        yield before


def _stream(data: bytes, at: int, window_bits: int) -> tuple[bytes, int]:
    """Return the content of a zlib stream, and the position of its end, which is 0 if the stream is broken."""
    end = 0

    def pieces() -> Iterator[bytes]:
        nonlocal end
        with suppress(zlib.error):
            end = yield from _pieces(data, at, window_bits)

    return capped(pieces(), len(data) - at), end


def _zlib(data: bytes, at: int) -> tuple[bytes, int]:
    """Decompress a zlib stream (RFC 1950), unless it contains the pixels of a PNG."""
    if data.startswith(_PIXELS, max(0, at - len(_PIXELS))):
        return b"", 0
    # Three bits after the header tell whether a block can follow.
    if len(data) < at + 3 or int.from_bytes(data[at : at + 2], "big") % 31 or (data[at + 2] >> 1) & 3 == 3:
        return b"", 0
    return _stream(data, at, zlib.MAX_WBITS)


def _zip(data: bytes, at: int) -> tuple[bytes, int]:
    """Decompress an entry of a zip archive (APPNOTE.TXT section 4.3.7); uncompressed entries are skipped."""
    if len(data) < at + _ENTRY.size:
        return b"", 0
    version, flags, method, name, extra = _ENTRY.unpack_from(data, at)
    if version & 0xFF > 63 or not 0 < name <= _LONGEST_NAME or flags & _ENCRYPTED or method != _DEFLATED:
        return b"", 0
    return _stream(data, at + _ENTRY.size + name + extra, -zlib.MAX_WBITS)


def _zstd(data: bytes, at: int) -> tuple[bytes, int]:
    """Decompress the Zstandard frames (RFC 8878) that begin at a position."""
    parts: list[bytes] = []

    def pieces() -> Iterator[bytes]:
        for piece in zstd_decompressed(memoryview(data)[at:]):
            parts.append(piece)
            yield piece

    try:
        return capped(pieces(), len(data) - at), len(data)
    except Broken:  # followed by data that is not zstd
        return b"".join(parts), 0


_OPENERS: Final[dict[bytes, tuple[str, Callable[[bytes, int], tuple[bytes, int]]]]] = {
    b"\x1f\x8b\x08": ("gzip", partial(_stream, window_bits=_GZIP)),
    b"PK\x03\x04": ("zip", _zip),
    b"\x28\xb5\x2f\xfd": ("zstd", _zstd),
    **dict.fromkeys((b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"), ("zlib", _zlib)),
}
MAGICS: Final = tuple(_OPENERS)
FORMATS: Final = frozenset(name for name, _ in _OPENERS.values())
