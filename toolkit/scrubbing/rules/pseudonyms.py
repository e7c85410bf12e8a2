"""Stand-ins for personal data: the same one for the same value everywhere, of the same look, undone by nobody.

A stand-in is the value under a permutation of all values of its look (digits, small letters and capitals at
the same places), so that two values never share one. The permutation is a Feistel network of HMAC-SHA256, as in
NIST SP 800-38G but for any alphabet, under a key that is not in the repository.
"""

from __future__ import annotations

import errno
import hmac
import os
import re
import string
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import shown
from toolkit.local.private_files import open_own, private_folder, read_private

_APPLICATION: Final = "service-access-toolkit"
_FILE: Final = "pseudonyms.key"
_KEY_LENGTH: Final = 32  # bytes
_ROUNDS: Final = 10
_SHAPES: Final = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_UUID_KEPT: Final = (14, 19)  # version and variant; RFC 9562 section 4
_EMAIL: Final = re.compile(r"([^\s@<>]+)@([^\s@<>]+\.[^\s@<>]+)")
_EXPONENT: Final = re.compile(r"[eE][+-]?\d+\Z")
# What would have to be escaped somewhere.
_UNSAFE: Final = re.compile(r"[\x00-\x1f\"\\<>&%'`\x7f]")


class Pseudonyms:
    """Makes stand-ins.

    Args:
        key: gives the key, and makes one first if asked to; None without one.
    """

    def __init__(self, key: Callable[[bool], bytes | None]) -> None:
        self._find_key = key
        self._key: bytes | None = None
        self._made: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._recorded = b""
        self._lock = threading.Lock()

    def recall(self, recorded: bytes) -> None:
        """Know the stand-ins of a recording: its bytes hold them, and no real value."""
        self._recorded = recorded

    def stand_in(self, value: str, *, is_number: bool = False) -> str:
        """What stands for a value. A key is made if there is none.

        Raises:
            ConfigurationError: the key cannot be read or made.
        """
        made = self._of(value, is_number=is_number, makes_key=True)
        assert made is not None  # noqa: S101 - there is a key now
        return made

    def of_request(self, value: str, *, is_number: bool = False, records: bool) -> str:
        """What a value of a request becomes: itself, if it is a stand-in that a replay handed out.

        Args:
            records: whether the request is to be recorded, rather than looked up; without a key, a replay
                has nothing but stand-ins.
        """
        if value in self._values:
            return value
        made = self._of(value, is_number=is_number, makes_key=records)
        if made is None:
            return value
        if self._is_recorded(made) or not self._is_recorded(value):
            return made
        # A short text may stand in a recording for many reasons.
        return made if records and len(value) < 6 else value

    def of_recorded(self, value: str) -> str | None:
        """The stand-in of a value of which nothing says that it is one, if that was recorded and the value was not."""
        if not self._recorded or value in self._values or self._is_recorded(value):
            return None
        made = self._made.get(value)
        if made is None:
            self._key = self._key or self._find_key(False)
            made = None if self._key is None else shaped(value, self._key)
        return made if made is not None and self._is_recorded(made) else None

    def _is_recorded(self, value: str) -> bool:
        text = value.encode("utf-8", "surrogatepass")
        return text in self._recorded and bool(
            re.search(rb"(?<![0-9A-Za-z])" + re.escape(text) + rb"(?![0-9A-Za-z])", self._recorded)
        )

    def _of(self, value: str, *, is_number: bool, makes_key: bool) -> str | None:
        made = self._made.get(value)
        if made is not None:
            return made
        if self._key is None:
            self._key = self._find_key(makes_key)
        if self._key is None:
            return None
        made = shaped(value, self._key, is_number=is_number)
        with self._lock:
            # Too few of this look; or a look-alike that is a value itself, which would be exchanged again.
            while made == value or self._values.get(made, value) != value or made in self._made:
                made += "x" if not made[-1:].isdigit() else str(len(made) % 9 + 1)
            self._made[value] = made
            self._values[made] = value
        return made


def shaped(value: str, key: bytes, *, is_number: bool = False) -> str:
    """A value of the same look in place of a value, another one unless there is only one of that look."""
    email = _EMAIL.fullmatch(value)
    if email:
        domain = _letters(key, b"domain:" + email[2].lower().encode("utf-8", "surrogatepass"), 6)
        return f"{shaped(email[1], key)}.{domain}@example.invalid"
    kept = _EXPONENT.search(value) if is_number else None
    body, end = (value[: kept.start()], kept[0]) if kept else (value, "")
    alphabets = _uuid_alphabets(body) if _UUID.fullmatch(body) else _alphabets(body)
    if not body.isascii() and any(character.isalpha() and not character.isascii() for character in body):
        return _of_any_script(body, key) + end
    size, rank = 1, 0
    for character, alphabet in zip(body, alphabets, strict=True):
        if alphabet:
            size *= len(alphabet)
            rank = rank * len(alphabet) + alphabet.index(character)
    if size > 1:
        tweak = b"/".join(alphabet.encode() for alphabet in alphabets)
        # One step along a circle of all of them, which no value shares with another and which leads away from each.
        rank = _permuted(key, tweak, size, (_permuted(key, tweak, size, rank) + 1) % size, back=True)
    characters = []
    for character, alphabet in zip(reversed(body), reversed(alphabets), strict=True):
        if alphabet:
            rank, number = divmod(rank, len(alphabet))
            characters.append(alphabet[number])
        else:
            characters.append(_UNSAFE.sub("_", character))
    return "".join(reversed(characters)) + end


def _alphabets(value: str) -> list[str]:
    found = [next((shape for shape in _SHAPES if character in shape), "") for character in value]
    first = next((place for place, alphabet in enumerate(found) if alphabet), None)
    if first is not None and found[first] == string.digits:
        # A number begins with no zero, and an identifier that does keeps it.
        found[first] = "" if value[first] == "0" else "123456789"
    return found


def _uuid_alphabets(value: str) -> list[str]:
    digits = "0123456789" + ("ABCDEF" if value.upper() == value else "abcdef")
    return ["" if character == "-" or place in _UUID_KEPT else digits for place, character in enumerate(value)]


def _of_any_script(value: str, key: bytes) -> str:
    """A text in letters of other scripts, of which there are too many to count: digits and Latin letters."""
    stream = _stream(key, b"text:" + value.encode("utf-8", "surrogatepass"), 4 * len(value))
    characters = []
    for place, character in enumerate(value):
        number = int.from_bytes(stream[4 * place : 4 * place + 4], "big")
        if character.isalpha():
            shape = string.ascii_uppercase if character.isupper() else string.ascii_lowercase
            characters.append(shape[number % 26])
        else:
            characters.append(str(number % 10) if character.isdigit() else _UNSAFE.sub("_", character))
    return "".join(characters)


def _letters(key: bytes, what: bytes, count: int) -> str:
    return "".join(string.ascii_lowercase[byte % 26] for byte in _stream(key, what, count))


def _permuted(key: bytes, tweak: bytes, size: int, number: int, *, back: bool = False) -> int:
    """A number below `size` in place of one: a permutation, or with `back` its inverse."""
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    width = (half + 7) // 8
    while True:
        left, right = number >> half, number & mask
        for round_number in reversed(range(_ROUNDS)) if back else range(_ROUNDS):
            seen = left if back else right
            what = b"%d:%s:%s" % (round_number, tweak, seen.to_bytes(width, "big"))
            mixed = int.from_bytes(_stream(key, what, width), "big") & mask
            left, right = (right ^ mixed, left) if back else (right, left ^ mixed)
        number = left << half | right
        if number < size:
            return number


def _stream(key: bytes, what: bytes, length: int) -> bytes:
    blocks = [hmac.digest(key, b"%d:%s" % (block, what), "sha256") for block in range(length // 32 + 1)]
    return b"".join(blocks)[:length]


def key_in(folder: Path | None = None) -> Callable[[bool], bytes | None]:
    """What finds the key in the user's configuration folder, and makes it there when asked to."""

    def find(makes: bool) -> bytes | None:
        place = _configuration_folder() if folder is None else folder
        try:
            return _key(place, makes=makes)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot use the key of the pseudonyms in {shown(place / _FILE)}: {error.strerror or error}.",
                "Mend its permissions, or hand in a key: tk.Rules(pseudonyms=..., key=...).",
            ) from None

    return find


def _key(folder: Path, *, makes: bool) -> bytes | None:
    file = folder / _FILE
    if makes and not file.exists():
        private_folder(folder)
        try:
            descriptor = open_own(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            pass  # another process has just made it
        else:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(os.urandom(_KEY_LENGTH).hex().encode())
    if not file.exists():
        return None
    text = read_private(file, 1024)
    try:
        key = bytes.fromhex((text or b"").decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise OSError(errno.EINVAL, "it is no such key, or not this user's own")
    return key


def _configuration_folder() -> Path:
    from platformdirs import user_config_dir  # keeps platformdirs out of `import toolkit`

    return Path(user_config_dir(_APPLICATION, appauthor=False))
