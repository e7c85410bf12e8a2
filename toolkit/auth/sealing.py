"""Encrypt stored data, so that only holders of the same secret can find and open it.

Two secrets are used: credentials seal the tokens that processes share (`tokens/store.py`), and a random key in the
system keyring seals saved profiles (`profiles/keyring.py`).
"""

from __future__ import annotations

from typing import Any, Final, NoReturn, final

_SALT: Final = b"service-access-toolkit\x00\x02"  # the number is the version of the format


@final
class Seal:
    """Encrypts and decrypts the data of one purpose.

    The key is derived from the secret and the purpose (HKDF, RFC 5869) and encrypts with Fernet (AES-128-CBC and
    HMAC-SHA256). Data sealed for one purpose does not open for another, even with the same secret.

    Args:
        secret: the key is derived from it. It must be hard to guess: anybody who can read a sealed entry can try
            secrets on it.
        purpose: what the seal is for, such as a token endpoint or the name of a profile.

    Attributes:
        name: a name for the entry: 64 hexadecimal digits that reveal neither the secret nor the purpose.

    Raises:
        ValueError: if the secret is empty.
    """

    __slots__ = ("__fernet", "name")

    def __init__(self, secret: bytes, purpose: str) -> None:
        import base64

        from cryptography.fernet import Fernet

        if not secret:
            raise ValueError("a key cannot be derived from an empty secret")
        self.name = _derive(secret, f"name\x00{purpose}").hex()
        self.__fernet = Fernet(base64.urlsafe_b64encode(_derive(secret, f"key\x00{purpose}")))

    def seal(self, data: bytes) -> bytes:
        """Encrypt data, differently each time. The result is URL-safe base64 text."""
        return self.__fernet.encrypt(data)

    def open(self, sealed: bytes) -> bytes | None:
        """Decrypt data that an equal seal encrypted; return None for any other data, and for data that was changed."""
        from cryptography.fernet import InvalidToken

        try:
            return self.__fernet.decrypt(sealed)
        except InvalidToken:
            return None

    def __repr__(self) -> str:
        return f"<Seal {self.name[:8]}>"

    def __copy__(self) -> Seal:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Seal:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Seal cannot be pickled: its key would reach a disk or another process")

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(2)


def _derive(secret: bytes, info: str) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), length=32, salt=_SALT, info=info.encode("utf-8")).derive(secret)
