"""Undo the escapes of URLs, JSON, scripts, HTML and XML, and quoted-printable. Add new escapes here.

Escapes are undone one kind after another, repeatedly, because JSON text in a JSON string in a URL has three levels of
escapes. `views` undoes the escapes of a text, and keeps track of positions.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

LEVELS: Final = 5  # of nested escapes, one of which may be the file's; at each level, all kinds are undone
_H: Final = b"[0-9A-Fa-f]"


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern.replace(b"H", _H), re.DOTALL)


# Each begins with one fixed character, to which the regex engine can jump, and is short, so that no text takes long.
_PAIR: Final = rb"u[dD][89abAB]H{2}%su[dD][c-fC-F]H{2}"
_PERCENT: Final = _compiled(rb"%(?:H{2}|" + _PAIR % b"%" + rb"|uH{4})")
_CODE: Final = _PAIR % rb"\\" + rb"|uH{4}|u\{H{1,8}\}|xH{2}|UH{8}|[0-7]{1,3}"
_BACKSLASH: Final = _compiled(rb"\\(?:" + _CODE + rb"|[^uxU])")
_ENTITY: Final = _compiled(rb"&(?:#[0-9]{1,10};?|#[xX]H{1,8};?|[A-Za-z][A-Za-z0-9]{1,31};)")
# The character with which a kind of escape begins, and the pattern of these escapes.
ALL: Final = ((b"%", _PERCENT), (b"\\", _BACKSLASH), (b"&", _ENTITY))
# Quoted-printable (RFC 2045 section 6.7), whose lines YAML may have folded, and how to recognize it: a single escape is
# not enough, because it may also be in a URL.
QUOTED: Final = re.compile(rb"=(?:[0-9A-Fa-f]{2}|[ \t]{0,8}(?:\r?\n[ \t]{0,60}+){1,2}+)")
IS_QUOTED: Final = re.compile(rb"=(?:3[Dd]|[ \t]{0,8}\r?\n|[0-9A-Fa-f]{2}=[0-9A-Fa-f]{2})")
ZEROS: Final = re.compile(rb"\0+")  # of UTF-16
_LETTERS: Final = {
    bytes((letter,)): bytes((code,)) for letter, code in zip(b"abtnvfre", b"\a\b\t\n\v\f\r\x1b", strict=True)
}


def undone(escapes: re.Pattern[bytes], data: bytes) -> bytes:
    """Return the data with one kind of escape undone."""
    return data.replace(b"\0", b"") if escapes is ZEROS else escapes.sub(lambda escape: read(escape[0]), data)


def without_escapes(data: bytes) -> Iterator[bytes]:
    """Yield a short text after each step of undoing one kind of escape, until nothing changes."""
    before = b""
    while data != before:
        before = data
        for _, pattern in ALL:
            data = undone(pattern, data)
            yield data


@lru_cache(maxsize=8192)  # a text often repeats the same escapes
def read(escape: bytes) -> bytes:
    """Return the bytes that an escape represents."""
    first, rest = escape[:1], escape[1:]
    if first == b"%":
        return _utf8(rest) if rest[:1] == b"u" else bytes.fromhex(rest.decode())
    if first == b"&":
        return html.unescape(escape.decode()).encode("utf-8", "surrogatepass")
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
    """Return the UTF-8 encoding of `u1234`, `u{1234}`, or a surrogate pair."""
    codes = [int(code, 16) for code in re.findall(rb"[0-9A-Fa-f]{1,8}", rest)]
    text = "".join(map(chr, codes)) if all(code < 0x110000 for code in codes) else ""
    if len(codes) == 2:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.encode("utf-8", "surrogatepass")
