"""Check how httpx will decompress a recorded body: that it can, and that the result is not too large.

httpx decompresses a replayed body in one piece. A few kilobytes in a file of somebody else can stand for gigabytes,
more so with several content encodings in a row. So a body is decompressed here first, in steps, and what comes out of
the last decoder is counted and dropped.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from toolkit.scrubbing.compression import DECOMPRESSORS, Broken, NotInstalled, inflated

MOST_BYTES: Final = 64 << 20  # that may come out of all decoders of a body together
_MOST_ENCODINGS: Final = 10  # of a body; honest ones have one
# The encodings that httpx knows. It takes "deflate" for raw data if it is not of the zlib format.
_DECODERS: Final[dict[str, tuple[Callable[[bytes], Iterator[bytes]], ...]]] = {
    "gzip": (DECOMPRESSORS["gzip"],),
    "deflate": (lambda body: inflated(body, zlib.MAX_WBITS), lambda body: inflated(body, -zlib.MAX_WBITS)),
    "br": (DECOMPRESSORS["br"],),
    "zstd": (DECOMPRESSORS["zstd"],),
}


class TooLarge(ValueError):
    """A body is too large when decompressed; the text says what was counted."""


class NotEncoded(ValueError):
    """A body is malformed or cut short for one of the content encodings that its headers name.

    Attributes:
        is_nested: True if the headers name several. Then nothing is known of what httpx would make of it.
    """

    def __init__(self, *, is_nested: bool) -> None:
        super().__init__("the body does not have the content encoding that its headers name")
        self.is_nested = is_nested


def check_decompression(headers: Iterable[tuple[str, str]], body: bytes) -> None:
    """Decompress a body as httpx does, without keeping the result.

    Encodings that httpx does not know, or cannot decode with the installed packages, are left out, as in httpx.

    Raises:
        TooLarge: if more than MOST_BYTES come out, or if there are too many encodings.
        NotEncoded: if the body is malformed or cut short.
    """
    values = [value for name, value in headers if name.lower() == "content-encoding"]
    if not values or not body:
        return
    names = [name for name in map(str.strip, ",".join(values).lower().split(",")) if name in _DECODERS]
    if len(names) > _MOST_ENCODINGS:
        raise TooLarge(f"{len(names)} content encodings in a row; at most {_MOST_ENCODINGS} are decompressed")
    is_nested = len(names) > 1
    counter = _Counter()
    while names and body:
        for decode in _DECODERS[names.pop()]:
            try:
                body = counter.run(decode(body), keep=bool(names))
            except NotInstalled:
                break
            except (Broken, zlib.error):
                continue
            break
        else:
            raise NotEncoded(is_nested=is_nested)


class _Counter:
    """Counts the bytes that come out of the decoders of one body."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def run(self, chunks: Iterator[bytes], *, keep: bool) -> bytes:
        """Run a decoder to its end, and return its output if the next decoder needs it."""
        kept = []
        for chunk in chunks:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLarge(f"more than {MOST_BYTES >> 20} MiB when decompressed")
            if keep:
                kept.append(chunk)
        return b"".join(kept)
