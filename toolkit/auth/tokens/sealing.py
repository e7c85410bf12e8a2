"""Sealing a token that is shared, so that only who has the same credentials can find and read it.

From the credentials and the token endpoint's address come two values that tell nothing of each other:
the name under which an entry lies, and the key that encrypts it (HKDF, RFC 5869; AES-256-GCM,
NIST SP 800-38D). Whoever lacks the credentials, a wrong secret included, finds nothing and reads nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token
from toolkit.core.addresses import Address
from toolkit.core.clock import Clock
from toolkit.core.ledger import instant_text, parse_instant
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LARGEST_ENTRY: Final = 1 << 16  # bytes, sealed
_MAGIC: Final = b"service-access-toolkit\x00"
_VERSION: Final = b"\x01"
_HEADER: Final = _MAGIC + _VERSION
_NONCE: Final = 12  # bytes; SP 800-38D section 5.2.1.1
_LENGTH: Final = 4  # bytes that say how long the text is
_BLOCK: Final = 256  # bytes; a text is padded to whole blocks, so that its length tells little
_BEARER_TOKEN: Final = re.compile(r"[!-~]+\Z")  # what a header takes, as of a reply
_EARLIEST_ISSUE: Final = timedelta(seconds=5)  # ahead of our clock, which may have been set back a little


@final
class Seal:
    """What seals and opens the entry of one set of credentials at one token endpoint.

    It has no value to show but the entry's name, and is not pickled.

    Attributes:
        name: what the entry is filed under: 64 hexadecimal digits, which say nothing of the credentials.
    """

    __slots__ = ("__cipher", "name")

    def __init__(self, name: str, cipher: AESGCM) -> None:
        self.name = name
        self.__cipher = cipher

    @classmethod
    def of(cls, identity: bytes, token_url: str) -> Seal:
        """The seal of credentials at a token endpoint.

        Args:
            identity: what the credentials are, secret included. Only as hard to guess as this is: whoever may
                read an entry can try identities on it.
            token_url: the token endpoint's URL; its scheme and host in any case, its default port named or not.

        Raises:
            ValueError: the identity is empty.
            ConfigurationError, UnsafeAddress: the URL is none that credentials may go to.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # keeps `import toolkit` light

        if not identity:
            raise ValueError("there is nothing to derive a key from")
        place = str(Address.parse(token_url, setting="The token endpoint")).encode("ascii")
        name, key = (_derive(identity, purpose + b"\x00" + place) for purpose in (b"name", b"key"))
        return cls(name.hex(), AESGCM(key))

    def seal(self, text: bytes, *, random: Callable[[int], bytes] = os.urandom) -> bytes:
        """Encrypt a text, differently each time.

        What comes out above LARGEST_ENTRY bytes is not opened again, and no store need take it.

        Args:
            random: gives as many random bytes as it is asked for.
        """
        nonce = random(_NONCE)
        if len(nonce) != _NONCE:
            raise ValueError(f"a nonce has {_NONCE} bytes, not {len(nonce)}")
        plain = len(text).to_bytes(_LENGTH, "big") + text
        plain += bytes(-len(plain) % _BLOCK)
        return _HEADER + nonce + self.__cipher.encrypt(nonce, plain, self._bound_to())

    def open(self, data: bytes) -> bytes | None:
        """The text of a sealed entry, or None for anything that this seal did not make, just so and whole."""
        from cryptography.exceptions import InvalidTag  # keeps `import toolkit` light

        start = len(_HEADER) + _NONCE
        if not start < len(data) <= LARGEST_ENTRY or not data.startswith(_HEADER):
            return None
        try:
            plain = self.__cipher.decrypt(data[len(_HEADER) : start], data[start:], self._bound_to())
        except (InvalidTag, ValueError):  # ValueError: shorter than a tag
            return None
        length = int.from_bytes(plain[:_LENGTH], "big")
        return plain[_LENGTH : _LENGTH + length]

    def _bound_to(self) -> bytes:
        """What an entry is valid for, authenticated with it: this version of the format and this name."""
        return _HEADER + self.name.encode("ascii")

    def __repr__(self) -> str:
        return f"<Seal {self.name[:8]}>"

    def __copy__(self) -> Seal:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Seal:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Seal is not pickled: its key would reach a disk or another process")

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)


def _derive(identity: bytes, info: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # keeps `import toolkit` light
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # keeps `import toolkit` light

    return HKDF(SHA256(), length=32, salt=_HEADER, info=info).derive(identity)


def token_to_bytes(token: Token) -> bytes:
    """What another process needs of a token, as JSON: the token itself, so only for a seal."""
    fields = {
        "access_token": token.access_token.reveal(),
        "issued_at": instant_text(token.issued_at),
        "expires_at": instant_text(token.expires_at),
    }
    return json.dumps(fields).encode("ascii")


def token_from_bytes(data: bytes, *, clock: Clock) -> Token | None:
    """The token that another process kept, or None when this clock has no use for it, or when it is none.

    What is left of its lifetime by the wall clock counts from now on the monotonic one. Of no use is a token
    that has ended, one with more than the longest lifetime, and one that was issued more than 5 s from now: of
    the two clocks one is wrong, and so would be the expiry.
    """
    try:
        fields = json.loads(data)
        text = fields["access_token"]
        issued_at, expires_at = parse_instant(fields["issued_at"]), parse_instant(fields["expires_at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(text, str) or not _BEARER_TOKEN.match(text):
        return None
    now, lifetime = clock.now(), expires_at - issued_at
    if issued_at - now > _EARLIEST_ISSUE or not now < expires_at or not timedelta(0) < lifetime <= LONGEST_LIFETIME:
        return None
    left = min(expires_at - now, lifetime)
    return Token(Secret(text), issued_at, expires_at, expires_monotonic=clock.monotonic() + left.total_seconds())
