"""Credentials of any kind, bound to one environment: who is calling, and what profiles and displays say about it.

Section 1, rule 5 of the service document: credentials of one account or environment are not accepted by another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from toolkit.auth import checks
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import Secret
from toolkit.core.text import shell_word

if TYPE_CHECKING:
    from toolkit.auth.authorizers import BearerAuthorizer
    from toolkit.auth.tokens.token import Token
    from toolkit.core.clock import Clock


class Field(NamedTuple):
    """A field of credentials in profiles: variables, `.env` and saved files."""

    name: str
    argument: str = ""  # the argument and attribute that it is for, if their name is another
    is_required: bool = False
    is_secret: bool = False  # a second field, `<name>_file`, may name a file with the value
    identifies: bool = False  # credentials that differ in it are others, besides the secret itself
    placeholder: str = ""  # what recordings call the secret
    read: Callable[[Secret], Any] = Secret.reveal  # makes the argument of its text
    write: Callable[[Any], Any] = lambda value: value  # the text of the attribute; None leaves it out

    def text_of(self, credentials: Credentials) -> Secret | None:
        """Return the text of this field for credentials, or None if it is left out."""
        text = self.write(getattr(credentials, self.argument or self.name, None))
        return None if text is None else Secret(text if isinstance(text, Secret) else str(text))


class Credentials:
    """Credentials of any kind: immutable, never pickled, never shown.

    Attributes:
        kind: which of the document's kinds they are.
        fields: the fields that profiles have for this kind.
        environment: the one environment they belong to.
        name: name of the profile; recordings tell callers apart by it.
        loaded_from: where they were loaded from, in words; "" if code made them.
        binding: the destinations that they were saved for, by their names; None unless they are a saved profile.
        is_practice: True if a practice service made them up; no other service accepts them.
    """

    kind: CredentialKind
    fields: ClassVar[tuple[Field, ...]] = ()
    environment: Environment
    name: str
    loaded_from: str
    binding: Mapping[str, str] | None
    is_practice: bool

    def __init__(self, *, environment: Environment | str, name: str) -> None:
        self.environment = as_environment(environment)
        rules = self.environment.rules
        if self.kind not in rules.credentials:
            uses = f"A {rules.holder} uses a {' or a '.join(sorted(rules.credentials))}."
            what = f"The environment {self.environment} does not take a {self.kind}."
            raise CredentialsMismatch(what, uses, about="environment")
        self.name = checks.profile_name(name)
        vars(self)["is_practice"] = False
        self.note_source("")

    def note_practice(self) -> None:
        """Note that a practice service made these credentials up."""
        vars(self)["is_practice"] = True

    def note_source(self, loaded_from: str, binding: Mapping[str, str] | None = None) -> None:
        """Note where these credentials were loaded from, and the destinations that they were saved for."""
        vars(self).update(loaded_from=loaded_from, binding=binding)

    def where_to_correct(self) -> str:
        """Return a sentence that names the profile of refused credentials and says where to correct it.

        It is empty for credentials that code made, and names no file, because the output of a notebook is the same on
        every machine.
        """
        if not self.loaded_from:
            return ""
        if self.binding is None:
            return f"The credentials are the profile {self.name} in {self.loaded_from}: correct them there."
        command = f"toolkit credentials add {shell_word(self.name)} --environment {self.environment}"
        return f"The credentials are the saved profile {self.name}; to save others in their place: `{command}`."

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} for {self.environment}>"

    def __setattr__(self, attribute: str, value: Any = None) -> None:
        if hasattr(self, attribute):
            raise AttributeError(f"{type(self).__name__} is immutable; make new credentials instead")
        super().__setattr__(attribute, value)

    __delattr__ = __setattr__

    def __copy__(self) -> Credentials:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Credentials:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("credentials cannot be pickled; tk.lend(session, cluster) lends a session to a Dask cluster")

    def secrets(self) -> tuple[tuple[str, Secret], ...]:
        """Return all secrets, each with the name of its placeholder in recordings."""
        return tuple((each.placeholder, getattr(self, each.name)) for each in self.fields if each.placeholder)

    def proof(self) -> str:
        """Return the secret that proves who calls, in one form, without the IDs and options that go with it."""
        return self.secrets()[-1][1].reveal()

    def borrowing_authorizer(self, clock: Clock, number: Callable[[Token], int]) -> BearerAuthorizer | None:  # noqa: ARG002
        """Return what gets the tokens of these credentials from somebody else, or None if they request their own."""
        return None

    def _identity(self) -> tuple[str, ...]:
        """Return the texts that tell these credentials from others of their kind and environment, secrets included."""
        texts = (each.text_of(self) for each in self.fields if each.identifies)
        return self.proof(), *("" if text is None else text.reveal() for text in texts)

    def fingerprint(self) -> str:
        """Return a digest that is equal for equal credentials, to share one token among them. Do not show it."""
        return hashlib.sha256(self.identity()).hexdigest()

    def token_identity(self) -> bytes | None:
        """Return what the key that seals stored tokens is derived from; None if it cannot be known elsewhere."""
        return self.identity()

    def identity(self) -> bytes:
        """Return everything that a token depends on, secrets included."""
        parts = (part.encode("utf-8", "surrogatepass") for part in (self.kind, self.environment, *self._identity()))
        return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def as_environment(environment: Environment | str) -> Environment:
    """Return the environment of this name."""
    value: object = environment
    if isinstance(value, Credentials):
        what = "The first argument of a session is the name of an environment, but credentials were given."
        raise ConfigurationError(what, "Write tk.Session(credentials=...).", about="environment")
    return Environment(environment)
