"""Undo escapes: of URLs, of JSON, JavaScript, YAML and C, of HTML and XML, of mail.

Each pass is linear, and works on one chunk after another, cut where no escape is cut in two.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from html.entities import html5
from typing import Any, Final

from toolkit.scrubbing.gate.budget import CHUNK, Budget

_LEVELS: Final = 4  # of escapes within escapes that are one layer together
_LONGEST: Final = 40  # bytes of one escape
# Each pattern begins with a sign or a few, which the regex engine can jump to.
_ESCAPE: Final = re.compile(
    rb"[%\\&](?:"
    rb"(?<=%)(?P<percent>[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*+)"
    rb"|(?<=[%\\])u(?P<units>[0-9A-Fa-f]{4}(?:[%\\]u[0-9A-Fa-f]{4})*+)"
    rb"|(?<=\\)(?:"
    rb"(?P<backslashes>\\(?:\\\\)*+)"
    rb"|x(?P<bytes>[0-9A-Fa-f]{2}(?:\\x[0-9A-Fa-f]{2})*+)"
    rb"|u\{(?P<braces>[0-9A-Fa-f]{1,8}+)\}"
    rb"|U(?P<point>[0-9A-Fa-f]{8})"
    rb"|0(?P<shell>[0-3][0-7]{2}(?:\\0[0-3][0-7]{2}){3,}+)"
    rb"|(?P<octal>[0-3][0-7]{2}|[1-7][0-7]?)"
    rb"|(?P<line>\r?\n[ \t]{0,80}+)"
    rb"|(?P<signs>[^0-7A-Za-z\\\r\n](?:\\[^0-7A-Za-z\\\r\n])*+)"
    rb"|(?P<sign>.))"
    rb"|(?<=&)(?:"
    rb"#(?P<decimal>[0-9]{1,8}+);?"
    rb"|#[xX](?P<hex>[0-9A-Fa-f]{1,8}+);?"
    rb"|(?P<name>[A-Za-z][A-Za-z0-9]{1,31}+;)))",
    re.DOTALL,
)
# An escape that changes the letters and digits of a text; others matter for short secrets only.
_OF_LETTERS: Final = {
    b"%": re.compile(rb"%[0-9A-Fa-fu]"),
    b"\\": re.compile(rb"\\[^\\\"'/ \r\n]"),
    b"&": re.compile(rb"&(?:#|[A-Za-z][A-Za-z0-9]{1,31}+;)"),
}
_SIGN: Final = re.compile(rb"[%\\&=]")
_CODES: Final = {bytes([byte]): bytes([byte]) for byte in range(256)} | {
    letter.encode(): code.encode() for letter, code in zip("0nrtbfvae", "\0\n\r\t\b\f\v\a\x1b", strict=True)
}
_CSS: Final = re.compile(rb"\\0{0,4}[2-7][0-9A-Fa-f] ?(?:\\0{0,4}[2-7][0-9A-Fa-f] ?){3,}+")

_QUOTED: Final = re.compile(rb"=(?:([0-9A-Fa-f]{2}(?:=[0-9A-Fa-f]{2})*+)|[ \t]{0,20}+\r?\n)")
_INDENTED: Final = re.compile(rb"(=[ \t]{0,20}+\r?\n)[ \t]{1,80}+")
_MAY_BE_FOLDED: Final = re.compile(rb"(?:=[0-9A-Fa-f]{2}[^=]{0,16}+){6}|=[ \t]{0,20}+\r?\n\s")
_FOLDED: Final = re.compile(rb"(\n{1,80}+) {1,80}+")
# A sign at the end of a line that goes on; at the end of a body it is the padding of base64.
_MAY_BE_QUOTED: Final = re.compile(
    rb"=(?:3D|[0-9A-Fa-f]{2}=[0-9A-Fa-f]{2}|[89A-F][0-9A-F]"
    rb"|(?<!==)[ \t]{0,20}+\r?\n(?!\s{0,80}+(?:\Z|[a-z_]{1,20}+:|- )))"
)
_WORD: Final = re.compile(rb"=\?[^?\s]{1,60}+\?([BbQq])\?([^?\s]*+)\?=(?:\s{1,40}+(?==\?))?")


def unescaped(text: bytes, budget: Budget, *, with_signs: bool) -> Iterator[bytes]:
    """Yield a text with one level of escapes undone, with two levels, and so on; the last has no more.

    Args:
        with_signs: True to also undo escapes that do not change letters and digits.
    """
    for _ in range(_LEVELS):
        has_escapes = any(sign in text and _may_hold(pattern, text) for sign, pattern in _OF_LETTERS.items())
        if not has_escapes and not (with_signs and b"\\" in text):
            return
        budget.spend(len(text))
        result = _in_chunks(lambda chunk: _ESCAPE.sub(_plain, chunk), text)
        if result == text:
            return
        yield result
        text = result.replace(b"\0", b"")  # of UTF-16


def unescaped_once(text: bytes) -> bytes:
    """Return a short text with one level of escapes undone."""
    return _ESCAPE.sub(_plain, text)


def css_unescaped(text: bytes) -> Iterator[bytes]:
    """Yield a text with escapes of style sheets undone, in which the code is hex."""
    if b"\\" in text and _may_hold(_CSS, text):
        yield _in_chunks(lambda chunk: _CSS.sub(_of_css, chunk), text)


def _of_css(match: re.Match[bytes]) -> bytes:
    return binascii.unhexlify(b"".join(code.rstrip()[-2:] for code in match[0].split(b"\\")))


def unquoted(text: bytes) -> Iterator[bytes]:
    """Yield a text with quoted-printable undone (RFC 2045 section 6.7), also as if YAML had folded its lines."""
    if b"=" in text and _may_hold(_MAY_BE_QUOTED, text):
        yield _in_chunks(_plain_of_quoted, text)
        if _may_hold(_MAY_BE_FOLDED, text):
            yield _in_chunks(lambda chunk: _plain_of_quoted(_unfolded(chunk)), text)


def _unfolded(text: bytes) -> bytes:
    text = _INDENTED.sub(lambda line: line[1], text.replace(b"''", b"'"))
    return _FOLDED.sub(lambda lines: lines[1][1:] or b" ", text)


def _plain_of_quoted(text: bytes) -> bytes:
    return _QUOTED.sub(lambda code: binascii.unhexlify(code[1].replace(b"=", b"")) if code[1] else b"", text)


def words_of_mail(text: bytes) -> Iterator[bytes]:
    """Yield a text with the encoded words of mail headers undone (RFC 2047)."""
    if b"=?" in text:
        result = b"".join(_WORD.sub(_decoded_word, chunk) for chunk in chunks_of(text, 4096))
        if result != text:
            yield result


def _decoded_word(match: re.Match[bytes]) -> bytes:
    if match[1] in b"Qq":
        return _plain_of_quoted(match[2])
    digits = match[2].rstrip(b"=")
    try:
        return binascii.a2b_base64(digits + b"=" * (-len(digits) % 4))
    except binascii.Error:
        return match[0]


def _plain(match: re.Match[bytes]) -> bytes:
    kind: Any = match.lastindex
    return _PLAIN[kind](match[kind])


def _character(point: int) -> bytes:
    return chr(point).encode("utf-8", "surrogatepass") if point < 0x110000 else b""


def _units(code: bytes) -> bytes:
    data = binascii.unhexlify(code.translate(None, b"%\\u"))
    return data.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")


_UNDONE: Final[dict[str, Callable[[bytes], bytes]]] = {
    "percent": lambda code: binascii.unhexlify(code.translate(None, b"%")),
    "backslashes": lambda code: code[len(code) // 2 :],
    "bytes": lambda code: binascii.unhexlify(code.translate(None, b"\\x")),
    "units": _units,
    "braces": lambda code: _character(int(code, 16)),
    "point": lambda code: _character(int(code, 16)),
    "shell": lambda code: bytes(int(digits, 8) for digits in code.split(b"\\0")),
    "octal": lambda code: bytes([int(code, 8) & 0xFF]),
    "line": lambda code: b"",  # noqa: ARG005 - the line goes on
    "signs": lambda code: code[::2],
    "sign": _CODES.__getitem__,
    "decimal": lambda code: _character(int(code)),
    "hex": lambda code: _character(int(code, 16)),
    "name": lambda code: html5.get(code.decode("ascii"), f"&{code.decode('ascii')}").encode(),
}
_PLAIN: Final = {_ESCAPE.groupindex[name]: undo for name, undo in _UNDONE.items()}


def chunks_of(text: bytes, most: int = _LONGEST) -> Iterator[bytes]:
    """Yield a text in chunks, cut before an escape rather than within it; `most` is the size of the longest escape."""
    start = 0
    while len(text) - start > CHUNK:
        end = start + CHUNK
        signs = [match.start() for match in _SIGN.finditer(text, end - min(most, _LONGEST), end)]
        if most > _LONGEST and (word := text.rfind(b"=?", end - most, end)) >= 0:
            end = word
        elif signs:
            end = signs[-1]
            if text[end : end + 1] == b"\\":  # the second of two backslashes stays with the first
                piece = text[start : end + 1]
                end += (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 0
        yield text[start:end]
        start = end
    yield text[start:] if start else text


def _in_chunks(change: Callable[[bytes], bytes], text: bytes) -> bytes:
    return change(text) if len(text) <= CHUNK else b"".join(map(change, chunks_of(text)))


def _may_hold(pattern: re.Pattern[bytes], text: bytes) -> bool:
    if len(text) <= CHUNK:
        return pattern.search(text) is not None
    return any(pattern.search(text, start, start + CHUNK + _LONGEST) for start in range(0, len(text), CHUNK))
