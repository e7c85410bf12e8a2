"""The patterns of all known secrets, to look for in decoded data."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from toolkit.core.register import REGISTER
from toolkit.core.secret import Secret
from toolkit.scrubbing.gate.budget import CHUNK
from toolkit.scrubbing.gate.patterns import SHORTEST_NORMAL, Pattern, as_words, normal_form, patterns_of
from toolkit.scrubbing.gate.windows import Windows
from toolkit.scrubbing.known import KnownSecrets, is_secret

_AROUND: Final = 4096  # bytes before a chunk in which the words of a match may begin


class SecretIndex:
    """The patterns of some secrets. Adding is safe while another thread searches.

    Attributes:
        count: number of entries of the source that were added or left out.
        longest: bytes of the longest pattern.
        has_short: True if a pattern that is compared byte by byte is ASCII.
        has_signs: True if a short secret has signs that some writers escape.
    """

    def __init__(self) -> None:
        self.count = 0
        self.longest = SHORTEST_NORMAL
        self.has_signs = False
        self.has_short = False
        self.secrets: list[Secret] = []
        self.normal = Windows(8)
        self.exact = Windows(4)
        self.lock = threading.RLock()

    def add(self, secrets: Iterable[Secret]) -> None:
        """Add secrets."""
        for secret in secrets:
            self.secrets.append(secret)
            for pattern in dict.fromkeys(patterns_of(len(self.secrets) - 1, secret.reveal())):
                self.longest = max(self.longest, len(pattern.text))
                self.has_short |= not pattern.is_normal and pattern.text.isascii()
                self.has_signs |= not pattern.is_normal and any(sign in pattern.text for sign in b"\\/\"'")
                (self.normal if pattern.is_normal else self.exact).add(pattern)


class Known:
    """The indexes of one check: the secrets of the process, and the personal data of one recording."""

    def __init__(self, indexes: tuple[SecretIndex, ...]) -> None:
        self._normal = [index for index in indexes if len(index.normal)]
        self._exact = [index for index in indexes if len(index.exact)]
        self._longest = max(index.longest for index in indexes)
        self._has_short = any(index.has_short for index in indexes)
        self.has_signs = any(index.has_signs for index in indexes)

    def __bool__(self) -> bool:
        return bool(self._normal or self._exact)

    def secret_in(self, data: bytes) -> Secret | None:
        """Return a secret that stands in the data plainly, or None."""
        carried = b""
        for start in range(0, len(data), CHUNK):
            chunk = data[start : start + CHUNK] if len(data) > CHUNK else data
            normal = carried + normal_form(chunk)
            for index in self._normal:
                number = _number_in(normal, index, data, start)
                if number is not None:
                    return index.secrets[number]
            carried = normal[1 - self._longest :] if start + CHUNK < len(data) else b""
        return self._exact_in(data) if self._exact and (self._has_short or not data.isascii()) else None

    def _exact_in(self, data: bytes) -> Secret | None:
        text = data.replace(b"\0", b"") if b"\0" in data else data  # no pattern has zeros
        for start in range(0, len(text), CHUNK):
            chunk = text if len(text) <= CHUNK else text[max(0, start - self._longest) : start + CHUNK]
            for index in self._exact:
                for pattern in index.exact.patterns_in(chunk):
                    return index.secrets[pattern.secret]
        return None


def _number_in(normal: bytes, index: SecretIndex, data: bytes, start: int) -> int | None:
    """Return the number of a secret in a chunk that begins at `start`, given in normal form, or None."""
    wrong: set[Pattern] = set()
    words = b""
    for pattern in index.normal.patterns_in(normal):
        if not pattern.words:
            return pattern.secret
        if pattern not in wrong:
            words = words or as_words(data[max(0, start - _AROUND) : start + CHUNK])
            if pattern.words in words:
                return pattern.secret
            wrong.add(pattern)
    return None


_REGISTERED: Final = SecretIndex()
_PERSONAL: Final[WeakKeyDictionary[KnownSecrets, SecretIndex]] = WeakKeyDictionary()
_LOCK: Final = threading.RLock()


def known_of(known: KnownSecrets) -> Known:
    """Return what to look for, up to date with the register and with the personal data of a recording."""
    if _REGISTERED.count != len(REGISTER):
        with _REGISTERED.lock:
            count = _REGISTERED.count
            new = REGISTER.since(count)
            _REGISTERED.add(secret for _, secret in new if is_secret(secret))
            _REGISTERED.count = count + len(new)  # not +=, because a finalizer may do the same meanwhile
    personal = _PERSONAL.get(known)
    if personal is None:
        with _LOCK:
            personal = _PERSONAL.setdefault(known, SecretIndex())
    if personal.count != len(known):
        with personal.lock:
            entries = known.since(personal.count)
            personal.add(secret for secret, kind in entries if not kind)
            personal.count += len(entries)
    return Known((_REGISTERED, personal))
