"""The patterns of one secret in each code: as it is, in hex, base64, base32, as an array of bytes, and these combined.

Each code gives one or more patterns in normal form (`normal_form`). The part of a base64 text that depends on the
secret alone differs with the offset at which the secret begins, so there are three; in base32 there are five. The
alphabets of base64 have the same normal form.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

from toolkit.scrubbing.escapes import levels
from toolkit.scrubbing.normal_form import cased_form, exact_form, margins, normal_form
from toolkit.scrubbing.strength import Strength, grade

_LONG_ENOUGH: Final = 12  # characters in normal form; what is shorter may be in a text by chance, in another case
_CERTAINLY_RANDOM: Final = 120  # characters without white space
_SHORTEST_BYTES: Final = 8  # behind a secret that is hex or base64 itself
_SIMPLE: Final = re.compile(r"[A-Za-z0-9._~+/-]{20,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2}[:. -]?)+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")
_TO_STANDARD: Final = str.maketrans("-_", "+/")


class CodePattern(NamedTuple):
    """A pattern of a secret in one code.

    Attributes:
        normal: the pattern in normal form; the other attributes describe the text in which it stands.
        literal: the pattern itself.
        form: the name of the code, for messages.
        exact: what the exact form of the text must be, unless None.
        cased: what the text must be without separators, unless None.
        margins: punctuation of the secret before and after the pattern.
        more: characters of base64 before and after it that hold bits of the secret.
    """

    normal: bytes
    literal: bytes
    form: str
    exact: bytes | None = None
    cased: bytes | None = None
    margins: tuple[bytes, bytes] = (b"", b"")
    more: tuple[int, int] = (0, 0)


def patterns_of(text: str, *, fewer: bool = False, plain_only: bool = False) -> list[CodePattern]:
    """Return the patterns of a secret.

    Args:
        text: the secret.
        fewer: leave out the rarer codes.
        plain_only: leave out all codes, for a text that is base64 itself.
    """
    literal = text.encode("utf-8", "surrogatepass")
    if fewer and _SIMPLE.fullmatch(text):
        return _simple(literal)
    patterns = list(_plain(text, literal))
    if not plain_only:
        patterns += _coded(text, literal, fewer=fewer)
    unique: dict[tuple[bytes, bytes | None], CodePattern] = {}
    for pattern in patterns:
        unique.setdefault((pattern.normal, pattern.exact), pattern)
    return list(unique.values())


def _simple(literal: bytes) -> list[CodePattern]:
    """Return the patterns of a random text that is hardly ever escaped, in a tenth of the time."""
    plain = CodePattern(normal_form(literal), literal, "as it is", margins=margins(literal))
    return [plain, _whole(literal.hex(), "in hex"), *_in_base64(literal, "in base64")]


def is_unmistakable(text: str) -> bool:
    """Check whether a text is so random that nothing else has its normal form."""
    return (
        (len(text) >= _CERTAINLY_RANDOM and len(text.split()) * 30 < len(text))
        or "-----BEGIN" in text
        or grade(text) is not Strength.WEAK
    )


def _plain(text: str, literal: bytes) -> Iterator[CodePattern]:
    """Yield the secret itself, and its text after the escapes within it are undone."""
    unmistakable = is_unmistakable(text)
    texts = [level.data for way in (True, False) for level in levels(literal, letters_only=way)]
    if not text.isascii():
        # Also in UTF-16, whose null bytes are ignored, and where an escape such as xe9 is a character, not a byte.
        texts.append(
            b"".join(letter.encode("latin-1" if letter < "\u0100" else "utf-8", "surrogatepass") for letter in text)
        )
    for written in dict.fromkeys(texts):
        before, after = margins(written)
        core = written[len(before) : len(written) - len(after)]
        normal = normal_form(written)
        exact = None if unmistakable and len(normal) >= _LONG_ENOUGH else exact_form(core)
        yield CodePattern(normal, written, "as it is", exact=exact, margins=(before, after))


def _coded(text: str, literal: bytes, *, fewer: bool) -> Iterator[CodePattern]:
    # The text within base64 or hex may be escaped itself, as in JSON or a URL.
    inner = dict.fromkeys(
        form.encode("utf-8", "surrogatepass") for form in (text, json.dumps(text)[1:-1], *_quoted(text))
    )
    for form in inner:
        yield _whole(form.hex(), "in hex")
        yield from _in_base64(form, "in base64")
    if fewer:
        return
    yield from _arrays(literal)
    for core, before, after in _cores(literal, base64.b32encode, 5):
        yield _part(core, before, after, "in base32")
    wide = text.encode("utf-16-be", "surrogatepass").strip(b"\0")  # UTF-16LE too, at the next offset
    yield _whole(wide.hex(), "in hex of UTF-16")
    yield from _in_base64(wide, "in base64 of UTF-16")
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        for core, _, _ in _cores(literal, alphabet, 6):
            yield _whole(core.encode().hex(), "in hex of base64")
            yield from _in_base64(core.encode(), "in base64 of base64")
    for digits in (literal.hex(), literal.hex().upper()):
        yield from _in_base64(digits.encode(), "in base64 of hex")
    for behind in bytes_behind(text) if is_unmistakable(text) else ():  # words look like base64
        yield _whole(behind.hex(), "in hex of its bytes")
        yield from _in_base64(behind, "in base64 of its bytes")
        yield from _arrays(behind)


def bytes_behind(text: str) -> list[bytes]:
    """Return the bytes that a secret in hex (a UUID too) or base64 stands for."""
    results = []
    if _HEX.fullmatch(text):
        results.append(bytes.fromhex(re.sub("[^0-9A-Fa-f]", "", text)))
    if _BASE64.fullmatch(text):
        plain = text.rstrip("=").translate(_TO_STANDARD)
        results.append(base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4)))
    return [result for result in results if len(result) >= _SHORTEST_BYTES]


def _arrays(data: bytes) -> Iterator[CodePattern]:
    """Yield an array of bytes, as decimal, signed, hexadecimal and octal numbers."""
    writers: list[Callable[[int], str]] = [str, "0x{:02x}".format, "0{:o}".format, "{:03o}".format, "0{:03o}".format]
    if max(data, default=0) >= 0x80:
        writers.append(lambda byte: str(byte if byte < 0x80 else 0x100 - byte))
    for write in writers:
        yield _whole("".join(map(write, data)), "as an array of bytes")


def _in_base64(data: bytes, form: str) -> Iterator[CodePattern]:
    for core, before, after in _cores(data, base64.b64encode, 6):
        yield _part(core, before, after, form)


def _cores(data: bytes, encode: Callable[[bytes], bytes], bits: int) -> Iterator[tuple[str, int, int]]:
    """Yield the part of a code that depends on the data alone, for each offset at which the data may begin.

    Each comes with the number of characters before and after it that hold bits of the data and of its neighbours.
    """
    for offset in range(3 if bits == 6 else 5):
        encoded = encode(b"\0" * offset + data).decode("ascii")
        first, last = -(-offset * 8 // bits), (offset + len(data)) * 8 // bits
        yield encoded[first:last], int(offset * 8 % bits > 0), int((offset + len(data)) * 8 % bits > 0)


def _whole(written: str, form: str) -> CodePattern:
    return CodePattern(normal_form(written.encode()), written.encode(), form)


def _part(core: str, before: int, after: int, form: str) -> CodePattern:
    literal = core.encode()
    head, tail = margins(literal)
    normal = normal_form(literal)
    cased = cased_form(literal) if len(normal) < _LONG_ENOUGH and form != "in base32" else None
    return CodePattern(normal, literal, form, cased=cased, more=(len(head) + before, len(tail) + after))


def _quoted(text: str) -> tuple[str, ...]:
    try:
        return quote(text, safe=""), quote_plus(text)
    except UnicodeEncodeError:  # URLs cannot hold a lone surrogate
        return ()
