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
from toolkit.core.tracebacks import attempt, frameless

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Final = (*EC_ALGORITHMS.values(), "EdDSA", *RSA_ALGORITHMS)
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds
_SIZES: Final = {"ES256": 64, "ES384": 96, "ES512": 132, "EdDSA": 64}  # bytes; RFC 7518 section 3.4, RFC 8032
_NOT_A_SIGNATURE: Final = "returned something that is not a signature of its algorithm"


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
    if answer[0] not in ALGORITHMS or not (answer[1] is None or (isinstance(answer[1], str) and answer[1])):
        raise _signer_error("has an algorithm that does not sign with a private key, or a key_id that is not text")
    return answer


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
    result, failure = b"", ""
    try:
        result = bytes(signer.sign(data))
    except Exception as error:  # noqa: BLE001 - a signer may raise anything
        failure = f"could not sign: {type(error).__name__}"
    if failure:  # raised here, the error does not hold that of the signer
        raise _signer_error(failure)
    size = _SIZES.get(algorithm)
    if size is not None and len(result) != size and algorithm in EC_ALGORITHMS.values():
        result = attempt(lambda: _raw_from_der(result, size // 2), otherwise=lambda: _signer_error(_NOT_A_SIGNATURE))
    if len(result) < SMALLEST_RSA_KEY // 8 if size is None else len(result) != size:
        raise _signer_error(_NOT_A_SIGNATURE)
    return result


def _raw_from_der(der: bytes, half: int) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    return b"".join(number.to_bytes(half, "big") for number in decode_dss_signature(der))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _signer_error(what: str) -> ConfigurationError:
    next_step = (
        f"Its algorithm is one of {', '.join(ALGORITHMS)}; sign() returns bytes as in RFC 7518 section 3, or DER."
    )
    return ConfigurationError(f"The signer {what}.", next_step, about="private_key")
