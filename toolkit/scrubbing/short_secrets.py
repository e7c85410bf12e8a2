"""Secrets of a few characters, which count only as the value of a credential's field; elsewhere they are text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolkit.core.secret import Secret
from toolkit.scrubbing.vocabulary import Place, credential_kind

_NAME: Final = rb"(?<![A-Za-z0-9_.-])([A-Za-z][A-Za-z0-9_.-]{0,60}+)"
_QUOTE: Final = rb"(?:\\{0,15}[\"'])?"
# The value after a sign, in an element of XML, or in a part of a multipart body, after its headers.
_BEFORE_VALUE: Final = (
    _NAME + _QUOTE + rb"\s{0,20}[:=]\s{0,20}" + _QUOTE,
    rb"<" + _NAME[len(rb"(?<![A-Za-z0-9_.-])") :] + rb"(?:\s[^<>]{0,200})?>\s{0,20}",
    rb"\bname=\\{0,15}\"?" + _NAME + rb"[^\n]{0,200}\r?\n(?:[^\r\n]{1,200}\r?\n){0,8}\r?\n",
)


class ShortSecrets:
    """Short secrets to look for in the places of credentials."""

    __slots__ = ("_secrets",)

    def __init__(self) -> None:
        self._secrets: list[tuple[Secret, bytes, tuple[re.Pattern[bytes], ...]]] = []

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def add(self, secret: Secret) -> None:
        """Add a secret to look for."""
        text = secret.reveal().encode("utf-8", "surrogatepass")
        value = rb"(" + re.escape(text) + rb")(?![A-Za-z0-9])"
        self._secrets.append((secret, text, tuple(re.compile(before + value) for before in _BEFORE_VALUE)))

    def places_in(self, data: bytes) -> Iterator[tuple[Secret, int, int]]:
        """Yield each secret that is the value of a credential's field in `data`, with its span."""
        for secret, text, patterns in self._secrets:
            if text in data:
                for match in (match for pattern in patterns for match in pattern.finditer(data)):
                    if credential_kind(match[1].decode("ascii"), Place.JSON) is not None:
                        yield secret, *match.span(2)
