"""The kinds of credentials: a key pair, a client secret or a client key (sections 5.1 and 5.2 of the service document).

Each class defines the fields of one kind, which profiles read and write, and how the kind authenticates the caller.
`core.document` defines which environments accept it.

Constructors check strings, because httpx would quote an invalid string in its error. They are `frameless`, so that no
traceback shows the strings. They add every secret to the process's register, which keeps it out of recordings, logs and
displays from then on.
"""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Callable, Mapping
from datetime import datetime
from secrets import token_hex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl, urlencode

from toolkit.auth.credentials import Credentials, Field, as_optional_text, as_secret, as_text, warn_if_in_cell
from toolkit.auth.private_keys import ASSERTION_LIFETIME, ASSERTION_TYPE, LocalKey, Signer, as_signer, client_assertion
from toolkit.core.document import CredentialKind, Environment, Placeholder, header_names
from toolkit.core.errors import ConfigurationError, as_choice, as_count, as_mapping
from toolkit.core.secret import REGISTER, Secret
from toolkit.core.tracebacks import frameless

if TYPE_CHECKING:
    from pathlib import Path

Scheme = Literal["headers", "basic"]
Headers = tuple[tuple[str, str], ...]
LONGEST_ASSERTION_LIFETIME: Final = 3600  # seconds
_NO_TYP: Final = "none"  # stands for no `typ` in a profile, where empty text counts as unset
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")  # RFC 6749 section 8.2
# Fields that are set from the credentials or belong to other grants. A request may use only one (RFC 6749 section 2.3).
_OTHER_FIELDS: Final = frozenset(
    "grant_type client_id client_secret client_assertion client_assertion_type actor_token assertion auth_req_id code "
    "code_verifier device_code password refresh_token subject_token username".split()
)
# What the client asks for (RFC 6749 section 3.3, RFC 8707 section 2). Any other field may be part of the credentials.
_NOT_SECRET: Final = frozenset({"scope", "audience", "resource"})
_SIGNERS: dict[int, tuple[str, Signer]] = {}  # by id() of the Signer: its identity, and the Signer itself


class KeyPair(Credentials):
    """Key ID and secret key of a live or paper account (section 5.2, the legacy flow).

    Args:
        key_id: the key ID; kept as a Secret.
        secret_key: the secret key; kept as a Secret.
        environment: "live" or "paper".
        name: profile name.
        scheme: "headers" for the two key headers, "basic" for HTTP Basic Authentication.

    Raises:
        CredentialsMismatch: if the environment does not accept a key pair.
        ConfigurationError: if a value is missing or cannot be sent in a header.
    """

    kind = CredentialKind.KEY_PAIR
    fields = (
        Field("key_id", is_required=True, identifies=True, placeholder="API_KEY_ID"),
        Field("secret_key", is_required=True, is_secret=True, placeholder="API_SECRET_KEY"),
        Field("scheme"),
    )

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
        self.key_id = as_secret(key_id, "key_id")
        self.secret_key = as_secret(secret_key, "secret_key")
        REGISTER.add_all(self.secrets())
        as_choice(scheme, ("headers", "basic"), about="scheme")
        self.scheme: Scheme = scheme
        if scheme == "basic" and ":" in self.key_id.reveal():
            what = "The key ID contains a colon, which HTTP Basic does not allow (RFC 7617 section 2)."
            raise ConfigurationError(what, 'Use scheme="headers".', about="key_id")
        warn_if_in_cell(self.secrets())

    def headers(self, prefix: str) -> tuple[Headers, Headers]:
        """Return the headers that every call sends, with the service's prefix, and the headers that recordings show."""
        key_id, secret_key = self.key_id.reveal(), self.secret_key.reveal()
        if self.scheme == "basic":
            pair = base64.b64encode(f"{key_id}:{secret_key}".encode("ascii")).decode("ascii")
            return (("Authorization", f"Basic {pair}"),), (("Authorization", f"Basic {Placeholder.BASIC}"),)
        names, shown = header_names(prefix), header_names()
        return (
            ((names[0], key_id), (names[1], secret_key)),
            ((shown[0], Placeholder.KEY_ID), (shown[1], Placeholder.SECRET_KEY)),
        )


def _as_form_fields(value: object) -> Mapping[str, str | Secret]:
    """Return additional form fields of the token request as an immutable mapping, which is empty for None.

    Only the user knows what a field means to the service, so most values are kept as Secrets.
    """
    given = {} if value is None else as_mapping(value, about="form_fields", example='{"scope": "accounts.read"}')
    fields: dict[str, str | Secret] = {}
    for name, content in given.items():
        if not isinstance(name, str) or not _FIELD_NAME.match(name) or name.lower() in _OTHER_FIELDS:
            what = "A form field name is invalid, or is reserved for a field that is set from the credentials."
            raise ConfigurationError(what, 'Use a name that the service knows, such as "scope".', about="form_fields")
        if not isinstance(content, str) or not content or not content.isprintable():
            what = f"The value of the form field {name} is not a string of printable characters."
            raise ConfigurationError(what, "Pass one line of text, or leave the field out.", about="form_fields")
        fields[name] = content if name.lower() in _NOT_SECRET else Secret(content)
    return MappingProxyType(fields)


class Client(Credentials):
    """A broker partner's credentials, which are sent as form fields in a token request (section 4.1)."""

    client_id: str
    form_fields: Mapping[str, str | Secret]

    def evidence(
        self, *, token_url: str, issuer: str, now: datetime, new_jti: Callable[[], str]
    ) -> dict[str, str | Secret]:
        """Return the fields that authenticate a token request; a recording shows placeholders in place of Secrets."""
        raise NotImplementedError


def revealed(fields: Mapping[str, str | Secret]) -> dict[str, str]:
    """Return form fields with their Secrets revealed, as they are sent."""
    return {name: value.reveal() if isinstance(value, Secret) else value for name, value in fields.items()}


_CLIENT_ID: Final = Field("client_id", is_required=True, identifies=True)
_FORM_FIELDS: Final = Field(  # in form encoding; the constructor refuses other text
    "form_fields",
    identifies=True,
    read=lambda text: dict(parse_qsl(text.reveal())) or text.reveal(),
    write=lambda fields: urlencode(sorted(revealed(fields).items())) or None,
)


class ClientSecret(Client):
    """Client ID and client secret of a broker partner (section 5.1, client_secret_post).

    Args:
        client_id: the client ID; not a secret.
        client_secret: the client secret; kept as a Secret.
        environment: "broker-live" or "broker-sandbox".
        name: profile name.
        form_fields: additional fields for the token request, such as {"scope": "accounts.read"}; kept as an
            immutable mapping. The values of scope, audience and resource are strings; all other values are Secrets.

    Raises:
        CredentialsMismatch: if the environment does not accept a client secret.
        ConfigurationError: if a value is missing or cannot be sent.
    """

    kind = CredentialKind.CLIENT_SECRET
    fields = (
        _CLIENT_ID,
        Field("client_secret", is_required=True, is_secret=True, placeholder="CLIENT_SECRET"),
        _FORM_FIELDS,
    )

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
        self.client_id = as_text(client_id, "client_id")
        self.client_secret = as_secret(client_secret, "client_secret")
        REGISTER.add_all(self.secrets())
        self.form_fields = _as_form_fields(form_fields)
        warn_if_in_cell(self.secrets())

    def evidence(self, **_: Any) -> dict[str, str | Secret]:
        return {"client_secret": self.client_secret}


def _pkcs8_pem(signer: Signer) -> str:
    if isinstance(signer, LocalKey):  # its identity is base64-encoded PKCS#8 DER; RFC 7468 sections 2 and 10
        body = "\n".join(textwrap.wrap(signer.identity(), 64))
        return f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    what = "The private key is held by a signer, so it cannot be saved."
    raise ConfigurationError(what, "Create the ClientKey from the signer wherever you need it.", about="private_key")


class ClientKey(Client):
    """Client ID and private key of a broker partner (section 5.1, private_key_jwt per RFC 7523).

    The private key is never sent: each token request contains an assertion signed with the key.

    Args:
        client_id: the client ID; not a secret.
        private_key: the key as a string (PEM, JWK or JWK set), the Path of a key file, a private key object from the
            `cryptography` package, or a Signer that keeps the key elsewhere.
        environment: "broker-live" or "broker-sandbox".
        name: profile name.
        key_id: the `kid` that the public key was registered with, if any; selects the key in a JWK set. A JWK with
            another `kid` is an error.
        algorithm: JWS algorithm; defaults to the JWK's `alg`, if any, otherwise to the default for the key.
        audience: "token-endpoint" (its exact URL), "issuer" (the auth address), or text to be sent as is.
        passphrase: decrypts an encrypted private key; remembered only to keep it out of recordings, logs and displays.
        assertion_typ: `typ` in the header of assertions, such as "client-authentication+jwt"; None to leave it out.
        assertion_lifetime: seconds for which an assertion is valid, 1 to 3600.
        form_fields: additional fields for the token request, such as {"scope": "accounts.read"}; kept as an
            immutable mapping. The values of scope, audience and resource are strings; all other values are Secrets.

    Raises:
        CredentialsMismatch: if the environment does not accept a client key.
        ConfigurationError: if the key cannot be read or decrypted, or does not fit the algorithm, or if a value is
            invalid.
    """

    kind = CredentialKind.CLIENT_KEY
    fields = (
        _CLIENT_ID,
        Field("private_key", is_required=True, is_secret=True, write=_pkcs8_pem),
        Field("private_key_passphrase", "passphrase", is_secret=True),
        Field("private_key_id", "key_id", identifies=True),
        Field("algorithm", identifies=True),
        Field("audience", identifies=True),
        Field(
            "assertion_typ",
            read=lambda text: None if text == Secret(_NO_TYP) else text.reveal(),
            write=lambda typ: _NO_TYP if typ is None else typ,
        ),
        Field("assertion_lifetime", read=lambda text: int(text.reveal()) if text.reveal().isdecimal() else text),
        _FORM_FIELDS,
    )

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
        self.client_id = as_text(client_id, "client_id")
        self.audience = as_text(audience, "audience")
        self.assertion_typ = as_optional_text(assertion_typ, "assertion_typ")
        self.assertion_lifetime = as_count(
            assertion_lifetime, about="assertion_lifetime", least=1, most=LONGEST_ASSERTION_LIFETIME
        )
        self.form_fields = _as_form_fields(form_fields)
        self.private_key: Signer = as_signer(private_key, algorithm=algorithm, key_id=key_id, passphrase=passphrase)
        REGISTER.add_all(self.secrets())
        self.key_id: str | None = self.private_key.key_id
        self.algorithm: str = self.private_key.algorithm
        vars(self)["holds_secret"] = isinstance(self.private_key, LocalKey)
        warn_if_in_cell(self.secrets())

    def evidence(
        self, *, token_url: str, issuer: str, now: datetime, new_jti: Callable[[], str]
    ) -> dict[str, str | Secret]:
        audiences = {"token-endpoint": token_url, "issuer": issuer}
        assertion = client_assertion(
            self.private_key,
            client_id=self.client_id,
            audience=audiences.get(self.audience, self.audience),
            now=now,
            new_jti=new_jti,
            typ=self.assertion_typ,
            lifetime=self.assertion_lifetime,
        )
        return {"client_assertion_type": ASSERTION_TYPE, "client_assertion": assertion}

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        return self.private_key.secrets() if isinstance(self.private_key, LocalKey) else ()

    def proof(self) -> str:
        if isinstance(self.private_key, LocalKey):
            return self.private_key.identity()
        # A key that is kept elsewhere cannot be compared, so a token is shared only by credentials with the same
        # Signer. The Signer is kept alive, so that no other Signer can get its id.
        return _SIGNERS.setdefault(id(self.private_key), (token_hex(), self.private_key))[0]


KINDS: Final[Mapping[CredentialKind, type[Credentials]]] = {
    each.kind: each for each in (KeyPair, ClientSecret, ClientKey)
}
