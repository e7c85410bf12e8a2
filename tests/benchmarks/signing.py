"""What signing a client assertion costs beside PyJWT with a key object that is loaded already, in one run.

Target for RS256: within 2 times. Beside them Authlib with a loaded key, and PyJWT that is given the PEM text
each time, as many programs do: what loading a key once saves.
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
from tests.benchmarks.pairs import in_turn
from tests.benchmarks.peers import version
from toolkit.auth.assertion import ASSERTION_LIFETIME, client_assertion
from toolkit.core.clock import SystemClock

CLIENT_ID, AUDIENCE = "client", "https://auth.example/v1/oauth2/token"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
KEYS: dict[str, Any] = {
    "RS256": RSA,
    "PS256": RSA,
    "ES256": ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate(),
}


def by_pyjwt(key: Any, algorithm: str) -> Callable[[], str]:
    """The same claims, by hand."""

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


def by_toolkit(key: Any, algorithm: str) -> Callable[[], object]:
    """As a session signs before each token request."""
    credentials = tk.ClientKey(CLIENT_ID, key, environment="broker-sandbox", algorithm=algorithm)
    clock = SystemClock()
    return lambda: client_assertion(
        credentials.private_key,
        client_id=CLIENT_ID,
        audience=AUDIENCE,
        now=clock.now(),
        new_jti=lambda: str(uuid.uuid4()),
    )


def by_authlib(pem: bytes, algorithm: str) -> Callable[[], str]:
    """Its private_key_jwt, with a key object of the kind that it takes."""
    from authlib.oauth2.rfc7523 import private_key_jwt_sign
    from joserfc.errors import SecurityWarning
    from joserfc.jwk import ECKey, OKPKey, RSAKey

    kind = {"ES": ECKey, "Ed": OKPKey}.get(algorithm[:2], RSAKey)
    key = kind.import_key(pem)
    warnings.filterwarnings("ignore", category=SecurityWarning)  # EdDSA goes by another name since RFC 9864
    return lambda: private_key_jwt_sign(key, client_id=CLIENT_ID, token_endpoint=AUDIENCE, alg=algorithm)


def main() -> None:
    """Print the figures."""
    authlib = version("authlib")
    print(
        f"PyJWT {version('pyjwt')}, Authlib {authlib or 'absent'}; in brackets, how many times PyJWT with a loaded key"
    )
    print(f"{'an assertion':14}{'PyJWT, key loaded':>20}{'toolkit':>20}{'Authlib':>20}{'PyJWT, PEM text':>22}")
    for algorithm, key in KEYS.items():
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        ways: dict[str, Callable[[], object]] = {
            "loaded": by_pyjwt(key, algorithm),
            "toolkit": by_toolkit(key, algorithm),
            "pem": by_pyjwt(pem.decode(), algorithm),
        }
        if authlib:
            ways["authlib"] = by_authlib(pem, algorithm)
        figures = in_turn(ways, rounds=15, repeats=10)
        shown = {name: f"{figures.seconds[name] * 1e6:.0f} µs ({figures.ratios[name]:.2f})" for name in ways}
        loaded, peer = f"{figures.seconds['loaded'] * 1e6:.0f} µs", shown.get("authlib", "absent")
        print(f"{algorithm:14}{loaded:>20}{shown['toolkit']:>20}{peer:>20}{shown['pem']:>22}")


if __name__ == "__main__":
    main()
