"""A private key as it was read, and the words for those that cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from toolkit.problem import Problem
from toolkit.secret import Secret

HOW_TO_GIVE_A_KEY: Final = (
    "Give a private key as PEM or JWK text, as a pathlib.Path to a file of it, or as a key object."
)
KEYS_THAT_SIGN: Final = "Use an RSA, P-256, P-384, P-521 or Ed25519 key"
PRIVATE_HALF: Final = "Give the private half of the key pair."


@dataclass(frozen=True, slots=True)
class Loaded:
    """A private key object, what was said of it where it stood, and the texts that would give it away.

    Attributes:
        key: a key object of `cryptography`.
        key_id: the `kid` of its JWK.
        algorithm: the `alg` of its JWK.
        texts: what it was read from.
        passphrase: what it was decrypted with.
    """

    key: Any
    key_id: str | None = None
    algorithm: str | None = None
    texts: tuple[Secret, ...] = ()
    passphrase: Secret | None = None


def not_encrypted() -> Problem:
    """A passphrase without an encrypted key is a slip: most likely the wrong file was given."""
    return Problem(
        "A passphrase was given, and the private key is not encrypted.",
        "Leave passphrase out, or give the key that it opens.",
    )
