"""Check how httpx will decompress a recorded body: that it can, and that the result is not too large."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final

from toolkit.scrubbing.compression import DECOMPRESSORS, Broken, inflated
from toolkit.scrubbing.messages import HeaderList

MOST_BYTES: Final = 64 << 20  # that may come out of all decoders of a body together
_MOST_ENCODINGS: Final = 10  # of a body; honest ones have one
# The encodings that httpx knows. It takes "deflate" for raw data if it is not of the zlib format.
_DECODERS: Final[dict[str, tuple[Callable[[bytes], Iterator[bytes]], ...]]] = {
    **{name: (DECOMPRESSORS[name],) for name in ("gzip", "br", "zstd")},
    "deflate": (lambda body: inflated(body, zlib.MAX_WBITS), lambda body: inflated(body, -zlib.MAX_WBITS)),
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


def check_decompression(headers: HeaderList, body: bytes) -> None:
    """Decompress a body in steps, as httpx will do in one piece: a few kilobytes can stand for gigabytes.

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
    left = MOST_BYTES
    for place, name in reversed(list(enumerate(names))):
        for decode in _DECODERS[name] if body else ():
            try:
                body, left = _decoded(decode(body), left, keep=place > 0)
                break
            except (Broken, zlib.error):
                continue
        else:
            if body:
                raise NotEncoded(is_nested=len(names) > 1)


def _decoded(chunks: Iterator[bytes], left: int, *, keep: bool) -> tuple[bytes, int]:
    """Return the output of a decoder if the next one needs it, and how many bytes may still come out."""
    kept = []
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise TooLarge(f"more than {MOST_BYTES >> 20} MiB when decompressed")
        if keep:
            kept.append(chunk)
    return b"".join(kept), left
