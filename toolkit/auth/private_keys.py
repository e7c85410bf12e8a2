"""Read private keys from PEM, a JWK or a JWK set (a string or a file), create new keys, and sign assertions.

`cryptography` reads PEM (PKCS#8, PKCS#1 and SEC 1, also encrypted), and PyJWT reads JWKs (RFC 7517). A string is always
key text, and a file is always a Path. Damaged text raises an error. The stack frames below `as_signer` contain the key,
so tracebacks omit them (`frameless`). Errors from other libraries are replaced, because they may quote the key.

private_key_jwt follows RFC 7523 sections 2.2 and 3. A new assertion is built and signed for every token request. Its
claims follow RFC 7523 section 3 and OpenID Connect Core 1.0 section 9. PyJWT does not build assertions here, because it
cannot sign through a Signer that keeps the key elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from toolkit.auth.credentials import as_optional_text, as_passphrase
from toolkit.core.errors import ConfigurationError, as_choice
from toolkit.core.secret import REGISTER, SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import attempt, frameless
from toolkit.local.files import create_new, expanded, read_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
    from jwt.algorithms import Algorithm

EC_ALGORITHMS: Final = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
RSA_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Final = (*EC_ALGORITHMS.values(), "EdDSA", *RSA_ALGORITHMS)
SMALLEST_RSA_KEY: Final = 2048  # bits; RFC 7518 section 3.3
ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds
_SIZES: Final = {"ES256": 64, "ES384": 96, "ES512": 132, "EdDSA": 64}  # bytes; RFC 7518 section 3.4, RFC 8032
_NOT_A_SIGNATURE: Final = "returned a value that is not a valid signature for its algorithm"
RSA_BITS: Final = 3072  # for a new key; as strong as P-256 (NIST SP 800-57 part 1, table 2)
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(?:(?!-----)[\s\S])*-----END \1-----")
_PRIVATE_MEMBERS: Final = ("d", "p", "q", "dp", "dq", "qi", "k")  # RFC 7518 sections 6.2.2, 6.3.2 and 6.4
_SHORTEST_MEMBER: Final = 16  # characters; no private member of a usable key is shorter
# RFC 7638 section 3.2 and RFC 8037 section 2; in this order.
_THUMBPRINT_MEMBERS: Final = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n")}
_NOT_ENCRYPTED: Final = (
    "A passphrase was given, but the private key is not encrypted.",
    "Leave the passphrase out, or pass the key that it decrypts.",
)
_HOW_TO_GIVE_A_KEY: Final = (
    "Pass a complete RSA, P-256, P-384, P-521 or Ed25519 private key: PEM or JWK text with its line breaks, a file "
    "(a pathlib.Path, or --key-file in a terminal), a key object, or a Signer with algorithm, key_id and sign."
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
        """The `kid` that the public key was registered with, or None."""
        ...

    def sign(self, data: bytes, /) -> bytes:
        """Return the signature of `data` as JWS requires it (RFC 7518 section 3).

        An ECDSA signature may also be in DER, as key services return it; it is converted.
        """
        ...


class LocalKey:
    """A Signer whose private key is in this process; the key is loaded once and never shown."""

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
        """Return the strings that reveal the key, each with its placeholder's name."""
        return self.__secrets

    def identity(self) -> str:
        """Return the key as base64-encoded PKCS#8 DER: a secret that is the same for every form of the key."""
        return self.__secrets[0][1].reveal()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a private key cannot be pickled")


def describe_signer(signer: Signer) -> tuple[str, str | None]:
    """Return a signer's algorithm and key ID, which it may have to request from a key service."""
    answer: tuple[Any, Any] = attempt(
        lambda: (signer.algorithm, signer.key_id),
        otherwise=lambda: _signer_error("did not return its algorithm and key_id"),
    )
    if answer[0] not in ALGORITHMS or not (answer[1] is None or (isinstance(answer[1], str) and answer[1])):
        raise _signer_error("has an algorithm that is not supported, or a key_id that is empty or not a string")
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
    """Return a new signed assertion, valid for `lifetime` seconds from `now`, and add it to the register.

    The issuer and the subject are `client_id`; the recipient is `audience`, as a single string. There is no `nbf`
    claim, so it does not matter if this machine's clock is slightly fast. If `typ` is None, the header has no `typ`.
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
    """Return the JWS signature of `data`. The signer's errors are replaced, because they may quote secrets."""
    result, failure = b"", ""
    try:
        result = bytes(signer.sign(data))
    except Exception as error:  # noqa: BLE001 - a signer may raise anything
        failure = f"could not sign: {type(error).__name__}"
    if failure:  # raised here so that it does not reference the signer's error
        raise _signer_error(failure)
    size = _SIZES.get(algorithm)
    if size is not None and len(result) != size and algorithm in EC_ALGORITHMS.values():
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

        result = attempt(
            lambda: b"".join(number.to_bytes(size // 2, "big") for number in decode_dss_signature(result)),
            otherwise=lambda: _signer_error(_NOT_A_SIGNATURE),
        )
    if len(result) < SMALLEST_RSA_KEY // 8 if size is None else len(result) != size:
        raise _signer_error(_NOT_A_SIGNATURE)
    return result


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _signer_error(what: str) -> ConfigurationError:
    next_step = (
        f"The algorithm must be one of {', '.join(ALGORITHMS)}; sign() must return "
        "the signature as bytes, either as in RFC 7518 section 3 or in DER."
    )
    return ConfigurationError(f"The signer {what}.", next_step, about="private_key")


@frameless
def as_signer(
    private_key: Any,
    *,
    algorithm: str | None = None,
    key_id: str | None = None,
    passphrase: str | Secret | None = None,
) -> Signer:
    """Return a Signer for the `private_key` argument of `ClientKey`; a Signer is returned unchanged."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    secret_phrase, key_id = as_passphrase(passphrase), as_optional_text(key_id, "key_id")
    if algorithm is not None:
        as_choice(algorithm, ALGORITHMS, about="algorithm")
    if isinstance(private_key, Signer):
        actual_algorithm, actual_key_id = describe_signer(private_key)
        if secret_phrase or algorithm not in (None, actual_algorithm) or key_id not in (None, actual_key_id):
            raise _error("A Signer has its own algorithm and key_id, and no passphrase.", "Leave them out.")
        return private_key
    key, texts, jwk = _loaded(private_key, key_id, secret_phrase)
    if jwk.get("kid") and key_id not in (None, jwk["kid"]):
        raise _error("The kid of this JWK does not match key_id.", "Leave key_id out.", about="key_id")
    if jwk.get("alg") and algorithm not in (None, jwk["alg"]):
        raise _error("The alg of this JWK does not match algorithm.", "Leave algorithm out.", about="algorithm")
    key_id, algorithm = key_id or as_optional_text(jwk.get("kid") or None, "key_id"), algorithm or jwk.get("alg")
    fitting = _fitting_algorithms(key)
    if algorithm is not None and algorithm not in fitting:
        raise _error("The algorithm cannot be used with this key.", f"Use {' or '.join(fitting)}.", about="algorithm")
    der = attempt(
        lambda: key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        otherwise=lambda: _error(f"This {type(key).__name__} does not export its private key."),
    )
    identity = Secret(base64.b64encode(der).decode("ascii"))
    secrets = [("PRIVATE_KEY", text) for text in dict.fromkeys((identity, *texts))]
    if secret_phrase is not None and len(secret_phrase.reveal()) >= SHORTEST_SECRET:
        secrets.append(("SECRET", secret_phrase))
    return LocalKey(key, algorithm=algorithm or fitting[0], key_id=key_id, secrets=tuple(secrets))


def _loaded(
    private_key: Any, key_id: str | None, passphrase: Secret | None
) -> tuple[Any, tuple[Secret, ...], Mapping[str, Any]]:
    """Return a key object, the strings that it was read from, and the JWK if the key was given as one."""
    if isinstance(private_key, Path):
        try:
            private_key = read_text(expanded(private_key), "the private key file", "")
        except ConfigurationError as error:
            raise _error(error.what) from None
    is_text = isinstance(private_key, str | Secret)
    if not is_text and not hasattr(private_key, "private_bytes"):
        raise _error(f"An object of type {type(private_key).__name__} is not a private key.")
    text = Secret(private_key).reveal().strip() if is_text else "{"
    if not text.startswith("{"):
        return _from_pem(text, passphrase)
    if passphrase is not None:
        raise _error(*_NOT_ENCRYPTED, about="passphrase")
    return _from_jwk(text, key_id) if is_text else (private_key, (), {})


def _from_pem(text: str, passphrase: Secret | None) -> tuple[Any, tuple[Secret, ...], Mapping[str, Any]]:
    """Return the only private key among the blocks of a PEM text."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = [match[0] for match in _BLOCK.finditer(text)]
    if len(blocks) != 1:
        is_public = not blocks and ("PUBLIC KEY-----" in text or "CERTIFICATE-----" in text)
        found = "a public key or a certificate" if is_public else f"{len(blocks) or 'no'} complete private keys"
        raise _error(f"The key text must contain exactly one private key (PEM or JWK), but contains {found}.")
    try:
        password = None if passphrase is None else passphrase.reveal().encode("utf-8", "surrogatepass")
        return load_pem_private_key(blocks[0].encode("ascii"), password), (Secret(blocks[0]),), {}
    except TypeError:  # a passphrase is missing, or is not needed
        missing = ("The private key is encrypted with a passphrase.", 'Add passphrase="...".')
        problem = _error(*(_NOT_ENCRYPTED if passphrase else missing), about="passphrase")
    except Exception:  # noqa: BLE001 - whatever it is, it may hold the key
        problem = _unreadable("PEM")
        if passphrase:
            what = "The private key cannot be decrypted with this passphrase, or is damaged."
            problem = _error(what, "Check the passphrase.", about="passphrase")
    raise problem


def _from_jwk(text: str, key_id: str | None) -> tuple[Any, tuple[Secret, ...], Mapping[str, Any]]:
    """Return the private key from a JWK or JWK set: the only key, or the key that `key_id` selects."""
    import jwt

    jwk: dict[str, Any] = attempt(lambda: json.loads(text), otherwise=_unreadable)
    if "keys" in jwk:
        keys = attempt(lambda: [each for each in jwk["keys"] if "d" in each], otherwise=_unreadable)
        named = keys if key_id is None else [each for each in keys if each.get("kid") == key_id]
        if len(named) != 1:
            which = "" if key_id is None else " with this key ID"
            what = f"This JWK set has {len(named) or 'no'} private keys{which}; exactly one is required."
            raise _error(what, "Select one of its keys with key_id.", about="key_id" if keys else "private_key")
        jwk = named[0]
    if "d" not in jwk:
        raise _error("This JWK is a public or a symmetric key, not a private key.")
    # Without `alg`, PyJWT chooses the algorithm that fits the key. It is compared with `alg` later.
    keyed = {name: value for name, value in jwk.items() if name != "alg"}
    members = (value for name, value in jwk.items() if name in _PRIVATE_MEMBERS and isinstance(value, str))
    texts = (Secret(text), *(Secret(value) for value in members if len(value) >= _SHORTEST_MEMBER))
    return attempt(lambda: jwt.PyJWK(keyed).key, otherwise=_unreadable), texts, jwk


def _fitting_algorithms(key: Any) -> tuple[str, ...]:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPrivateKey) and key.key_size >= SMALLEST_RSA_KEY:
        return RSA_ALGORITHMS
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in EC_ALGORITHMS:
        return (EC_ALGORITHMS[key.curve.name],)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return ("EdDSA",)
    kind = f"{key.key_size}-bit RSA key" if isinstance(key, rsa.RSAPrivateKey) else type(key).__name__
    raise _error(f"This {kind} cannot be used; RSA keys need at least {SMALLEST_RSA_KEY} bits (RFC 7518 section 3.3).")


def _error(what: str, next_step: str = _HOW_TO_GIVE_A_KEY, about: str = "private_key") -> ConfigurationError:
    return ConfigurationError(what, next_step, about=about)


def _unreadable(form: str = "JWK") -> ConfigurationError:
    return _error(f"The {form} private key cannot be read: it is damaged, or of a kind that cannot sign.")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key pair: the private key, encrypted if a passphrase was given, and the public key in two forms."""

    thumbprint: str  # SHA-256 of the public key, base64url (RFC 7638)
    private_pem: Secret = field(repr=False)
    public_pem: str
    public_jwk: Mapping[str, Any]  # with `alg`, and the `kid` to register it under


@frameless
def new_key(algorithm: str = "ES256", *, key_id: str | None = None, passphrase: Secret | None = None) -> NewKey:
    """Return a new key pair for a JWS algorithm. The key ID defaults to the key's thumbprint."""
    import jwt
    from cryptography.hazmat.primitives import serialization as form

    algorithm, key_id = as_choice(algorithm, ALGORITHMS, about="algorithm"), as_optional_text(key_id, "key_id")
    key = _generate(algorithm)
    encryption: form.KeySerializationEncryption = form.NoEncryption()
    if passphrase is not None:
        encryption = form.BestAvailableEncryption(passphrase.reveal().encode("utf-8", "surrogatepass"))
    public: Any = key.public_key()
    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(public, as_dict=True)
    required = {name: jwk[name] for name in _THUMBPRINT_MEMBERS[jwk["kty"]]}
    digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode("utf-8")).digest()
    thumbprint = base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
    private_pem = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, encryption)
    return NewKey(
        thumbprint=thumbprint,
        private_pem=Secret(private_pem.decode("ascii")),
        public_pem=public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo).decode("ascii"),
        # Leaves out the `key_ops` that PyJWT adds for some key types: "use" is enough.
        public_jwk={"kty": jwk["kty"], **required, "kid": key_id or thumbprint, "alg": algorithm, "use": "sig"},
    )


@frameless
def write_key_file(file: Path, private_pem: Secret) -> None:
    """Write a private key to a new file that only its owner can read. Missing folders are created, also private."""
    file = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow a link at the end
    if any((folder / ".git").exists() for folder in file.parent.resolve().joinpath("_").parents):
        reason = "it would be in a git repository, where it might be committed"
    else:
        try:
            for folder in reversed([folder for folder in file.parents if not folder.exists()]):
                folder.mkdir(mode=0o700, exist_ok=True)
            create_new(file, private_pem.reveal().encode("ascii"))
        except FileExistsError:
            reason = "the file already exists, and keys are never overwritten"
        except OSError as error:
            reason = error.strerror or "the system refused"
        else:
            return
    raise _error(f"Cannot write {file}: {reason}.", "Choose another file. Nothing was written.", about="file")


def _generate(algorithm: str) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}.get(algorithm)
    if curve is not None:
        return ec.generate_private_key(curve)
    return rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
