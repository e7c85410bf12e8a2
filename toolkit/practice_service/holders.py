"""Who may call the practice service, with credentials made up anew for every service.

Two holders for each environment: accounts for `live` and `paper`, correspondents for the broker
environments (section 1, rule 5 of the service document). The first correspondent of an environment
has a client secret and a client key, as section 5.1 accepts both.
"""

from __future__ import annotations

import secrets
import string
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEY_ID_LENGTH: Final = 20
_SECRET_LENGTH: Final = 40
_KEY_ID_PREFIXES: Final = MappingProxyType({Environment.LIVE: "AK", Environment.PAPER: "PK"})


@dataclass(frozen=True, slots=True)
class Holder:
    """An account, or a correspondent with many accounts.

    Attributes:
        name: what it is called here; payloads are made up from it.
        environment: the one environment that it is in.
    """

    name: str
    environment: Environment

    def may_call(self, address_name: str) -> bool:
        """Whether section 1 of the service document gives it this address."""
        return address_name in self.environment.rules.addresses.values()


@dataclass(frozen=True, slots=True)
class Client:
    """One registered client of a correspondent: what the service knows to recognise it by.

    Attributes:
        client_id: the client ID; no secret.
        holder: whose client it is.
        secret: its client secret, or None for a client with a key.
        public_key: the public half of its key, or None for a client with a secret.
        algorithm: the one JWS algorithm that its assertions are signed with; empty without a key.
        key_id: the `kid` of its key; None without a key.
    """

    client_id: str
    holder: Holder
    secret: Secret | None = None
    public_key: Any = None
    algorithm: str = ""
    key_id: str | None = None


class _ByName(dict[str, Credentials]):
    """Credentials by name; who asks for others is told the names that there are."""

    def __missing__(self, name: object) -> Credentials:
        raise ConfigurationError(
            f"The practice service has no credentials called {excerpt(repr(name))}.", f"Names: {', '.join(self)}."
        )


class Holders:
    """All holders, their credentials as their users have them, and as the service knows them."""

    def __init__(self) -> None:
        self._key_pairs: list[tuple[KeyPair, Holder]] = []
        self._clients: dict[tuple[Environment, str], Client] = {}
        self.credentials: Mapping[str, Credentials] = MappingProxyType(
            _ByName({credentials.name: credentials for credentials in self._register()})
        )

    def __repr__(self) -> str:
        return f"<Holders of {len(self.credentials)} credentials>"

    def with_key_pair(self, key_id: Secret, secret_key: Secret) -> Holder | None:
        """Whose key pair this is, or None.

        Every pair is compared in full, in constant time: how long it takes tells nothing.
        """
        found = None
        for pair, holder in self._key_pairs:
            if (key_id == pair.key_id) & (secret_key == pair.secret_key):
                found = holder
        return found

    def client(self, environment: Environment, client_id: str) -> Client | None:
        """The client of this ID in this environment, or None."""
        return self._clients.get((environment, client_id))

    def _register(self) -> Iterator[Credentials]:
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
        self._add(Client(credentials.client_id, holder, secret=secret))
        return credentials

    def _client_key(self, holder: Holder, name: str) -> ClientKey:
        key = _new_private_key(holder.environment)
        credentials = ClientKey(_client_id(name), key, environment=holder.environment, name=name, key_id=f"{name}-1")
        self._add(
            Client(
                credentials.client_id,
                holder,
                public_key=key.public_key(),
                algorithm=credentials.algorithm,
                key_id=credentials.key_id,
            )
        )
        return credentials

    def _add(self, client: Client) -> None:
        self._clients[client.holder.environment, client.client_id] = client


def _client_id(name: str) -> str:
    """A client ID is no secret: it is the same in every run, so that a notebook may show it."""
    return f"practice-{name}"


def _new_private_key(environment: Environment) -> Any:
    """P-256 (ES256) for the live partner and Ed25519 (EdDSA) for the sandbox, to practise with both."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519  # late, as in toolkit.auth.keys

    if environment is Environment.BROKER_LIVE:
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate()


def _random_text(length: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))
