"""New key pairs: the private half into a file of its user alone, the public half to be registered."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.checks import Checks
from toolkit.auth.keys.signer import ALGORITHMS, EC_ALGORITHMS
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

RSA_BITS: Final = 3072  # as strong as P-256; NIST SP 800-57 part 1, table 2
_OTHERS: Final = 0o077
# RFC 7638 section 3.2 and RFC 8037 section 2; members in their order.
_THUMBPRINT_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}
_OUTSIDE: Final = "Choose a file outside of it: what lies in a repository is committed sooner or later."


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key pair just made.

    Attributes:
        algorithm: the JWS algorithm that it is for.
        key_id: the `kid` to register it by.
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


def new_key(algorithm: str = "ES256", *, key_id: str | None = None, passphrase: Secret | None = None) -> NewKey:
    """A new key pair for an algorithm.

    Args:
        algorithm: a JWS algorithm that signs with a private key.
        key_id: the `kid` to register it by; by default its thumbprint.
        passphrase: encrypts the private half.

    Raises:
        ConfigurationError: there is no such algorithm, or the key ID is no text that can be sent.
    """
    from cryptography.hazmat.primitives import serialization as form

    checks = Checks()
    algorithm, key_id = checks.text(algorithm, "algorithm"), checks.optional_text(key_id, "key ID")
    checks.done()
    if algorithm not in ALGORITHMS:
        raise ConfigurationError(
            f"There is no key pair for the algorithm {algorithm!r}.", f"Use one of {', '.join(ALGORITHMS)}."
        )
    key = _generated(algorithm)
    encryption: form.KeySerializationEncryption = form.NoEncryption()
    if passphrase is not None:
        encryption = form.BestAvailableEncryption(passphrase.reveal().encode("utf-8", "surrogatepass"))
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, encryption)
    public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    members = _public_members(key, algorithm)
    print_of_key = thumbprint(members)
    key_id = key_id or print_of_key
    return NewKey(
        algorithm=algorithm,
        key_id=key_id,
        thumbprint=print_of_key,
        private_pem=Secret(private.decode("ascii")),
        public_pem=public.decode("ascii"),
        public_jwk={**members, "kid": key_id, "alg": algorithm, "use": "sig"},
    )


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """The SHA-256 thumbprint of a JWK, base64url without padding (RFC 7638).

    Args:
        jwk: an RSA, EC or OKP key; other members than those of its public half do not matter.
    """
    required = {name: jwk[name] for name in _THUMBPRINT_MEMBERS[jwk["kty"]]}
    text = json.dumps(required, separators=(",", ":"))
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def write_new_file(file: Path, text: Secret) -> None:
    """Write a file that was not there, for its user alone, all of it or nothing; missing folders are made likewise.

    Raises:
        ConfigurationError: there is something of that name already, a link included; it would lie in a git
            repository; or it cannot be written or kept private.
    """
    file = Path(os.path.abspath(file))  # noqa: PTH100 - resolve() would follow a link at the end
    repository = next((each for each in (file.parent.resolve() / "_").parents if (each / ".git").exists()), None)
    if repository is not None:
        raise ConfigurationError(f"{file} would lie in the git repository {repository}.", _OUTSIDE)
    reason = _written(file, text)
    if reason is not None:
        raise ConfigurationError(f"Cannot write {file}: {reason}.", "Choose another file. Nothing was written.")


def _written(file: Path, text: Secret) -> str | None:
    """None, or why not."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        for folder in reversed([each for each in (file.parent, *file.parent.parents) if not each.exists()]):
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(file, flags, 0o600)
    except FileExistsError:
        return "there is something of that name already, and no key is ever overwritten"
    except OSError as error:
        return error.strerror or "the system refuses"
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if os.name == "posix" and S_IMODE(os.fstat(descriptor).st_mode) & _OTHERS:
                reason = "others may read whatever is on this disk"
            else:
                stream.write(text.reveal().encode("ascii"))
                stream.flush()
                os.fsync(descriptor)
                return None
    except OSError as error:
        reason = error.strerror or "the system refuses"
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)
    return reason


def _generated(algorithm: str) -> PrivateKeyTypes:
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
    wanted = ("kty", *_THUMBPRINT_MEMBERS[jwk["kty"]])  # without the `key_ops` of some: "use" says it all
    return {name: jwk[name] for name in dict.fromkeys(wanted)}
