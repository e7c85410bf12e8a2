"""Client assertions checked: private_key_jwt per RFC 7523 section 3, from the service's side."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Container

    from toolkit.core.clock import Clock
    from toolkit.core.secret import Secret
    from toolkit.practice_service.holders import Client

LONGEST_LIFETIME: Final = 600  # seconds; an assertion is for one request, so anything longer is a mistake
LEEWAY: Final = 5  # seconds that a caller's clock may be ahead
_LONGEST_JTI: Final = 256  # characters
# PyJWT reads the machine's clock; these claims are checked here, by the clock handed in.
_SIGNATURE_ONLY: Final = {f"verify_{claim}": False for claim in ("exp", "nbf", "iat", "aud", "iss", "sub", "jti")}
_UNCHECKED: Final = {"verify_signature": False, **_SIGNATURE_ONLY}


class AssertionInvalidError(Exception):
    """The assertion does not identify the client; says which rule it breaks, without quoting it."""


class Assertions:
    """Checks assertions, and remembers each `jti` until its assertion has expired.

    Args:
        clock: where the time comes from.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._used: dict[tuple[str, str], float] = {}  # (client ID, jti) to the assertion's exp

    def claimed_client_id(self, assertion: Secret) -> str:
        """The `iss` of an assertion, not yet checked: only for finding the key to check it with.

        Raises:
            AssertionInvalidError: it is no JWT, or names no issuer.
        """
        issuer = _decoded(assertion, None, None, _UNCHECKED).get("iss")
        if not isinstance(issuer, str):
            raise AssertionInvalidError("iss is missing or no text.")
        return issuer

    def check(self, assertion: Secret, client: Client, audiences: Container[str]) -> None:
        """Accept an assertion once, from this client and for one of these audiences.

        Raises:
            AssertionInvalidError: a rule of RFC 7523 section 3 is broken.
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
            raise AssertionInvalidError("jti is missing, too long or no text.")
        with self._lock:
            self._used = {used: end for used, end in self._used.items() if end > now}
            if (client_id, jti) in self._used:
                raise AssertionInvalidError("this jti was used before; an assertion is good for one request.")
            self._used[client_id, jti] = expires


def _decoded(assertion: Secret, key: Any, algorithms: list[str] | None, options: dict[str, bool]) -> dict[str, Any]:
    import jwt  # late, as in toolkit.auth.keys

    try:
        claims: dict[str, Any] = jwt.decode(assertion.reveal(), key, algorithms=algorithms, options=options)  # type: ignore[arg-type]
    except (jwt.PyJWTError, ValueError, RecursionError):
        # Their messages may quote the assertion.
        raise AssertionInvalidError("it is no JWT signed with the key and algorithm of this client.") from None
    return claims


def _check_key_id(assertion: Secret, client: Client) -> None:
    import jwt

    if jwt.get_unverified_header(assertion.reveal()).get("kid", client.key_id) != client.key_id:
        raise AssertionInvalidError("kid is not that of the key of this client.")


def _single_audience(aud: Any) -> str:
    """The one audience; an empty text, which no address is, when there is not exactly one."""
    if isinstance(aud, list) and len(aud) == 1:
        aud = aud[0]
    return aud if isinstance(aud, str) else ""


def _checked_times(claims: dict[str, Any], now: float) -> float:
    """The `exp` in seconds since the epoch, once `exp`, `iat` and `nbf` are in order."""
    expires = _seconds(claims, "exp")
    if expires is None:
        raise AssertionInvalidError("exp is missing.")
    if expires <= now:
        raise AssertionInvalidError("exp is past.")
    if expires > now + LONGEST_LIFETIME:
        raise AssertionInvalidError(f"exp is more than {LONGEST_LIFETIME} seconds ahead.")
    for name in ("iat", "nbf"):
        if (_seconds(claims, name) or 0) > now + LEEWAY:
            raise AssertionInvalidError(f"{name} is in the future.")
    return expires


def _seconds(claims: dict[str, Any], name: str) -> float | None:
    """A NumericDate (RFC 7519 section 2), or None when the claim is absent."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise AssertionInvalidError(f"{name} is no number of seconds.")
    return value
