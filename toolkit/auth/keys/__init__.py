"""Private keys: `as_signer` turns any common form into a Signer.

A key is read once, when credentials are made. `sources` accepts every form (text is always key text, a file is always a
Path), hides the key, recognizes the format and calls `pem` (PEM and DER) or `jwk` (JWK and sets). A LocalKey then signs
with it (`signer`). A Signer of the user's own, which keeps its key elsewhere, is checked and used as it is. `new_key`
makes new key pairs.

All errors here are ConfigurationErrors. The frames below `as_signer` hold the key, so its errors show none of them
(`frameless`), and errors of other libraries, which may quote the key, are replaced.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolkit.auth import checks
from toolkit.auth.keys.signer import LocalKey, Signer, check_signer, local_key
from toolkit.auth.keys.sources import as_secret, load
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless

__all__ = ["LocalKey", "Signer", "as_signer"]


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
        private_key: PEM, JWK or JWK set as text or bytes, a JWK as a mapping, DER bytes, a Path to a file with
            any of them, a private key object of `cryptography`, or a Signer, which is returned as it is.
        algorithm: JWS algorithm; by default the JWK's own, else the usual one for the key.
        key_id: the `kid`; chooses the key of a JWK set.
        passphrase: decrypts an encrypted key.

    Raises:
        ConfigurationError: if it is not a private key, is too weak, cannot be decrypted, or does not fit `algorithm`.
    """
    private_key = as_secret(private_key)
    passphrase = checks.passphrase(passphrase)
    algorithm, key_id = checks.algorithm(algorithm), checks.optional_text(key_id, "key_id")
    if isinstance(private_key, Secret | Path) or not isinstance(private_key, Signer):
        return local_key(load(private_key, key_id, passphrase), algorithm=algorithm, key_id=key_id)
    if passphrase is not None:
        raise ConfigurationError(
            "A passphrase was given with a Signer.", "Leave passphrase out: the Signer has the key.", about="passphrase"
        )
    check_signer(private_key, algorithm=algorithm, key_id=key_id)
    return private_key
