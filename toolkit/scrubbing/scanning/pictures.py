"""The texts that a picture carries besides its pixels (RFC 2083 and the PNG specification, section 11.3.3)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from toolkit.scrubbing.scanning.budget import Budget

PNG: Final = b"\x89PNG\r\n\x1a\n"
_MOST: Final = 1 << 20  # bytes of one text


def texts_of_png(data: bytes, budget: Budget) -> Iterator[bytes]:
    """Yield the texts of a PNG picture: comments, what wrote it, EXIF and XMP; and what stands after its end."""
    at = len(PNG)
    while at + 12 <= len(data):
        length, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        content = data[at + 8 : at + 8 + length]
        at += 12 + length
        if kind in (b"tEXt", b"eXIf"):
            yield content.replace(b"\0", b": ", 1)
        elif kind == b"zTXt":
            name, _, rest = content.partition(b"\0")
            yield name + b": " + _inflated(rest[1:], budget)
        elif kind == b"iTXt":
            name, _, rest = content.partition(b"\0")
            text = rest[2:].split(b"\0", 2)[-1]
            yield name + b": " + (_inflated(text, budget) if rest[:1] == b"\1" else text)
        elif kind == b"IEND":
            break
    if at < len(data):
        yield data[at:]


def _inflated(data: bytes, budget: Budget) -> bytes:
    try:
        text = zlib.decompressobj().decompress(data, _MOST)
    except zlib.error:
        return b""
    budget.spend(len(text))
    return text
