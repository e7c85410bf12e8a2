"""The credentials of a caller: a key pair, a client secret or a client key, each bound to one environment.

Section 1, rule 5 of the service document: credentials of one account or environment are not accepted by another. The
kinds are those of sections 5.1 and 5.2. Constructors check text, because httpx would quote malformed text in its error.
They are `frameless`, so that no traceback shows the text. They enter every secret in the process's register, which
keeps it out of recordings, logs and displays from then on.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal

from toolkit.auth import checks
from toolkit.auth.assertion import ASSERTION_LIFETIME
from toolkit.auth.cell_warning import warn_if_in_cell
from toolkit.auth.checks import FormFields
from toolkit.core.arguments import as_choice
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.tracebacks import frameless

if TYPE_CHECKING:
    from pathlib import Path

    from toolkit.auth.authorizers import BearerAuthorizer
    from toolkit.auth.keys import Signer
    from toolkit.auth.tokens.token import Token
    from toolkit.core.clock import Clock

Scheme = Literal["headers", "basic"]
_SIGNERS: dict[int, tuple[str, Signer]] = {}  # identity and Signer, by the id of the Signer


class Credentials(ABC):
    """Credentials of any kind: immutable, never pickled, never shown.

    Attributes:
        kind: which of the document's kinds they are.
        environment: the one environment they belong to.
        name: name of the profile; recordings tell callers apart by it.
        loaded_from: where they were loaded from, in words; "" if code made them.
        binding: the destinations that they were saved for, by their names; None unless they are a saved profile.
        is_practice: True if a practice service made them up; no other service accepts them.
    """

    kind: CredentialKind
    environment: Environment
    name: str
    loaded_from: str
    binding: Mapping[str, str] | None
    is_practice: bool

    def __init__(self, *, environment: Environment | str, name: str) -> None:
        self.environment = as_environment(environment)
        rules = self.environment.rules
        if self.kind not in rules.credentials:
            raise CredentialsMismatch(
                f"The environment {self.environment} does not take a {self.kind}.",
                f"A {rules.holder} uses a {' or a '.join(sorted(rules.credentials))}.",
                about="environment",
            )
        self.name = checks.profile_name(name)
        vars(self)["is_practice"] = False
        self.note_source("")

    def note_practice(self) -> None:
        """Note that a practice service made these credentials up."""
        vars(self)["is_practice"] = True

    def note_source(self, loaded_from: str, binding: Mapping[str, str] | None = None) -> None:
        """Note where these credentials were loaded from, and the destinations that they were saved for."""
        vars(self).update(loaded_from=loaded_from, binding=binding)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} for {self.environment}>"

    def __setattr__(self, attribute: str, value: Any) -> None:
        if hasattr(self, attribute):
            raise AttributeError(f"{type(self).__name__} is immutable; make new credentials instead")
        super().__setattr__(attribute, value)

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make new credentials instead")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "credentials cannot be pickled: they would reach a disk or another process as plain text; "
            "tk.lend(session, cluster) lends a session to the workers of a Dask cluster"
        )

    def __copy__(self) -> Credentials:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Credentials:
        return self

    @abstractmethod
    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        """Return all secrets, each with the name of its placeholder in recordings."""

    @abstractmethod
    def proof(self) -> str:
        """Return the secret that proves who calls, in one form, without the IDs and options that go with it."""

    def borrowing_authorizer(self, clock: Clock, number: Callable[[Token], int]) -> BearerAuthorizer | None:  # noqa: ARG002
        """Return what gets the tokens of these credentials from somebody else, or None if they request their own."""
        return None

    @abstractmethod
    def _identity(self) -> tuple[str, ...]:
        """Return the texts that tell these credentials from others of their kind and environment, secrets included."""

    def fingerprint(self) -> str:
        """Return a digest that is equal for equal credentials, to share one token among them. Do not show it."""
        return hashlib.sha256(self._framed_identity()).hexdigest()

    def token_identity(self) -> bytes | None:
        """Return everything that a token depends on, secrets included, to derive the key that seals stored tokens.

        Return None if the private key is kept elsewhere, because such keys cannot be told apart.
        """
        return self._framed_identity()

    def _framed_identity(self) -> bytes:
        parts = (part.encode("utf-8", "surrogatepass") for part in (self.kind, self.environment, *self._identity()))
        return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


class KeyPair(Credentials):
    """Key ID and secret key of a live or paper account (section 5.2, the legacy flow).

    Args:
        key_id: the key ID; kept as a Secret.
        secret_key: the secret key; kept as a Secret.
        environment: "live" or "paper".
        name: profile name.
        scheme: "headers" for the two key headers, "basic" for HTTP Basic Authentication.

    Raises:
        CredentialsMismatch: if the environment does not take a key pair.
        ConfigurationError: if a value is missing or cannot be sent in a header.
    """

    kind = CredentialKind.KEY_PAIR

    @frameless
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
        self.key_id = checks.secret(key_id, "key_id")
        self.secret_key = checks.secret(secret_key, "secret_key")
        REGISTER.add_all(self.secrets())
        as_choice(scheme, ("headers", "basic"), about="scheme")
        self.scheme: Scheme = scheme
        if scheme == "basic" and ":" in self.key_id.reveal():
            raise ConfigurationError(
                "The key ID holds a colon, which HTTP Basic cannot carry (RFC 7617 section 2).",
                'Use scheme="headers".',
                about="key_id",
            )
        warn_if_in_cell(self.secrets())

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return ("API_KEY_ID", self.key_id), ("API_SECRET_KEY", self.secret_key)

    def proof(self) -> str:
        return self.secret_key.reveal()

    def _identity(self) -> tuple[str, ...]:
        return self.key_id.reveal(), self.proof()


class ClientSecret(Credentials):
    """Client ID and client secret of a broker partner (section 5.1, client_secret_post).

    Args:
        client_id: the client ID; not a secret.
        client_secret: the client secret; kept as a Secret.
        environment: "broker-live" or "broker-sandbox".
        name: profile name.
        form_fields: further fields of the token request, such as {"scope": "accounts.read"}; kept as an
            immutable mapping. Recordings show the values of scope, audience and resource only.

    Raises:
        CredentialsMismatch: if the environment does not take a client secret.
        ConfigurationError: if a value is missing or cannot be sent.
    """

    kind = CredentialKind.CLIENT_SECRET

    @frameless
    def __init__(
        self,
        client_id: str,
        client_secret: str | Secret,
        *,
        environment: Environment | str,
        name: str = "default",
        form_fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(environment=environment, name=name)
        self.client_id = checks.text(client_id, "client_id")
        self.client_secret = checks.secret(client_secret, "client_secret")
        REGISTER.add_all(self.secrets())
        self.form_fields: FormFields = checks.form_fields(form_fields)
        warn_if_in_cell(self.secrets())

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return (("CLIENT_SECRET", self.client_secret),)

    def proof(self) -> str:
        return self.client_secret.reveal()

    def _identity(self) -> tuple[str, ...]:
        return self.client_id, self.proof(), *_in_order(self.form_fields)


class ClientKey(Credentials):
    """Client ID and private key of a broker partner (section 5.1, private_key_jwt per RFC 7523).

    The private key never leaves this process: each token request carries an assertion signed with it.

    Args:
        client_id: the client ID; not a secret.
        private_key: key text (PEM, JWK or JWK set), a Path to a file of it, a private key object of the
            `cryptography` package, or a Signer that keeps the key elsewhere.
        environment: "broker-live" or "broker-sandbox".
        name: profile name.
        key_id: the `kid` that the service knows the key by, if it wants one; names the key of a JWK set. A JWK
            with another `kid` is refused.
        algorithm: JWS algorithm; by default the JWK's own, else the usual one for the key.
        audience: "token-endpoint" (its exact URL), "issuer" (the auth address), or text that is sent as it is.
        passphrase: decrypts an encrypted private key; kept only to keep it out of recordings, logs and displays.
        assertion_typ: `typ` in the header of assertions, such as "client-authentication+jwt"; None leaves it out.
        assertion_lifetime: seconds for which an assertion is valid, 1 to 3600.
        form_fields: further fields of the token request, such as {"scope": "accounts.read"}; kept as an
            immutable mapping. Recordings show the values of scope, audience and resource only.

    Raises:
        CredentialsMismatch: if the environment does not take a client key.
        ConfigurationError: if the key cannot be read or decrypted, or does not fit the algorithm, or if a value
            is malformed.
    """

    kind = CredentialKind.CLIENT_KEY

    @frameless
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
        passphrase: str | Secret | None = None,
        assertion_typ: str | None = "JWT",
        assertion_lifetime: int = ASSERTION_LIFETIME,
        form_fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(environment=environment, name=name)
        self.client_id = checks.text(client_id, "client_id")
        self.audience = checks.text(audience, "audience")
        self.assertion_typ = checks.optional_text(assertion_typ, "assertion_typ")
        self.assertion_lifetime = checks.assertion_lifetime(assertion_lifetime)
        self.form_fields: FormFields = checks.form_fields(form_fields)
        from toolkit.auth.keys import as_signer

        self.private_key: Signer = as_signer(private_key, algorithm=algorithm, key_id=key_id, passphrase=passphrase)
        REGISTER.add_all(self.secrets())
        self.key_id: str | None = self.private_key.key_id
        self.algorithm: str = self.private_key.algorithm
        warn_if_in_cell(self.secrets())

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        from toolkit.auth.keys import LocalKey

        return self.private_key.secrets() if isinstance(self.private_key, LocalKey) else ()

    def proof(self) -> str:
        return _key_identity(self.private_key)

    def _identity(self) -> tuple[str, ...]:
        fields = _in_order(self.form_fields)
        return self.client_id, self.audience, self.algorithm, self.key_id or "", self.proof(), *fields

    def token_identity(self) -> bytes | None:
        from toolkit.auth.keys import LocalKey

        return super().token_identity() if isinstance(self.private_key, LocalKey) else None


def as_environment(environment: Environment | str) -> Environment:
    """Return the environment of this name.

    Raises:
        ConfigurationError: if the environment does not exist; suggests the nearest name.
    """
    value: object = environment
    if isinstance(value, Credentials):
        raise ConfigurationError(
            "The first argument of a session is the name of an environment, but credentials were given.",
            "Write tk.Session(credentials=...); credentials name their environment.",
            about="environment",
        )
    return Environment(environment)


def _key_identity(signer: Signer) -> str:
    """Return a text that is equal for equal keys, whatever form they came in."""
    from toolkit.auth.keys import LocalKey

    if isinstance(signer, LocalKey):
        return signer.identity()
    # A key that is kept elsewhere cannot be compared, so a token is shared only by credentials with the same Signer.
    # The Signer is kept alive, so that no other Signer can get its id.
    return _SIGNERS.setdefault(id(signer), (token_hex(), signer))[0]


def _in_order(fields: Mapping[str, str]) -> Iterable[str]:
    return chain.from_iterable(sorted(fields.items()))
