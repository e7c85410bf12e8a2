"""Signers, which sign with a private key in this process or elsewhere, checks of their answers, and errors of keys."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import attempt

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Final = (*EC_ALGORITHMS.values(), "EdDSA", *RSA_ALGORITHMS)
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
LONGEST_ALGORITHM: Final = 20  # characters that a message quotes
_HALF: Final = {"ES256": 32, "ES384": 48, "ES512": 66}  # bytes of each of R and S; RFC 7518 section 3.4
_EDDSA_SIGNATURE: Final = 64  # bytes; RFC 8032 section 5.1.6
_TRY_AGAIN: Final = "Check the signer, and try again."
KEYS_THAT_SIGN: Final = "Use an RSA, P-256, P-384, P-521 or Ed25519 key"
_HOW_TO_GIVE_A_KEY: Final = (
    "Give a private key as PEM or JWK text, as its file (a pathlib.Path, or --key-file at a terminal), or as a key "
    "object."
)


@runtime_checkable
class Signer(Protocol):
    """Signs with a key that is kept in this process, in hardware or in a key service."""

    @property
    def algorithm(self) -> str:
        """The JWS algorithm of the signatures, such as "ES256"."""
        ...

    @property
    def key_id(self) -> str | None:
        """The `kid` that the service knows the key by, or None."""
        ...

    def sign(self, data: bytes, /) -> bytes:
        """Return the signature of `data` as JWS wants it (RFC 7518 section 3).

        An ECDSA signature may also be in DER, as key services return it; it is converted.
        """
        ...


@dataclass(frozen=True, slots=True)
class LoadedKey:
    """A private key as it was read.

    Attributes:
        key: a key object of `cryptography`.
        key_id: the `kid` of its JWK.
        algorithm: the `alg` of its JWK.
        texts: the texts that it was read from.
        passphrase: the passphrase that decrypted it.
    """

    key: Any
    key_id: str | None = None
    algorithm: str | None = None
    texts: tuple[Secret, ...] = ()
    passphrase: Secret | None = None


class LocalKey:
    """A Signer with a private key that is in this process; loaded once, never shown."""

    __slots__ = ("__key", "__secrets", "_implementation", "algorithm", "key_id")

    def __init__(
        self, key: Any, *, algorithm: str, key_id: str | None, secrets: tuple[tuple[str, Secret], ...]
    ) -> None:
        import jwt

        self._implementation: Algorithm = jwt.get_algorithm_by_name(algorithm)
        self.__key = key
        self.__secrets = secrets
        self.algorithm = algorithm
        self.key_id = key_id

    def sign(self, data: bytes, /) -> bytes:
        """Return the signature of `data` (RFC 7518 section 3)."""
        return self._implementation.sign(data, self.__key)

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        """Return the texts that would give the key away, each with the name of its placeholder."""
        return self.__secrets

    def identity(self) -> str:
        """Return the key as base64 of its PKCS#8 DER: a secret, and the same for every form of the key."""
        return self.__secrets[0][1].reveal()

    def __repr__(self) -> str:
        return f"<LocalKey {self.algorithm}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a private key cannot be pickled")


def local_key(loaded: LoadedKey, *, algorithm: str | None, key_id: str | None) -> LocalKey:
    """Return a Signer of a key that was read.

    By default, algorithm and key ID are those of the JWK, else the usual algorithm for the key, and None.

    Raises:
        ConfigurationError: if the key is too weak, does not fit the algorithm, or cannot be read from its object.
    """
    if None not in (algorithm, loaded.algorithm) and algorithm != loaded.algorithm:
        raise ConfigurationError(
            f"This JWK is for another algorithm than {algorithm!r}.", "Leave algorithm out.", about="algorithm"
        )
    chosen = _fitting_algorithm(loaded.key, loaded.algorithm if algorithm is None else algorithm)
    texts = [("PRIVATE_KEY", text) for text in dict.fromkeys((_pkcs8(loaded.key), *loaded.texts))]
    if loaded.passphrase is not None and len(loaded.passphrase.reveal()) >= SHORTEST_SECRET:
        texts.append(("SECRET", loaded.passphrase))
    return LocalKey(loaded.key, algorithm=chosen, key_id=key_id or loaded.key_id, secrets=tuple(texts))


def check_signer(signer: Signer, *, algorithm: str | None, key_id: str | None) -> None:
    """Check that a signer can sign an assertion with this algorithm and key ID; None stands for any."""
    actual_algorithm, actual_key_id = describe_signer(signer)
    for name, wanted, actual in (("algorithm", algorithm, actual_algorithm), ("key_id", key_id, actual_key_id)):
        if wanted is not None and wanted != actual:
            raise ConfigurationError(
                f"The signer's {name} is {actual!r}, not {wanted!r}.", f"Leave {name} out.", about=name
            )


def describe_signer(signer: Signer) -> tuple[str, str | None]:
    """Return algorithm and key ID of a signer, which may have to ask a key service for them."""
    answer: tuple[Any, Any] = attempt(
        lambda: (signer.algorithm, signer.key_id),
        otherwise=lambda: key_error("The signer did not return its algorithm and key_id.", _TRY_AGAIN),
    )
    algorithm, key_id = answer
    if algorithm not in ALGORITHMS:
        quoted = f" {excerpt(algorithm, LONGEST_ALGORITHM)!r}" if isinstance(algorithm, str) else ""
        raise key_error(
            f"The signer's algorithm{quoted} does not sign with a private key.",
            f"Use one of {', '.join(ALGORITHMS)}.",
        )
    if not (key_id is None or (isinstance(key_id, str) and key_id)):
        raise key_error("The signer's key_id is not text.", "Give the `kid` that the service knows, or None.")
    return algorithm, key_id


def sign_with(signer: Signer, algorithm: str, data: bytes) -> bytes:
    """Return the signature of `data` as JWS wants it; its errors are replaced, because they may quote secrets."""
    result: Any = None
    problem = None
    try:
        result = signer.sign(data)
    except Exception as error:  # noqa: BLE001 - a signer may raise anything
        problem = key_error(f"The signer could not sign: {type(error).__name__}.", _TRY_AGAIN)
    if problem is not None:
        raise problem
    if not isinstance(result, bytes | bytearray | memoryview):
        raise _not_a_signature(f"an object of type {type(result).__name__} rather than bytes")
    signature = bytes(result)
    half = _HALF.get(algorithm)
    if half is not None:
        return signature if len(signature) == 2 * half else _raw_from_der(signature, half)
    fits = len(signature) == _EDDSA_SIGNATURE if algorithm == "EdDSA" else len(signature) * 8 >= SMALLEST_RSA_KEY
    if not fits:
        raise _not_a_signature(f"{len(signature)} bytes, which are not a signature of {algorithm}")
    return signature


def key_error(what: str, next_step: str = _HOW_TO_GIVE_A_KEY) -> ConfigurationError:
    """Return the error for a private key that cannot be used."""
    return ConfigurationError(what, next_step, about="private_key")


def key_type_error(key: object) -> ConfigurationError:
    """Return the error for an object that is not a private key, or a key of a kind that does not sign."""
    return key_error(
        f"An object of type {type(key).__name__} is not a private key that signs an assertion.",
        f"{KEYS_THAT_SIGN}, or a Signer with algorithm, key_id and sign.",
    )


def _raw_from_der(der: bytes, half: int) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    return attempt(
        lambda: b"".join(number.to_bytes(half, "big") for number in decode_dss_signature(der)),
        otherwise=lambda: _not_a_signature(f"{len(der)} bytes, which are not an ECDSA signature"),
    )


def _not_a_signature(description: str) -> ConfigurationError:
    return key_error(
        f"The signer returned {description}.",
        "Its sign method returns a signature as in RFC 7518 section 3; ECDSA signatures may be DER.",
    )


def _fitting_algorithm(key: Any, wanted: str | None) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPrivateKey):
        if key.key_size < SMALLEST_RSA_KEY:
            raise key_error(
                f"This RSA key has {key.key_size} bits.", f"Use {SMALLEST_RSA_KEY} bits or more (RFC 7518 section 3.3)."
            )
        fitting: tuple[str, ...] = RSA_ALGORITHMS
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        if key.curve.name not in EC_ALGORITHMS:
            raise key_error(
                f"This key is on the curve {key.curve.name}, which does not sign assertions.", f"{KEYS_THAT_SIGN}."
            )
        fitting = (EC_ALGORITHMS[key.curve.name],)
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        fitting = ("EdDSA",)
    else:
        raise key_type_error(key)
    if wanted is not None and wanted not in fitting:
        raise ConfigurationError(
            f"The algorithm {excerpt(wanted, LONGEST_ALGORITHM)!r} does not fit this key.",
            f"It signs with {' or '.join(fitting)}.",
            about="algorithm",
        )
    return wanted or fitting[0]


def _pkcs8(key: Any) -> Secret:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    der = attempt(
        lambda: key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        otherwise=lambda: key_error(
            f"This {type(key).__name__} does not export its private key.",
            "Give a Signer with algorithm, key_id and sign.",
        ),
    )
    return Secret(base64.b64encode(der).decode("ascii"))
