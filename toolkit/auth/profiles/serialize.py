"""Turn credentials into the texts of their fields, and texts into credentials."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Final, TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from toolkit.auth.assertion import ASSERTION_LIFETIME
from toolkit.auth.credentials import ClientKey, ClientSecret, Credentials, KeyPair
from toolkit.auth.keys import LocalKey
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolkit.auth.credentials import Scheme

PASSPHRASE: Final = "private_key_passphrase"  # noqa: S105 - the name of a field
_NO_TYP: Final = "none"  # because an empty text counts as unset
_LONGEST_ALGORITHM: Final = 5  # characters
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}\Z")

Default = TypeVar("Default", str, None)


def decompose(credentials: Credentials) -> dict[str, Secret]:
    """Return the fields of credentials, from which `compose` makes equal credentials; a private key as PKCS#8 PEM.

    Options that are not set are left out, and so is a passphrase, which is not needed any more.

    Raises:
        ConfigurationError: if the private key is kept elsewhere, or the value is not credentials.
    """
    if isinstance(credentials, KeyPair):
        return {
            "key_id": credentials.key_id,
            "secret_key": credentials.secret_key,
            "scheme": Secret(credentials.scheme),
        }
    if isinstance(credentials, ClientSecret):
        return {
            "client_id": Secret(credentials.client_id),
            "client_secret": credentials.client_secret,
            **_form_field_texts(credentials),
        }
    if not isinstance(credentials, ClientKey):
        raise ConfigurationError(
            f"A value of type {type(credentials).__name__} is not credentials.",
            "Pass a KeyPair, a ClientSecret or a ClientKey.",
            about="credentials",
        )
    if not isinstance(credentials.private_key, LocalKey):
        raise ConfigurationError(
            "The private key is kept elsewhere, by a signer, so there is nothing to save.",
            "Make the ClientKey from its signer wherever you need it.",
            about="private_key",
        )
    if credentials.assertion_typ == _NO_TYP:
        raise ConfigurationError(
            f'The assertion type "{_NO_TYP}" cannot be saved, because it would be read as no type.',
            "Use another assertion_typ.",
            about="assertion_typ",
        )
    fields = {
        "client_id": Secret(credentials.client_id),
        "private_key": _pem(credentials.private_key),
        "algorithm": Secret(credentials.algorithm),
        "audience": Secret(credentials.audience),
        "assertion_typ": Secret(_NO_TYP if credentials.assertion_typ is None else credentials.assertion_typ),
        "assertion_lifetime": Secret(str(credentials.assertion_lifetime)),
        **_form_field_texts(credentials),
    }
    return fields if credentials.key_id is None else {**fields, "private_key_id": Secret(credentials.key_id)}


def compose(
    kind: CredentialKind, texts: Mapping[str, Secret], environment: Environment, name: str
) -> KeyPair | ClientSecret | ClientKey:
    """Return credentials of a kind, made of the texts of its fields. The required fields must be present.

    Raises:
        ConfigurationError: if a text is malformed. The text is not quoted.
    """
    if kind is CredentialKind.KEY_PAIR:
        return KeyPair(
            texts["key_id"],
            texts["secret_key"],
            environment=environment,
            name=name,
            scheme=cast("Scheme", _plain(texts, "scheme", "headers")),
        )
    if kind is CredentialKind.CLIENT_SECRET:
        return ClientSecret(
            texts["client_id"].reveal(),
            texts["client_secret"],
            environment=environment,
            name=name,
            form_fields=_form_fields(texts.get("form_fields")),
        )
    return ClientKey(
        texts["client_id"].reveal(),
        texts["private_key"],
        environment=environment,
        name=name,
        passphrase=texts.get(PASSPHRASE),
        key_id=_plain(texts, "private_key_id", None),
        algorithm=_algorithm(texts.get("algorithm")),
        audience=_plain(texts, "audience", "token-endpoint"),
        assertion_typ=None if texts.get("assertion_typ") == Secret(_NO_TYP) else _plain(texts, "assertion_typ", "JWT"),
        assertion_lifetime=_seconds(texts.get("assertion_lifetime")),
        form_fields=_form_fields(texts.get("form_fields")),
    )


def _plain(texts: Mapping[str, Secret], field: str, default: Default) -> str | Default:
    return texts[field].reveal() if field in texts else default


def _pem(key: LocalKey) -> Secret:
    body = "\n".join(textwrap.wrap(key.identity(), 64))  # base64 of its PKCS#8 DER; RFC 7468 sections 2 and 10
    return Secret(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")


def _algorithm(text: Secret | None) -> str | None:
    """Return the name of an algorithm, which an error may quote. A longer text may be a misplaced secret."""
    if text is not None and len(text.reveal()) > _LONGEST_ALGORITHM:
        raise ConfigurationError(
            "The algorithm is not a JWS algorithm.", "Leave it out, or write it like ES256.", about="algorithm"
        )
    return None if text is None else text.reveal()


def _seconds(text: Secret | None) -> int:
    if text is None:
        return ASSERTION_LIFETIME
    if _WHOLE_NUMBER.match(text.reveal()) is None:
        raise ConfigurationError(
            "The lifetime of an assertion is not a whole number of seconds.",
            "Write it like 60.",
            about="assertion_lifetime",
        )
    return int(text.reveal())


def _form_field_texts(credentials: ClientSecret | ClientKey) -> dict[str, Secret]:
    fields = credentials.form_fields
    return {"form_fields": Secret(urlencode(dict(fields)))} if fields else {}


def _form_fields(text: Secret | None) -> dict[str, str] | None:
    """Return the form fields in a text of the type application/x-www-form-urlencoded."""
    if text is None:
        return None
    try:
        pairs = parse_qsl(text.reveal(), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:  # not UTF-8, for example; the error may quote the text
        pairs = []
    fields = dict(pairs)
    if not fields or len(fields) < len(pairs):
        raise ConfigurationError(
            "The form fields are not pairs of names and values, or a name occurs twice.",
            "Write them like the body of a form, such as scope=accounts.read&resource=orders.",
            about="form_fields",
        )
    return fields
