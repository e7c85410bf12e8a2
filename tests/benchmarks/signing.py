"""Compare signing a client assertion with PyJWT, given a key object that is already loaded.

Target for RS256: at most twice as long. Measured too: Authlib with a loaded key, and PyJWT with PEM text, which it
parses each time. Many programs do the latter; it shows what loading a key only once saves.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import toolkit as tk
from tests.benchmarks.measuring import Table, microseconds, time_in_turn
from tests.benchmarks.peers import version
from toolkit.auth.signers import ASSERTION_LIFETIME, client_assertion
from toolkit.core.clock import SystemClock

CLIENT_ID, AUDIENCE = "client", "https://auth.example/v1/oauth2/token"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS: dict[str, Any] = {
    "RS256": RSA,
    "PS256": RSA,
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def pyjwt_signer(key: Any, algorithm: str) -> Callable[[], str]:
    """Return a function that signs the same claims with PyJWT."""

    def sign() -> str:
        now = int(time.time())
        claims = {
            "iss": CLIENT_ID,
            "sub": CLIENT_ID,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + ASSERTION_LIFETIME,
            "jti": str(uuid.uuid4()),
        }
        return jwt.encode(claims, key, algorithm=algorithm)

    return sign


def toolkit_signer(key: Any, algorithm: str) -> Callable[[], object]:
    """Return a function that signs as a session does before each token request."""
    credentials = tk.ClientKey(CLIENT_ID, key, environment="broker-sandbox", algorithm=algorithm)
    clock = SystemClock()
    return lambda: client_assertion(
        credentials.private_key,
        client_id=CLIENT_ID,
        audience=AUDIENCE,
        now=clock.now(),
        new_jti=lambda: str(uuid.uuid4()),
    )


def authlib_signer(pem: bytes, algorithm: str) -> Callable[[], str]:
    """Return a function that signs with Authlib's private_key_jwt and a loaded key."""
    from authlib.oauth2.rfc7523 import private_key_jwt_sign
    from joserfc.errors import SecurityWarning
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    key_type = {"ES": ECKey, "Ed": OKPKey}.get(algorithm[:2], RSAKey)
    key = key_type.import_key(pem)
    warnings.filterwarnings("ignore", category=SecurityWarning)  # RFC 9864 gives EdDSA another name
    return lambda: private_key_jwt_sign(key, client_id=CLIENT_ID, token_endpoint=AUDIENCE, alg=algorithm)


def main() -> None:
    """Measure each algorithm."""
    authlib = version("authlib")
    headings = {"toolkit": "toolkit", "PyJWT, PEM text": "PyJWT, PEM text"}
    headings |= {"Authlib": f"Authlib {authlib}"} if authlib else {}
    columns = [column for heading in headings.values() for column in (heading, "ratio")]
    table = Table("one assertion", f"PyJWT {version('pyjwt')}, key loaded", *columns, label_width=16)
    for algorithm, key in KEYS.items():
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        ways: dict[str, Callable[[], object]] = {
            "PyJWT": pyjwt_signer(key, algorithm),
            "toolkit": toolkit_signer(key, algorithm),
            "PyJWT, PEM text": pyjwt_signer(pem.decode(), algorithm),
        }
        if authlib:
            ways["Authlib"] = authlib_signer(pem, algorithm)
        timings = time_in_turn(ways, rounds=15, repeats=10)
        cells = [microseconds(timings.seconds["PyJWT"])]
        for way in headings:
            cells += [microseconds(timings.seconds[way]), f"{timings.ratios[way]:.2f}"]
        table.print_row(algorithm, *cells)


if __name__ == "__main__":
    main()
