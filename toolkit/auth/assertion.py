"""Signed client assertions: private_key_jwt as in RFC 7523 sections 2.2 and 3.

An assertion is built and signed again for every token request. Its claims follow RFC 7523 section 3 and OpenID
Connect Core 1.0 section 9. PyJWT is not used here: it does not sign through a Signer that keeps the key elsewhere.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from toolkit.core.secret import REGISTER, Secret
from toolkit.core.tracebacks import frameless

if TYPE_CHECKING:
    from toolkit.auth.keys import Signer

ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_LIFETIME: Final = 60  # seconds


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
    """Return a fresh signed assertion, valid for `lifetime` seconds from `now`, and enter it in the register.

    It has no `nbf`, so that a clock slightly behind the server's does no harm. `aud` is one string.

    Args:
        signer: signs the assertion.
        client_id: issuer and subject.
        audience: the recipient of the assertion.
        now: the time of the request.
        new_jti: returns a new identifier for the assertion.
        typ: media type in the header; None leaves it out.
        lifetime: in seconds.

    Raises:
        ConfigurationError: if the signer fails, or does not return a signature.
    """
    from toolkit.auth.keys.signer import describe_signer, sign_with

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
    signature = sign_with(signer, algorithm, signed.encode("ascii"))
    assertion = Secret(f"{signed}.{_base64url(signature)}")
    REGISTER.add("CLIENT_ASSERTION", assertion)
    return assertion


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
