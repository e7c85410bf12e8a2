"""Checks of the texts in credentials, made by their constructors: httpx would quote malformed text in its error.

Each function returns the value to keep, or raises a ConfigurationError about the argument, which does not quote it.
Call them below a `frameless` function, because their frames hold the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolkit.core.arguments import as_mapping, wrong_type
from toolkit.core.document import Placeholder
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

_PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")  # RFC 6749 section 8.2
# Set from the credentials, or part of another grant: a request has one method (RFC 6749 section 2.3).
_OTHER_FIELDS: Final = frozenset(
    "grant_type client_id client_secret client_assertion client_assertion_type actor_token assertion auth_req_id code "
    "code_verifier device_code password refresh_token subject_token username".split()
)
# What is asked for (RFC 6749 section 3.3, RFC 8707 section 2). Any other field may be a part of the credentials.
_NOT_SECRET: Final = frozenset({"scope", "audience", "resource"})


class FormFields(Mapping[str, str]):
    """Further fields of token requests, such as a scope, as an immutable mapping of names to values.

    What the service means by a field, only the user knows. So the repr shows the values only of fields that are never
    secret.
    """

    __slots__ = ("_secrets",)

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._secrets = {name: Secret(value) for name, value in fields.items()}

    def __getitem__(self, name: str) -> str:
        return self._secrets[name].reveal()

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return repr(self.recorded())

    def recorded(self) -> dict[str, str]:
        """Return the fields as a recording shows them: with a placeholder for each value that may be secret."""
        return {name: self[name] if name.lower() in _NOT_SECRET else Placeholder.SECRET for name in self}

    def secrets(self) -> list[Secret]:
        """Return the values that may be secret."""
        return [secret for name, secret in self._secrets.items() if name.lower() not in _NOT_SECRET]


def text(value: object, about: str) -> str:
    """Check that a value is one run of printable ASCII characters, and return it."""
    if not isinstance(value, str):
        raise wrong_type(about, "text", value, "Pass it as a string.")
    if flaw := _flaw(value):
        raise ConfigurationError(
            f"The {about.replace('_', ' ').replace(' id', ' ID')} {flaw}.",
            "Copy it again as the service issued it; it is one run of printable characters.",
            about=about,
        )
    return value


def _flaw(value: str) -> str:
    """Return what keeps a value from being one run of printable ASCII characters, or ""."""
    if not value:
        return "is empty"
    if "\n" in value or "\r" in value:
        return "contains a line break"
    if value != value.strip():
        return "begins or ends with a space"
    if not value.isascii():
        return "contains a character outside ASCII"
    return "" if value.isprintable() else "contains a control character"


def optional_text(value: object, about: str) -> str | None:
    """Check a value like `text`; None is accepted."""
    return None if value is None else text(value, about)


def secret(value: object, about: str) -> Secret:
    """Check text or the text of a Secret like `text`, and return it as a Secret."""
    return Secret(text(value.reveal() if isinstance(value, Secret) else value, about))


def passphrase(value: object) -> Secret | None:
    """Return a passphrase as a Secret; None is accepted. It may contain any characters."""
    if value is None or (isinstance(value, str | Secret) and value):
        return None if value is None else Secret(value)
    raise ConfigurationError(
        "The passphrase is empty or not text.", "Pass it as a string, or leave it out.", about="passphrase"
    )


def profile_name(value: object) -> str:
    """Check that a profile name is safe in file names and in recordings, and return it."""
    if isinstance(value, str) and _PROFILE_NAME.match(value):
        return value
    raise ConfigurationError(
        "This is not a profile name, which has up to 64 letters, digits, dots, hyphens and underscores.",
        'Use a name such as "default", which begins with a letter or digit.',
        about="name",
    )


def form_fields(value: object) -> FormFields:
    """Return further form fields of the token request as an immutable copy; None gives an empty one."""
    if value is None:
        return FormFields({})
    fields = dict(as_mapping(value, about="form_fields", example='{"scope": "accounts.read"}'))
    for name, content in fields.items():
        if not isinstance(name, str) or not _FIELD_NAME.match(name) or name.lower() in _OTHER_FIELDS:
            raise ConfigurationError(
                "A form field has a name that no field can have, or one of a field that is set from the credentials or "
                "belongs to another way to ask for a token.",
                'Name it as the service does, such as "scope".',
                about="form_fields",
            )
        if not isinstance(content, str) or not content or not content.isprintable():
            raise ConfigurationError(
                f"The form field {name} is not text of printable characters.",
                "Give one line of text, or leave the field out.",
                about="form_fields",
            )
    return FormFields(fields)
