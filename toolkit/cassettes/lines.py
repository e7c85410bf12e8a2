"""Text broken into lines, as mail and PEM break base64: put together again, with the way back."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

# White space as bytes, and as JSON, URLs, and each of them in URLs write it.
_PERCENT: Final = rb"%(?:25){0,4}"
_SPACE: Final = re.compile(
    rb"(?:\s|(?:\\|" + _PERCENT + rb"5[Cc])+[nrt]|" + _PERCENT + rb"(?:0[AaDd9]|20))+",
)
_WHITE: Final = b" \t\n\r\x0b\x0c"


def joined(data: bytes) -> bytes:
    """`data` without white space and line breaks, escaped ones included."""
    if b"\\" in data or b"%" in data:
        return _SPACE.sub(b"", data)
    return data.translate(None, _WHITE)


def replaced_across_lines(data: bytes, spans: Iterable[tuple[int, int]], placeholder: bytes) -> bytes:
    """`data` with the placeholder in place of what stands at these places of `joined(data)`."""
    starts, origins = [0], [0]  # of each piece between white space, in what is joined and in `data`
    length = 0
    for match in _SPACE.finditer(data):
        length += match.start() - origins[-1]
        starts.append(length)
        origins.append(match.end())

    def origin(position: int) -> int:
        piece = bisect_right(starts, position) - 1
        return origins[piece] + position - starts[piece]

    parts, done = [], 0
    for start, end in sorted(spans):
        first, last = origin(start), origin(end - 1) + 1
        if last <= done:
            continue
        if first >= done:
            parts += [data[done:first], placeholder]
        done = last
    return b"".join((*parts, data[done:]))
