"""Base64 within a text: compressed bodies of recordings, pictures, attachments, files, and texts."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolkit.scrubbing.normal_form import translated

_SHORTEST: Final = 32  # characters
_LONG: Final = 4_096  # characters; a longer run is not a credential
_KEPT: Final = 64  # characters of a long run
_DIGITS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_IS_DIGIT: Final = bytes(byte in _DIGITS for byte in range(256))
_NOT_DIGITS: Final = bytes(byte for byte in range(256) if byte not in _DIGITS)
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_RUN: Final = re.compile(rb"\x01" * _SHORTEST + rb"\x01*+")
_LINE: Final = 48  # characters of the shortest line that goes on in the next
_MORE_LINES: Final = re.compile(rb"(?:(?:\\r)?+(?:\\n|\r?\n)[ \t]{0,60}+[A-Za-z0-9+/]++)*+")
_TRIED: Final = 64  # characters that tell whether a run is worth decoding
_MARKED: Final = re.compile(r"(?:!!binary|base64)[^A-Za-z0-9]{0,40}\Z")
_LONGEST_MARK: Final = 60  # characters
_MAGICS: Final = (
    *(
        b"\x1f\x8b\x08",
        b"PK\x03\x04",
        b"BZh",
        b"\xfd7zXZ\x00",
        b"\x28\xb5\x2f\xfd",
        b"\x89PNG",
        b"%PDF-",
        b"\xff\xd8\xff",
    ),
    *(b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\xff\xfe", b"\xfe\xff"),
)
_CONTROLS: Final = bytes(byte for byte in (*range(9), *range(14, 32), 127))


class Embedded(NamedTuple):
    """Something in base64.

    Attributes:
        start: position in the text where it begins.
        end: position after it.
        data: the bytes; none for a long run that is not worth decoding.
        is_marked: True if the text says that it is binary data.
    """

    start: int
    end: int
    data: bytes
    is_marked: bool


def embedded_in(text: str) -> Iterator[Embedded]:
    """Yield what a text holds in base64, if it is text, begins like compressed data, or is marked as binary.

    Other long runs are yielded without data.
    """
    data = text.encode("ascii", "replace")  # one byte a character
    flags = translated(data, _IS_DIGIT)
    done = 0
    for match in _RUN.finditer(flags):
        start, end = match.span()
        if start < done:
            continue
        is_marked = _MARKED.search(text, max(0, start - _LONGEST_MARK), start) is not None
        is_part = text[start - 1 : start] == "." or text[end : end + 1] == "."  # of a signed token
        is_opened = is_marked or (not is_part and _is_promising(data[start : min(end, start + _TRIED)]))
        if (end - start) % 4 == 0 and end - start >= _LINE:
            end = _MORE_LINES.match(data, end).end()  # type: ignore[union-attr]
        if is_opened or end - start > _LONG:
            yield Embedded(start, end, _decoded(data[start:end]) if is_opened else b"", is_marked)
            done = end


def _is_promising(digits: bytes) -> bool:
    beginning = _decoded(digits[: len(digits) // 4 * 4])
    return beginning.startswith(_MAGICS) or is_text(beginning)


def is_text(data: bytes) -> bool:
    """Check whether the first bytes of some data are text, perhaps cut within a character."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(data) - 3:
            return False
    return len(data.translate(None, _CONTROLS)) == len(data)


def _decoded(written: bytes) -> bytes:
    if b"\\" in written:  # line breaks of JSON
        written = written.replace(b"\\r", b"").replace(b"\\n", b"")
    digits = written.translate(_TO_STANDARD, _NOT_DIGITS)
    if len(digits) % 4:
        digits = digits[:-1] if len(digits) % 4 == 1 else digits + b"=="
    return binascii.a2b_base64(digits)


def shortened(text: str, runs: list[Embedded]) -> str:
    """Return a text with the same lines in which long runs of base64 have only their beginning."""
    parts, done = [], 0
    for run in runs:
        if run.end - run.start > _LONG:
            parts += [text[done : run.start + _KEPT], "\n" * text.count("\n", run.start + _KEPT, run.end)]
            done = run.end
    return "".join((*parts, text[done:])) if parts else text
