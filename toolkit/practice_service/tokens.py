"""Issue and recognise the access tokens of the practice service (sections 2 and 5.1)."""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.document import TOKEN_TYPE

if TYPE_CHECKING:
    from toolkit.core.clock import Clock
    from toolkit.core.secret import Secret
    from toolkit.practice_service.holders import Holder

_TOKEN_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The owner and the end of a token."""

    holder: Holder
    expires_at: datetime


class Tokens:
    """The tokens that are still valid. Only their digests are kept.

    Args:
        validity: seconds for which a token is accepted; at least 2.
        clock: the time of the service.
    """

    def __init__(self, validity: float, clock: Clock) -> None:
        self._validity = validity
        self._clock = clock
        self._lock = threading.Lock()
        self._issued: dict[bytes, IssuedToken] = {}

    def issue(self, holder: Holder) -> dict[str, Any]:
        """Issue a token and return the token response of section 2.

        `expires_in` is a whole number of seconds and, as in the document, slightly under the validity.
        """
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), self._clock.now()
        issued = IssuedToken(holder, now + timedelta(seconds=self._validity))
        with self._lock:
            self._issued = {digest: other for digest, other in self._issued.items() if other.expires_at > now}
            self._issued[_digest(token)] = issued
        return {"access_token": token, "expires_in": math.ceil(self._validity) - 1, "token_type": TOKEN_TYPE}

    def holder_of(self, token: Secret) -> Holder | None:
        """Return the owner of a token, or None if it was never issued, was revoked or has expired.

        The token is looked up by its digest, so that the duration does not reveal anything about it.
        """
        with self._lock:
            issued = self._issued.get(_digest(token.reveal()))
        return issued.holder if issued and self._clock.now() < issued.expires_at else None

    def revoke_all(self) -> None:
        """Revoke all tokens."""
        with self._lock:
            self._issued.clear()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
