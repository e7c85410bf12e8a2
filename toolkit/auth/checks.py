"""Credential text, checked when credentials are made: httpx would quote a bad one in its error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolkit.core.problem import Problem, attempt
from toolkit.core.secret import Secret

_PROFILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_ALGORITHM: Final = re.compile(r"[A-Za-z0-9-]{1,20}\Z")
_FIELD_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}\Z")  # RFC 6749 section 8.2
_OWN_FIELDS: Final = ("grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type")
# RFC 6749 section 2.3: one authentication method a request. These are grants or methods of their own.
_OTHER_METHODS: Final = (
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
LONGEST_ASSERTION_LIFETIME: Final = 3600  # seconds


class Checks:
    """Checks the arguments of a constructor one by one, and raises the first problem when all of them are hidden.

    Each method returns the value, or a harmless one in its place: a constructor assigns it to its own
    parameter, so that the frame that raises holds nothing that was given wrongly.
    """

    def __init__(self) -> None:
        self._problem: Problem | None = None

    def done(self) -> None:
        """Raise the first problem, if there was one.

        Raises:
            ConfigurationError: a value is malformed.
        """
        if self._problem is not None:
            raise self._problem.error()

    def text(self, value: object, what: str) -> str:
        """A run of printable ASCII characters."""
        problem = _text_problem(value, what)
        return "" if self._noted(problem) else str(value)

    def optional_text(self, value: object, what: str) -> str | None:
        """The same, or None."""
        return None if value is None else self.text(value, what)

    def secret(self, value: object, what: str) -> Secret:
        """The same as `text`, as a Secret or text, for a Secret."""
        return Secret(self.text(value.reveal() if isinstance(value, Secret) else value, what))

    def passphrase(self, value: object) -> Secret | None:
        """Any text but none at all, as a Secret or text, for a Secret; or None."""
        if value is None:
            return None
        text = value.reveal() if isinstance(value, Secret) else value
        if isinstance(text, str) and text:
            return Secret(text)
        what = "is empty" if isinstance(text, str) else f"is {type(text).__name__}, not text"
        self._noted(Problem(f"The passphrase {what}.", "Give it as a string, or leave it out."))
        return None

    def profile_name(self, value: object) -> str:
        """A name that is safe in a file name and in a recording."""
        if isinstance(value, str) and _PROFILE_NAME.match(value):
            return value
        self._noted(
            Problem(
                "A profile name is up to 64 letters, digits, dots, hyphens and underscores, and starts with one "
                "of the first two.",
                'Use one such as "default".',
            )
        )
        return ""

    def algorithm(self, value: object) -> str | None:
        """What may be the name of an algorithm, and so be quoted in an error; or None."""
        if value is None or (isinstance(value, str) and _ALGORITHM.match(value)):
            return value
        self._noted(Problem("The algorithm is no JWS algorithm.", "Leave it out, or write it like ES256."))
        return None

    def lifetime(self, value: object) -> int:
        """Whole seconds for which an assertion is good: 1 to 3600."""
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LONGEST_ASSERTION_LIFETIME:
            return value
        self._noted(
            Problem(
                f"The assertion lifetime is not a whole number of seconds from 1 to {LONGEST_ASSERTION_LIFETIME}.",
                "Leave assertion_lifetime out for the usual 60.",
            )
        )
        return 0

    def form_fields(self, value: object) -> Mapping[str, str]:
        """Further form fields of the token request, as a mapping that does not change."""
        fields = {} if value is None else attempt(lambda: dict(value)) if isinstance(value, Mapping) else None
        if fields is None:
            self._noted(
                Problem(
                    f"The form fields are {type(value).__name__}, not a mapping.",
                    'Give them like {"scope": "accounts.read"}.',
                )
            )
        elif not any(self._noted(_field_problem(name, text)) for name, text in fields.items()):
            return MappingProxyType(fields)
        return MappingProxyType({})

    def _noted(self, problem: Problem | None) -> bool:
        self._problem = self._problem or problem
        return problem is not None


def _text_problem(value: object, what: str) -> Problem | None:
    if not isinstance(value, str):
        return Problem(f"The {what} is {type(value).__name__}, not text.", f"Give the {what} as a string.")
    if not value:
        return Problem(f"The {what} is empty.", f"Give the {what} that the service issued.")
    if value != value.strip() or not value.isascii() or not value.isprintable():
        return Problem(
            f"The {what} holds a line break, a control character, space around it, or a character beyond ASCII.",
            "Copy it again; it is one run of printable characters.",
        )
    return None


def _field_problem(name: object, text: object) -> Problem | None:
    if not isinstance(name, str) or not _FIELD_NAME.match(name):
        return Problem(
            "The name of a form field is up to 64 letters, digits, dots, hyphens and underscores.",
            'Name it as the service does, such as "scope".',
        )
    plain = name.lower()
    if plain in _OWN_FIELDS:
        return Problem(f"The form field {plain} is set from the credentials.", "Leave it out of form_fields.")
    if plain in _OTHER_METHODS:
        return Problem(
            f"The form field {plain} belongs to another way of asking for a token; a request has one.",
            "Leave it out of form_fields.",
        )
    if not isinstance(text, str) or not text or not text.isprintable():
        return Problem(
            f"The form field {name} is not text of printable characters.",
            "Give one line of text, or leave the field out.",
        )
    return None
