"""The fields to type credentials into, and how typed texts become credentials: plain values, no widgets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from toolkit.auth.credentials import Credentials
from toolkit.auth.kinds import ClientKey, ClientSecret, KeyPair, Scheme
from toolkit.auth.signers import ALGORITHMS
from toolkit.auth.typed_secrets import field_in_words
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

_SCOPE_PART: Final = re.compile(r"[!#-\[\]-~]+")  # RFC 6749 appendix A.4
HOW_TO_GIVE_A_KEY: Final = "Choose its file, or paste the whole text of the file."


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form, for one part of the credentials.

    Attributes:
        name: the argument of the credentials that the text is for, such as "client_secret"; or "scope".
        masked: True if the typed text is hidden.
        is_key: True if the field takes a private key, which may come from a file.
        is_proof: True for the secret itself, which must be typed again if it is refused; False for the other parts.
        is_option: True for a part that most services do not need; the page shows it below "More options".
        hint: what an empty option means, in a few words.
        choices: texts to choose from, each with its label; empty if any text can be typed.
    """

    name: str
    masked: bool = True
    is_key: bool = False
    is_proof: bool = True
    is_option: bool = False
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """The label on the panel: "Client secret"."""
        return field_in_words(self.name)


def _option(name: str, hint: str = "", choices: tuple[tuple[str, str], ...] = ()) -> Field:
    return Field(name, masked=False, is_proof=False, is_option=True, hint=hint, choices=choices)


_CLIENT_ID: Final = Field("client_id", masked=False, is_proof=False)
_SCOPE: Final = _option("scope", "Leave it empty for the usual one. Put a space between several.")
_SCHEMES: Final = (("", "two headers (the usual way)"), ("basic", "HTTP Basic"))
_ALGORITHMS: Final = (("", "the usual one for the key"), *((name, name) for name in ALGORITHMS))
FIELDS: Final[Mapping[CredentialKind, tuple[Field, ...]]] = {
    CredentialKind.KEY_PAIR: (
        Field("key_id", is_proof=False),
        Field("secret_key"),
        _option("scheme", choices=_SCHEMES),
    ),
    CredentialKind.CLIENT_SECRET: (_CLIENT_ID, Field("client_secret"), _SCOPE),
    CredentialKind.CLIENT_KEY: (
        _CLIENT_ID,
        Field("private_key", is_key=True),
        _option("key_id", "Leave it empty to use the ID in the key, if it has one."),
        _option("algorithm", choices=_ALGORITHMS),
        _option("audience", "Leave it empty for the URL of the token endpoint; “issuer” is the auth address."),
        _SCOPE,
    ),
}
PASSPHRASE: Final = Field("passphrase")  # shown when a private key turns out to be encrypted


def make_credentials(
    kind: CredentialKind, environment: Environment, texts: Mapping[str, Secret | Path], *, name: str
) -> Credentials:
    """Make credentials from typed texts.

    Args:
        kind: the kind of the credentials.
        environment: the environment of the credentials.
        texts: the typed texts, by the names of the fields; a private key may be a path to its file. Options and a
            passphrase may be empty or missing.
        name: the name of the credentials in this notebook.

    Raises:
        ToolkitError: if a text is missing or malformed, or the environment does not take this kind.
    """
    first, second = (texts[field.name] for field in FIELDS[kind][:2])
    options = {field.name: _stripped(texts[field.name]) for field in FIELDS[kind] if field.name in texts}
    if kind is CredentialKind.KEY_PAIR:
        scheme = cast("Scheme", options.get("scheme") or "headers")
        return KeyPair(_stripped(first), _stripped(second), environment=environment, name=name, scheme=scheme)
    form_fields = _scope_field(options.get("scope", ""))
    if kind is CredentialKind.CLIENT_SECRET:
        return ClientSecret(
            _stripped(first), _stripped(second), environment=environment, name=name, form_fields=form_fields
        )
    if _stripped(first) and not _stripped(second):
        raise ConfigurationError("The private key is missing.", HOW_TO_GIVE_A_KEY, about="private_key")
    typed = texts.get(PASSPHRASE.name)
    passphrase = typed if isinstance(typed, Secret) and typed.reveal() else None  # spaces may be part of it
    return ClientKey(
        _stripped(first),
        second,
        environment=environment,
        name=name,
        passphrase=passphrase,
        key_id=options.get("key_id") or None,
        algorithm=options.get("algorithm") or None,
        audience=options.get("audience") or "token-endpoint",
        form_fields=form_fields,
    )


def _scope_field(typed: str) -> dict[str, str] | None:
    """Return the form field of a scope, whose parts are one space apart (RFC 6749 section 3.3); None without one."""
    parts = typed.split()
    if not all(map(_SCOPE_PART.fullmatch, parts)):
        raise ConfigurationError(
            "The scope has a character that no scope can have.",
            "Type its parts as the service names them.",
            about="scope",
        )
    return {"scope": " ".join(parts)} if parts else None


def _stripped(text: Secret | Path) -> str:
    """Return a text without the white space around it, which often comes with pasted text."""
    return (text.reveal() if isinstance(text, Secret) else str(text)).strip()
