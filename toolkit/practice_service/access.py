"""Who is calling an interface: the legacy flow and bearer tokens, from the service's side.

Section 1, rule 5 of the service document: credentials of one account or environment are not accepted
by another. The market data interface takes each caller's own flow.
"""
# MERGE: What the practice service sees of a request, and how it refuses one.

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Protocol

from toolkit.core.document import CredentialKind, Environment, header_names
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolkit.practice_service.holders import Holder, Holders
    from toolkit.practice_service.tokens import Tokens


class RequestHeaders(Protocol):
    """Header fields by name, in any letter case."""

    def getlist(self, key: str, /) -> list[str]:
        """All values of one name, in order."""
        ...


class RequestRefusedError(Exception):
    """A request that is answered with an error status.

    The texts are the service's own: nothing that the caller sent may go into them.

    Attributes:
        status: HTTP status code of the answer.
        error: error code; at the token endpoint one of RFC 6749 section 5.2.
        message: what is wrong, for the person who reads it; without quotes and backslashes, which
            RFC 6749 section 5.2 keeps out of an `error_description`.
        headers: names and values of further response headers.
    """

    def __init__(self, status: int, error: str, message: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(status, error, message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = tuple(headers)


class Access:
    """Recognises callers by their key pair (section 5.2) or their token (section 5.1)."""

    def __init__(self, holders: Holders, tokens: Tokens) -> None:
        self._holders = holders
        self._tokens = tokens

    def holder(self, headers: RequestHeaders, address_name: str) -> Holder:
        """Who is calling this address.

        Raises:
            RequestRefusedError: 401; nobody who may call it, or credentials given in two ways or by half.
        """
        authorization = headers.getlist("authorization")
        key_ids, secret_keys = (headers.getlist(name) for name in header_names())
        if not authorization and not key_ids and not secret_keys:
            raise _unauthorized(address_name, "This call carries no credentials.")
        if authorization and (key_ids or secret_keys):
            raise _unauthorized(address_name, "This call carries credentials in two ways; send them in one.")
        if authorization:
            holder, bearer = self._by_authorization(authorization, address_name)
        elif len(key_ids) == len(secret_keys) == 1:
            holder, bearer = self._holders.with_key_pair(Secret(key_ids[0]), Secret(secret_keys[0])), False
        else:
            raise _unauthorized(address_name, "A key pair is one key ID header and one secret key header.")
        if holder is None or not holder.may_call(address_name):
            raise _unauthorized(address_name, f"These credentials are not accepted at {address_name}.", bearer=bearer)
        return holder

    def _by_authorization(self, values: list[str], address_name: str) -> tuple[Holder | None, bool]:
        """The holder, or None, and whether a bearer token was shown."""
        scheme, _, credentials = values[0].partition(" ")
        credentials = credentials.strip(" ")
        if len(values) == 1 and scheme.lower() == "bearer" and credentials:
            return self._tokens.holder_of(Secret(credentials)), True
        if len(values) == 1 and scheme.lower() == "basic":
            return self._by_basic(credentials), False
        raise _unauthorized(address_name, "The Authorization header is none that is understood here.")

    def _by_basic(self, credentials: str) -> Holder | None:
        """The key ID is the user name and the secret key the password (RFC 7617 section 2)."""
        try:
            text = base64.b64decode(credentials, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return None
        key_id, colon, secret_key = text.partition(":")
        return self._holders.with_key_pair(Secret(key_id), Secret(secret_key)) if colon else None


def _unauthorized(address_name: str, message: str, *, bearer: bool = False) -> RequestRefusedError:
    """A 401 with the schemes that the address takes; `invalid_token` only when there was one (RFC 6750 section 3.1)."""
    challenges = []
    if _takes(address_name, CredentialKind.KEY_PAIR):
        challenges.append(f'Basic realm="{address_name}", charset="UTF-8"')
    if _takes(address_name, CredentialKind.CLIENT_SECRET):
        challenges.append(f'Bearer realm="{address_name}"' + (', error="invalid_token"' if bearer else ""))
    return RequestRefusedError(
        401, "unauthorized", message, [("WWW-Authenticate", challenge) for challenge in challenges]
    )


def _takes(address_name: str, kind: CredentialKind) -> bool:
    return any(
        kind in environment.rules.credentials and address_name in environment.rules.addresses.values()
        for environment in Environment
    )
