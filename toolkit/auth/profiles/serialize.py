"""Credentials taken apart into the texts of their fields, and made of them again."""

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
_NO_TYP: Final = "none"  # an empty text counts as unset
_LONGEST_ALGORITHM: Final = 5  # characters
_WHOLE_NUMBER: Final = re.compile(r"[0-9]{1,9}\Z")

Default = TypeVar("Default", str, None)


def decompose(credentials: Credentials) -> dict[str, Secret]:
    """The fields of these credentials, from which `compose` makes equal ones; a private key as PKCS#8 PEM.

    What is as it is by default is left out, and a passphrase has done its work.

    Raises:
        ConfigurationError: their private key is kept elsewhere, so there is nothing to save.
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
            f"{type(credentials).__name__} is no credentials.", "Give a KeyPair, a ClientSecret or a ClientKey."
        )
    if not isinstance(credentials.private_key, LocalKey):
        raise ConfigurationError(
            "The private key is kept elsewhere, by a signer; there is nothing to save.",
            "Make the ClientKey from its signer wherever you need it.",
        )
    if credentials.assertion_typ == _NO_TYP:
        raise ConfigurationError(
            f'An assertion type "{_NO_TYP}" cannot be saved: it stands for no type.', "Leave assertion_typ out."
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
    """Credentials of a kind, of the texts of its fields; those that it requires are there.

    Raises:
        ConfigurationError: a text is malformed; it is not quoted.
    """
    # Nothing of what is revealed here has a name: a verbose traceback shows the local variables of this frame.
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
    """The name of an algorithm, which an error may quote; anything longer may be a secret that went astray."""
    if text is not None and len(text.reveal()) > _LONGEST_ALGORITHM:
        raise ConfigurationError("The algorithm is no JWS algorithm.", "Leave it out, or write it like ES256.")
    return None if text is None else text.reveal()


def _seconds(text: Secret | None) -> int:
    if text is None:
        return ASSERTION_LIFETIME
    if _WHOLE_NUMBER.match(text.reveal()) is None:
        raise ConfigurationError("The lifetime of an assertion is no whole number of seconds.", "Write it like 60.")
    return int(text.reveal())


def _form_field_texts(credentials: ClientSecret | ClientKey) -> dict[str, Secret]:
    fields = credentials.form_fields
    return {"form_fields": Secret(urlencode(dict(fields)))} if fields else {}


def _form_fields(text: Secret | None) -> dict[str, str] | None:
    """Form fields as they are sent (application/x-www-form-urlencoded): name to text."""
    if text is None:
        return None
    pairs = _pairs(text)
    fields = dict(pairs)
    if not fields or len(fields) < len(pairs):
        del pairs, fields
        raise ConfigurationError(
            "The form fields are no pairs of names and texts, or one is given twice.",
            "Write them as a form is sent, such as scope=accounts.read&resource=orders.",
        )
    return fields


def _pairs(text: Secret) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.reveal(), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:  # also where the text is not UTF-8; its message may quote the text
        return []
