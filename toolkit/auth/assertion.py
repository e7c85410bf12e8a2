"""Signed client assertions: private_key_jwt per RFC 7523 sections 2.2 and 3.

An assertion is built and signed anew for every token request. Claims follow RFC 7523 section 3 and
OpenID Connect Core 1.0 section 9.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from toolkit.auth.keys import Signer
from toolkit.auth.keys.signer import described, signature
from toolkit.core.problem import Problem
from toolkit.core.secret import Secret

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds


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
    """A fresh signed assertion, valid for `lifetime` seconds from `now`.

    No `nbf`, so that a clock slightly behind the server's does no harm. `aud` is one string.

    Args:
        typ: media type in the header; None leaves it out.
        lifetime: seconds.

    Raises:
        ConfigurationError: the signer failed, or returned what is no signature; its own error is dropped,
            for nobody knows what it holds.
    """
    found = described(signer)
    if isinstance(found, Problem):
        raise found.error()
    algorithm, key_id = found
    given = {"alg": algorithm, "typ": typ, "kid": key_id}
    header = {name: value for name, value in given.items() if value is not None}
    issued_at = int(now.timestamp())
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": issued_at,
        "exp": issued_at + lifetime,
        "jti": new_jti(),
    }
    signed = f"{_encoded(header)}.{_encoded(claims)}"
    made = signature(signer, algorithm, signed.encode("ascii"))
    if isinstance(made, Problem):
        raise made.error()
    return Secret(f"{signed}.{_base64url(made)}")


def _encoded(part: dict[str, Any]) -> str:
    return _base64url(json.dumps(part, separators=(",", ":")).encode("ascii"))


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
