"""Put placeholders in the place of secrets, so that JSON stays JSON and UTF-16 stays UTF-16."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from toolkit.core.secret import Secret
from toolkit.scrubbing.searcher import Hit

_BACKSLASH: Final = ord("\\")
# By the number of null bytes beside a character, and whether they follow it.
_CODECS: Final = {(1, True): "utf-16-le", (1, False): "utf-16-be", (3, True): "utf-32-le", (3, False): "utf-32-be"}


class Span(NamedTuple):
    """A part of a text that a placeholder replaces.

    Attributes:
        start, end: the part.
        secret: what it holds.
        codec: encoding of the placeholder.
    """

    start: int
    end: int
    secret: Secret
    codec: str = "utf-8"


def spans_of(data: bytes, hits: Iterable[Hit]) -> list[Span]:
    """Return the spans to replace in `data`, in order and without overlaps.

    Where secrets overlap, the longest stands for all of them.
    """
    spans: list[Span] = []
    longest = 0
    for hit in sorted(hits, key=_place):
        if spans and hit.start < spans[-1].end:
            before = spans[-1]
            secret = hit.secret if hit.length > longest else before.secret
            spans[-1] = Span(before.start, max(before.end, hit.end), secret)
            longest = max(longest, hit.length)
        else:
            spans.append(Span(hit.start, hit.end, hit.secret))
            longest = hit.length
    return [_fitted(data, span) for span in spans]


def spliced(data: bytes, replacements: Iterable[tuple[Span, bytes]]) -> bytes:
    """Return `data` with a text in the place of each span; the spans are in order."""
    parts, done = [], 0
    for span, text in replacements:
        parts += [data[done : max(done, span.start)], text]
        done = max(done, span.end)
    return b"".join((*parts, data[done:]))


def _place(hit: Hit) -> tuple[int, int]:
    return hit.start, hit.end


def _fitted(data: bytes, span: Span) -> Span:
    """Return a span that includes the null bytes of UTF-16 or UTF-32 and a backslash that belong to its characters."""
    start, end = span.start, span.end
    if b"\0" in data[start : end + 3]:
        for zeros in (3, 1):
            beside = b"\0" * zeros
            if start % (zeros + 1) == zeros and data[start - zeros : start] == beside:
                return Span(start - zeros, end, span.secret, _CODECS[zeros, False])
            if data[start + 1 : start + 1 + zeros] == beside and data[end : end + zeros] == beside:
                return Span(start, end + zeros, span.secret, _CODECS[zeros, True])
    run = 0
    while run < start and data[start - run - 1] == _BACKSLASH:
        run += 1
    return span._replace(start=start - run) if run % 2 else span  # the last backslash escapes the first character
