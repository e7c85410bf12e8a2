"""The forms of a secret to search for: plain, and encoded as hex, base64 or base32.

Each needle is in normal form (`normal_form`). The offset at which a secret begins determines which base64 characters
depend only on the secret, so there are three needles for base64, and five for base32. The normal form is the same for
both base64 alphabets. Add new encodings here.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus

from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.scrubbing.escapes import without_escapes
from toolkit.scrubbing.normal_form import cased_form, exact_form, margins, normal_form
from toolkit.scrubbing.strength import Strength, grade

_LONG_ENOUGH: Final = 12  # characters in normal form; shorter text may occur by chance in another case
_CERTAINLY_RANDOM: Final = 120  # characters without white space
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY-----((?:[^-]|-(?!----))++)-----END [A-Z0-9 ]{0,60}PRIVATE KEY-----"
)
_SHORTEST_LINE: Final = 32  # characters of base64


class Needle(NamedTuple):
    """A form of a secret to search for.

    Attributes:
        secret: the secret.
        length: number of characters before encoding; if hits overlap, the longest is replaced.
        normal: the needle in normal form. `exact`, `cased` and `margins` narrow down which text matches it.
        literal: the needle before normalization.
        form: a description of the encoding, such as "in hex", for messages.
        exact: the `exact_form` that the matching text must have, or None for any.
        cased: the `cased_form` that the matching text must have, or None for any.
        margins: the characters, such as punctuation, with which the secret begins and ends.
        more: numbers of base64 or base32 characters before and after the normal form that contain bits of the secret.
    """

    secret: Secret
    length: int
    normal: bytes
    literal: bytes
    form: str = "as it is"
    exact: bytes | None = None
    cased: bytes | None = None
    margins: tuple[bytes, bytes] = (b"", b"")
    more: tuple[int, int] = (0, 0)


def needles_of(secret: Secret, *, in_codes: bool = True) -> list[Needle]:
    """Return the needles for a secret; for a private key, also those for its base64 data and for each line of the data.

    Args:
        secret: the secret.
        in_codes: False to leave out the encoded forms; escapes are always undone.
    """
    text = secret.reveal()
    needles = _needles(secret, text, in_codes=in_codes)
    for pem in _PRIVATE_KEY.finditer(text):
        lines = pem[1].split()
        if len("".join(lines)) >= SHORTEST_SECRET:
            needles += _needles(secret, "".join(lines), in_codes=in_codes)
        for line in lines:
            if len(line) >= _SHORTEST_LINE:  # the last one may be short and reveal nothing
                needles += _needles(secret, line, in_codes=False)
    return needles


def _needles(secret: Secret, text: str, *, in_codes: bool) -> list[Needle]:
    plain = Needle(secret, len(text), b"", text.encode("utf-8", "surrogatepass"))
    needles = [*_plain(plain, text, is_exact=not in_codes), *(_coded(plain, text) if in_codes else ())]
    return list({(needle.normal, needle.exact): needle for needle in reversed(needles)}.values())[::-1]


def _is_unmistakable(text: str) -> bool:
    """Check whether a string is so long or random that other text is very unlikely to have its normal form."""
    return (
        (len(text) >= _CERTAINLY_RANDOM and len(text.split()) * 30 < len(text))
        or "-----BEGIN" in text
        or grade(text) is not Strength.WEAK
    )


def _plain(plain: Needle, text: str, *, is_exact: bool) -> Iterator[Needle]:
    """Yield needles for the secret itself, the secret with escapes undone, and the secret in other charsets."""
    written = [plain.literal, *without_escapes(plain.literal)]
    if not text.isascii():
        # Also in Latin-1, even where an escape such as xe9 stands for a character rather than a byte, and in UTF-16.
        narrow = (each.encode("latin-1" if each < "\u0100" else "utf-8", "surrogatepass") for each in text)
        written += [b"".join(narrow), *(text.encode(wide, "surrogatepass") for wide in ("utf-16-le", "utf-16-be"))]
    is_exact = is_exact or not _is_unmistakable(text)
    for each in dict.fromkeys(written):
        before, after = margins(each)
        normal = normal_form(each)
        compares = is_exact or len(normal) < _LONG_ENOUGH
        exact = exact_form(each[len(before) : len(each) - len(after)]) if compares else None
        yield plain._replace(normal=normal, literal=each, exact=exact, margins=(before, after))


def _coded(plain: Needle, text: str) -> Iterator[Needle]:
    # The text within base64 or hex may itself be escaped, as in JSON or a URL.
    quoted = quote(text, safe="", errors="surrogatepass"), quote_plus(text, errors="surrogatepass")
    for inner in dict.fromkeys((text, json.dumps(text)[1:-1], html.escape(text), *quoted)):
        data = inner.encode("utf-8", "surrogatepass")
        # Hex may also be written as a list, whose commas are ignored.
        for written in (data.hex().encode(), b"0x" + data.hex("_").replace("_", "0x").encode()):
            yield _whole(plain, written, "in hex")
        for core, before, after in _cores(data, base64.b64encode, 6):
            yield _part(plain, core, before, after, "in base64")
    for core, before, after in _cores(plain.literal, base64.b32encode, 5):
        yield _part(plain, core, before, after, "in base32")


def _cores(data: bytes, encode: Callable[[bytes], bytes], bits: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the part of an encoded text that depends only on the data, for each offset at which the data may begin.

    With each part, also yield the numbers of characters before and after it that share bits with adjacent text.
    """
    for offset in range(3 if bits == 6 else 5):
        encoded = encode(b"\0" * offset + data)
        first, last = -(-offset * 8 // bits), (offset + len(data)) * 8 // bits
        yield encoded[first:last], int(offset * 8 % bits > 0), int((offset + len(data)) * 8 % bits > 0)


def _whole(plain: Needle, written: bytes, form: str) -> Needle:
    return plain._replace(normal=normal_form(written), literal=written, form=form)


def _part(plain: Needle, core: bytes, before: int, after: int, form: str) -> Needle:
    head, tail = margins(core)
    needle = _whole(plain, core, form)
    cased = cased_form(core) if len(needle.normal) < _LONG_ENOUGH and form != "in base32" else None
    return needle._replace(cased=cased, more=(len(head) + before, len(tail) + after))
