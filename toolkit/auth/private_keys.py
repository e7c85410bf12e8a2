"""Private keys: read one from PEM, a JWK or a JWK set, as text or in a file, or from a key object; and make new ones.

`cryptography` reads PEM (PKCS#8, PKCS#1 and SEC 1, encrypted too), and PyJWT reads a JWK (RFC 7517). Text is always key
text, and a file is always a Path. Text that was changed on its way is refused, not repaired.

All errors are ConfigurationErrors. The frames below `as_signer` hold the key, so its errors show none of them
(`frameless`), and errors of other libraries, which may quote the key, are replaced.

A new key pair: the private half goes into a file that only its user may read, the public half to the service.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth import checks
from toolkit.auth.signers import (
    ALGORITHMS,
    EC_ALGORITHMS,
    RSA_ALGORITHMS,
    SMALLEST_RSA_KEY,
    LocalKey,
    Signer,
    describe_signer,
)
from toolkit.core.arguments import as_choice
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import SHORTEST_SECRET, Secret
from toolkit.core.tracebacks import attempt, frameless
from toolkit.local.files import create_new, expanded, read_text

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

RSA_BITS: Final = 3072  # of a new key: as strong as P-256; NIST SP 800-57 part 1, table 2
_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]*PRIVATE KEY)-----(?:(?!-----)[\s\S])*-----END \1-----")
_PRIVATE_MEMBERS: Final = ("d", "p", "q", "dp", "dq", "qi", "k")  # RFC 7518 sections 6.2.2, 6.3.2 and 6.4
_SHORTEST_MEMBER: Final = 16  # characters; no part of a key that signs is shorter
# RFC 7638 section 3.2 and RFC 8037 section 2; in this order.
_THUMBPRINT_MEMBERS: Final = {"EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x"), "RSA": ("e", "kty", "n")}
_HOW_TO_GIVE_A_KEY: Final = (
    "Give all of one RSA, P-256, P-384, P-521 or Ed25519 private key: PEM or JWK text with its line breaks, its file (a "
    "pathlib.Path, or --key-file at a terminal), a key object, or a Signer with algorithm, key_id and sign."
)


@frameless
def as_signer(
    private_key: Any,
    *,
    algorithm: str | None = None,
    key_id: str | None = None,
    passphrase: str | Secret | None = None,
) -> Signer:
    """Return a Signer for a private key.

    Args:
        private_key: PEM, JWK or JWK set as text, a Path to a file with any of them, a private key object of
            `cryptography`, or a Signer, which is returned as it is.
        algorithm: JWS algorithm; by default the JWK's own, else the usual one for the key.
        key_id: the `kid`; names the key of a JWK set.
        passphrase: decrypts an encrypted key.

    Raises:
        ConfigurationError: if it is not a private key, is too weak, cannot be decrypted, or does not fit `algorithm`
            or `key_id`.
    """
    secret_phrase, key_id = checks.passphrase(passphrase), checks.optional_text(key_id, "key_id")
    if algorithm is not None:
        as_choice(algorithm, ALGORITHMS, about="algorithm")
    if isinstance(private_key, Signer):
        actual_algorithm, actual_key_id = describe_signer(private_key)
        if secret_phrase or algorithm not in (None, actual_algorithm) or key_id not in (None, actual_key_id):
            raise ConfigurationError(
                "A Signer has an algorithm and a key_id of its own, and needs no passphrase.",
                "Leave out what was given beside it.",
                about="key_id" if key_id else "private_key",
            )
        return private_key
    text = _text_of(private_key)
    if text is None:
        if not hasattr(private_key, "private_bytes"):
            raise _key_error(f"An object of type {type(private_key).__name__} is not a private key.")
        return _local_key(private_key, (), algorithm, key_id)
    if text.startswith("{"):
        jwk = _only_key(text, key_id)
        if secret_phrase is not None:
            raise _not_encrypted()
        return _from_jwk(jwk, Secret(text), algorithm, key_id)
    return _from_pem(text, secret_phrase, algorithm, key_id)


def _text_of(private_key: Any) -> str | None:
    """Return the text of a key, or None for an object."""
    if isinstance(private_key, Path):
        return read_text(expanded(private_key), "the file of the private key", _HOW_TO_GIVE_A_KEY).strip()
    return Secret(private_key).reveal().strip() if isinstance(private_key, str | Secret) else None


def _from_pem(text: str, passphrase: Secret | None, algorithm: str | None, key_id: str | None) -> LocalKey:
    """Return the only private key among the blocks of a PEM text."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    blocks = [match[0] for match in _BLOCK.finditer(text)]
    if len(blocks) != 1:
        is_public = not blocks and ("PUBLIC KEY-----" in text or "CERTIFICATE-----" in text)
        found = "a public key or a certificate" if is_public else f"{len(blocks) or 'no'} whole private keys"
        raise _key_error(f"The text of the private key holds {found}, not one private key in PEM or JWK.")
    try:
        password = None if passphrase is None else passphrase.reveal().encode("utf-8", "surrogatepass")
        key = load_pem_private_key(blocks[0].encode("ascii"), password)
    except TypeError:  # a passphrase is missing or superfluous
        problem = _not_encrypted() if passphrase else _key_error("The private key is encrypted.", about="passphrase")
    except Exception:  # noqa: BLE001 - whatever it is, it may hold the key
        what = "cannot be read: it is damaged, or of a kind that does not sign assertions"
        if passphrase is not None:
            what = "cannot be decrypted with this passphrase, or is damaged"
        problem = _key_error(f"The PEM of the private key {what}.", about="passphrase" if passphrase else "private_key")
    else:
        return _local_key(key, (Secret(blocks[0]),), algorithm, key_id, passphrase)
    raise problem


def _only_key(text: str, key_id: str | None) -> dict[str, Any]:
    """Return the JWK of a text, or the one of a JWK set: its only key, or the key that `key_id` names."""
    jwk: dict[str, Any] = attempt(lambda: json.loads(text), otherwise=_unreadable_jwk)
    if "keys" not in jwk:
        return jwk
    keys = attempt(lambda: [each for each in jwk["keys"] if "d" in each], otherwise=_unreadable_jwk)
    named = keys if key_id is None else [each for each in keys if each.get("kid") == key_id]
    if len(named) != 1:
        raise _key_error(
            f"{len(named) or 'No'} private keys of this JWK set {'are there' if key_id is None else 'have this key ID'}, "
            "and key_id names one of them.",
            about="key_id",
        )
    return named[0]  # type: ignore[no-any-return]


def _from_jwk(jwk: dict[str, Any], text: Secret, algorithm: str | None, key_id: str | None) -> LocalKey:
    import jwt

    if "d" not in jwk:
        raise _key_error("This JWK is a public or a symmetric key, not a private key.")
    kid, own_algorithm = checks.optional_text(jwk.get("kid") or None, "key_id"), jwk.get("alg")
    if kid is not None and key_id not in (None, kid):
        raise _key_error("The kid of this JWK is not the key_id that was given: leave it out.", about="key_id")
    if own_algorithm is not None and algorithm not in (None, own_algorithm):
        raise _key_error("This JWK is for another algorithm: leave algorithm out.", about="algorithm")
    # Without its algorithm, PyJWT takes the one that fits the key, and `_local_key` compares the two.
    keyed = {name: value for name, value in jwk.items() if name != "alg"}
    key = attempt(lambda: jwt.PyJWK(keyed).key, otherwise=_unreadable_jwk)
    members = (value for name, value in jwk.items() if name in _PRIVATE_MEMBERS and isinstance(value, str))
    texts = (text, *(Secret(value) for value in members if len(value) >= _SHORTEST_MEMBER))
    return _local_key(key, texts, algorithm or own_algorithm, key_id or kid)


def _local_key(
    key: Any,
    texts: tuple[Secret, ...],
    algorithm: str | None,
    key_id: str | None,
    passphrase: Secret | None = None,
) -> LocalKey:
    """Return a Signer of a key object; `texts` is what the key was read from."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    fitting = _fitting_algorithms(key)
    if algorithm is not None and algorithm not in fitting:
        raise _key_error(f"The algorithm does not fit this key, which signs with {' or '.join(fitting)}.", "algorithm")
    der = attempt(
        lambda: key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        otherwise=lambda: _key_error(f"This {type(key).__name__} does not export its private key."),
    )
    identity = Secret(base64.b64encode(der).decode("ascii"))
    secrets = [("PRIVATE_KEY", text) for text in dict.fromkeys((identity, *texts))]
    if passphrase is not None and len(passphrase.reveal()) >= SHORTEST_SECRET:
        secrets.append(("SECRET", passphrase))
    return LocalKey(key, algorithm=algorithm or fitting[0], key_id=key_id, secrets=tuple(secrets))


def _fitting_algorithms(key: Any) -> tuple[str, ...]:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPrivateKey) and key.key_size >= SMALLEST_RSA_KEY:
        return RSA_ALGORITHMS
    if isinstance(key, ec.EllipticCurvePrivateKey) and key.curve.name in EC_ALGORITHMS:
        return (EC_ALGORITHMS[key.curve.name],)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return ("EdDSA",)
    kind = f"RSA key of {key.key_size} bits" if isinstance(key, rsa.RSAPrivateKey) else type(key).__name__
    raise _key_error(f"This {kind} does not sign assertions; RSA needs {SMALLEST_RSA_KEY} bits (RFC 7518 section 3.3).")


def _key_error(what: str, about: str = "private_key") -> ConfigurationError:
    next_step = 'Add passphrase="...".' if about == "passphrase" else _HOW_TO_GIVE_A_KEY
    return ConfigurationError(what, next_step, about=about)


def _unreadable_jwk() -> ConfigurationError:
    return _key_error("The JWK of the private key cannot be read: it is damaged, or of a kind that does not sign.")


def _not_encrypted() -> ConfigurationError:
    return ConfigurationError(
        "A passphrase was given, but the private key is not encrypted.",
        "Leave passphrase out, or give the key that it opens.",
        about="passphrase",
    )


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key pair.

    Attributes:
        algorithm: the JWS algorithm that it is for.
        key_id: the `kid` to register it under.
        thumbprint: SHA-256 of the public key, base64url (RFC 7638).
        private_pem: the private half as PKCS#8 PEM, encrypted if a passphrase was given.
        public_pem: the public half as PEM.
        public_jwk: the public half as JWK.
    """

    algorithm: str
    key_id: str
    thumbprint: str
    private_pem: Secret = field(repr=False)
    public_pem: str
    public_jwk: Mapping[str, Any]


@frameless
def new_key(algorithm: str = "ES256", *, key_id: str | None = None, passphrase: Secret | None = None) -> NewKey:
    """Return a new key pair for an algorithm.

    Args:
        algorithm: a JWS algorithm that signs with a private key.
        key_id: the `kid` to register it under; by default its thumbprint.
        passphrase: encrypts the private half.

    Raises:
        ConfigurationError: if the algorithm is unknown, or the key ID cannot be sent.
    """
    import jwt
    from cryptography.hazmat.primitives import serialization

    algorithm, key_id = as_choice(algorithm, ALGORITHMS, about="algorithm"), checks.optional_text(key_id, "key_id")
    key = _generate(algorithm)
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        encryption = serialization.BestAvailableEncryption(passphrase.reveal().encode("utf-8", "surrogatepass"))
    private_pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    public: Any = key.public_key()
    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(public, as_dict=True)
    required = {name: jwk[name] for name in _THUMBPRINT_MEMBERS[jwk["kty"]]}
    canonical = json.dumps(required, separators=(",", ":")).encode("utf-8")
    thumbprint = base64.urlsafe_b64encode(hashlib.sha256(canonical).digest()).rstrip(b"=").decode("ascii")
    key_id = key_id or thumbprint
    return NewKey(
        algorithm=algorithm,
        key_id=key_id,
        thumbprint=thumbprint,
        private_pem=Secret(private_pem.decode("ascii")),
        public_pem=public_pem.decode("ascii"),
        # Without the `key_ops` that PyJWT adds to some: "use" says it all.
        public_jwk={"kty": jwk["kty"], **required, "kid": key_id, "alg": algorithm, "use": "sig"},
    )


@frameless
def write_key_file(file: Path, private_pem: Secret) -> None:
    """Write a private key into a new file that only its user may read; missing folders are made the same way.

    Raises:
        ConfigurationError: if the name exists already, the file would lie in a git repository, or it cannot be
            written or kept private. No part of the file is left then.
    """
    file = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow a link at the end
    reason = "the system refuses"
    if any((folder / ".git").exists() for folder in file.parent.resolve().joinpath("_").parents):
        reason = "it would lie in a git repository, and files in a repository are committed sooner or later"
    else:
        try:
            for folder in reversed([folder for folder in file.parents if not folder.exists()]):
                folder.mkdir(mode=0o700, exist_ok=True)
            create_new(file, private_pem.reveal().encode("ascii"))
        except FileExistsError:
            reason = "the name exists already, and keys are never overwritten"
        except OSError as error:
            reason = error.strerror or reason
        else:
            return
    raise ConfigurationError(
        f"Cannot write {file}: {reason}.", "Choose another file. Nothing was written.", about="file"
    )


def _generate(algorithm: str) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    curves = {EC_ALGORITHMS[curve.name]: curve for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())}
    if algorithm in curves:
        return ec.generate_private_key(curves[algorithm])
    return rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS)
