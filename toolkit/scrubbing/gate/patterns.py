"""The patterns of one secret that the gate searches for.

Most patterns are compared in normal form, in which the case of hex, the hyphens of a UUID, line breaks and the zeros
of UTF-16 make no difference. A secret that consists of words, such as "development-key", would match prose in that
form, so the exact text must stand there too. A short secret is compared byte by byte.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from toolkit.core.secret import SHORTEST_SECRET
from toolkit.scrubbing.gate.escapes import unescaped_once

SHORTEST_NORMAL: Final = 11  # characters in normal form; shorter texts occur by chance
_SHORTEST_BYTES: Final = 12  # of the bytes behind a secret
_SHORTEST_LINE: Final = 32  # characters of base64; the last line of a key may be short and give nothing away
_SIGNS: Final = bytes(byte for byte in range(128) if not chr(byte).isalnum())
_LOWER: Final = bytes(range(256)).lower()
_QUOTES: Final = b"\"'\\\0"
_AS_WORDS: Final = bytes.maketrans(b"+", b" ")
_PEM: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,60}+)-----([^-]++)-----END ")
_PUBLIC: Final = re.compile(r"PUBLIC KEY|CERTIFICATE|PARAMETERS")
_HEX: Final = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2}[-: ]?)++)")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_BASE32: Final = re.compile(r"[A-Z2-7]+=*|[a-z2-7]+=*")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_SWITCH: Final = re.compile(
    r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[A-Z][A-Z])(?=[a-z])"
)


class Pattern(NamedTuple):
    """A text to look for.

    Attributes:
        secret: number of the secret.
        text: the text, in normal form or byte by byte.
        is_normal: True if it is in normal form.
        words: for a secret that consists of words, the text as `as_words` writes it, which must stand there too.
    """

    secret: int
    text: bytes
    is_normal: bool
    words: bytes = b""


def normal_form(data: bytes | memoryview) -> bytes:
    """Return the letters and digits of ASCII text in lower case, and all bytes beyond ASCII."""
    return bytes(data).translate(_LOWER, _SIGNS)


def as_words(data: bytes) -> bytes:
    """Return text in lower case, with one space for all white space and for plus signs, and without quotes."""
    return b" ".join(data.lower().translate(_AS_WORDS, _QUOTES).split())


def looks_random(text: str) -> bool:
    """Check whether a text changes between letters, digits and cases as words do not."""
    words = _WORD.findall(text)
    switches = sum(len(_SWITCH.findall(word)) for word in words)
    return switches >= max(3, sum(map(len, words)) // 10)


def patterns_of(number: int, text: str) -> Iterator[Pattern]:
    """Yield the patterns of a secret; none for one that is too short to look for."""
    if len(text) < SHORTEST_SECRET:
        return
    is_random = looks_random(text) or _HEX.fullmatch(text) is not None
    for data in _encodings(text):
        yield from _pattern(number, data, is_random=is_random)
        # What looks like an escape in a password is undone together with the escapes that were put around it.
        if (plain := unescaped_once(data)) != data:
            yield from _pattern(number, plain, is_random=is_random)
    for data in _behind(text):
        # Bytes that are text again, such as a user name and a password in base64, may be words.
        yield from _pattern(number, data, is_random=not data.isascii() or looks_random(data.decode("latin-1")))
    for match in _PEM.finditer(text.replace("\\n", "\n")):
        if not _PUBLIC.search(match[1]):
            for data in _parts_of_key(match[0] + f"{match[1]}-----", match[2], is_private="PRIVATE KEY" in match[1]):
                yield from _pattern(number, data, is_random=True)


def _pattern(number: int, data: bytes, *, is_random: bool) -> Iterator[Pattern]:
    normal = normal_form(data)
    if len(normal) >= SHORTEST_NORMAL:
        yield Pattern(number, normal, is_normal=True, words=b"" if is_random else as_words(data))
        return
    exact = data.replace(b"\0", b"")
    if len(exact) >= SHORTEST_SECRET:
        written = {exact, exact.replace(b"'", b"''"), exact.replace(b'"', b'""'), exact.replace(b" ", b"+")}
        for each in written:
            yield Pattern(number, each, is_normal=False)


def _encodings(text: str) -> Iterator[bytes]:
    """Yield a text in the encodings in which it may stand; ASCII looks the same in all, but for zeros."""
    yield text.encode("utf-8", "surrogatepass")
    if not text.isascii():
        yield text.encode("utf-8", "surrogatepass").decode("latin-1").encode()  # encoded twice
        yield text.encode("utf-16-le", "surrogatepass")
        yield text.encode("utf-16-be", "surrogatepass")
        for encoding in ("latin-1", "cp1252"):
            with suppress(UnicodeEncodeError):
                yield text.encode(encoding)


def _behind(text: str) -> Iterator[bytes]:
    """Yield the bytes behind a secret that is hex, base64 or base32 itself."""
    if match := _HEX.fullmatch(text):
        yield from _long_enough(bytes.fromhex(re.sub("[-: ]", "", match[1])))
    elif _BASE64.fullmatch(text) and looks_random(text):
        digits = text.rstrip("=").replace("-", "+").replace("_", "/")
        if len(digits) % 4 != 1:
            yield from _long_enough(binascii.a2b_base64(digits + "=" * (-len(digits) % 4)))
    if _BASE32.fullmatch(text) and looks_random(text):
        digits = text.rstrip("=").upper()
        with suppress(binascii.Error):
            yield from _long_enough(base64.b32decode(digits + "=" * (-len(digits) % 8)))


def _long_enough(data: bytes) -> Iterator[bytes]:
    if len(data) >= _SHORTEST_BYTES:
        yield data


def _parts_of_key(pem: str, content: str, *, is_private: bool) -> Iterator[bytes]:
    """Yield the base64 of a key as one line, each of its lines, and the middle of its bytes, which is private."""
    lines = [line for line in content.split() if ":" not in line]
    body = "".join(lines)
    if len(body) < SHORTEST_SECRET:
        return
    yield body.encode()
    if not is_private:
        return
    public = _public_half(pem)
    # In a list or in quotes, the lines are separated by more than signs.
    yield from (line.encode() for line in lines if len(line) >= _SHORTEST_LINE and line not in public)
    try:
        der = base64.b64decode(body)
    except (binascii.Error, ValueError):
        return
    # Formats of keys differ in what comes before and after: PKCS#8 wraps PKCS#1 (RFC 5958 and RFC 8017).
    yield from _long_enough(der[len(der) * 2 // 5 : len(der) * 11 // 20])


def _public_half(pem: str) -> str:
    """Return the base64 of the public key, which repeats some lines of older private key formats."""
    from cryptography.hazmat.primitives import serialization

    try:
        key = serialization.load_pem_private_key(
            pem.encode(), password=None, unsafe_skip_rsa_key_validation=True
        ).public_key()
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    except Exception:  # noqa: BLE001 - encrypted, or not a key: all of its lines are secret
        return ""
    return base64.b64encode(der).decode("ascii")
