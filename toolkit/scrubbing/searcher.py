"""Search a view for secrets: needles are matched in its normal form, and each match is then checked in its text.

Windows of four bytes are looked up, each as one unsigned integer. A text is read only at every fourth position, so a
needle is indexed by the windows at its last four positions: wherever the needle occurs, one of these is read. The time
therefore depends mainly on the length of the text, and very little on the number or length of the secrets.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final, NamedTuple

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.text import SLICE
from toolkit.scrubbing.needles import Needle, needles_of
from toolkit.scrubbing.normal_form import cased_form, exact_form
from toolkit.scrubbing.views import View

WIDTH: Final = 4  # bytes of a window, and between the positions that are read
_EXTENT: Final = 2 * WIDTH - 1  # bytes that the windows of one needle cover
_IN_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_LINE_ENDS: Final = frozenset(b"\r\n\0")
_SPACE, _PLUS, _BACKSLASH, _APOSTROPHE = b" +\\'"


class Hit(NamedTuple):
    """A secret in a view. `length` is the `length` of the needle; if hits overlap, the longest is replaced."""

    secret: Secret
    length: int
    start: int
    end: int
    form: str
    codec: str = "utf-8"


class Searcher:
    """Secrets to search for. Adding one is safe while another thread searches, but not while another thread adds one.

    Args:
        in_codes: False to look for the secrets only in plain or escaped form.

    Attributes:
        secrets: the secrets, in the order in which they were added.
        shortest: length of the shortest secret, in characters.
    """

    def __init__(self, *, in_codes: bool = True) -> None:
        self.secrets: dict[Secret, None] = {}
        self.shortest = sys.maxsize
        self._in_codes = in_codes
        # By window: the needles that contain it, with its position in each.
        self._owners: dict[int, tuple[tuple[Needle, int], ...]] = {}
        self._without_windows: list[Needle] = []  # too few letters and digits

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def add(self, secret: Secret) -> None:
        """Add a secret to look for, unless it is so short that unrelated text may contain it."""
        if secret in self.secrets or len(secret.reveal()) < SHORTEST_SECRET:
            return
        self.secrets[secret] = None
        self.shortest = min(self.shortest, len(secret.reveal()))
        for needle in needles_of(secret, in_codes=self._in_codes):
            if len(needle.normal) < _EXTENT:
                self._without_windows.append(needle)
                continue
            for at in range(len(needle.normal) - _EXTENT, len(needle.normal) - WIDTH + 1):
                window = int.from_bytes(needle.normal[at : at + WIDTH], sys.byteorder)
                self._owners[window] = (*self._owners.get(window, ()), (needle, at))

    def hits_in(self, view: View) -> Iterator[Hit]:
        """Yield each occurrence of a secret in a view; occurrences may overlap."""
        normal = view.normal
        done: dict[int, int] = {}  # by id of the needle; a window that repeats within a needle matches again
        for at, owners in self._matches_in(normal):
            for needle, place in owners:
                start = at - place
                if start < done.get(id(needle), 0) or not normal.startswith(needle.normal, start):
                    continue
                end = start + len(needle.normal)
                span = _span(view.data, *view.span_of_normal(start, end), needle)
                if span is not None:
                    done[id(needle)] = end
                    yield Hit(needle.secret, needle.length, *span, needle.form)
        yield from self._exact_hits(view.data)

    def _matches_in(self, data: bytes) -> Iterator[tuple[int, tuple[tuple[Needle, int], ...]]]:
        """Yield, in order, the position of each window in `data` that is part of a needle, with all its needles."""
        owners = self._owners
        for first in range(0, len(data) if owners else 0, SLICE):
            part = memoryview(data)[first : first + SLICE]
            numbers = part[: len(part) // WIDTH * WIDTH].cast("I").tolist()
            if not owners.keys().isdisjoint(numbers):
                for at, window in enumerate(numbers):
                    if window in owners:
                        yield first + at * WIDTH, owners[window]

    def _exact_hits(self, data: bytes) -> Iterator[Hit]:
        """Yield hits for needles that are too short for windows; each of these needles is searched for separately."""
        for needle in self._without_windows:
            start = data.find(needle.literal)
            while start >= 0:
                end = start + len(needle.literal)
                yield Hit(needle.secret, needle.length, start, end, needle.form)
                start = data.find(needle.literal, end)


def _span(data: bytes, start: int, end: int, needle: Needle) -> tuple[int, int] | None:
    """Return the span in the text for a span in its normal form, or None if the text there is not the secret."""
    if needle.exact is not None and exact_form(data[start:end]) != needle.exact:
        return None
    if needle.cased is not None and cased_form(data[start:end]) != needle.cased:
        return None
    before, after = needle.margins
    if before or after:
        first, last = _beyond(data, start, before[::-1], -1), _beyond(data, end, after, 1)
        if needle.exact is not None and (first is None or last is None):
            return None
        return start if first is None else first, end if last is None else last
    if needle.more != (0, 0) or "base" in needle.form:
        start = _beyond_base64(data, start, needle.more[0], -1)
        end = _beyond_base64(data, end, needle.more[1], 1)
        for _ in range(2):
            end += data[end : end + 1] == b"="
    return start, end


def _beyond(data: bytes, at: int, characters: bytes, step: int) -> int | None:
    """Return the position after the given characters, or None if they do not follow."""
    ignored = _LINE_ENDS
    for character in characters:
        while 0 <= (seen := at if step > 0 else at - 1) < len(data) and data[seen] in ignored - {character}:
            at += step
        ignored = _LINE_ENDS | {_APOSTROPHE} if character == _APOSTROPHE else _LINE_ENDS  # YAML doubles apostrophes
        beside = data[seen] if 0 <= seen < len(data) else None
        if beside == character or (character == _SPACE and beside == _PLUS):
            at += step
        elif character != _BACKSLASH:  # a backslash may be missing: it looks like an escape of the next character
            return None
    return at


def _beyond_base64(data: bytes, at: int, count: int, step: int) -> int:
    """Return the position after skipping at most `count` base64 characters."""
    while count and 0 <= (seen := at if step > 0 else at - 1) < len(data):
        if data[seen] in _IN_BASE64:
            count -= 1
        elif data[seen] not in _LINE_ENDS:
            break
        at += step
    return at
