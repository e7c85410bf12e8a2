"""Compressed data that is small, and becomes very large when it is decompressed."""

from __future__ import annotations

import zlib

MIB = 1 << 20


def bomb(mebibytes: int) -> bytes:
    """Return the gzip data of so many MiB of zeros, without its last block; only one MiB is compressed."""
    compressor = zlib.compressobj(1, wbits=31)
    first, again = (compressor.compress(bytes(MIB)) + compressor.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (mebibytes - 1)
