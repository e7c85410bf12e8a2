"""The account holders of the practice service, with new credentials for every service, and the tokens issued to them.

Each environment has two: accounts for `live` and `paper`, correspondents for the broker environments (section 1,
rule 5 of the service document). The first correspondent of an environment has both a client secret and a client key,
because section 5.1 accepts both.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import string
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.core.arguments import as_choice
from toolkit.core.document import TOKEN_TYPE, Environment
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolkit.core.clock import Clock

_KEY_ID_LENGTH: Final = 20
_SECRET_LENGTH: Final = 40
_TOKEN_BYTES: Final = 32
_KEY_ID_PREFIXES: Final = MappingProxyType({Environment.LIVE: "AK", Environment.PAPER: "PK"})


@dataclass(frozen=True, slots=True)
class Holder:
    """An account, or a correspondent with several accounts.

    Attributes:
        name: determines its made-up payloads.
        environment: its environment.
    """

    name: str
    environment: Environment

    def may_call(self, address_name: str) -> bool:
        """Return True if section 1 of the service document allows this address."""
        return address_name in self.environment.rules.addresses.values()


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


@dataclass(frozen=True, slots=True)
class Client:
    """A registered client of a correspondent, as the service knows it.

    Attributes:
        client_id: the client ID, which is not a secret.
        holder: the correspondent.
        name: the name of the credentials.
        secret: the client secret, or None for a client with a key.
        public_key: the public key, or None for a client with a secret.
        algorithm: the JWS algorithm of its assertions; empty without a key.
        key_id: the `kid` of its key, or None without a key.
    """

    client_id: str
    holder: Holder
    name: str
    secret: Secret | None = None
    public_key: Any = None
    algorithm: str = ""
    key_id: str | None = None


class _ByName(dict[str, Credentials]):
    """Credentials by name; the error for an unknown name lists the names."""

    def __getitem__(self, name: str) -> Credentials:
        return super().__getitem__(as_choice(name, self, about="name"))


class Holders:
    """All account holders, with their credentials as users have them and as the service knows them."""

    def __init__(self) -> None:
        self._key_pairs: list[tuple[KeyPair, Holder]] = []
        self._clients: dict[tuple[Environment, str], Client] = {}
        self.credentials: Mapping[str, Credentials] = MappingProxyType(
            _ByName({credentials.name: credentials for credentials in self._register()})
        )

    def __repr__(self) -> str:
        return f"<Holders of {len(self.credentials)} credentials>"

    def with_key_pair(self, key_id: Secret, secret_key: Secret) -> Holder | None:
        """Return the owner of a key pair, or None.

        All pairs are compared, each in constant time, so that the duration does not reveal anything.
        """
        owner = None
        for pair, holder in self._key_pairs:
            if (key_id == pair.key_id) & (secret_key == pair.secret_key):
                owner = holder
        return owner

    def client(self, environment: Environment, client_id: str) -> Client | None:
        """Return the client with this ID in this environment, or None."""
        return self._clients.get((environment, client_id))

    def _register(self) -> Iterator[Credentials]:
        for credentials in self._registered():
            credentials.note_practice()
            yield credentials

    def _registered(self) -> Iterator[Credentials]:
        for environment in (Environment.LIVE, Environment.PAPER):
            for name in (str(environment), f"{environment}-2"):
                yield self._key_pair(Holder(name, environment))
        for environment, name in ((Environment.BROKER_LIVE, "broker"), (Environment.BROKER_SANDBOX, "sandbox")):
            first, second = Holder(name, environment), Holder(f"{name}-2", environment)
            yield self._client_secret(first, f"{name}-secret")
            yield self._client_key(first, f"{name}-key")
            yield self._client_secret(second, second.name)

    def _key_pair(self, holder: Holder) -> KeyPair:
        prefix = _KEY_ID_PREFIXES[holder.environment]
        key_id = prefix + _random_text(_KEY_ID_LENGTH - len(prefix), string.ascii_uppercase + string.digits)
        pair = KeyPair(key_id, _random_text(_SECRET_LENGTH), environment=holder.environment, name=holder.name)
        self._key_pairs.append((pair, holder))
        return pair

    def _client_secret(self, holder: Holder, name: str) -> ClientSecret:
        secret = Secret(_random_text(_SECRET_LENGTH))
        credentials = ClientSecret(_client_id(name), secret, environment=holder.environment, name=name)
        self._add(Client(credentials.client_id, holder, name, secret=secret))
        return credentials

    def _client_key(self, holder: Holder, name: str) -> ClientKey:
        key = _new_private_key(holder.environment)
        credentials = ClientKey(_client_id(name), key, environment=holder.environment, name=name, key_id=f"{name}-1")
        self._add(
            Client(
                credentials.client_id,
                holder,
                name,
                public_key=key.public_key(),
                algorithm=credentials.algorithm,
                key_id=credentials.key_id,
            )
        )
        return credentials

    def _add(self, client: Client) -> None:
        self._clients[client.holder.environment, client.client_id] = client


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token's owner, the name of the credentials that it was issued to, and its expiry."""

    holder: Holder
    name: str
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

    def issue(self, holder: Holder, name: str = "") -> dict[str, Any]:
        """Issue a token to the credentials of this name, and return the token response of section 2.

        `expires_in` is a whole number of seconds and, as in the document, slightly under the validity.
        """
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), self._clock.now()
        issued = IssuedToken(holder, name, now + timedelta(seconds=self._validity))
        with self._lock:
            self._issued = {digest: other for digest, other in self._issued.items() if other.expires_at > now}
            self._issued[_digest(token)] = issued
        return {"access_token": token, "expires_in": math.ceil(self._validity) - 1, "token_type": TOKEN_TYPE}

    def caller_with(self, token: Secret) -> Caller | None:
        """Return who calls with a token, or None if it was never issued, was revoked or has expired.

        The token is looked up by its digest, so that the duration does not reveal anything about it.
        """
        with self._lock:
            issued = self._issued.get(_digest(token.reveal()))
        is_valid = issued is not None and self._clock.now() < issued.expires_at
        return Caller(issued.name, "token", issued.holder) if issued and is_valid else None

    def revoke_all(self) -> None:
        """Revoke all tokens."""
        with self._lock:
            self._issued.clear()


def _client_id(name: str) -> str:
    """Return a client ID, the same in every run, so that notebooks can show it: it is not a secret."""
    return f"practice-{name}"


def _new_private_key(environment: Environment) -> Any:
    """Return a P-256 key (ES256) for the live partner or an Ed25519 key (EdDSA) for the sandbox."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    if environment is Environment.BROKER_LIVE:
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate()


def _random_text(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
