"""The forms that a secret takes in bytes: as is, percent-encoded, escaped, base64, hex.

One description serves the scrubber, which replaces them, and the leak check, which looks for them.
"""

from __future__ import annotations

import base64
import re
from typing import Final

_ESCAPES: Final = re.compile(rb"[%\\&']")
_BASE64_RUN: Final = rb"[A-Za-z0-9+/_=-]*"
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
# Some encoders write these with a backslash before them, and once more for each level of nesting.
_BACKSLASHED: Final = frozenset("\"'\\/")


class Forms:
    """All forms of one secret.

    Cheap for text without the secret: each fixed form is one substring search, and the pattern of
    escaped spellings runs only where there is an escape character at all.
    """

    __slots__ = ("_base64", "_hex", "_literal", "_spelled")

    def __init__(self, text: str) -> None:
        self._literal = text.encode("utf-8")
        self._hex = (self._literal.hex().encode(), self._literal.hex().upper().encode())
        self._base64 = _base64_cores(self._literal)
        self._spelled = re.compile(b"".join(_spellings(character) for character in text), re.IGNORECASE)

    def found_in(self, data: bytes) -> str | None:
        """The name of a form in which the secret is in `data`, or None."""
        if self._literal in data:
            return "as it is"
        if any(form in data for form in self._hex):
            return "in hex"
        if any(core in data for core in self._base64):
            return "in base64"
        if _ESCAPES.search(data) and self._spelled.search(data):
            return "percent-encoded or escaped"
        return None

    def replaced_in(self, data: bytes, placeholder: bytes) -> bytes:
        """`data` with the placeholder in place of every form of the secret."""
        data = data.replace(self._literal, placeholder)
        for form in self._hex:
            data = data.replace(form, placeholder)
        for core in self._base64:
            if core in data:
                # The neighbours of the core hold bits of the secret too: the whole run goes.
                data = re.sub(_BASE64_RUN + re.escape(core) + _BASE64_RUN, lambda _: placeholder, data)
        if _ESCAPES.search(data):
            data = self._spelled.sub(lambda _: placeholder, data)
        return data


def _base64_cores(literal: bytes) -> tuple[bytes, ...]:
    """What every base64 text that contains the secret must contain, for each of the three offsets."""
    cores = []
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + literal)
        first = (0, 2, 3)[offset]  # characters that hold bits of what stands before
        last = (offset + len(literal)) * 8 // 6  # whole characters, without bits of what comes after
        cores.append(encoded[first:last])
    both = cores + [core.translate(bytes.maketrans(b"+/", b"-_")) for core in cores]
    return tuple(dict.fromkeys(core for core in both if core))


def _spellings(character: str) -> bytes:
    """A pattern for one character of the secret however URLs, JSON, HTML and YAML write it."""
    literal = re.escape(character).encode("utf-8")
    if character in _PLAIN:
        literal = b"(?-i:" + literal + b")"
    options = [literal, b"".join(b"%%%02x" % byte for byte in character.encode("utf-8"))]
    options.append(rb"\\+u%04x" % ord(character) if ord(character) < 0x10000 else literal)
    options.append(b"&#(?:%d|x0*%x);" % (ord(character), ord(character)))
    if character in _BACKSLASHED:
        options.append(rb"\\*" + literal)
    if character == "'":
        options.append(b"''")
    if character == "&":
        options.append(b"&amp;")
    if character == " ":
        options.append(rb"\+")
    return b"(?:" + b"|".join(reversed(options)) + b")"
