"""Lock files while they are written, and encrypt stored data so that only holders of a secret can find and decrypt it.

Two secrets are used: credentials seal the tokens that processes share (`tokens/token.py`), and a random key in the
system keyring seals saved profiles (`profiles/saved.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import shown
from toolkit.local.locks import try_lock

_LOOK_AGAIN: Final = 0.05  # seconds
_MOST_LOOKS: Final = 1200  # one minute: the process that holds the lock may be asking its user to unlock the keyring
_SALT: Final = b"service-access-toolkit\x00\x02"  # the number is the version of the format


class Seal:
    """Encrypts and decrypts data for one purpose.

    The key is derived from the secret and the purpose (HKDF, RFC 5869). Encryption uses Fernet (AES-128-CBC and
    HMAC-SHA256). Data sealed for one purpose cannot be opened for another, even with the same secret.

    The secret must be hard to guess: anyone who can read a sealed entry can test guesses against it. `name` is the
    entry's name: 64 hexadecimal digits that reveal neither the secret nor the purpose.
    """

    __slots__ = ("__fernet", "name")

    def __init__(self, secret: bytes, purpose: str) -> None:
        import base64

        from cryptography.fernet import Fernet

        self.name = _derive(secret, f"name\x00{purpose}").hex()
        self.__fernet = Fernet(base64.urlsafe_b64encode(_derive(secret, f"key\x00{purpose}")))

    def seal(self, data: bytes) -> bytes:
        """Encrypt data, differently each time. The result is URL-safe base64 text."""
        return self.__fernet.encrypt(data)

    def open(self, sealed: bytes) -> bytes | None:
        """Decrypt data; return None if it was encrypted with another key or has been changed."""
        from cryptography.fernet import InvalidToken

        try:
            return self.__fernet.decrypt(sealed)
        except InvalidToken:
            return None


def _derive(secret: bytes, info: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length=32, salt=_SALT, info=info.encode("utf-8")).derive(secret)


@contextmanager
def locked(file: Path, *, pause: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Hold a lock file so that other processes wait. Do nothing on a file system that does not support locking."""
    for _ in range(_MOST_LOOKS):
        try:
            lock = try_lock(file)
        except OSError:  # if the disk is full or read-only, writing will raise an error
            lock = None
            break
        if lock is not None:
            break
        pause(_LOOK_AGAIN)
    else:
        raise ConfigurationError(f"A process has kept {shown(file)} locked for a minute.", "End it, and try again.")
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
