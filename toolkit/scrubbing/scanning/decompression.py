"""Read compressed streams in bounded memory: gzip, bzip2, xz, zstd and what Unix called lzma."""

from __future__ import annotations

import bz2
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol

from toolkit.scrubbing.scanning.budget import Budget

_PIECE: Final = 1 << 16  # bytes of compressed data at a time
_MOST: Final = 1 << 20  # bytes of output at a time
_LARGEST_WINDOW: Final = 1 << 27  # bytes
_GZIP, _BZIP2, _XZ, _LZMA, _ZSTD = (
    b"\x1f\x8b\x08",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x5d\x00\x00",
    b"\x28\xb5\x2f\xfd",
)
_BROKEN: Final = "compressed data in it is broken or ends early"
_NO_ZSTD: Final = "it is compressed with zstd, for which the package zstandard is not installed"
_ZSTD_PIECE: Final = 512  # bytes, of which zstd can make many

Decompress = Callable[[Iterable[bytes]], Iterator[bytes]]


class Readable(Protocol):
    """Something that is read from its beginning to its end."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, and none at the end."""
        ...


class BrokenStream(Exception):
    """Compressed data cannot be read; says why."""


class CountedStream:
    """The bytes of some pieces as a stream, counted in a budget if there is one.

    Attributes:
        problem: why the stream ended early, in words, or "".
    """

    def __init__(self, pieces: Iterator[bytes], budget: Budget | None = None) -> None:
        self._pieces = pieces
        self._budget = budget
        self._rest = b""
        self.problem = ""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to `size` bytes, and none at the end.

        Raises:
            TooMuchError: if the budget is used up.
        """
        parts = []
        left = size if size >= 0 else 1 << 62
        while left > 0:
            if not self._rest:
                self._rest = self._next()
                if not self._rest:
                    break
            parts.append(self._rest[:left])
            self._rest = self._rest[left:]
            left -= len(parts[-1])
        return b"".join(parts)

    def _next(self) -> bytes:
        try:
            for piece in self._pieces:
                if self._budget is not None:
                    self._budget.spend(len(piece))
                if piece:
                    return piece
        except BrokenStream as error:
            self.problem = str(error)
        except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, OSError, EOFError, ValueError):
            self.problem = _BROKEN
        return b""


def pieces_of(stream: Readable, head: bytes = b"") -> Iterator[bytes]:
    """Yield the bytes of a stream in pieces, after those that were read already."""
    for start in range(0, len(head), _PIECE):
        yield head[start : start + _PIECE]
    while piece := stream.read(_PIECE):
        yield piece


def _inflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress the members of a gzip file (RFC 1952); what follows them is ignored."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    is_between = False
    for each in pieces:
        piece = each
        while piece:
            if is_between:
                piece = piece.lstrip(b"\0")
                if not _begins(piece, _GZIP):
                    return
                inflater, is_between = zlib.decompressobj(zlib.MAX_WBITS | 16), False
            yield inflater.decompress(piece, _MOST)
            piece = inflater.unconsumed_tail
            if inflater.eof:
                piece, is_between = inflater.unused_data.lstrip(b"\0"), True
    if not is_between:
        raise BrokenStream(_BROKEN)


def _begins(data: bytes, magic: bytes) -> bool:
    return data.startswith(magic[: len(data)])


def _stepwise(make: Callable[[], Any], magic: bytes) -> Decompress:
    def decompress(pieces: Iterable[bytes]) -> Iterator[bytes]:
        decompressor = make()
        is_between = False
        for each in pieces:
            piece = each
            while piece or not (is_between or decompressor.needs_input):
                if is_between:
                    piece = piece.lstrip(b"\0")
                    if not _begins(piece, magic):
                        return
                    decompressor, is_between = make(), False
                yield decompressor.decompress(piece, _MOST)
                piece = b""
                if decompressor.eof:
                    piece, is_between = decompressor.unused_data.lstrip(b"\0"), True
        if not is_between:
            raise BrokenStream(_BROKEN)

    return decompress


def _zstd(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress the frames of a Zstandard file (RFC 8878)."""
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise BrokenStream(_NO_ZSTD) from None

    def decoder() -> Any:
        return zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW).decompressobj(write_size=_MOST)

    frame = decoder()
    for each in pieces:
        for start in range(0, len(each), _ZSTD_PIECE):
            piece = each[start : start + _ZSTD_PIECE]
            while piece:
                if frame.eof:
                    if not _begins(piece, _ZSTD):
                        return
                    frame = decoder()
                try:
                    yield frame.decompress(piece)
                except zstandard.ZstdError:
                    raise BrokenStream(_BROKEN) from None
                piece = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise BrokenStream(_BROKEN)


# How a compressed file begins, and how it is decompressed.
_FORMATS: Final[tuple[tuple[re.Pattern[bytes], Decompress], ...]] = (
    (re.compile(re.escape(_GZIP)), _inflated),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"), _stepwise(bz2.BZ2Decompressor, _BZIP2)),
    (re.compile(re.escape(_XZ)), _stepwise(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _LARGEST_WINDOW), _XZ)),
    (
        re.compile(re.escape(_LZMA) + rb"[\x00-\xff]{2}(?:\xff{8}|[\x00-\xff]{5}\x00{3})"),
        _stepwise(lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, _LARGEST_WINDOW), _LZMA),
    ),
    (re.compile(re.escape(_ZSTD)), _zstd),
)


def decompressor_of(head: bytes) -> Decompress | None:
    """Return what decompresses a stream that begins like this, or None if it is not compressed."""
    return next((decompress for magic, decompress in _FORMATS if magic.match(head)), None)
