"""Who is calling: a key pair, a client secret or a client key, each bound to one environment.

Section 1, rule 5 of the service document: credentials of one account or environment are not accepted
by another. The kinds are those of sections 5.1 and 5.2.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from secrets import token_hex
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from toolkit.assertion import LocalKey, Signer, as_signer
from toolkit.errors import ConfigurationError, CredentialsMismatch
from toolkit.secret import Secret
from toolkit.service import CredentialKind, Environment

if TYPE_CHECKING:
    from pathlib import Path

Scheme = Literal["headers", "basic"]
_PROFILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_SIGNERS: dict[int, tuple[str, Signer]] = {}
SHORTEST_SECRET = 8  # characters; anything shorter cannot be told from ordinary text by its value


class Credentials(ABC):
    """What all kinds have in common.

    Attributes:
        kind: which of the document's kinds they are.
        environment: the one environment they belong to.
        name: profile name; recordings tell callers apart by it.
    """

    kind: ClassVar[CredentialKind]
    environment: Environment
    name: str

    def __init__(self, *, environment: Environment | str, name: str) -> None:
        self.environment = as_environment(environment)
        if self.kind not in self.environment.rules.credentials:
            taken = " or a ".join(sorted(self.environment.rules.credentials))
            raise CredentialsMismatch(
                f"The environment {self.environment} takes no {self.kind}.",
                f"A {self.environment.rules.holder} uses a {taken}.",
            )
        if not isinstance(name, str) or not _PROFILE_NAME.match(name):
            raise ConfigurationError(
                "A profile name is up to 64 letters, digits, dots, hyphens and underscores, and starts with one "
                "of the first two.",
                'Use one such as "default".',
            )
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} for {self.environment}>"

    def __setattr__(self, attribute: str, value: Any) -> None:
        if hasattr(self, attribute):
            raise AttributeError(f"{type(self).__name__} is immutable; make new credentials instead")
        super().__setattr__(attribute, value)

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make new credentials instead")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("credentials are not pickled: they would reach a disk or another process in the clear")

    def __copy__(self) -> Credentials:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Credentials:
        return self

    @abstractmethod
    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        """Every secret they hold, each with the name that its placeholder has in a recording."""

    @abstractmethod
    def _identity(self) -> tuple[str, ...]:
        """What tells these credentials from others of their kind and environment, secrets included."""

    def fingerprint(self) -> str:
        """A digest that is equal for equal credentials, to share one token among them. Not for showing."""
        digest = hashlib.sha256()
        for part in (self.kind, self.environment, *self._identity()):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()


class KeyPair(Credentials):
    """Key ID and secret key of a live or paper account (section 5.2, the legacy flow).

    Args:
        key_id: the key ID; kept as a Secret.
        secret_key: the secret key; kept as a Secret.
        environment: "live" or "paper".
        name: profile name.
        scheme: "headers" for the two key headers, "basic" for HTTP Basic Authentication.

    Raises:
        CredentialsMismatch: the environment takes no key pair.
        ConfigurationError: a value is missing or cannot be sent in a header.
    """

    kind = CredentialKind.KEY_PAIR

    def __init__(
        self,
        key_id: str | Secret,
        secret_key: str | Secret,
        *,
        environment: Environment | str,
        name: str = "default",
        scheme: Scheme = "headers",
    ) -> None:
        super().__init__(environment=environment, name=name)
        if scheme not in ("headers", "basic"):
            raise ConfigurationError(
                "A key pair is sent by one of two schemes.", 'Use scheme="headers" or scheme="basic".'
            )
        self.scheme: Scheme = scheme
        self.key_id = _secret_text(key_id, "key ID")
        self.secret_key = _secret_text(secret_key, "secret key")
        if scheme == "basic" and ":" in self.key_id.reveal():
            raise ConfigurationError(
                "The key ID holds a colon, which HTTP Basic cannot carry (RFC 7617 section 2).",
                'Use scheme="headers".',
            )

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return ("API_KEY_ID", self.key_id), ("API_SECRET_KEY", self.secret_key)

    def _identity(self) -> tuple[str, ...]:
        return self.key_id.reveal(), self.secret_key.reveal()


class ClientSecret(Credentials):
    """Client ID and client secret of a broker partner (section 5.1, client_secret_post).

    Args:
        client_id: the client ID; no secret.
        client_secret: the client secret; kept as a Secret.
        environment: "broker-live" or "broker-sandbox".
        name: profile name.

    Raises:
        CredentialsMismatch: the environment takes no client secret.
        ConfigurationError: a value is missing or cannot be sent.
    """

    kind = CredentialKind.CLIENT_SECRET

    def __init__(
        self,
        client_id: str,
        client_secret: str | Secret,
        *,
        environment: Environment | str,
        name: str = "default",
    ) -> None:
        super().__init__(environment=environment, name=name)
        self.client_id = _text(client_id, "client ID")
        self.client_secret = _secret_text(client_secret, "client secret")

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return (("CLIENT_SECRET", self.client_secret),)

    def _identity(self) -> tuple[str, ...]:
        return self.client_id, self.client_secret.reveal()


class ClientKey(Credentials):
    """Client ID and private key of a broker partner (section 5.1, private_key_jwt per RFC 7523).

    The private key never leaves this process: each token request carries an assertion signed with it.

    Args:
        client_id: the client ID; no secret.
        private_key: key text (PEM or JWK), a Path to a file of it, a private key object of the
            `cryptography` package, or a Signer that keeps the key elsewhere.
        environment: "broker-live" or "broker-sandbox".
        name: profile name.
        key_id: the `kid` that the service knows the key by, if it wants one.
        algorithm: JWS algorithm; by default the usual one for the key.
        audience: "token-endpoint" (its exact URL), "issuer" (the auth address), or a text sent as it is.

    Raises:
        CredentialsMismatch: the environment takes no client key.
        ConfigurationError: the key cannot be read, or does not fit the algorithm.
    """

    kind = CredentialKind.CLIENT_KEY

    def __init__(
        self,
        client_id: str,
        private_key: str | Path | Secret | Signer | Any,
        *,
        environment: Environment | str,
        name: str = "default",
        key_id: str | None = None,
        algorithm: str | None = None,
        audience: str = "token-endpoint",
    ) -> None:
        super().__init__(environment=environment, name=name)
        self.client_id = _text(client_id, "client ID")
        self.audience = _text(audience, "audience")
        self.private_key: Signer = as_signer(
            private_key, algorithm=algorithm, key_id=None if key_id is None else _text(key_id, "key ID")
        )
        self.key_id: str | None = self.private_key.key_id
        self.algorithm: str = self.private_key.algorithm

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return self.private_key.secrets() if isinstance(self.private_key, LocalKey) else ()

    def _identity(self) -> tuple[str, ...]:
        return self.client_id, self.audience, self.algorithm, self.key_id or "", _key_identity(self.private_key)


def as_environment(environment: Environment | str) -> Environment:
    """The environment of this name.

    Raises:
        ConfigurationError: there is none of that name.
    """
    try:
        return Environment(environment)
    except ValueError:
        raise ConfigurationError(
            f"There is no environment {environment!r}.", f"Choose one of {', '.join(Environment)}."
        ) from None


def _key_identity(signer: Signer) -> str:
    """What is equal for equal keys, in whatever form they were given."""
    if isinstance(signer, LocalKey):
        return signer.identity()
    # A key kept elsewhere cannot be compared: its token is shared through the same Signer only. The Signer
    # is kept as well, so that no other comes to have its id.
    return _SIGNERS.setdefault(id(signer), (token_hex(), signer))[0]


def _text(value: object, what: str) -> str:
    """Check credential text when it is made: httpx would quote a bad one in its error."""
    if not isinstance(value, str):
        raise ConfigurationError(f"The {what} is {type(value).__name__}, not text.", f"Give the {what} as a string.")
    if not value:
        raise ConfigurationError(f"The {what} is empty.", f"Give the {what} that the service issued.")
    if value != value.strip() or not value.isascii() or not value.isprintable():
        raise ConfigurationError(
            f"The {what} holds a line break, a control character, space around it, or a character beyond ASCII.",
            "Copy it again; it is one run of printable characters.",
        )
    return value


def _secret_text(value: object, what: str) -> Secret:
    return Secret(_text(value.reveal() if isinstance(value, Secret) else value, what))
