"""Signed client assertions: private_key_jwt per RFC 7523 sections 2.2 and 3.

The key is parsed once, when credentials are made; an assertion is built and signed anew for every
token request. Claims follow RFC 7523 section 3 and OpenID Connect Core 1.0 section 9.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from toolkit.errors import ConfigurationError
from toolkit.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from jwt.algorithms import Algorithm

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
_EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_JWK_CURVES: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
_RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_HOW_TO_GIVE_A_KEY: Final = (
    "Give a private key as PEM or JWK text, as a pathlib.Path to a file of it, or as a key object."
)
_KEYS_THAT_SIGN: Final = "Use an RSA, P-256, P-384, P-521 or Ed25519 key"


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

    def __init__(
        self, key: Any, *, algorithm: str, key_id: str | None, secrets: tuple[tuple[str, Secret], ...]
    ) -> None:
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

    def identity(self) -> str:
        """The key as base64 of its PKCS#8 DER: the same for the same key, whatever form it was given in. A secret."""
        return self.__secrets[0][1].reveal()

    def __repr__(self) -> str:
        return f"<LocalKey {self.algorithm}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a private key is not pickled")


def client_assertion(
    signer: Signer, *, client_id: str, audience: str, now: datetime, new_jti: Callable[[], str]
) -> Secret:
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
    given = _load(private_key)
    chosen = _fitting_algorithm(given.key, algorithm or given.algorithm)
    return LocalKey(given.key, algorithm=chosen, key_id=key_id or given.key_id, secrets=_key_texts(given))


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


class _Given(NamedTuple):
    """A key object, what it says of itself, and the texts that it came from."""

    key: Any
    key_id: str | None = None
    algorithm: str | None = None
    texts: tuple[Secret, ...] = ()


def _load(given: Any) -> _Given:
    if isinstance(given, Path):
        given = _read(given)
    if isinstance(given, bytes):
        given = given.decode("ascii", "replace")
    if not isinstance(given, str):
        return _Given(given)
    text = given.strip()
    if text.startswith("{"):
        return _load_jwk(text)
    if "-----BEGIN" in text:
        return _load_pem(text)
    raise ConfigurationError("The private key is neither PEM nor JWK text.", _HOW_TO_GIVE_A_KEY)


def _read(file: Path) -> str:
    if "-----BEGIN" in str(file) or str(file).startswith("{"):
        raise ConfigurationError("The key itself was given as a Path.", _HOW_TO_GIVE_A_KEY)
    try:
        return file.expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not text"
    except (ValueError, RuntimeError):  # a null character; no home folder
        reason = "this names no file"
    # Raised out here, so that no error hangs on to what was read.
    raise ConfigurationError(f"Cannot read the private key file {file}: {reason}.", _HOW_TO_GIVE_A_KEY)


def _load_pem(text: str) -> _Given:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    if "PRIVATE KEY-----" not in text:
        raise ConfigurationError("This PEM holds no private key.", "Give the private half of the key pair.")
    if "ENCRYPTED" in text:
        raise ConfigurationError(
            "This private key is encrypted with a passphrase.",
            "Load it with cryptography's load_pem_private_key and give the key object.",
        )
    lines = text.replace("\\n", "\n")  # on one line, as an environment variable or a JSON file holds it
    key = _attempt(lambda: load_pem_private_key(lines.encode(), password=None))
    if key is None:
        raise ConfigurationError("The PEM of the private key cannot be read.", _HOW_TO_GIVE_A_KEY)
    return _Given(key, texts=(Secret(text), Secret(lines)))


def _load_jwk(text: str) -> _Given:
    import jwt  # noqa: PLC0415

    unreadable = ConfigurationError("The JWK of the private key cannot be read.", _HOW_TO_GIVE_A_KEY)
    fields = _attempt(lambda: json.loads(text))
    if not isinstance(fields, dict):
        raise unreadable
    if "keys" in fields:
        raise ConfigurationError("This is a set of JWKs.", "Give one private key of it.")
    if fields.get("kty") == "oct":
        raise ConfigurationError("This JWK is a symmetric key.", "A client assertion is signed with a private key.")
    if "d" not in fields:
        raise ConfigurationError("This JWK holds no private key.", "Give the private half of the key pair.")
    loader = "RS256" if fields.get("kty") == "RSA" else _JWK_CURVES.get(str(fields.get("crv")))
    if loader is None and "crv" in fields:
        raise ConfigurationError("This JWK is on a curve that signs no assertion.", f"{_KEYS_THAT_SIGN}.")
    key = _attempt(lambda: jwt.PyJWK.from_dict(fields, algorithm=loader).key)
    if key is None or loader is None:
        raise unreadable
    named = {name: value for name in ("kid", "alg") if isinstance(value := fields.get(name), str) and value}
    return _Given(key, named.get("kid"), named.get("alg"), (Secret(text), Secret(str(fields["d"]))))


def _attempt(load: Callable[[], Any]) -> Any:
    """What it loads, or None.

    The error is dropped rather than chained: cryptography, jwt and json raise several kinds, some of
    which hold the text of the key.
    """
    try:
        return load()
    except Exception:  # noqa: BLE001
        return None


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
            f"An object of type {type(key).__name__} is no private key that signs an assertion.",
            f"{_KEYS_THAT_SIGN}, or a Signer with algorithm, key_id and sign.",
        )
    if asked is not None and asked not in fitting:
        raise ConfigurationError(
            f"The algorithm {asked!r} does not fit this key.", f"It signs with {' or '.join(fitting)}."
        )
    return asked or fitting[0]


def _key_texts(given: _Given) -> tuple[tuple[str, Secret], ...]:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    der = given.key.private_bytes(
        serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    texts = dict.fromkeys((Secret(base64.b64encode(der).decode("ascii")), *given.texts))
    return tuple(("PRIVATE_KEY", text) for text in texts)


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
