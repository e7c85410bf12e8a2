"""New key pairs: the private half goes into a file that only its user may read, the public half to the service."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth import checks
from toolkit.auth.keys.signer import ALGORITHMS, EC_ALGORITHMS
from toolkit.core.arguments import as_choice
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless
from toolkit.local.files import create_new

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

RSA_BITS: Final = 3072  # as strong as P-256; NIST SP 800-57 part 1, table 2
# RFC 7638 section 3.2 and RFC 8037 section 2; in this order.
_THUMBPRINT_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}


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
    members = _public_members(key, algorithm)
    digest = thumbprint(members)
    key_id = key_id or digest
    return NewKey(
        algorithm=algorithm,
        key_id=key_id,
        thumbprint=digest,
        private_pem=Secret(private_pem.decode("ascii")),
        public_pem=public_pem.decode("ascii"),
        public_jwk={**members, "kid": key_id, "alg": algorithm, "use": "sig"},
    )


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the SHA-256 thumbprint of an RSA, EC or OKP key, base64url without padding (RFC 7638)."""
    required = {name: jwk[name] for name in _THUMBPRINT_MEMBERS[jwk["kty"]]}
    text = json.dumps(required, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


@frameless
def write_key_file(file: Path, private_pem: Secret) -> None:
    """Write a private key into a new file that only its user may read; missing folders are made the same way.

    Raises:
        ConfigurationError: if the name exists already, the file would lie in a git repository, or it cannot be
            written or kept private. No part of the file is left then.
    """
    file = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow a link at the end
    repository = next(
        (folder for folder in file.parent.resolve().joinpath("_").parents if (folder / ".git").exists()), None
    )
    if repository is not None:
        raise ConfigurationError(
            f"{file} would lie in the git repository {repository}.",
            "Choose a file outside the repository: files in a repository are committed sooner or later.",
            about="file",
        )
    try:
        for folder in reversed([folder for folder in file.parents if not folder.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
        create_new(file, private_pem.reveal().encode("ascii"))
    except FileExistsError:
        reason = "the name exists already, and keys are never overwritten"
    except OSError as error:
        reason = error.strerror or "the system refuses"
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


def _public_members(key: Any, algorithm: str) -> dict[str, Any]:
    import jwt

    jwk = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    # Without the `key_ops` that PyJWT adds to some: "use" says it all.
    return {name: jwk[name] for name in dict.fromkeys(("kty", *_THUMBPRINT_MEMBERS[jwk["kty"]]))}
