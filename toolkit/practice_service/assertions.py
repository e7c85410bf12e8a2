"""Check client assertions as an authorization server does: private_key_jwt of RFC 7523 section 3."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Container

    from toolkit.core.clock import Clock
    from toolkit.core.secret import Secret
    from toolkit.practice_service.holders import Client

LONGEST_LIFETIME: Final = 600  # seconds; an assertion is for one request, so a longer lifetime is a mistake
LEEWAY: Final = 5  # seconds by which the caller's clock may be ahead
_LONGEST_JTI: Final = 256  # characters
# PyJWT would use the system's clock, so the claims are checked here with the clock of the service.
_SIGNATURE_ONLY: Final = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}
_UNCHECKED: Final = {"verify_signature": False, **_SIGNATURE_ONLY}


class AssertionInvalidError(Exception):
    """The assertion does not identify the client; the message names the broken rule and quotes nothing."""


class Assertions:
    """Checks assertions, and remembers each `jti` until its assertion has expired.

    Args:
        clock: the time of the service.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[tuple[str, str], float] = {}  # (client ID, jti) to the assertion's exp

    def claimed_client_id(self, assertion: Secret) -> str:
        """Return the unverified `iss` of an assertion, to find the key for its check.

        Raises:
            AssertionInvalidError: if it is not a JWT, or does not name an issuer.
        """
        issuer = _decoded(assertion, None, None, _UNCHECKED).get("iss")
        if not isinstance(issuer, str):
            raise AssertionInvalidError("iss is missing or not text.")
        return issuer

    def check(self, assertion: Secret, client: Client, audiences: Container[str]) -> None:
        """Accept an assertion once, from this client and for one of these audiences.

        Raises:
            AssertionInvalidError: if a rule of RFC 7523 section 3 is broken.
        """
        claims = _decoded(assertion, client.public_key, [client.algorithm], _SIGNATURE_ONLY)
        _check_key_id(assertion, client)
        if not claims.get("iss") == claims.get("sub") == client.client_id:
            raise AssertionInvalidError("iss and sub must both be the client ID.")
        if _single_audience(claims.get("aud")) not in audiences:
            raise AssertionInvalidError("aud must be the URL of this token endpoint, or its auth address.")
        now = self._clock.now().timestamp()
        expires = _checked_times(claims, now)
        self._use(client.client_id, claims.get("jti"), expires, now)

    def _use(self, client_id: str, jti: Any, expires: float, now: float) -> None:
        if not isinstance(jti, str) or not 0 < len(jti) <= _LONGEST_JTI:
            raise AssertionInvalidError("jti is missing, too long or not text.")
        with self._lock:
            self._used = {used: end for used, end in self._used.items() if end > now}
            if (client_id, jti) in self._used:
                raise AssertionInvalidError("this jti was used already; an assertion is valid for one request.")
            self._used[client_id, jti] = expires


def _decoded(assertion: Secret, key: Any, algorithms: list[str] | None, options: dict[str, bool]) -> dict[str, Any]:
    import jwt

    try:
        claims: dict[str, Any] = jwt.decode(assertion.reveal(), key, algorithms=algorithms, options=options)  # type: ignore[arg-type]
    except (jwt.PyJWTError, ValueError, RecursionError):
        # The messages of these errors may quote the assertion.
        raise AssertionInvalidError("it is not a JWT signed with the key and algorithm of this client.") from None
    return claims


def _check_key_id(assertion: Secret, client: Client) -> None:
    import jwt

    if jwt.get_unverified_header(assertion.reveal()).get("kid", client.key_id) != client.key_id:
        raise AssertionInvalidError("kid is not the key ID of this client.")


def _single_audience(aud: Any) -> str:
    """Return the only audience; for none or several, return an empty text, which is not an address."""
    if isinstance(aud, list) and len(aud) == 1:
        aud = aud[0]
    return aud if isinstance(aud, str) else ""


def _checked_times(claims: dict[str, Any], now: float) -> float:
    """Check `exp`, `iat` and `nbf`, and return `exp` in seconds since the epoch."""
    expires = _seconds(claims, "exp")
    if expires is None:
        raise AssertionInvalidError("exp is missing.")
    if expires <= now:
        raise AssertionInvalidError("exp is in the past.")
    if expires > now + LONGEST_LIFETIME:
        raise AssertionInvalidError(f"exp is more than {LONGEST_LIFETIME} seconds ahead.")
    for name in ("iat", "nbf"):
        if (_seconds(claims, name) or 0) > now + LEEWAY:
            raise AssertionInvalidError(f"{name} is in the future.")
    return expires


def _seconds(claims: dict[str, Any], name: str) -> float | None:
    """Return a NumericDate (RFC 7519 section 2), or None if the claim is missing."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise AssertionInvalidError(f"{name} is not a number of seconds.")
    return value
