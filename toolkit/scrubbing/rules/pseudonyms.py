"""Stand-ins for personal data: the same stand-in for the same value everywhere, with the same look.

A stand-in has digits, small letters and capitals where the value has them. Nobody can compute the value back without
the key, which is not in the repository. The stand-ins of one look are a permutation of all values of that look: two
values never share a stand-in, whatever the order in which they come up, so tables of several recordings still join.
"""

from __future__ import annotations

import errno
import hmac
import os
import re
import string
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import create_new, shown
from toolkit.local.folders import config_folder
from toolkit.local.private_files import private_folder, read_private

_FILE: Final = "pseudonyms.key"
_KEY_LENGTH: Final = 32  # bytes
_TURNS: Final = 3
_MOST_PERMUTED: Final = 32  # letters and digits; a UUID has 30
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_UUID_KEPT: Final = (14, 19)  # positions of version and variant; RFC 9562 section 4
_EMAIL: Final = re.compile(r"([^\s@<>]+)@([^\s@<>]+\.[^\s@<>]+)")
_EXPONENT: Final = re.compile(r"[eE][+-]?\d+\Z")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\"\\<>&%'`\x7f]")  # characters that some format escapes


class Pseudonyms:
    """The stand-ins made so far, and those of a recording.

    Args:
        find_key: returns the key or None; called with True, it makes a key if there is none.
    """

    def __init__(self, find_key: Callable[[bool], bytes | None]) -> None:
        self._find_key = find_key
        self._key: bytes | None = None
        self._stand_ins: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._recorded = b""
        self._lock = threading.Lock()

    def recall(self, recorded: bytes) -> None:
        """Take the bytes of a recording, which hold stand-ins and no real values."""
        self._recorded = recorded

    def stand_in(self, value: str, *, is_number: bool = False) -> str:
        """Return the stand-in of a value. A key is made if there is none.

        Raises:
            ConfigurationError: if the key cannot be read or made.
        """
        stand_in = self._of(value, is_number=is_number, makes_key=True)
        assert stand_in is not None  # noqa: S101 - there is a key now
        return stand_in

    def of_request(self, value: str, *, is_number: bool = False, records: bool) -> str:
        """Return the stand-in of a value in a request, or the value itself if it is a stand-in from a replay.

        Args:
            value: the value.
            is_number: True for a JSON number.
            records: True if the request is to be recorded, False if it is only looked up. A replay without a key has
                seen nothing but stand-ins.
        """
        if value in self._values:
            return value
        stand_in = self._of(value, is_number=is_number, makes_key=records)
        if stand_in is None:
            return value
        if self._is_recorded(stand_in) or not self._is_recorded(value):
            return stand_in
        # A short text may be in a recording for many reasons.
        return stand_in if records and len(value) < 6 else value

    def of_recorded(self, text: str) -> str | None:
        """Return the stand-in of a text that no rule names, if the recording has the stand-in and not the text."""
        if not self._recorded or text in self._values or self._is_recorded(text):
            return None
        stand_in = self._stand_ins.get(text)
        if stand_in is None:
            self._key = self._key or self._find_key(False)
            stand_in = None if self._key is None else look_alike(text, self._key)
        return stand_in if stand_in is not None and self._is_recorded(stand_in) else None

    def _is_recorded(self, text: str) -> bool:
        data = text.encode("utf-8", "surrogatepass")
        return data in self._recorded and bool(
            re.search(rb"(?<![0-9A-Za-z])" + re.escape(data) + rb"(?![0-9A-Za-z])", self._recorded)
        )

    def _of(self, value: str, *, is_number: bool, makes_key: bool) -> str | None:
        stand_in = self._stand_ins.get(value)
        if stand_in is not None:
            return stand_in
        if self._key is None:
            self._key = self._find_key(makes_key)
        if self._key is None:
            return None
        stand_in = look_alike(value, self._key, is_number=is_number)
        with self._lock:
            # Such as "--", which has no look-alike, or a look-alike that is itself a value with a stand-in.
            while stand_in == value or self._values.get(stand_in, value) != value or stand_in in self._stand_ins:
                stand_in += "x" if not stand_in[-1:].isdigit() else str(len(stand_in) % 9 + 1)
            self._stand_ins[value] = stand_in
            self._values[stand_in] = value
        return stand_in


def look_alike(value: str, key: bytes, *, is_number: bool = False) -> str:
    """Return another value of the same look; the same value only if it has no letters and digits to change."""
    email = _EMAIL.fullmatch(value)
    if email:
        domain = _random_numbers(email[2].lower(), [string.ascii_lowercase] * 6, key)
        letters = "".join(string.ascii_lowercase[number] for number in domain)
        return f"{look_alike(email[1], key)}.{letters}@example.invalid"
    exponent = _EXPONENT.search(value) if is_number else None
    if exponent:
        return look_alike(value[: exponent.start()], key, is_number=True) + exponent[0]
    alphabet_at = _uuid_alphabets(value) if _UUID.fullmatch(value) else _alphabets(value)
    alphabets = list(alphabet_at.values())
    if len(alphabets) <= _MOST_PERMUTED and all(value[place] in alphabet for place, alphabet in alphabet_at.items()):
        numbers = _permuted([alphabet.index(value[place]) for place, alphabet in alphabet_at.items()], alphabets, key)
    else:
        # Long texts, of which two never get the same letters by chance, and scripts with too many letters to permute.
        numbers = _random_numbers(value, alphabets, key)
    characters = [_UNSAFE.sub("_", character) for character in value]
    for (place, alphabet), number in zip(alphabet_at.items(), numbers, strict=True):
        characters[place] = alphabet[number]
    return "".join(characters)


def _alphabets(value: str) -> dict[int, str]:
    """Return the position of each letter and digit, with the characters that may stand there instead."""
    alphabets = {}
    for place, character in enumerate(value):
        if character.isdigit():
            alphabets[place] = string.digits
        elif character.isalpha():
            alphabets[place] = string.ascii_uppercase if character.isupper() else string.ascii_lowercase
    first = next(iter(alphabets), None)
    if first is not None and alphabets[first] == string.digits:
        # A number does not begin with a zero, and an identifier that does keeps it.
        alphabets[first] = "123456789"
        if value[first] == "0":
            del alphabets[first]
    return alphabets


def _uuid_alphabets(value: str) -> dict[int, str]:
    digits = "0123456789" + ("ABCDEF" if value.upper() == value else "abcdef")
    return {place: digits for place, letter in enumerate(value) if letter != "-" and place not in _UUID_KEPT}


def _permuted(numbers: list[int], alphabets: list[str], key: bytes) -> list[int]:
    """Return other numbers, each an index into its alphabet: a permutation without a fixed point."""
    if not numbers:
        return []
    key = hmac.digest(key, "/".join(alphabets).encode(), "sha256")
    mixed = _mixed(numbers, alphabets, key)
    # What differs after mixing also differs after undoing it.
    size = len(alphabets[-1])
    mixed[-1] = (mixed[-1] + 1 + _number(key, b"") % (size - 1)) % size
    return _mixed(mixed, alphabets, key, back=True)


def _mixed(numbers: list[int], alphabets: list[str], key: bytes, *, back: bool = False) -> list[int]:
    """Shift each number in turn by an amount that depends on the key and on all other numbers, or undo that."""
    numbers = list(numbers)
    steps = [(turn, place) for turn in range(_TURNS) for place in range(len(numbers))]
    for turn, place in reversed(steps) if back else steps:
        shift = _number(key, b"%d:%d:%s" % (turn, place, bytes(numbers[:place] + numbers[place + 1 :])))
        numbers[place] = (numbers[place] + (-shift if back else shift)) % len(alphabets[place])
    return numbers


def _random_numbers(about: str, alphabets: list[str], key: bytes) -> list[int]:
    """Return an index into each alphabet, the same for the same text and key."""
    key = hmac.digest(key, b"text:" + about.encode("utf-8", "surrogatepass"), "sha256")
    return [_number(key, b"%d" % place) % len(alphabet) for place, alphabet in enumerate(alphabets)]


def _number(key: bytes, about: bytes) -> int:
    return int.from_bytes(hmac.digest(key, about, "sha256")[:8], "big")


def user_key(makes: bool) -> bytes | None:
    """Return the key in the user's configuration folder, or None; make it there if `makes` is True.

    Raises:
        ConfigurationError: if the key cannot be read or made.
    """
    file = config_folder() / _FILE
    try:
        return _key(file, makes=makes)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot use the key of the pseudonyms in {shown(file)}: {error.strerror or error}.",
            "Fix its permissions, or pass a key: tk.Rules(pseudonyms=..., key=...).",
            about="key",
        ) from None


def _key(file: Path, *, makes: bool) -> bytes | None:
    if makes and not file.exists():
        private_folder(file.parent)
        with suppress(FileExistsError):  # another process has just made it
            create_new(file, os.urandom(_KEY_LENGTH).hex().encode())
    if not file.exists():
        return None
    try:
        key = bytes.fromhex((read_private(file, 1024) or b"").decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise OSError(errno.EINVAL, "it is not a key of pseudonyms, or not this user's own file")
    return key
