"""Something that signs for a private key, wherever that is kept, and what is expected of it."""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from toolkit.core.escaping import excerpt
from toolkit.core.problem import Problem, attempt

EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Final = (*EC_ALGORITHMS.values(), "EdDSA", *RSA_ALGORITHMS)
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
_HALF: Final = {"ES256": 32, "ES384": 48, "ES512": 66}  # bytes of each of R and S; RFC 7518 section 3.4
_LONGEST_NAME: Final = 20  # characters of an algorithm
_EDDSA_SIGNATURE: Final = 64  # bytes; RFC 8032 section 5.1.6


@runtime_checkable
class Signer(Protocol):
    """Signs for a key that is kept somewhere: in this process, in hardware, or in a key service."""

    @property
    def algorithm(self) -> str:
        """The JWS algorithm of the signatures, such as "ES256"."""
        ...

    @property
    def key_id(self) -> str | None:
        """The `kid` that the service knows the key by, or None."""
        ...

    def sign(self, data: bytes, /) -> bytes:
        """The signature of `data` in the form JWS wants (RFC 7518 section 3).

        An ECDSA signature may be in DER as well, as key services return it; it is converted.
        """
        ...


def checked_signer(signer: Signer, algorithm: str | None, key_id: str | None) -> Signer | Problem:
    """The signer itself, if it is one for this algorithm and key ID."""
    found = described(signer)
    if isinstance(found, Problem):
        return found
    for what, asked, has in (("algorithm", algorithm, found[0]), ("key_id", key_id, found[1])):
        if asked is not None and asked != has:
            return Problem(f"The signer's {what} is {has!r}, not {asked!r}.", f"Leave {what} out.")
    return signer


def described(signer: Signer) -> tuple[str, str | None] | Problem:
    """Algorithm and key ID of a signer, which may have to ask for them wherever the key is."""
    found: tuple[Any, Any] | None = attempt(lambda: (signer.algorithm, signer.key_id))
    if found is None:
        return Problem("The signer could not say its algorithm and key_id.", "See to the signer, and try again.")
    algorithm, key_id = found
    if algorithm not in ALGORITHMS:
        return Problem(
            f"The signer's algorithm{_quoted(algorithm)} is not a signature with a private key.",
            f"Use one of {', '.join(ALGORITHMS)}.",
        )
    if not (key_id is None or (isinstance(key_id, str) and key_id)):
        return Problem("The signer's key_id is no text.", "Give the `kid` that the service knows, or None.")
    return algorithm, key_id


def signature(signer: Signer, algorithm: str, data: bytes) -> bytes | Problem:
    """The signature of `data` as JWS wants it; what a signer raises is named and dropped, with all it holds."""
    try:
        made: Any = signer.sign(data)
    except Exception as error:  # noqa: BLE001 - a signer raises what it likes, with what it likes in it
        return Problem(f"The signer could not sign: {type(error).__name__}.", "See to the signer, and try again.")
    if not isinstance(made, bytes | bytearray | memoryview):
        return _unlike(f"{type(made).__name__} rather than bytes")
    found = bytes(made)
    half = _HALF.get(algorithm)
    if half is not None:
        return found if len(found) == 2 * half else _converted(found, half)
    fits = len(found) == _EDDSA_SIGNATURE if algorithm == "EdDSA" else len(found) * 8 >= SMALLEST_RSA_KEY
    return found if fits else _unlike(f"{len(found)} bytes, which are no signature of {algorithm}")


def _quoted(algorithm: Any) -> str:
    return f" {excerpt(algorithm, _LONGEST_NAME)!r}" if isinstance(algorithm, str) else ""


def _converted(der: bytes, half: int) -> bytes | Problem:
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    made = attempt(lambda: b"".join(number.to_bytes(half, "big") for number in decode_dss_signature(der)))
    return made if isinstance(made, bytes) else _unlike(f"{len(der)} bytes, which are no ECDSA signature")


def _unlike(what: str) -> Problem:
    return Problem(
        f"The signer returned {what}.", "It returns a signature as RFC 7518 section 3 has it; ECDSA may be DER."
    )
