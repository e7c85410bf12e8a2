"""Find out who is calling an interface of the practice service, by key pair or bearer token.

Credentials of one account or environment are not accepted by another (section 1, rule 5 of the service document).
The market data interface takes each caller's own flow.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from toolkit.core.document import CredentialKind, Environment, header_names
from toolkit.core.secret import Secret
from toolkit.practice_service.holders import Caller

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import Headers

    from toolkit.practice_service.holders import Holders, Tokens


class RequestRefusedError(Exception):
    """A request that is answered with an error status.

    Its texts must not quote anything that the caller sent.

    Attributes:
        status: HTTP status code of the response.
        error: error code; at the token endpoint one of those in RFC 6749 section 5.2.
        message: what is wrong, for people; without quotes and backslashes, which RFC 6749 section 5.2 does not
            allow in an `error_description`.
        headers: names and values of further response headers.
    """

    def __init__(self, status: int, error: str, message: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(status, error, message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = tuple(headers)


class Authenticator:
    """Recognises callers by their key pair (section 5.2) or their token (section 5.1)."""

    def __init__(self, holders: Holders, tokens: Tokens) -> None:
        self._holders = holders
        self._tokens = tokens

    def caller(self, headers: Headers, address_name: str) -> Caller:
        """Return who calls this address.

        Raises:
            RequestRefusedError: with 401 if the credentials are missing, incomplete, sent in two ways, or not
                accepted at this address.
        """
        authorization = headers.getlist("authorization")
        key_ids, secret_keys = (headers.getlist(name) for name in header_names())
        if not authorization and not key_ids and not secret_keys:
            raise _unauthorized(address_name, "This call does not carry credentials.")
        if authorization and (key_ids or secret_keys):
            raise _unauthorized(address_name, "This call carries credentials in two ways; send them in only one way.")
        if authorization:
            caller, bearer = self._by_authorization(authorization, address_name)
        elif len(key_ids) == len(secret_keys) == 1:
            caller, bearer = self._with_key_pair(key_ids[0], secret_keys[0], "headers"), False
        else:
            raise _unauthorized(address_name, "A key pair is one key ID header and one secret key header.")
        if caller is None or not caller.holder.may_call(address_name):
            raise _unauthorized(address_name, f"These credentials are not accepted at {address_name}.", bearer=bearer)
        return caller

    def _by_authorization(self, values: list[str], address_name: str) -> tuple[Caller | None, bool]:
        """Return the caller or None, and True if there was a bearer token."""
        scheme, _, credentials = values[0].partition(" ")
        credentials = credentials.strip(" ")
        if len(values) == 1 and scheme.lower() == "bearer" and credentials:
            return self._tokens.caller_with(Secret(credentials)), True
        if len(values) == 1 and scheme.lower() == "basic":
            return self._by_basic(credentials), False
        raise _unauthorized(address_name, "This kind of Authorization header is not understood here.")

    def _by_basic(self, credentials: str) -> Caller | None:
        """Return the caller: the key ID is the user name, the secret key the password (RFC 7617 section 2)."""
        try:
            text = base64.b64decode(credentials, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return None
        key_id, colon, secret_key = text.partition(":")
        return self._with_key_pair(key_id, secret_key, "basic") if colon else None

    def _with_key_pair(self, key_id: str, secret_key: str, sent: str) -> Caller | None:
        holder = self._holders.with_key_pair(Secret(key_id), Secret(secret_key))
        return Caller(holder.name, sent, holder) if holder else None


def _unauthorized(address_name: str, message: str, *, bearer: bool = False) -> RequestRefusedError:
    """Return a 401 with the schemes of the address, and `invalid_token` if `bearer` (RFC 6750 section 3.1)."""
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
