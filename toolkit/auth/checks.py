"""Checks of the text in credentials, made by their constructors: httpx would quote malformed text in its error.

Each function returns the value to keep, or raises a ConfigurationError about the argument. Call them below a
`frameless` function, because their frames hold the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolkit.core.document import Placeholder
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

LONGEST_ASSERTION_LIFETIME: Final = 3600  # seconds
_PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_ALGORITHM: Final = re.compile(r"[A-Za-z0-9-]{1,6}\Z")  # a longer text may be a misplaced secret
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")  # RFC 6749 section 8.2
_FIELDS_WE_SET: Final = ("grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type")
# A request has one authentication method (RFC 6749 section 2.3). These are other grants and methods.
_FIELDS_OF_OTHER_METHODS: Final = (
    "actor_token",
    "assertion",
    "auth_req_id",
    "code",
    "code_verifier",
    "device_code",
    "password",
    "refresh_token",
    "subject_token",
    "username",
)
# What is asked for (RFC 6749 section 3.3, RFC 8707 section 2). Any other field may be a part of the credentials.
_NOT_SECRET: Final = frozenset({"scope", "audience", "resource"})
_LABELS: Final = {"key_id": "key ID", "client_id": "client ID", "assertion_typ": "assertion type"}


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

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("form fields cannot be pickled: they may be a part of credentials")

    def __copy__(self) -> FormFields:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FormFields:
        return self

    def recorded(self) -> dict[str, str]:
        """Return the fields as a recording shows them: with a placeholder for each value that may be secret."""
        return {name: self[name] if name.lower() in _NOT_SECRET else Placeholder.SECRET for name in self}

    def secrets(self) -> list[Secret]:
        """Return the values that may be secret."""
        return [secret for name, secret in self._secrets.items() if name.lower() not in _NOT_SECRET]


def text(value: object, about: str) -> str:
    """Check that a value is one run of printable ASCII characters, and return it.

    Args:
        value: the value of the argument.
        about: the name of the argument.
    """
    label = _LABELS.get(about, about.replace("_", " "))
    if not isinstance(value, str):
        raise ConfigurationError(
            f"The {label} is of type {type(value).__name__}, not text.", f"Pass the {label} as a string.", about=about
        )
    if not value:
        raise ConfigurationError(f"The {label} is empty.", f"Use the {label} that the service issued.", about=about)
    if flaw := _flaw(value):
        raise ConfigurationError(
            f"The {label} {flaw}.", "Copy it again; it is one run of printable characters.", about=about
        )
    return value


def _flaw(value: str) -> str:
    """Return what keeps a value from being one run of printable ASCII characters, or ""."""
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
    if value is None:
        return None
    revealed = value.reveal() if isinstance(value, Secret) else value
    if isinstance(revealed, str) and revealed:
        return Secret(revealed)
    reason = "is empty" if isinstance(revealed, str) else f"is of type {type(revealed).__name__}, not text"
    raise ConfigurationError(f"The passphrase {reason}.", "Pass it as a string, or leave it out.", about="passphrase")


def profile_name(value: object) -> str:
    """Check that a profile name is safe in file names and in recordings, and return it."""
    if isinstance(value, str) and _PROFILE_NAME.match(value):
        return value
    raise ConfigurationError(
        "This is not a profile name, which has up to 64 letters, digits, dots, hyphens and underscores.",
        'Use a name such as "default", which begins with a letter or digit.',
        about="name",
    )


def algorithm(value: object) -> str | None:
    """Check the form of an algorithm's name, so that errors may quote it; None is accepted."""
    if value is None or (isinstance(value, str) and _ALGORITHM.match(value)):
        return value
    raise ConfigurationError(
        "The algorithm is not a JWS algorithm.", "Leave it out, or write it like ES256.", about="algorithm"
    )


def assertion_lifetime(value: object) -> int:
    """Check that the lifetime of assertions is a whole number of seconds from 1 to 3600, and return it."""
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LONGEST_ASSERTION_LIFETIME:
        return value
    raise ConfigurationError(
        f"The assertion lifetime is not a whole number of seconds from 1 to {LONGEST_ASSERTION_LIFETIME}.",
        "Leave assertion_lifetime out for the usual 60 seconds.",
        about="assertion_lifetime",
    )


def form_fields(value: object) -> FormFields:
    """Return further form fields of the token request as an immutable copy; None gives an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise ConfigurationError(
            f"The form fields are of type {type(value).__name__}, not a mapping.",
            'Pass them like {"scope": "accounts.read"}.',
            about="form_fields",
        )
    fields = dict(value or {})
    for name, content in fields.items():
        _check_form_field(name, content)
    return FormFields(fields)


def _check_form_field(name: object, content: object) -> None:
    if not isinstance(name, str) or not _FIELD_NAME.match(name):
        raise _form_field_error(
            "The name of a form field must have 1 to 64 letters, digits, dots, hyphens and underscores.",
            'Name it as the service does, such as "scope".',
        )
    lower = name.lower()
    if lower in _FIELDS_WE_SET:
        raise _form_field_error(f"The form field {lower} is set from the credentials.", "Leave it out of form_fields.")
    if lower in _FIELDS_OF_OTHER_METHODS:
        raise _form_field_error(
            f"The form field {lower} belongs to another way to ask for a token, and a request can use only one.",
            "Leave it out of form_fields.",
        )
    if not isinstance(content, str) or not content or not content.isprintable():
        raise _form_field_error(
            f"The form field {name} is not text of printable characters.",
            "Give one line of text, or leave the field out.",
        )


def _form_field_error(what: str, next_step: str) -> ConfigurationError:
    return ConfigurationError(what, next_step, about="form_fields")
