"""Checks of the texts in credentials, made by their constructors: httpx would quote malformed text in its error.

Each function returns the value to keep, or raises a ConfigurationError about the argument, which does not quote it.
Call them below a `frameless` function, because their frames hold the value.
"""

from __future__ import annotations

import re
from typing import Final

from toolkit.core.arguments import wrong_type
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

_PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")


def text(value: object, about: str) -> str:
    """Check that a value is one run of printable ASCII characters, and return it."""
    if not isinstance(value, str):
        raise wrong_type(about, "text", value, "Pass it as a string.")
    if flaw := _flaw(value):
        label = about.replace("_", " ").replace(" id", " ID")
        raise ConfigurationError(f"The {label} {flaw}.", "Copy it again as the service issued it.", about=about)
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
    raise ConfigurationError("The passphrase is empty or not text.", "Leave it out, or pass it.", about="passphrase")


def profile_name(value: object) -> str:
    """Check that a profile name is safe in file names and in recordings, and return it."""
    if isinstance(value, str) and _PROFILE_NAME.match(value):
        return value
    what = "This is not a profile name, which has up to 64 letters, digits, dots, hyphens and underscores."
    raise ConfigurationError(what, 'Use a name such as "default", which begins with a letter or digit.', about="name")
