"""The entry of a shared token in a store: JSON, sealed with a key derived from the credentials.

Only a holder of the same credentials can find and read an entry.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Final

from toolkit.auth.sealing import Seal
from toolkit.auth.tokens.token import LONGEST_LIFETIME, Token, is_bearer_token
from toolkit.core.addresses import Address
from toolkit.core.clock import Clock
from toolkit.core.ledger import instant_text, parse_instant
from toolkit.core.secret import Secret

LARGEST_ENTRY: Final = 1 << 16  # bytes, sealed
_EARLIEST_ISSUE: Final = timedelta(seconds=5)  # ahead of our clock, which may have been set back a little


def token_seal(identity: bytes, token_url: str) -> Seal:
    """Return the seal for the token of these credentials at a token endpoint.

    Args:
        identity: everything that a token depends on, secrets included; see `Credentials.token_identity`.
        token_url: the URL of the token endpoint. Equal URLs written differently give equal seals.

    Raises:
        ValueError: if the identity is empty.
        ConfigurationError, UnsafeAddress: if credentials may not be sent to this URL.
    """
    return Seal(identity, f"token\x00{Address.parse(token_url, setting='The token endpoint')}")


def seal_token(token: Token, seal: Seal) -> bytes:
    """Return the entry of a token."""
    fields = {
        "access_token": token.access_token.reveal(),
        "issued_at": instant_text(token.issued_at),
        "expires_at": instant_text(token.expires_at),
    }
    return seal.seal(json.dumps(fields).encode("ascii"))


def open_token(entry: bytes, seal: Seal, *, clock: Clock) -> Token | None:
    """Return the token of an entry, or None if the entry is not one of this seal, or its token has expired.

    The rest of its lifetime on the wall clock counts from now on the monotonic clock.

    A token that lasts longer than a day, or was issued more than 5 s from now, also counts as missing: one of the two
    clocks is wrong, and so would be the expiry.
    """
    data = seal.open(entry) if len(entry) <= LARGEST_ENTRY else None
    if data is None:
        return None
    try:
        fields = json.loads(data)
        text = fields["access_token"]
        issued_at, expires_at = parse_instant(fields["issued_at"]), parse_instant(fields["expires_at"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not is_bearer_token(text):
        return None
    now, lifetime = clock.now(), expires_at - issued_at
    if issued_at - now > _EARLIEST_ISSUE or not now < expires_at or not timedelta(0) < lifetime <= LONGEST_LIFETIME:
        return None
    left = min(expires_at - now, lifetime)
    return Token(Secret(text), issued_at, expires_at, expires_monotonic=clock.monotonic() + left.total_seconds())
