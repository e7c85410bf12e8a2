"""A private key in this process, as something that signs."""
# MERGE: A private key as it was read, and the words for those that cannot be.

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.keys.signer import EC_ALGORITHMS, RSA_ALGORITHMS, SMALLEST_RSA_KEY
from toolkit.core.escaping import excerpt
from toolkit.core.problem import Problem, attempt
from toolkit.core.secret import SHORTEST_SECRET, Secret

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm


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


_LONGEST_NAME: Final = 20  # characters of an algorithm


class LocalKey:
    """A Signer whose private key is in this process; loaded once, never shown."""

    __slots__ = ("__key", "__secrets", "_implementation", "algorithm", "key_id")

    def __init__(
        self, key: Any, *, algorithm: str, key_id: str | None, secrets: tuple[tuple[str, Secret], ...]
    ) -> None:
        import jwt  # keeps jwt out of `import toolkit`

        self._implementation: Algorithm = jwt.get_algorithm_by_name(algorithm)
        self.__key = key
        self.__secrets = secrets
        self.algorithm = algorithm
        self.key_id = key_id

    def sign(self, data: bytes, /) -> bytes:
        return self._implementation.sign(data, self.__key)

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        """The texts that would give the key away, to be looked for before anything is written."""
        return self.__secrets

    def identity(self) -> str:
        """The key as base64 of its PKCS#8 DER: the same for the same key, whatever form it was given in. A secret."""
        return self.__secrets[0][1].reveal()

    def __repr__(self) -> str:
        return f"<LocalKey {self.algorithm}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a private key is not pickled")


def local_key(loaded: Loaded, algorithm: str | None, key_id: str | None) -> LocalKey | Problem:
    """A key that was read, for an algorithm that fits it: the one asked for, its JWK's, or the usual one.

    Args:
        loaded: the key as it was read.
        algorithm: the algorithm asked for, or None.
        key_id: the `kid` asked for, or None for that of its JWK.
    """
    if None not in (algorithm, loaded.algorithm) and algorithm != loaded.algorithm:
        return Problem(
            f"This JWK is for another algorithm than {algorithm!r}, which was asked for.", "Leave algorithm out."
        )
    chosen = _fitting_algorithm(loaded.key, loaded.algorithm if algorithm is None else algorithm)
    if isinstance(chosen, Problem):
        return chosen
    der = _pkcs8(loaded.key)
    if der is None:
        return Problem(
            f"This {type(loaded.key).__name__} does not give its private key out.",
            "Give a Signer with algorithm, key_id and sign for it.",
        )
    texts = [("PRIVATE_KEY", text) for text in dict.fromkeys((der, *loaded.texts))]
    if loaded.passphrase is not None and len(loaded.passphrase.reveal()) >= SHORTEST_SECRET:
        texts.append(("SECRET", loaded.passphrase))
    return LocalKey(loaded.key, algorithm=chosen, key_id=key_id or loaded.key_id, secrets=tuple(texts))


def _fitting_algorithm(key: Any, asked: str | None) -> str | Problem:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPrivateKey):
        if key.key_size < SMALLEST_RSA_KEY:
            return Problem(
                f"This RSA key has {key.key_size} bits.", f"Use {SMALLEST_RSA_KEY} bits or more (RFC 7518 section 3.3)."
            )
        fitting: tuple[str, ...] = RSA_ALGORITHMS
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        if key.curve.name not in EC_ALGORITHMS:
            return Problem(
                f"This key is on the curve {key.curve.name}, which signs no assertion.", f"{KEYS_THAT_SIGN}."
            )
        fitting = (EC_ALGORITHMS[key.curve.name],)
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        fitting = ("EdDSA",)
    else:
        return Problem(
            f"An object of type {type(key).__name__} is no private key that signs an assertion.",
            f"{KEYS_THAT_SIGN}, or a Signer with algorithm, key_id and sign.",
        )
    if asked is not None and asked not in fitting:
        return Problem(
            f"The algorithm {excerpt(asked, _LONGEST_NAME)!r} does not fit this key.",
            f"It signs with {' or '.join(fitting)}.",
        )
    return asked or fitting[0]


def _pkcs8(key: Any) -> Secret | None:
    from cryptography.hazmat.primitives import serialization as form

    der = attempt(lambda: key.private_bytes(form.Encoding.DER, form.PrivateFormat.PKCS8, form.NoEncryption()))
    return Secret(base64.b64encode(der).decode("ascii")) if isinstance(der, bytes) else None
