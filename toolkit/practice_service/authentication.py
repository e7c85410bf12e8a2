"""Who calls a practice service: the account holders, their credentials and tokens, and the checks of a request.

Each environment has two holders: accounts for `live` and `paper`, correspondents for the broker environments (section
1, rule 5 of the service document). Their credentials are new for every service. Errors of the token endpoint are those
of RFC 6749 section 5.2, and assertions are checked as in RFC 7523 section 3: the document shows neither.
"""

from __future__ import annotations

import base64
import math
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.auth.credentials import Credentials
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.auth.signers import ASSERTION_TYPE
from toolkit.core.document import GRANT_TYPE, TOKEN_PATH, TOKEN_TYPE, CredentialKind, Environment, header_names
from toolkit.core.errors import as_choice
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from toolkit.core.ledger import Clock

_LONGEST_LIFETIME: Final = 3_600  # seconds of an assertion; Authlib's are as long
_LEEWAY: Final = 5  # seconds by which the caller's clock may be ahead
# PyJWT would compare times with the system's clock, so they are checked here with the clock of the service.
_CHECKED: Final[Any] = {
    "require": ["exp", "iss", "sub", "aud", "jti"],
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat"), False),
}


class RequestRefusedError(Exception):
    """A request that is answered with an error status. Its texts must not quote anything that the caller sent.

    Attributes:
        status: HTTP status code of the response.
        error: error code; at the token endpoint one of those in RFC 6749 section 5.2.
        message: what is wrong, for people; without quotes and backslashes (RFC 6749 section 5.2).
        headers: names and values of further response headers.
    """

    def __init__(self, status: int, error: str, message: str, *headers: tuple[str, str]) -> None:
        super().__init__(status, error, message)
        self.status, self.error, self.message, self.headers = status, error, message, headers


@dataclass(frozen=True, slots=True)
class Holder:
    """An account, or a correspondent with several accounts; the name determines its made-up payloads."""

    name: str
    environment: Environment


class Caller(NamedTuple):
    """The caller who made a request.

    Attributes:
        name: the name of the credentials.
        sent: what they sent: "headers", "basic", "secret", "assertion" or "token".
        holder: the account or correspondent that they belong to.
    """

    name: str
    sent: str
    holder: Holder


class _ByName(dict[str, Credentials]):
    """Credentials by name; the error for an unknown name lists the names."""

    def __getitem__(self, name: str) -> Credentials:
        return super().__getitem__(as_choice(name, self, about="name"))


class Holders:
    """All account holders, with the credentials of each.

    Attributes:
        credentials: the credentials of all holders by name.
        of: the holder of the credentials of a name.
        public_keys: the public key of each client key by name.
    """

    def __init__(self) -> None:
        self.of: dict[str, Holder] = {}
        self.public_keys: dict[str, Any] = {}
        credentials = _ByName()
        for environment, name in zip(Environment, ("live", "paper", "broker", "sandbox"), strict=True):
            for holder in (Holder(name, environment), Holder(f"{name}-2", environment)):
                for own in self._new_credentials(holder):
                    own.note_practice()
                    self.of[own.name], credentials[own.name] = holder, own
        self.credentials: Mapping[str, Credentials] = MappingProxyType(credentials)

    def with_key_pair(self, key_id: str, secret_key: str, sent: str) -> Caller | None:
        """Return the owner of a key pair, or None."""
        for name, pair in self.credentials.items():
            if isinstance(pair, KeyPair) and (key_id, secret_key) == (pair.key_id.reveal(), pair.secret_key.reveal()):
                return Caller(name, sent, self.of[name])
        return None

    def client(self, environment: Environment, client_id: object) -> ClientSecret | ClientKey | None:
        """Return the client with this ID in this environment, or None."""
        for client in self.credentials.values():
            if isinstance(client, ClientSecret | ClientKey) and client.client_id == client_id:
                return client if client.environment is environment else None
        return None

    def _new_credentials(self, holder: Holder) -> Iterator[Credentials]:
        """Yield credentials: the first correspondent has a secret and a key (section 5.1), all others have one.

        Client IDs are the same in every run, so that notebooks can show them.
        """
        environment, name = holder.environment, holder.name
        if CredentialKind.KEY_PAIR in environment.rules.credentials:
            key_id = f"{environment[0].upper()}K{secrets.token_hex(9).upper()}"
            yield KeyPair(key_id, secrets.token_hex(20), environment=environment, name=name)
            return
        with_secret = name if name.endswith("-2") else f"{name}-secret"
        yield ClientSecret(f"practice-{with_secret}", secrets.token_hex(20), environment=environment, name=with_secret)
        if with_secret != name:
            name, key = f"{name}-key", _new_private_key(environment)
            self.public_keys[name] = key.public_key()
            yield ClientKey(f"practice-{name}", key, environment=environment, name=name, key_id=f"{name}-1")


class Tokens:
    """The tokens that were issued, for as long as they are valid.

    Args:
        validity: seconds for which a token is accepted; at least 2.
        clock: the time of the service.
    """

    def __init__(self, validity: float, clock: Clock) -> None:
        self._validity = validity
        self._clock = clock
        self._issued: dict[Secret, tuple[Caller, datetime]] = {}  # with their expiry

    def issue(self, name: str, holder: Holder) -> dict[str, Any]:
        """Issue a token to the credentials of this name, and return the token response of section 2.

        `expires_in` is a whole number of seconds and, as in the document, slightly under the validity.
        """
        token, now = secrets.token_urlsafe(32), self._clock.now()
        valid = {text: issued for text, issued in self._issued.items() if issued[1] > now}
        self._issued = {**valid, Secret(token): (Caller(name, "token", holder), now + timedelta(0, self._validity))}
        return {"access_token": token, "expires_in": math.ceil(self._validity) - 1, "token_type": TOKEN_TYPE}

    def caller_with(self, token: str) -> Caller | None:
        """Return who calls with a token, or None if it was never issued, was revoked or has expired."""
        caller, expires_at = self._issued.get(Secret(token), (None, None))
        return caller if expires_at is not None and self._clock.now() < expires_at else None

    def revoke_all(self) -> None:
        """Revoke all tokens; may be called from any thread."""
        self._issued = {}


class Authenticator:
    """Recognises callers by their key pair (section 5.2) or token (section 5.1), and clients by their token request."""

    def __init__(self, holders: Holders, tokens: Tokens, clock: Clock) -> None:
        self._holders = holders
        self._tokens = tokens
        self._clock = clock
        self._used: dict[tuple[str, str], float] = {}  # client ID and jti of assertions, until these expire

    def caller(self, headers: Headers, address_name: str) -> Caller:
        """Return who calls this address.

        Raises:
            RequestRefusedError: with 401 if the credentials are missing, incomplete, sent in two ways, or not
                accepted at this address.
        """
        authorization = headers.getlist("authorization")
        key_ids, secret_keys = (headers.getlist(name) for name in header_names())
        if not (authorization or key_ids or secret_keys):
            raise _unauthorized(address_name, "This call does not carry credentials.")
        scheme, _, credentials = authorization[0].partition(" ") if authorization else ("", "", "")
        scheme, credentials = scheme.lower(), credentials.strip(" ")
        caller = None
        if len(authorization) + len(key_ids) > 1:
            raise _unauthorized(address_name, "This call carries credentials in two ways; send them in only one way.")
        if scheme == "bearer":
            caller = self._tokens.caller_with(credentials)
        elif scheme == "basic":
            caller = self._by_basic(credentials)
        elif len(key_ids) == len(secret_keys) == 1:
            caller = self._holders.with_key_pair(key_ids[0], secret_keys[0], "headers")
        if caller is None or address_name not in caller.holder.environment.rules.addresses.values():
            message = f"These credentials are not accepted at {address_name}."
            raise _unauthorized(address_name, message, is_bearer=scheme == "bearer")
        return caller

    def _by_basic(self, credentials: str) -> Caller | None:
        """Return the caller: the key ID is the user name, the secret key the password (RFC 7617 section 2)."""
        try:
            text = base64.b64decode(credentials, validate=True).decode("utf-8")
        except ValueError:
            return None
        key_id, _, secret_key = text.partition(":")
        return self._holders.with_key_pair(key_id, secret_key, "basic")

    def client(self, fields: Mapping[str, str], headers: Headers, environment: Environment, address: str) -> Caller:
        """Return the client that makes a token request (section 4.1).

        Args:
            fields: the form.
            headers: the headers, which must not have credentials.
            environment: the broker environment of this endpoint.
            address: the auth address as the caller wrote it, which may be the audience of an assertion.

        Raises:
            RequestRefusedError: if the request is malformed, or does not identify a client of this environment.
        """
        in_headers = any(name in headers for name in ("authorization", *header_names()))
        sent = [name for name in ("client_secret", "client_assertion") if name in fields]
        if len(sent) + in_headers > 1:
            raise _invalid_request("Use one authentication method: client_secret or client_assertion, in the form.")
        if not sent:
            message = "Put client_secret or client_assertion into the form; headers are not accepted."
            # RFC 6749 section 5.2 asks for the scheme that the caller used.
            scheme = headers.get("authorization", "").partition(" ")[0].capitalize()
            challenge = [("WWW-Authenticate", f"{scheme} realm=practice")] if scheme in {"Basic", "Bearer"} else []
            raise _invalid_client(message, *challenge)
        if "grant_type" not in fields:
            raise _invalid_request("grant_type is missing.")
        if fields["grant_type"] != GRANT_TYPE:
            raise RequestRefusedError(400, "unsupported_grant_type", f"The grant type must be {GRANT_TYPE}.")
        if sent == ["client_assertion"]:
            client = self._by_assertion(fields, environment, address)
            return Caller(client.name, "assertion", self._holders.of[client.name])
        if "client_id" not in fields:
            raise _invalid_request("client_id is missing.")
        known = self._holders.client(environment, fields["client_id"])
        if not isinstance(known, ClientSecret) or known.client_secret.reveal() != fields["client_secret"]:
            raise _invalid_client("No client of this environment has this client ID and client secret.")
        return Caller(known.name, "secret", self._holders.of[known.name])

    def _by_assertion(self, fields: Mapping[str, str], environment: Environment, address: str) -> ClientKey:
        """Return the client that signed the assertion of this form, and accept each assertion once."""
        import jwt

        if fields.get("client_assertion_type") != ASSERTION_TYPE:
            raise _invalid_request("client_assertion_type is missing, or differs from RFC 7523 section 2.2.")
        assertion = fields["client_assertion"]
        try:
            claimed = jwt.decode(assertion, options={"verify_signature": False}).get("iss")
            client = self._holders.client(environment, claimed)
            if not isinstance(client, ClientKey) or fields.get("client_id", claimed) != claimed:
                raise _invalid_client("iss must be the client ID of a client of this environment with a key.")
            claims = jwt.decode(
                assertion,
                self._holders.public_keys[client.name],
                [client.algorithm],
                audience=[f"{address}{TOKEN_PATH}", address],
                issuer=client.client_id,
                subject=client.client_id,
                options=_CHECKED,
            )
            if jwt.get_unverified_header(assertion).get("kid", client.key_id) != client.key_id:
                raise _invalid_client("The client assertion is refused: kid is not the key ID of this client.")
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            # The text of such an error may quote the assertion, the name of its class does not.
            raise _invalid_client(f"The client assertion is refused: {type(error).__name__}.") from None
        self._use(client.client_id, claims)
        return client

    def _use(self, client_id: str, claims: Mapping[str, Any]) -> None:
        """Check the times of an assertion, and that its `jti` was not used before."""
        now, jti = self._clock.now().timestamp(), claims["jti"]
        times = [claims.get(name, 0) for name in ("exp", "iat", "nbf")]
        if not all(type(time) in (int, float) and math.isfinite(time) for time in times):
            raise _invalid_client("exp, iat and nbf must be numbers of seconds.")
        if not now < times[0] <= now + _LONGEST_LIFETIME + _LEEWAY or max(times[1:]) > now + _LEEWAY:
            raise _invalid_client(
                f"exp must be in the future, up to {_LONGEST_LIFETIME} seconds ahead, and iat and nbf in the past."
            )
        if not jti or self._used.get((client_id, jti), 0) > now:
            raise _invalid_client("jti is missing or was used already: an assertion is for one request.")
        self._used = {used: end for used, end in self._used.items() if end > now}
        self._used[client_id, jti] = times[0]


def _invalid_request(message: str) -> RequestRefusedError:
    return RequestRefusedError(400, "invalid_request", message)


def _invalid_client(message: str, *headers: tuple[str, str]) -> RequestRefusedError:
    return RequestRefusedError(401, "invalid_client", message, *headers)


def _unauthorized(address_name: str, message: str, *, is_bearer: bool = False) -> RequestRefusedError:
    """Return a 401 with the schemes of the address, and `invalid_token` for a token (RFC 6750 section 3.1)."""
    rules = [environment.rules for environment in Environment]
    kinds = {kind for rule in rules if address_name in rule.addresses.values() for kind in rule.credentials}
    headers = []
    if CredentialKind.KEY_PAIR in kinds:
        headers.append(("WWW-Authenticate", f'Basic realm="{address_name}", charset="UTF-8"'))
    if CredentialKind.CLIENT_SECRET in kinds:
        error = ', error="invalid_token"' if is_bearer else ""
        headers.append(("WWW-Authenticate", f'Bearer realm="{address_name}"{error}'))
    return RequestRefusedError(401, "unauthorized", message, *headers)


def _new_private_key(environment: Environment) -> Any:
    """Return a P-256 key (ES256) for the live partner or an Ed25519 key (EdDSA) for the sandbox."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if environment is Environment.BROKER_LIVE:
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate()
