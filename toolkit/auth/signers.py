"""Signers, which sign with a private key in this process or elsewhere, and the assertions that they sign.

private_key_jwt follows RFC 7523 sections 2.2 and 3. An assertion is built and signed again for every token request. Its
claims follow RFC 7523 section 3 and OpenID Connect Core 1.0 section 9. PyJWT does not build it, because it does not
sign through a Signer that keeps the key elsewhere.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import attempt, frameless

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Final = (*EC_ALGORITHMS.values(), "EdDSA", *RSA_ALGORITHMS)
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds
_HALF: Final = {"ES256": 32, "ES384": 48, "ES512": 66}  # bytes of each of R and S; RFC 7518 section 3.4
_EDDSA_SIGNATURE: Final = 64  # bytes; RFC 8032 section 5.1.6
_LONGEST_ALGORITHM: Final = 20  # characters that a message quotes


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


def describe_signer(signer: Signer) -> tuple[str, str | None]:
    """Return algorithm and key ID of a signer, which may have to ask a key service for them."""
    answer: tuple[Any, Any] = attempt(
        lambda: (signer.algorithm, signer.key_id),
        otherwise=lambda: _signer_error("did not return its algorithm and key_id"),
    )
    algorithm, key_id = answer
    if algorithm not in ALGORITHMS:
        quoted = f" {excerpt(algorithm, _LONGEST_ALGORITHM)!r}" if isinstance(algorithm, str) else ""
        raise _signer_error(f"has an algorithm{quoted} that does not sign with a private key")
    if not (key_id is None or (isinstance(key_id, str) and key_id)):
        raise _signer_error("has a key_id that is neither text nor None")
    return algorithm, key_id


@frameless
def client_assertion(
    signer: Signer,
    *,
    client_id: str,
    audience: str,
    now: datetime,
    new_jti: Callable[[], str],
    typ: str | None = "JWT",
    lifetime: int = ASSERTION_LIFETIME,
) -> Secret:
    """Return a fresh signed assertion, valid for `lifetime` seconds from `now`, and enter it in the register.

    It has no `nbf`, so that a clock slightly behind the server's does no harm. `aud` is one string.

    Args:
        signer: signs the assertion.
        client_id: issuer and subject.
        audience: the recipient of the assertion.
        now: the time of the request.
        new_jti: returns a new identifier for the assertion.
        typ: media type in the header; None leaves it out.
        lifetime: in seconds.

    Raises:
        ConfigurationError: if the signer fails, or does not return a signature.
    """
    algorithm, key_id = describe_signer(signer)
    header = {"alg": algorithm, "typ": typ, "kid": key_id}
    issued_at = int(now.timestamp())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": issued_at,
        "exp": issued_at + lifetime,
        "jti": new_jti(),
    }
    parts = ({name: value for name, value in header.items() if value is not None}, claims)
    signed = ".".join(_base64url(json.dumps(part, separators=(",", ":")).encode("ascii")) for part in parts)
    assertion = Secret(f"{signed}.{_base64url(_signature(signer, algorithm, signed.encode('ascii')))}")
    REGISTER.add("CLIENT_ASSERTION", assertion)
    return assertion


def _signature(signer: Signer, algorithm: str, data: bytes) -> bytes:
    """Return the signature of `data` as JWS wants it; errors are replaced, because they may quote secrets."""
    result: Any = attempt(lambda: signer.sign(data), otherwise=lambda: _signer_error("could not sign"))
    if not isinstance(result, bytes | bytearray | memoryview):
        raise _signer_error(f"returned an object of type {type(result).__name__} rather than a signature in bytes")
    signature, half = bytes(result), _HALF.get(algorithm)
    wrong = f"returned {len(signature)} bytes, which are not a signature of {algorithm}"
    if half is not None and len(signature) != 2 * half:
        return attempt(lambda: _raw_from_der(signature, half), otherwise=lambda: _signer_error(wrong))
    if half is None and not (
        len(signature) == _EDDSA_SIGNATURE if algorithm == "EdDSA" else len(signature) * 8 >= SMALLEST_RSA_KEY
    ):
        raise _signer_error(wrong)
    return signature


def _raw_from_der(der: bytes, half: int) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    return b"".join(number.to_bytes(half, "big") for number in decode_dss_signature(der))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _signer_error(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"The signer {what}.",
        f"Check the signer: its algorithm is one of {', '.join(ALGORITHMS)}, and sign() returns a signature as in RFC "
        "7518 section 3; an ECDSA signature may be DER.",
        about="private_key",
    )
