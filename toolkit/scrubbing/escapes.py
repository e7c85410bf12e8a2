"""Escapes of URLs, JSON, scripts, HTML and mail, undone level by level, with the way back to the text.

A JSON text in a JSON string in a URL has three levels of escapes. A secret stands plainly in one of the levels.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

_MOST_READ: Final = 8192  # escapes that are remembered
LEVELS: Final = 12  # of escapes within escapes that are undone
_H: Final = b"[0-9A-Fa-f]"


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern.replace(b"H", _H), re.DOTALL)


# Each begins with one fixed character, to which the regex engine jumps, and is short, so that no text takes long.
_PAIR: Final = rb"u[dD][89abAB]H{2}%su[dD][c-fC-F]H{2}"
_PERCENT: Final = _compiled(rb"%(?:H{2}|" + _PAIR % b"%" + rb"|uH{4})")
_CODE: Final = _PAIR % rb"\\" + rb"|uH{4}|u\{H{1,8}\}|xH{2}|UH{8}|[0-7]{1,3}"
_BACKSLASH: Final = _compiled(rb"\\(?:" + _CODE + rb"|[^uxU])")
# Without those that hide no letter or digit and stand for none: they do not change the normal form.
_BACKSLASH_LETTER: Final = _compiled(rb"\\(?:" + _CODE + rb"|[abefnrtv])")
_ENTITY: Final = _compiled(rb"&(?:#[0-9]{1,10};?|#[xX]H{1,8};?|[A-Za-z][A-Za-z0-9]{1,31};)")
_ALL: Final = ((b"%", _PERCENT), (b"\\", _BACKSLASH), (b"&", _ENTITY))
_LETTERS_ONLY: Final = ((b"%", _PERCENT), (b"\\", _BACKSLASH_LETTER), (b"&", _ENTITY))
# Quoted-printable (RFC 2045 section 6.7), with the gap between two encoded words of a header (RFC 2047 section 2).
_MAIL_QUOTED: Final = re.compile(rb"=(?:[0-9A-Fa-f]{2}|[ \t]{0,8}\r?\n)")
_MAIL_GAP: Final = re.compile(rb"\?=[ \t\r\n]{0,8}=\?[A-Za-z0-9*_-]{1,40}\?[QqBb]\?")
# What only mail has. A single escape may stand in a URL too.
_IS_MAIL: Final = re.compile(rb"=(?:3[Dd]|\?|[ \t]{0,8}\r?\n|[0-9A-Fa-f]{2}=[0-9A-Fa-f]{2})")
# From the end of the numbers in one line of a hex dump (hexdump -C, xxd) to those in the next: the text and an address.
_DUMP_GAP: Final = re.compile(rb"  (?:\|[^\n]{0,64}\||[^\n]{1,17})\r?\n[0-9A-Fa-f]{7,8}:? {1,2}")
_MAIL_WORD: Final = re.compile(rb"=\?[A-Za-z0-9*_-]{1,40}\?[Qq]\?")
_LETTERS: Final = {
    bytes((letter,)): bytes((code,)) for letter, code in zip(b"abtnvfre", b"\a\b\t\n\v\f\r\x1b", strict=True)
}


def _read(escape: bytes) -> bytes:
    """Return what an escape stands for."""
    first, rest = escape[:1], escape[1:]
    if first == b"%":
        return _utf8(rest) if rest[:1] == b"u" else bytes.fromhex(rest.decode())
    if first == b"&":
        return _entity(rest)
    if first == b"\\":
        if rest[:1] == b"x":
            return bytes.fromhex(rest[1:].decode())
        if len(rest) > 1 and rest[:1] in b"uU":
            return _utf8(rest)
        if rest[:1].isdigit() and rest not in (b"8", b"9"):
            return bytes((int(rest, 8) & 0xFF,))
        return _LETTERS.get(rest, rest)
    return bytes.fromhex(rest.decode()) if first == b"=" and len(rest) == 2 and not rest.isspace() else b""


def _utf8(rest: bytes) -> bytes:
    """Return the UTF-8 of `u1234`, `u{1234}`, or a pair of surrogates."""
    codes = [int(code, 16) for code in re.findall(rb"[0-9A-Fa-f]{1,8}", rest)]
    text = "".join(map(chr, codes)) if all(code < 0x110000 for code in codes) else ""
    if len(codes) == 2:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.encode("utf-8", "surrogatepass")


def _entity(rest: bytes) -> bytes:
    if rest[:1] == b"#":
        digits = rest[1:].rstrip(b";")
        code = int(digits[1:], 16) if digits[:1] in b"xX" else int(digits)
        return chr(code).encode("utf-8", "surrogatepass") if code < 0x110000 else b"&" + rest
    from html.entities import html5

    text = html5.get(rest.decode())
    return b"&" + rest if text is None else text.encode()


class _Plain(dict[bytes, bytes]):
    """The bytes that each escape stands for, read when the escape is first met."""

    def __missing__(self, escape: bytes) -> bytes:
        if len(self) >= _MOST_READ:
            self.clear()
        plain = self[escape] = _read(escape)
        return plain


_PLAIN: Final = _Plain()


def _undone(match: re.Match[bytes]) -> bytes:
    return _PLAIN[match[0]]


class Level:
    """A text, or such a text with one level of escapes undone.

    Attributes:
        data: the text.
        outer: the level whose escapes were undone; None for the text itself.
    """

    __slots__ = ("_escapes", "_pattern", "data", "outer")

    def __init__(self, data: bytes, outer: Level | None = None, pattern: re.Pattern[bytes] = _PERCENT) -> None:
        self.data, self.outer, self._pattern = data, outer, pattern
        self._escapes: tuple[list[int], list[tuple[int, int, int]]] | None = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the text itself in which a span of this level is written, with whole escapes."""
        level: Level | None = self
        while level is not None and level.outer is not None:
            first, last = level._outer_span(start), level._outer_span(end - 1)  # noqa: SLF001 - of this class
            start, end = first[0], last[1]
            if level._pattern is _DUMP_GAP:  # noqa: SLF001
                line_end = level.outer.data.find(b"\n", end)
                end = len(level.outer.data) if line_end < 0 else line_end  # with the text beside the numbers
            level = level.outer
        return start, end

    def _outer_span(self, at: int) -> tuple[int, int]:
        """Return the span of the outer level that a byte comes from."""
        if self._escapes is None:
            self._escapes = self._escape_positions()
        starts, escapes = self._escapes
        number = bisect_right(starts, at) - 1
        if number < 0:
            return at, at + 1
        length, outer_start, outer_end = escapes[number]
        within = at - starts[number]
        if within < length:
            return outer_start, outer_end
        return outer_end + within - length, outer_end + within - length + 1

    def _escape_positions(self) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Return where the text of each escape begins here, with its length and its span in the outer level."""
        starts: list[int] = []
        escapes: list[tuple[int, int, int]] = []
        shift = 0  # from the outer level to this one
        for match in self._pattern.finditer(self.outer.data if self.outer else b""):
            start, end = match.span()
            length = len(_PLAIN[match[0]])
            starts.append(start + shift)
            escapes.append((length, start, end))
            shift += length - (end - start)
        return starts, escapes


def levels(data: bytes, *, letters_only: bool = False) -> Iterator[Level]:
    """Yield `data`, then with its escapes undone again and again while that changes it, then those of mail and dumps.

    Args:
        data: a text of any kind.
        letters_only: undo only what changes the normal form, which is quicker.
    """
    first = Level(data)
    yield first
    patterns = _LETTERS_ONLY if letters_only else _ALL
    yield from _deeper(first, patterns)
    if b"=" in data and _IS_MAIL.search(data):
        plainer = _MAIL_QUOTED.sub(_undone, data)
        if plainer != data:
            if _MAIL_WORD.search(data):
                plainer = plainer.replace(b"_", b" ")  # as encoded words write spaces
            mail = Level(plainer, first, _MAIL_QUOTED)
            yield mail
            yield from _deeper(mail, patterns)
        if b"?=" in data:
            joined = _MAIL_GAP.sub(b"", data)
            if joined != data:
                yield Level(joined, first, _MAIL_GAP)
    if b"\n00000" in data:  # the address in the second line of a dump
        joined = _DUMP_GAP.sub(b"", data)
        if joined != data:
            yield Level(joined, first, _DUMP_GAP)


def _deeper(level: Level, patterns: tuple[tuple[bytes, re.Pattern[bytes]], ...]) -> Iterator[Level]:
    """Yield a level with each kind of escapes undone, in turns."""
    for _ in range(LEVELS):
        before = level
        for sign, pattern in patterns:
            if sign in level.data:
                plainer = pattern.sub(_undone, level.data)
                if plainer != level.data:
                    level = Level(plainer, level, pattern)
                    yield level
        if level is before:
            return
