"""The table of all decoders, and the choice of what to decode further."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from toolkit.scrubbing.gate import compression, documents, escapes, text_codes
from toolkit.scrubbing.gate.budget import CHUNK, Budget
from toolkit.scrubbing.gate.text_codes import SHORTEST_RUN

_Decoders = dict[str, Callable[[bytes], Iterator[bytes]]]

_CONTROLS: Final = bytes(byte for byte in (*range(1, 32), 127) if byte not in b"\t\n\r")
_NEVER_TEXT: Final = b"\0" + _CONTROLS
_PRINTABLE: Final = bytes(byte in b"\0\t\n\r" or 32 <= byte < 127 for byte in range(256))
_FIRST: Final = 32  # bytes, which are not all ASCII in compressed data
# A run of base64, hex or base32 in lines, long enough for compressed data with a secret in it.
_SHORTEST: Final = 22
_RUN: Final = re.compile(rb"\x01" * _SHORTEST + rb"\x01*+")
_MORE_LINES: Final = re.compile(rb"(?:[\r\n]\s{0,60}+[A-Za-z0-9+/_-]++)*+")
_IS_CODED: Final = bytes((chr(byte).isalnum() and byte < 128) or byte in b"+/_-" for byte in range(256))
_LOOKS_CODED: Final = re.compile(rb"(?=[\s\S]{0,40}?[A-Z])(?=[\s\S]{0,40}?[a-z])(?=[\s\S]{0,60}?[0-9+/_-])")
_HASHES: Final = frozenset({32, 40, 56, 64, 96, 128})  # hex digits of MD5 and SHA
_HEX: Final = re.compile(rb"[0-9a-f]+|[0-9A-F]+")
_BASE32: Final = re.compile(rb"[A-Z2-7]+|[a-z2-7]+")
_FOR_BASE64: Final = bytes.maketrans(b"-_", b"+/")
# Magic numbers of compressed data, each byte a character in UTF-8.
_MAGICS_AS_CHARACTERS: Final = tuple(
    magic.decode("latin-1").encode()
    for magic in (
        *(b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda", b"PK\x03\x04", b"BZh", b"\x89PNG", b"\x5d\x00\x00"),
        *(b"\x28\xb5\x2f\xfd", b"\xfd7zXZ"),
    )
)


def text_of(parts: Iterable[bytes]) -> bytes:
    """Return what may be text: whole parts in UTF-8, and the printable runs of others; zeros of UTF-16 are left out."""
    texts: list[bytes] = []
    others: list[bytes] = []
    for part in parts:
        (texts if _is_text(part) else others).append(part)
    texts.append(text_codes.dense_runs(b"\n".join(others), _PRINTABLE, SHORTEST_RUN))
    text = b"\n".join(filter(None, texts)) if len(texts) > 1 else texts[0]
    return text.replace(b"\0", b"") if b"\0" in text else text


def _is_text(data: bytes) -> bool:
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return False
    return len(data) > CHUNK or len(data.translate(None, _CONTROLS)) * 4 >= len(data) * 3


def containers(data: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the format and the content of each kind of compressed data, archive and document in some data."""
    # Compressed data is never printable text, but a PDF may be.
    for opener in (documents.streams_opened,) if _is_printable(data) else CONTAINERS:
        yield from opener(data, budget)


def _is_printable(data: bytes) -> bool:
    return len(data) <= CHUNK and data.isascii() and len(data.translate(None, _NEVER_TEXT)) == len(data)


def beginnings(data: bytes, budget: Budget, *, is_unescaped: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the data decoded as a whole: compressed without a magic number, or bytes written as characters.

    JavaScript writes bytes as text, with one character for each.

    Args:
        is_unescaped: True for text from which escapes were removed; some may have been bytes that are not UTF-8.
    """
    if not data[:_FIRST].isascii():
        yield from compression.headerless_opened(data, budget)
    if b"\xc2" in data or b"\xc3" in data:
        try:
            text = data.decode("utf-8", "replace" if is_unescaped else "strict")
        except UnicodeDecodeError:
            return
        if any(magic in data for magic in _MAGICS_AS_CHARACTERS):
            yield "characters", text.encode("latin-1", "replace")


def notations(text: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield a text with each notation of mail and style sheets undone that it seems to have."""
    yield from _all_decoded(NOTATIONS, text, budget)


def codes(text: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield the name of each code with the text decoded by it."""
    yield from _all_decoded(CODES, text, budget)


def _all_decoded(decoders: _Decoders, text: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    for name, decoder in decoders.items():
        for result in decoder(text):
            budget.spend(len(result))
            if len(result) >= 8:
                yield name, result


def headerless_opened(text: bytes, budget: Budget) -> Iterator[tuple[str, bytes]]:
    """Yield what the runs of base64, hex and base32 in a text hold, compressed without a magic number."""
    outputs: dict[str, list[bytes]] = {}
    for found in _runs(text):
        run = found.translate(None, b" \t\r\n\v\f")
        if _LOOKS_CODED.match(run):
            digits = run.translate(_FOR_BASE64)
            digits = digits[: len(digits) - (len(digits) % 4 == 1)]
            data = binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))
        elif _HEX.fullmatch(run) and len(run) not in _HASHES:
            data = binascii.unhexlify(run[: len(run) // 2 * 2])
        elif _BASE32.fullmatch(run):
            data = text_codes.of_base32(run)
        else:
            continue
        for name, output in compression.headerless_opened(data, budget):
            outputs.setdefault(name, []).append(output)
    for name, parts in outputs.items():
        yield name, b"\n".join(parts)


def _runs(text: bytes) -> Iterator[bytes]:
    """Yield each long run of base64, base32 or hex with the lines that go on after it."""
    flags = text_codes.flagged(text, _IS_CODED)
    at = 0 if b"\1" * _SHORTEST in flags else len(flags)
    while at < len(flags):
        end = at + CHUNK
        match = _RUN.search(flags, at, end)
        if match is None:
            at = end - _SHORTEST if end < len(flags) else end
            continue
        if match.end() == end:
            match = _RUN.match(flags, match.start()) or match
        more = _MORE_LINES.match(text, match.end())
        at = more.end() if more else match.end()
        yield text[match.start() : at]


CONTAINERS: Final[tuple[Callable[[bytes, Budget], Iterator[tuple[str, bytes]]], ...]] = (
    compression.opened_in,
    documents.pictures_opened,
    documents.streams_opened,
    documents.tables_opened,
    documents.records_opened,
)
NOTATIONS: Final[_Decoders] = {
    "quoted-printable": escapes.unquoted,
    "encoded words": escapes.words_of_mail,
    "escapes": escapes.css_unescaped,
}
CODES: Final[_Decoders] = {
    "base64": text_codes.base64_decoded,
    "hex": text_codes.hex_decoded,
    "base32": text_codes.base32_decoded,
    "numbers": text_codes.numbers_decoded,
}
