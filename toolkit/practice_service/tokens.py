"""Access tokens of the practice service: issued, recognised, expired (sections 2 and 5.1)."""

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
class Grant:
    """What a token stands for: whose it is, and when it ends."""

    holder: Holder
    expires_at: datetime


class Tokens:
    """The tokens that are still good. Only their digests are kept.

    Args:
        validity: how long a token is accepted, in seconds; at least 2.
        clock: where the time comes from.
    """

    def __init__(self, validity: float, clock: Clock) -> None:
        self._validity = validity
        self._clock = clock
        self._lock = threading.Lock()
        self._grants: dict[bytes, Grant] = {}

    def issue(self, holder: Holder) -> dict[str, Any]:
        """A new token, as the token response of section 2.

        `expires_in` is a whole number of seconds and, as the document says, slightly under the validity.
        """
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), self._clock.now()
        grant = Grant(holder, now + timedelta(seconds=self._validity))
        with self._lock:
            self._grants = {digest: kept for digest, kept in self._grants.items() if kept.expires_at > now}
            self._grants[_digest(token)] = grant
        return {"access_token": token, "expires_in": math.ceil(self._validity) - 1, "token_type": TOKEN_TYPE}

    def holder_of(self, token: Secret) -> Holder | None:
        """Whose token this is; None when it was never issued, is revoked or has expired.

        Looked up by its digest, so how long it takes tells nothing about a token.
        """
        with self._lock:
            grant = self._grants.get(_digest(token.reveal()))
        return grant.holder if grant and self._clock.now() < grant.expires_at else None

    def revoke_all(self) -> None:
        """Forget every token: calls that bear one are refused from now on."""
        with self._lock:
            self._grants.clear()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
