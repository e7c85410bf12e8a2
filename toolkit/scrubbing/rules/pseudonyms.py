"""Stand-ins for personal data: a value has the same stand-in everywhere, in the format of the value.

A stand-in has digits, lower-case letters and capitals where the value has them, and at least eight letters and digits
in total, so that two values practically never have the same stand-in. It is computed from the value and a key that is
not in the repository, so tables can still be joined, and the value cannot be recovered without the key.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import string
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import count
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local import folders
from toolkit.local.files import shown
from toolkit.local.folders import config_folder

_KEY: Final = "pseudonyms"
_SHORTEST: Final = 8  # letters and digits of a stand-in
_EMAIL: Final = re.compile(r"[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\"\\<>&%'`\x7f]")  # characters that some formats escape


class Pseudonyms:
    """The stand-ins made so far, and those in a recording.

    Args:
        find_key: returns the key or None; if called with True, it creates a missing key.
    """

    def __init__(self, find_key: Callable[[bool], bytes | None]) -> None:
        self._find_key = find_key
        self._key: bytes | None = None
        self._stand_ins: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._recorded = b""
        self._lock = threading.Lock()

    def recall(self, recorded: bytes) -> None:
        """Remember the bytes of a recording, which contain stand-ins and no real values."""
        self._recorded = recorded

    def stand_in(self, value: str) -> str:
        """Return the stand-in for a value; create the key if it is missing.

        Raises:
            ConfigurationError: if the key cannot be read or created.
        """
        stand_in = self._of(value, makes_key=True)
        assert stand_in is not None  # noqa: S101 - there is a key now
        return stand_in

    def of_request(self, value: str, *, records: bool) -> str:
        """Return the stand-in for a value in a request, or the value itself if it is a stand-in from a replay.

        Args:
            value: the value.
            records: True if the request will be recorded, False if it is only looked up. Without a key, only the
                stand-ins are available in a replay.
        """
        if value in self._values:
            return value
        stand_in = self._of(value, makes_key=records)
        if stand_in is None:
            return value
        if self._is_recorded(stand_in) or not self._is_recorded(value):
            return stand_in
        # A short text may occur in a recording by coincidence.
        return stand_in if records and len(value) < 6 else value

    def of_recorded(self, text: str) -> str | None:
        """Return the stand-in for a string that no rule names; None unless only the stand-in is in the recording."""
        if not self._recorded or text in self._values or self._is_recorded(text):
            return None
        stand_in = self._stand_ins.get(text)
        if stand_in is None:
            self._key = self._key or self._find_key(False)
            stand_in = None if self._key is None else look_alike(text, self._key)
        return stand_in if stand_in is not None and self._is_recorded(stand_in) else None

    def made(self) -> list[tuple[Secret, str]]:
        """Return each value that has a stand-in, with its stand-in."""
        with self._lock:
            return [(Secret(value), stand_in) for value, stand_in in self._stand_ins.items()]

    def value_of(self, candidates: Iterable[str], stand_ins: Collection[str]) -> dict[str, str]:
        """Return each candidate whose stand-in under the existing key is in `stand_ins`, with its stand-in.

        A recording made with the rules contains only stand-ins. This finds the original values among other strings.
        """
        self._key = self._key or self._find_key(False)
        if self._key is None or not stand_ins:
            return {}
        pairs = ((text, look_alike(text, self._key)) for text in candidates)
        return {text: stand_in for text, stand_in in pairs if stand_in in stand_ins}

    def _is_recorded(self, text: str) -> bool:
        data = text.encode("utf-8", "surrogatepass")
        return data in self._recorded and bool(
            re.search(rb"(?<![0-9A-Za-z])" + re.escape(data) + rb"(?![0-9A-Za-z])", self._recorded)
        )

    def _of(self, value: str, *, makes_key: bool) -> str | None:
        stand_in = self._stand_ins.get(value)
        if stand_in is not None:
            return stand_in
        if self._key is None:
            self._key = self._find_key(makes_key)
        if self._key is None:
            return None
        with self._lock:
            candidates = (look_alike(value, self._key, attempt=attempt) for attempt in count())
            stand_in = next(candidate for candidate in candidates if self._is_free(candidate, value))
            self._stand_ins[value] = stand_in
            self._values[stand_in] = value
        return stand_in

    def _is_free(self, stand_in: str, value: str) -> bool:
        is_taken = self._values.get(stand_in, value) != value or stand_in in self._stand_ins
        return stand_in != value and not is_taken


def look_alike(value: str, key: bytes, *, attempt: int = 0) -> str:
    """Return a stand-in that looks like a value.

    Args:
        value: the value.
        key: the secret key.
        attempt: a counter; each number gives a different stand-in, in case the first one is taken.
    """
    stream = _pseudorandom(value, key, attempt)
    if _EMAIL.fullmatch(value):
        return "".join(_pick(string.ascii_lowercase, stream) for _ in range(12)) + "@example.invalid"
    is_hexadecimal = all(letter in string.hexdigits for letter in value if letter.isalpha())
    alphabet, changed, result = string.digits, 0, []
    for character in value:
        if not character.isalnum():
            result.append(_UNSAFE.sub("_", character))
            continue
        alphabet = _alphabet(character, is_hexadecimal=is_hexadecimal)
        if changed == 0 and character.isdigit():
            alphabet = "0" if character == "0" else string.digits[1:]  # numbers do not begin with a zero
        result.append(_pick(alphabet, stream))
        changed += 1
    alphabet = string.digits if alphabet[-1].isdigit() else alphabet
    result += [_pick(alphabet, stream) for _ in range(_SHORTEST - changed)]
    return "".join(result)


def _alphabet(character: str, *, is_hexadecimal: bool) -> str:
    """Return the characters that may replace a letter or digit of any script."""
    if not character.isalpha():
        return string.digits
    letters = string.ascii_uppercase if character.isupper() else string.ascii_lowercase
    return letters[:6] if is_hexadecimal else letters


def _pick(alphabet: str, stream: Iterator[int]) -> str:
    return alphabet[next(stream) % len(alphabet)]


def _pseudorandom(value: str, key: bytes, attempt: int) -> Iterator[int]:
    seed = hmac.digest(key, b"%d:" % attempt + value.encode("utf-8", "surrogatepass"), "sha256")
    for block in count():
        digest = hashlib.sha256(seed + b"%d" % block).digest()
        yield from (int.from_bytes(digest[at : at + 4], "big") for at in range(0, len(digest), 4))


def user_key(makes: bool) -> bytes | None:
    """Return the key in the user's configuration folder, or None; create a missing key if `makes` is True.

    Raises:
        ConfigurationError: if the key cannot be read or created.
    """
    try:
        return folders.user_key(_KEY, makes=makes)
    except OSError as error:
        file = config_folder() / f"{_KEY}.key"
        raise ConfigurationError(
            f"Cannot use the pseudonym key in {shown(file)}: {error.strerror or error}.",
            "Fix its permissions, or pass a key: tk.Rules(pseudonyms=..., key=...).",
            about="key",
        ) from None
