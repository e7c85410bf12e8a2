"""The leak check: the last step before the disk, which searches the very bytes about to be written.

Compressed data in them is decompressed and searched too: archives, compressed fields, and these in base64. A secret
cannot be replaced there, so nothing is recorded if there is a secret.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from toolkit.core.errors import SecretLeak
from toolkit.scrubbing.content_encodings import (
    AFTER_THE_CALL,
    Broken,
    NotInstalled,
    capped,
    inflated,
    zstd_decompressed,
)
from toolkit.scrubbing.encoded_forms import without_whitespace
from toolkit.scrubbing.known import KnownSecrets

_DEEPEST: Final = 4  # levels of archives within archives
_MOST_ARCHIVES: Final = 2_000  # in one text
_STEP: Final = 1 << 20
_RAW: Final = -zlib.MAX_WBITS
_GZIP: Final = zlib.MAX_WBITS | 16
_MAGICS: Final = (b"\x1f\x8b\x08", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh")
_MAGIC: Final = re.compile(b"|".join(map(re.escape, _MAGICS)))
# RFC 1950 section 2.2; too short to search for within a text.
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
# The first characters of these in base64.
_BASE64_MAGICS: Final = (
    *(b"H4sI", b"UEsDB", b"KLUv/", b"KLUv_", b"/Td6WFoA", b"_Td6WFoA", b"QlpoO"),
    *(b"eJ", b"eN", b"eAE", b"eF4"),
)
_BASE64: Final = re.compile(
    b"(?:" + b"|".join(map(re.escape, _BASE64_MAGICS)) + rb")(?:[A-Za-z0-9+/_-]|%2[BFbf]|\\/){16,}"
)
_BASE64_ESCAPES: Final = (
    *((b"\\/", b"/"), (b"%2B", b"+"), (b"%2b", b"+"), (b"%2F", b"/"), (b"%2f", b"/")),
    *((b"-", b"+"), (b"_", b"/")),
)
_ZIP_HEAD: Final = 30  # bytes; APPNOTE.TXT section 4.3.7
_OTHER_METHODS: Final = frozenset({9, 12, 14, 93, 95, 98, 99})  # section 4.4.5: of compression and encryption


def check(data: bytes, known: KnownSecrets, *, where: str) -> None:
    """Refuse bytes that hold a known secret.

    Args:
        data: the bytes about to be written.
        known: the secrets.
        where: what the bytes are, for the message.

    Raises:
        SecretLeak: if they hold a secret; names its kind and form, not its text.
    """
    # Also across lines: binary bodies are written as base64 with line breaks.
    hit = known.find_across_lines(data)
    if hit is not None:
        placeholder, form = hit
        raise SecretLeak(
            f"{where} would hold the secret that {placeholder} stands for, {form}; nothing was written.",
            f"{AFTER_THE_CALL} make it without a cassette, and please report this with the shape of the request.",
        )
    check_compressed(without_whitespace(data), known)  # such as a body recorded before its secret was known


def check_compressed(data: bytes, known: KnownSecrets) -> None:
    """Refuse compressed data that holds a known secret, because it cannot be replaced there.

    Raises:
        SecretLeak: if there is such data, or it cannot be decompressed to check it; names the kind of the secret.
    """
    if not len(known) or not may_hold_compressed(data):
        return
    for inner in compressed_contents(data):
        hit = known.find_across_lines(inner)
        if hit is not None:
            raise SecretLeak(
                f"Compressed data in a body holds the secret that {hit[0]} stands for; nothing was written.",
                f"{AFTER_THE_CALL} ask for it uncompressed, or make it without a cassette.",
            )


def check_utf_16(data: bytes, known: KnownSecrets) -> None:
    """Refuse a body that holds a known secret in UTF-16 or UTF-32, which other searches do not find.

    Args:
        data: a body in which secrets in other forms were replaced already.
        known: the secrets.

    Raises:
        SecretLeak: if it holds a secret; names its kind.
    """
    if not len(known) or b"\0" not in data:
        return
    hit = known.find_across_lines(data.replace(b"\0", b""))
    if hit is not None:
        raise SecretLeak(
            f"A body in UTF-16 or UTF-32 holds the secret that {hit[0]} stands for; nothing was written.",
            f"It cannot be replaced there. {AFTER_THE_CALL} ask for UTF-8, or make it without a cassette.",
        )


def may_hold_compressed(data: bytes) -> bool:
    """Check quickly whether `data` may hold compressed data."""
    return data[:2] in _ZLIB or any(magic in data for magic in (*_MAGICS, *_BASE64_MAGICS))


def compressed_contents(data: bytes) -> Iterator[bytes]:
    """Yield all compressed contents of `data`, decompressed, at every level.

    Data that only begins like compressed data is ignored.

    Raises:
        SecretLeak: if the data is too large when decompressed, or has too many archives or levels.
    """
    waiting = [(data, 0)]
    opened = 0
    while waiting:
        outer, depth = waiting.pop()
        if not may_hold_compressed(outer):
            continue
        for inner in _decompressed_in(outer):
            opened += 1
            if opened > _MOST_ARCHIVES or depth >= _DEEPEST:
                raise SecretLeak(
                    "A body holds archives within archives, too many to check for secrets; nothing was written.",
                    f"{AFTER_THE_CALL} make it without a cassette.",
                )
            yield inner
            waiting.append((inner, depth + 1))


def _decompressed_in(data: bytes) -> Iterator[bytes]:
    view = memoryview(data)  # slices without copies
    if data[:2] in _ZLIB:
        yield from _attempt(inflated(view, zlib.MAX_WBITS, is_whole=False), len(view))
    for match in _MAGIC.finditer(data):
        rest = view[match.start() :]
        yield from _attempt(_DECOMPRESSORS[match[0]](rest), len(rest))
    for match in _BASE64.finditer(data):
        decoded = _decoded(match[0])
        if decoded[:2] in _ZLIB or _MAGIC.match(decoded):
            yield from _decompressed_in(decoded)


def _decoded(text: bytes) -> bytes:
    for written, plain in _BASE64_ESCAPES:
        text = text.replace(written, plain)
    try:
        return base64.b64decode(text[: len(text) // 4 * 4])
    except binascii.Error:
        return b""


def _attempt(chunks: Iterator[bytes], packed: int) -> Iterator[bytes]:
    """Yield as much as can be decompressed, since other data may follow."""
    parts: list[bytes] = []

    def collected() -> Iterator[bytes]:
        for chunk in chunks:
            parts.append(chunk)
            yield chunk

    try:
        capped(collected(), packed)
    except (zlib.error, Broken, OSError, EOFError, lzma.LZMAError, ValueError):
        pass
    except NotInstalled:
        raise SecretLeak(
            "A body holds Zstandard data that cannot be decompressed and checked for secrets; nothing was written.",
            f"{AFTER_THE_CALL} install the package zstandard, or make it without a cassette.",
        ) from None
    if parts:
        yield b"".join(parts)


def _zipped(data: memoryview) -> Iterator[bytes]:
    """Yield the first entry of a zip archive; the other entries have the same signature."""
    flags, method, name, extra = (int.from_bytes(data[at : at + 2], "little") for at in (6, 8, 26, 28))
    is_encrypted = flags & 1 and method in (0, 8)
    if is_encrypted or method in _OTHER_METHODS:
        raise SecretLeak(
            "A body holds a zip archive that cannot be decompressed to check it for secrets; nothing was written.",
            f"{AFTER_THE_CALL} make it without a cassette.",
        )
    if method == 8:  # an entry stored without compression is searched like any other text
        yield from inflated(data[_ZIP_HEAD + name + extra :], _RAW, is_whole=False)


def _stepwise(decompressor: Any, data: memoryview | bytes) -> Iterator[bytes]:
    while not decompressor.eof:
        chunk = decompressor.decompress(data, _STEP)
        data = b""
        if not chunk and decompressor.needs_input:
            raise EOFError
        yield chunk


_DECOMPRESSORS: Final[dict[bytes, Callable[[memoryview], Iterator[bytes]]]] = {
    b"\x1f\x8b\x08": lambda data: inflated(data, _GZIP, is_whole=False),
    b"PK\x03\x04": _zipped,
    b"\x28\xb5\x2f\xfd": zstd_decompressed,
    b"\xfd7zXZ\x00": lambda data: _stepwise(lzma.LZMADecompressor(memlimit=1 << 28), data),
    b"BZh": lambda data: _stepwise(bz2.BZ2Decompressor(), data),
}
