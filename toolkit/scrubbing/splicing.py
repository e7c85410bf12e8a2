"""Put placeholders in the place of secrets, so that JSON stays JSON and UTF-16 stays UTF-16."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from toolkit.core.secret import Secret
from toolkit.scrubbing.spellings import Spelling

_BACKSLASH: Final = ord("\\")
# By the number of null bytes beside a character, and whether they follow it.
_CODECS: Final = {(1, True): "utf-16-le", (1, False): "utf-16-be", (3, True): "utf-32-le", (3, False): "utf-32-be"}


class Span(NamedTuple):
    """A part of a text that a placeholder replaces.

    Attributes:
        start, end: the part.
        secret: what it holds.
        codec: of the placeholder.
    """

    start: int
    end: int
    secret: Secret
    codec: str = "utf-8"


def spans_of(data: bytes, spellings: Iterable[Spelling]) -> list[Span]:
    """Return the spans to replace in `data`, in order and without overlaps.

    Where secrets overlap, the longest stands for all of them.
    """
    by_secret: dict[tuple[int, Secret], list[tuple[int, int]]] = {}
    for spelling in spellings:
        by_secret.setdefault((-spelling.length, spelling.secret), []).append((spelling.start, spelling.end))
    spans: list[Span] = []
    for (_, secret), places in sorted(by_secret.items(), key=lambda item: item[0][0]):
        spans = _merged(spans, [Span(*place, secret) for place in _unions(places)])
    return [_fitted(data, span) for span in spans]


def spliced(data: bytes, replacements: Iterable[tuple[Span, bytes]]) -> bytes:
    """Return `data` with a text in the place of each span; the spans are in order."""
    parts, done = [], 0
    for span, text in replacements:
        parts += [data[done : max(done, span.start)], text]
        done = max(done, span.end)
    return b"".join((*parts, data[done:]))


def _unions(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans that overlap as one."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if result and start < result[-1][1]:
            result[-1] = result[-1][0], max(end, result[-1][1])
        else:
            result.append((start, end))
    return result


def _merged(longer: list[Span], shorter: list[Span]) -> list[Span]:
    """Return both in order; a longer secret takes over what overlaps with it."""
    if not longer:
        return shorter
    result: list[Span] = []
    ranked = [*((span, True) for span in longer), *((span, False) for span in shorter)]
    has_longer = False
    for span, is_longer in sorted(ranked, key=lambda pair: pair[0][:2]):
        if result and span.start < result[-1].end:
            before = result[-1]
            secret = span.secret if is_longer and not has_longer else before.secret
            result[-1] = before._replace(end=max(before.end, span.end), secret=secret)
            has_longer = has_longer or is_longer
        else:
            result.append(span)
            has_longer = is_longer
    return result


def _fitted(data: bytes, span: Span) -> Span:
    """Return a span with what belongs to its first and last character."""
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
    return span._replace(start=start - run) if run % 2 else span  # the last one escapes the first character
