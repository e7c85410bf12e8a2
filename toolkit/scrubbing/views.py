"""Views of a text: the text itself, and its unescaped, decoded and decompressed contents.

Positions in a view can be mapped back to the text: positions in unescaped text to single characters, and positions in
decoded text to the whole encoded run. Decompressed data is not mapped back, since it cannot be changed. Views with the
fewest layers come first.

Most encoded secrets are found without a view, because `needles` contains their encoded forms. A run of base64, base32
or hex is decoded if it is long, or if its beginning decodes to text or compressed data.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Final, NamedTuple

from toolkit.scrubbing import escapes
from toolkit.scrubbing.compression import FORMATS, MAGICS, DecodingBudget, is_archive, members_of
from toolkit.scrubbing.normal_form import (
    CONTROLS,
    flags_of,
    has_controls,
    is_text,
    is_wide,
    normal_form,
    normal_positions,
)

DEEPEST: Final = 5  # nested encodings and formats, including one for the file, in which a body may be base64
_SMALL: Final = 1 << 16  # bytes; larger text is searched for encodings only before and after its escapes are undone
_BETWEEN: Final = b"\n\xff\n"  # separates the parts of a view
_PRINTABLE: Final = flags_of(bytes({*range(128)} - {*CONTROLS}))
_PRINTABLE_RUN: Final = re.compile(rb"\x01{11,}+")
_SHORTEST: Final = 16  # characters of a run that is decoded if there are secrets of this length
_LONG: Final = 48  # characters of a run that is always decoded
_LINE: Final = 40  # characters of the shortest line that continues on the next
_HEAD: Final = 32  # characters that decide whether a run is worth decoding
_DIGITS: Final = flags_of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_MORE_LINES: Final = re.compile(rb"(?:(?:\r?\n[ \t]{0,60}+){1,2}+[A-Za-z0-9+/_-]++)*+")
_PADDING: Final = re.compile(rb"={0,2}")
_NO_DIGITS: Final = b"= \t\r\n"
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")


class _Segment(NamedTuple):
    """A part of a view that is written differently in the outer view: its position and length, and its outer span."""

    at: int
    length: int
    start: int
    end: int


class View:
    """A text to search.

    Attributes:
        data: the text.
        outer: the view that it was made from; None for the text itself.
        layer: the encoding or format that was undone, such as "base64"; empty for escapes.
        depth: number of encodings and formats around it.
    """

    def __init__(
        self,
        data: bytes,
        outer: View | None = None,
        segments: Callable[[], list[_Segment]] = list,
        layer: str = "",
    ) -> None:
        self.data, self.outer, self.layer = data, outer, layer
        self.depth: int = 0 if outer is None else outer.depth + bool(layer)
        self._segments_of = segments

    @cached_property
    def normal(self) -> bytes:
        """The normal form of the text."""
        return normal_form(self.data)

    @cached_property
    def _positions(self) -> Sequence[int]:
        return normal_positions(self.data)

    @cached_property
    def _segments(self) -> list[_Segment]:
        return self._segments_of()

    def span_of_normal(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the text that corresponds to a span in its normal form."""
        return int(self._positions[start]), int(self._positions[end - 1]) + 1

    def origin(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the span of the original text that a span of this view comes from; None if it cannot be changed."""
        view: View = self
        can_change = True
        while True:
            can_change = can_change and not is_archive(view.data)
            if view.outer is None:
                return (start, end) if can_change else None
            start, end = view._outer(start)[0], view._outer(end - 1)[1]
            if view.layer:
                can_change = view.layer not in FORMATS
            view = view.outer

    def layers(self) -> list[str]:
        """Return the layers around this view, innermost first."""
        return [] if self.outer is None else [*filter(None, (self.layer,)), *self.outer.layers()]

    def _outer(self, at: int) -> tuple[int, int]:
        """Return the span of the outer view that a byte comes from."""
        number = bisect_right(self._segments, (at, len(self.data) + 1)) - 1
        if number < 0:
            return at, at + 1
        segment = self._segments[number]
        within = at - segment.at - segment.length
        return (segment.start, segment.end) if within < 0 else (segment.end + within, segment.end + within + 1)


def views_of(
    data: bytes, budget: DecodingBudget, *, deepest: int = DEEPEST, shortest: int = _SHORTEST
) -> Iterator[View]:
    """Yield the views of a text, least deeply nested first.

    Args:
        data: the text.
        budget: limits the work; the text itself is always the first view.
        deepest: maximum number of nested encodings and formats to undo.
        shortest: length of the shortest secret, in characters; a shorter encoded run cannot contain one.

    Raises:
        SecretLeak: if compressed or encoded data in the text expands out of all proportion.
    """
    waiting = deque([View(data)])
    seen: set[bytes] = set()
    while waiting:
        view = waiting.popleft()
        yield view
        text = _text_of(view)
        levels = [text]
        for level in _unescaped(text, budget):
            yield level
            levels.append(level)
        if view.depth < deepest:
            if len(text.data) > _SMALL:
                levels = [text, levels[-1]]
            for level in dict.fromkeys(levels):
                waiting += _decoded(level, budget, seen, shortest)
            for level in (view, *levels[1:][-1:]):
                if not is_text(level.data):
                    waiting += _opened(level, budget)


def _text_of(view: View) -> View:
    """Return a view of what may be text: everything, or the printable runs. The null bytes of UTF-16 are left out."""
    data = view.data
    if b"\0" in data and is_wide(data):
        without = View(escapes.undone(escapes.ZEROS, data), view, partial(_escape_segments, escapes.ZEROS, data))
        return _text_of(without)
    if not has_controls(data):
        return view
    spans = [match.span() for match in _PRINTABLE_RUN.finditer(data.translate(_PRINTABLE))]
    return _joined(view, [data[start:end] for start, end in spans], spans, "")


def _joined(view: View, parts: list[bytes], spans: list[tuple[int, int]], layer: str) -> View:
    """Return a view of parts of another view; if `layer` is empty, the parts are unchanged bytes of that view."""

    def segments() -> list[_Segment]:
        results: list[_Segment] = []
        at = 0
        for part, (start, end) in zip(parts, spans, strict=True):
            results.append(_Segment(at, len(part) if layer else 0, start, end if layer else start))
            at += len(part)
            results.append(_Segment(at, len(_BETWEEN), end, end))
            at += len(_BETWEEN)
        return results

    return View(_BETWEEN.join(parts), view, segments, layer)


def _unescaped(view: View, budget: DecodingBudget, times: int = 2) -> Iterator[View]:
    """Yield a view after undoing each level of escapes, and for each level also one with quoted-printable decoded."""
    levels = [view, *_without_escapes(view, budget)]
    yield from levels[1:]
    for level in levels if len(view.data) <= _SMALL else dict.fromkeys((levels[0], levels[-1])):
        if times and b"=" in level.data and escapes.IS_QUOTED.search(level.data):
            mail = _without(level, escapes.QUOTED, budget)
            if mail is not None:
                yield mail
                yield from _unescaped(mail, budget, times - 1)


def _without_escapes(view: View, budget: DecodingBudget) -> Iterator[View]:
    for _ in range(escapes.LEVELS):
        before = view
        for sign, pattern in escapes.ALL:
            level = _without(view, pattern, budget) if sign in view.data else None
            if level is not None:
                view = level
                yield view
        if view is before:
            return


def _without(view: View, pattern: re.Pattern[bytes], budget: DecodingBudget) -> View | None:
    plainer = escapes.undone(pattern, view.data)
    if plainer == view.data or not budget.spend(len(plainer)):
        return None
    return View(plainer, view, partial(_escape_segments, pattern, view.data))


def _escape_segments(pattern: re.Pattern[bytes], data: bytes) -> list[_Segment]:
    segments: list[_Segment] = []
    shift = 0  # from the outer view to the inner one
    for match in pattern.finditer(data):
        start, end = match.span()
        length = len(escapes.read(match[0]))
        segments.append(_Segment(start + shift, length, start, end))
        shift += length - (end - start)
    return segments


def _opened(view: View, budget: DecodingBudget) -> Iterator[View]:
    for member in members_of(view.data, budget):
        segment = _Segment(0, len(member.data), member.start, member.end)
        yield View(member.data, view, partial(list, (segment,)), member.name)


def _decoded(view: View, budget: DecodingBudget, seen: set[bytes], shortest: int) -> Iterator[View]:
    """Yield, for each encoding, one view of all decoded runs that are text and one of all other decoded runs."""
    found: dict[tuple[str, bool], tuple[list[bytes], list[tuple[int, int]]]] = {}
    for start, end, code in _runs(view.data, min(max(shortest, _SHORTEST), _LONG)):
        run = view.data[start:end]
        if run in seen:
            continue
        digits = run.translate(None, _NO_DIGITS)
        name = code if _CODES[code][0].fullmatch(digits) else "base64"  # only its beginning may be in that encoding
        decoded = _CODES[name][1](digits)
        if decoded and budget.spend(len(run) + len(decoded)):
            seen.add(run)
            parts, spans = found.setdefault((name, is_text(decoded)), ([], []))
            parts.append(decoded)
            spans.append((start, end))
    for (name, _), (parts, spans) in found.items():
        yield _joined(view, parts, spans, name)


def _runs(data: bytes, least: int) -> Iterator[tuple[int, int, str]]:
    """Yield the span and encoding of each run of base64 characters that is worth decoding, with its continuation lines.

    A run has at least `least` characters. A run with slashes may also be a path, so its encoded segments are yielded as
    separate runs.
    """
    done = 0
    for match in _run_of(least).finditer(data.translate(_DIGITS)):
        start, end = match.span()
        if start < done:
            continue
        head = data[start : min(end, start + _HEAD)]
        code = _code_of(head)
        if end - start >= _LINE:
            end = _MORE_LINES.match(data, end).end()  # type: ignore[union-attr]
        done = end
        if code or end - start >= _LONG:
            yield start, _PADDING.match(data, end).end(), code or "base64"  # type: ignore[union-attr]
        if not code and b"/" in head:
            for segment in re.compile(b"[^/]{%d,}+" % least).finditer(data, start, end):
                code = _code_of(segment[0][:_HEAD])
                if code:
                    yield *segment.span(), code


@lru_cache
def _run_of(least: int) -> re.Pattern[bytes]:
    return re.compile(b"\1" * least + b"\1*+")


@lru_cache(maxsize=4096)  # a message is searched twice, and messages repeat the same paths
def _code_of(head: bytes) -> str:
    """Return the encoding in which a run's beginning decodes to text or compressed data, or "" if there is none."""
    for name, (pattern, decode) in _CODES.items():
        if pattern.fullmatch(head):
            beginning = decode(head)
            if is_text(beginning) or beginning.startswith(MAGICS):
                return name
            if name == "hex":  # digests and identifiers are hex, and do not look like other encodings
                break
    return ""


def _of_hex(digits: bytes) -> bytes:
    return binascii.unhexlify(digits[: len(digits) // 2 * 2])


def _of_base32(digits: bytes) -> bytes:
    digits = digits[: len(digits) // 8 * 8 + (0, 0, 2, 2, 4, 5, 5, 7)[len(digits) % 8]].upper()
    return base64.b32decode(digits + b"=" * (-len(digits) % 8))


def _of_base64(digits: bytes) -> bytes:
    digits = digits[: len(digits) - (len(digits) % 4 == 1)].translate(_TO_STANDARD)
    return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))


_CODES: Final[dict[str, tuple[re.Pattern[bytes], Callable[[bytes], bytes]]]] = {
    "hex": (re.compile(rb"[0-9A-Fa-f]+"), _of_hex),
    "base32": (re.compile(rb"[A-Z2-7]+|[a-z2-7]+"), _of_base32),
    "base64": (re.compile(rb"[A-Za-z0-9+/_-]+"), _of_base64),
}
