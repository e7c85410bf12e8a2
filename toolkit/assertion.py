"""Signed client assertions: private_key_jwt per RFC 7523 sections 2.2 and 3.

The key is parsed once, when credentials are made; an assertion is built and signed anew for every
token request. Claims follow RFC 7523 section 3 and OpenID Connect Core 1.0 section 9.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from toolkit.errors import ConfigurationError
from toolkit.secret import Secret

if TYPE_CHECKING:
    from jwt.algorithms import Algorithm

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
_EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_HOW_TO_GIVE_A_KEY: Final = "Give a private key as PEM or JWK text, as a pathlib.Path to a file of it, or as a key object."


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
        """The signature of `data` in the form JWS wants (RFC 7518 section 3)."""
        ...


class LocalKey:
    """A Signer whose private key is in this process; loaded once, never shown."""

    __slots__ = ("__key", "__secrets", "_implementation", "algorithm", "key_id")

    def __init__(self, key: Any, *, algorithm: str, key_id: str | None, secrets: tuple[tuple[str, Secret], ...]) -> None:
        import jwt  # noqa: PLC0415 - keeps jwt out of `import toolkit`

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

    def __repr__(self) -> str:
        return f"<LocalKey {self.algorithm}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a private key is not pickled")


def client_assertion(signer: Signer, *, client_id: str, audience: str, now: datetime, new_jti: Callable[[], str]) -> Secret:
    """A fresh signed assertion, valid for 60 seconds from `now`.

    No `nbf`, so that a clock slightly behind the server's does no harm. `aud` is one string.
    """
    header = {"alg": signer.algorithm, "typ": "JWT"}
    if signer.key_id is not None:
        header["kid"] = signer.key_id
    issued_at = int(now.timestamp())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": issued_at,
        "exp": issued_at + ASSERTION_LIFETIME,
        "jti": new_jti(),
    }
    signed = b".".join(_base64url(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims))
    return Secret(b".".join((signed, _base64url(signer.sign(signed)))).decode("ascii"))


def as_signer(private_key: Any, *, algorithm: str | None = None, key_id: str | None = None) -> Signer:
    """Whatever was given as a private key, as something that signs.

    Raises:
        ConfigurationError: it is no private key, is too weak, or does not fit `algorithm`.
    """
    if isinstance(private_key, Secret):
        private_key = private_key.reveal()
    if not isinstance(private_key, str | bytes | Path) and isinstance(private_key, Signer):
        return _checked_signer(private_key, algorithm, key_id)
    key, named, source = _load(private_key)
    chosen = _fitting_algorithm(key, algorithm)
    return LocalKey(key, algorithm=chosen, key_id=key_id or named, secrets=_key_texts(key, source))


def _checked_signer(signer: Signer, algorithm: str | None, key_id: str | None) -> Signer:
    known = {*_EC_ALGORITHMS.values(), *_RSA_ALGORITHMS, "EdDSA"}
    if signer.algorithm not in known:
        raise ConfigurationError(
            f"The signer's algorithm {signer.algorithm!r} is not a signature with a private key.",
            f"Use one of {', '.join(sorted(known))}.",
        )
    for what, asked, has in (("algorithm", algorithm, signer.algorithm), ("key_id", key_id, signer.key_id)):
        if asked is not None and asked != has:
            raise ConfigurationError(f"The signer's {what} is {has!r}, not {asked!r}.", f"Leave {what} out.")
    return signer


def _load(given: Any) -> tuple[Any, str | None, str | None]:
    """Key object, `kid` if the key names one, and the text it came from."""
    if isinstance(given, Path):
        try:
            given = given.expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ConfigurationError(f"Cannot read the private key file {given}: {reason}.", _HOW_TO_GIVE_A_KEY) from None
    if isinstance(given, bytes):
        given = given.decode("ascii", "replace")
    if not isinstance(given, str):
        return given, None, None
    text = given.strip()
    if text.startswith("{"):
        return (*_load_jwk(text), text)
    if "-----BEGIN" in text:
        return _load_pem(text), None, text
    raise ConfigurationError("The private key is neither PEM nor JWK text.", _HOW_TO_GIVE_A_KEY)


def _load_pem(text: str) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    if "PRIVATE KEY-----" not in text:
        raise ConfigurationError("This PEM holds no private key.", "Give the private half of the key pair.")
    if "ENCRYPTED" in text:
        raise ConfigurationError(
            "This private key is encrypted with a passphrase.",
            "Load it with cryptography's load_pem_private_key and give the key object.",
        )
    try:
        return load_pem_private_key(text.replace("\\n", "\n").encode(), password=None)
    except Exception:  # noqa: BLE001 - cryptography raises several kinds, some with key bytes in them
        raise ConfigurationError("The PEM of the private key cannot be read.", _HOW_TO_GIVE_A_KEY) from None


def _load_jwk(text: str) -> tuple[Any, str | None]:
    import jwt  # noqa: PLC0415

    try:
        fields = json.loads(text)
        if fields.get("kty") == "oct":
            raise ConfigurationError("This JWK is a symmetric key.", "A client assertion is signed with a private key.")
        if "d" not in fields:
            raise ConfigurationError("This JWK holds no private key.", "Give the private half of the key pair.")
        named = fields.get("kid")
        return jwt.PyJWK.from_dict(fields, algorithm=_jwk_algorithm(fields)).key, named if isinstance(named, str) else None
    except ConfigurationError:
        raise
    except Exception:  # noqa: BLE001 - as for PEM
        raise ConfigurationError("The JWK of the private key cannot be read.", _HOW_TO_GIVE_A_KEY) from None


def _jwk_algorithm(fields: dict[str, Any]) -> str:
    """An algorithm for loading only; which one signs is decided from the loaded key."""
    curves = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
    return "RS256" if fields.get("kty") == "RSA" else curves[fields["crv"]]


def _fitting_algorithm(key: Any, asked: str | None) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415

    if isinstance(key, rsa.RSAPrivateKey):
        if key.key_size < SMALLEST_RSA_KEY:
            raise ConfigurationError(
                f"This RSA key has {key.key_size} bits.", f"Use {SMALLEST_RSA_KEY} bits or more (RFC 7518 section 3.3)."
            )
        fitting: tuple[str, ...] = _RSA_ALGORITHMS
    elif isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in _EC_ALGORITHMS:
        fitting = (_EC_ALGORITHMS[key.curve.name],)
    elif isinstance(key, ed25519.Ed25519PrivateKey):
        fitting = ("EdDSA",)
    else:
        raise ConfigurationError(
            f"A {type(key).__name__} is no private key that signs an assertion.", "Use an RSA, P-256, P-384, P-521 or Ed25519 key."
        )
    if asked is not None and asked not in fitting:
        raise ConfigurationError(f"The algorithm {asked!r} does not fit this key.", f"It signs with {' or '.join(fitting)}.")
    return asked or fitting[0]


def _key_texts(key: Any, source: str | None) -> tuple[tuple[str, Secret], ...]:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    der = key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    texts = [base64.b64encode(der).decode("ascii")]
    if source is not None:
        texts.append(source)
    return tuple(("PRIVATE_KEY", Secret(text)) for text in texts)


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
