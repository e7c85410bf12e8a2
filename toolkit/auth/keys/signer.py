"""Signers, which sign with a private key wherever it is kept, and checks of their answers."""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.transport.tracebacks import attempt

EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Final = (*EC_ALGORITHMS.values(), "EdDSA", *RSA_ALGORITHMS)
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
LONGEST_ALGORITHM: Final = 20  # characters that a message quotes
_HALF: Final = {"ES256": 32, "ES384": 48, "ES512": 66}  # bytes of each of R and S; RFC 7518 section 3.4
_EDDSA_SIGNATURE: Final = 64  # bytes; RFC 8032 section 5.1.6
_TRY_AGAIN: Final = "Check the signer, and try again."


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
        otherwise=_signer_error("The signer did not return its algorithm and key_id.", _TRY_AGAIN),
    )
    algorithm, key_id = answer
    if algorithm not in ALGORITHMS:
        quoted = f" {excerpt(algorithm, LONGEST_ALGORITHM)!r}" if isinstance(algorithm, str) else ""
        raise _signer_error(
            f"The signer's algorithm{quoted} does not sign with a private key.",
            f"Use one of {', '.join(ALGORITHMS)}.",
        )
    if not (key_id is None or (isinstance(key_id, str) and key_id)):
        raise _signer_error("The signer's key_id is not text.", "Give the `kid` that the service knows, or None.")
    return algorithm, key_id


def sign_with(signer: Signer, algorithm: str, data: bytes) -> bytes:
    """Return the signature of `data` as JWS wants it; its errors are replaced, because they may quote secrets."""
    result: Any = None
    problem = None
    try:
        result = signer.sign(data)
    except Exception as error:  # noqa: BLE001 - a signer may raise anything
        problem = _signer_error(f"The signer could not sign: {type(error).__name__}.", _TRY_AGAIN)
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


def _raw_from_der(der: bytes, half: int) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    return attempt(
        lambda: b"".join(number.to_bytes(half, "big") for number in decode_dss_signature(der)),
        otherwise=_not_a_signature(f"{len(der)} bytes, which are not an ECDSA signature"),
    )


def _not_a_signature(description: str) -> ConfigurationError:
    return _signer_error(
        f"The signer returned {description}.",
        "Its sign method returns a signature as in RFC 7518 section 3; ECDSA signatures may be DER.",
    )


def _signer_error(what: str, next_step: str) -> ConfigurationError:
    return ConfigurationError(what, next_step, about="private_key")
