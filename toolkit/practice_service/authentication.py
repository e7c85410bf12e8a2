"""Authenticate the callers of a practice service: create its credentials and tokens, and check each request.

Each environment has two holders: accounts for `live` and `paper`, correspondents for the broker environments (section
1, rule 5 of the service document). Every service creates new secrets and keys for them. The document does not specify
how token requests are checked or what the errors look like; both follow RFC 6749 section 5.2 and RFC 7523 section 3.
"""

from __future__ import annotations

import base64
import math
import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolkit.auth.credentials import Credentials
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair
from toolkit.auth.private_keys import ASSERTION_TYPE, new_key
from toolkit.core.document import GRANT_TYPE, TOKEN_PATH, TOKEN_TYPE, Environment, header_names
from toolkit.core.errors import as_choice
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from starlette.datastructures import Headers

    from toolkit.core.ledger import Clock

_LONGEST_LIFETIME: Final = 3_600  # seconds, for an assertion; Authlib uses the same lifetime
_UNKNOWN: Final = "This environment has no client with this client ID and this authentication method."
_LEEWAY: Final = 5  # how many seconds the caller's clock may be ahead
# PyJWT would compare times with the system's clock, so they are checked here with the clock of the service.
_CHECKED: Final[Any] = {
    "require": ["exp", "iss", "sub", "aud", "jti"],
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat"), False),
}

C = TypeVar("C", ClientSecret, ClientKey)


class RequestRefusedError(Exception):
    """A request that is answered with an error status.

    `detail` says what is wrong and must not quote anything that the caller sent; at the token endpoint it must not
    contain quotes or backslashes, and `error` is one of the codes of RFC 6749 section 5.2.
    """

    def __init__(self, status_code: int, error: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status_code, error, detail)
        self.status_code, self.error, self.detail, self.headers = status_code, error, detail, headers


class _ByName(dict[str, Credentials]):
    """Credentials by name; the error for an unknown name lists the known names."""

    def __getitem__(self, name: str) -> Credentials:
        return super().__getitem__(as_choice(name, self, about="name"))


class Authenticator:
    """Recognizes callers by their key pair (section 5.2) or token (section 5.1), and clients by their token request.

    `credentials` has the accepted credentials by name; `token_validity` is in seconds, at least 2.
    """

    def __init__(self, token_validity: float, clock: Clock) -> None:
        self._validity = token_validity
        self._clock = clock
        self._public_keys: dict[str, dict[str, Any]] = {}  # JWKs by name
        self._tokens: dict[Secret, tuple[Credentials, datetime]] = {}  # with their expiry
        self._used: dict[tuple[str, str], float] = {}  # client ID and jti of assertions, until these expire
        credentials = _ByName({each.name: each for each in self._new_credentials()})
        for each in credentials.values():
            each.note_practice()
        self.credentials: Mapping[str, Credentials] = MappingProxyType(credentials)

    def _new_credentials(self) -> Iterator[Credentials]:
        """Yield one set of credentials per holder, and a key for the first correspondent of each broker environment.

        Client IDs are the same in every run, so that notebooks can show them.
        """
        for environment in (Environment.LIVE, Environment.PAPER):
            for name in (str(environment), f"{environment}-2"):
                key_id = f"{environment[0].upper()}K{secrets.token_hex(9).upper()}"
                yield KeyPair(key_id, secrets.token_hex(20), environment=environment, name=name)
        for environment, partner in ((Environment.BROKER_LIVE, "broker"), (Environment.BROKER_SANDBOX, "sandbox")):
            for name in (f"{partner}-secret", f"{partner}-2"):
                yield ClientSecret(f"practice-{name}", secrets.token_hex(20), environment=environment, name=name)
            name, algorithm = f"{partner}-key", "ES256" if environment is Environment.BROKER_LIVE else "EdDSA"
            key = new_key(algorithm, key_id=f"{name}-1")
            self._public_keys[name] = dict(key.public_jwk)
            yield ClientKey(f"practice-{name}", key.private_pem, environment=environment, name=name, key_id=f"{name}-1")

    def issue_token(self, credentials: Credentials) -> dict[str, Any]:
        """Issue a token, and return the token response of section 2.

        `expires_in` is a whole number of seconds and, as in the document, slightly less than the validity.
        """
        token, expires_at = secrets.token_urlsafe(32), self._clock.now() + timedelta(seconds=self._validity)
        self._tokens[Secret(token)] = credentials, expires_at
        return {"access_token": token, "expires_in": math.ceil(self._validity) - 1, "token_type": TOKEN_TYPE}

    def revoke_tokens(self) -> None:
        """Revoke all tokens. Any thread may call this."""
        self._tokens.clear()

    def caller(self, headers: Headers, address_name: str) -> Credentials:
        """Return the credentials that a call to this address was made with.

        Raises:
            RequestRefusedError: with 401 if they are missing, sent by two methods, or not accepted at this address.
        """
        authorization, *pair = (headers.get(name, "") for name in ("authorization", *header_names()))
        scheme, _, text = authorization.partition(" ")
        found, is_bearer = None, scheme.lower() == "bearer"
        if is_bearer and not any(pair):
            issued, expires_at = self._tokens.get(Secret(text), (None, self._clock.now()))
            found = issued if self._clock.now() < expires_at else None
        elif not authorization or (scheme.lower() == "basic" and not any(pair)):
            found = self._with_key_pair(pair, text)
        if found is None or address_name not in found.environment.rules.addresses.values():
            raise _unauthorized(address_name, is_bearer=is_bearer)
        return found

    def _with_key_pair(self, pair: list[str], basic: str) -> Credentials | None:
        """Return the key pair that was sent in two headers or with HTTP Basic Authentication (RFC 7617), or None."""
        for credentials in self.credentials.values():
            if isinstance(credentials, KeyPair):
                own = [credentials.key_id.reveal(), credentials.secret_key.reveal()]
                if pair == own or basic == base64.b64encode(":".join(own).encode()).decode():
                    return credentials
        return None

    def client(
        self, fields: Mapping[str, str], headers: Headers, environment: Environment, address: str
    ) -> Credentials:
        """Return the client that sent a token request with these form fields (section 4.1).

        `address` is the auth address as the caller wrote it, which may be the audience of an assertion.

        Raises:
            RequestRefusedError: if the request is malformed, or does not identify a client of this environment.
        """
        in_headers = any(name in headers for name in ("authorization", *header_names()))
        sent = [name for name in ("client_secret", "client_assertion") if name in fields]
        if len(sent) + in_headers > 1:
            raise _invalid_request("Use one authentication method: client_secret or client_assertion, in the form.")
        if not sent:
            detail = "Put client_secret or client_assertion into the form; headers are not accepted."
            raise _invalid_client(detail, {"WWW-Authenticate": "Basic"} if "authorization" in headers else None)
        if fields.get("grant_type", GRANT_TYPE) != GRANT_TYPE:
            raise RequestRefusedError(400, "unsupported_grant_type", f"The grant type must be {GRANT_TYPE}.")
        if "grant_type" not in fields or (sent == ["client_secret"] and "client_id" not in fields):
            raise _invalid_request("grant_type or client_id is missing.")
        if sent == ["client_assertion"]:
            return self._by_assertion(fields, environment, address)
        client = self._client(ClientSecret, environment, fields["client_id"])
        if client.client_secret.reveal() == fields["client_secret"]:
            return client
        raise _invalid_client(_UNKNOWN)

    def _client(self, kind: type[C], environment: Environment, client_id: object) -> C:
        for each in self.credentials.values():
            if isinstance(each, kind) and each.environment is environment and each.client_id == client_id:
                return each
        raise _invalid_client(_UNKNOWN)

    def _by_assertion(self, fields: Mapping[str, str], environment: Environment, address: str) -> ClientKey:
        """Return the client that signed the assertion in this form; each assertion is accepted only once."""
        import jwt

        if fields.get("client_assertion_type") != ASSERTION_TYPE:
            raise _invalid_request("client_assertion_type is missing, or is not the value in RFC 7523 section 2.2.")
        assertion = fields["client_assertion"]
        try:
            claimed = jwt.decode(assertion, options={"verify_signature": False}).get("iss")
            client = self._client(ClientKey, environment, fields.get("client_id", claimed))
            claims = jwt.decode(
                assertion,
                jwt.PyJWK(self._public_keys[client.name]),
                [client.algorithm],
                audience=[f"{address}{TOKEN_PATH}", address],
                issuer=client.client_id,
                subject=client.client_id,
                options=_CHECKED,
            )
            if jwt.get_unverified_header(assertion).get("kid", client.key_id) != client.key_id:
                raise _invalid_client("kid is not the key ID of this client.")
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            # The text of such an error may quote the assertion; the name of its class does not.
            raise _invalid_client(f"The client assertion is refused: {type(error).__name__}.") from None
        self._use(client.client_id, claims)
        return client

    def _use(self, client_id: str, claims: Mapping[str, Any]) -> None:
        """Check the times of an assertion and that its `jti` has not been used before, and mark it as used."""
        now, jti = self._clock.now().timestamp(), claims["jti"]
        exp, *past = (claims.get(name, 0) for name in ("exp", "iat", "nbf"))
        if not all(type(time) in (int, float) for time in (exp, *past)):
            raise _invalid_client("exp, iat and nbf must be numbers: seconds since 1970.")
        latest = now + _LEEWAY
        if not now < exp <= latest + _LONGEST_LIFETIME or not all(time <= latest for time in past):
            raise _invalid_client("exp must be in the future, at most an hour ahead; iat and nbf must be in the past.")
        if not jti or self._used.get((client_id, jti), 0) > now:
            raise _invalid_client("jti is missing or has already been used: an assertion is valid for one request.")
        self._used[client_id, jti] = exp


def _invalid_request(detail: str) -> RequestRefusedError:
    return RequestRefusedError(400, "invalid_request", detail)


def _invalid_client(detail: str, headers: Mapping[str, str] | None = None) -> RequestRefusedError:
    return RequestRefusedError(401, "invalid_client", detail, headers)


def _unauthorized(address_name: str, *, is_bearer: bool) -> RequestRefusedError:
    """Return a 401 with the challenge for this address, with `invalid_token` if a token was refused (RFC 6750)."""
    challenge = f'Bearer realm="{address_name}"' + (', error="invalid_token"' if is_bearer else "")
    if address_name.startswith("trading"):
        challenge = f'Basic realm="{address_name}", charset="UTF-8"'
    detail = f"This call must carry exactly one kind of credentials that the address {address_name} accepts."
    return RequestRefusedError(401, "unauthorized", detail, {"WWW-Authenticate": challenge})
