"""Read text in slices, so that a file of any size takes little memory.

A slice ends at the end of a line where there is one, and not within base64, whose parts mean nothing. The text around
it is read with it, since a secret may begin in one slice and end in the next.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolkit.scrubbing.scanning.decompression import Readable

_PIECE: Final = 1 << 18  # bytes read at a time
_SIZE: Final = 1 << 20  # characters of a slice
_LARGEST: Final = 1 << 24  # characters of a slice that is a run of base64
_BEFORE: Final = 1 << 12  # characters read again before a slice
_AFTER: Final = 1 << 14  # characters read after a slice
_LAST_LINE: Final = 1 << 16  # characters at the end of a slice, in which a line should end
_IN_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{60}(?:(?:\\r)?(?:\\n|\r?\n)[ \t]{0,60}|[A-Za-z0-9+/_-])\Z")
_REST_OF_BASE64: Final = re.compile(
    r"[ \t]{0,60}+[A-Za-z0-9+/_=-]*+(?:(?:\\r)?(?:\\n|\r?\n)[ \t]{0,60}+[A-Za-z0-9+/_=-]++)*+"
)
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_BACK: Final = 150  # characters before the end of a slice that tell whether it is in base64
_LOOKED_AT: Final = 1 << 12  # bytes that tell an encoding
_CONTROLS: Final = bytes(byte for byte in (*range(8), *range(14, 27), *range(28, 32), 127))


class Slice(NamedTuple):
    """A part of a text.

    Attributes:
        before: what stands before it.
        text: the part itself.
        after: what stands after it.
        line: the line, from 1, on which `before` begins.
    """

    before: str
    text: str
    after: str
    line: int


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of a text that begins with these bytes, or None if they are not text."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding
    looked_at = head[:_LOOKED_AT]
    zeros = looked_at.count(0)
    if zeros * 4 >= len(looked_at) > 1:  # without a mark, zeros beside each character tell
        for encoding, width, first in (
            ("utf-32-le", 4, 0),
            ("utf-32-be", 4, 3),
            ("utf-16-le", 2, 0),
            ("utf-16-be", 2, 1),
        ):
            filled = looked_at[first::width].count(0)
            others = zeros - filled
            if filled == 0 and others >= (len(looked_at) // width) * (width - 1) * 0.8:
                return encoding
    is_text = zeros == 0 and len(looked_at.translate(None, _CONTROLS)) * 20 >= len(looked_at) * 19
    return "utf-8" if is_text else None


def slices_of(stream: Readable, encoding: str) -> Iterator[Slice]:
    """Yield the slices of a text that is read from a stream; an empty text has none."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    before, buffer, line = "", "", 1
    is_at_end = False
    size = _SIZE
    while True:
        parts, length = [buffer], len(buffer)
        while not is_at_end and length < size + _AFTER:
            data = stream.read(_PIECE)
            is_at_end = not data
            parts.append(decoder.decode(data, final=is_at_end))
            length += len(parts[-1])
        buffer = "".join(parts)
        end = len(buffer)
        if end > size:
            end = buffer.rfind("\n", size - _LAST_LINE, size) + 1 or size
            if _IN_BASE64.search(buffer, end - _LOOKED_BACK, end):
                rest = _REST_OF_BASE64.match(buffer, end, _LARGEST)
                end = rest.end() if rest is not None else end
                if len(buffer) - end < _LOOKED_BACK and len(buffer) < _LARGEST and not is_at_end:
                    size *= 2
                    continue
        if not end:
            return
        text, buffer, size = buffer[:end], buffer[end:], _SIZE
        yield Slice(before, text, buffer[:_AFTER], line)
        line += before.count("\n") + text.count("\n")
        before = text[-_BEFORE:]
        before = before[before.find("\n") + 1 :]  # from the beginning of a line, if there is one
        line -= before.count("\n")
