"""Private keys: in whatever form somebody has one, made into something that signs.

A key is read once, when credentials are made. Text is key text, and a Path is a file; what reads either
returns a Problem rather than raising, so that no frame of a traceback holds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from toolkit.auth.checks import Checks
from toolkit.auth.keys.local_key import HOW_TO_GIVE_A_KEY, LocalKey, local_key
from toolkit.auth.keys.signer import Signer, checked_signer
from toolkit.auth.keys.sources import hidden, load
from toolkit.core.problem import Problem, attempt
from toolkit.core.secret import Secret

# What nobody foresaw is dropped as well: frames down there hold the key.
_UNREADABLE: Final = Problem("The private key cannot be read.", HOW_TO_GIVE_A_KEY)

__all__ = ["LocalKey", "Signer", "as_signer"]


def as_signer(
    private_key: Any,
    *,
    algorithm: str | None = None,
    key_id: str | None = None,
    passphrase: str | Secret | None = None,
) -> Signer:
    """Whatever was given as a private key, as something that signs.

    Args:
        private_key: PEM, JWK or JWK set as text or bytes, a JWK as a mapping, DER bytes, a Path to a file of
            any of them, a private key object of `cryptography`, or a Signer, which is returned as it is.
        algorithm: JWS algorithm; by default the JWK's own, else the usual one for the key.
        key_id: the `kid`; chooses the key of a JWK set.
        passphrase: opens an encrypted key.

    Raises:
        ConfigurationError: it is no private key, is too weak, cannot be decrypted, or does not fit `algorithm`.
    """
    private_key = hidden(private_key)
    checks = Checks()
    passphrase = checks.passphrase(passphrase)
    algorithm, key_id = checks.algorithm(algorithm), checks.optional_text(key_id, "key ID")
    checks.done()
    found = attempt(lambda: _signer(private_key, algorithm, key_id, passphrase)) or _UNREADABLE
    if isinstance(found, Problem):
        raise found.error()
    signer: Signer = found
    return signer


def _signer(private_key: Any, algorithm: str | None, key_id: str | None, passphrase: Secret | None) -> Signer | Problem:
    if isinstance(private_key, Problem):
        return private_key
    if not isinstance(private_key, Secret | Path) and isinstance(private_key, Signer):
        if passphrase is not None:
            return Problem("A passphrase was given with a signer.", "Leave passphrase out: the signer has the key.")
        return checked_signer(private_key, algorithm, key_id)
    loaded = load(private_key, key_id, passphrase)
    return loaded if isinstance(loaded, Problem) else local_key(loaded, algorithm, key_id)
