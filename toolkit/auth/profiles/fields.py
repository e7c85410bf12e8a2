"""The fields of credentials, and the fields that one place has for a profile.

Fields have the same names in variables and files. A field that ends in `_file` names a file with the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.serialize import PASSPHRASE, compose
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless
from toolkit.local.files import expanded, lies_in, read_text

REQUIRED: Final[Mapping[CredentialKind, tuple[str, ...]]] = {
    CredentialKind.KEY_PAIR: ("key_id", "secret_key"),
    CredentialKind.CLIENT_SECRET: ("client_id", "client_secret"),
    CredentialKind.CLIENT_KEY: ("client_id", "private_key"),
}
_OPTIONAL: Final[Mapping[CredentialKind, tuple[str, ...]]] = {
    CredentialKind.KEY_PAIR: ("scheme",),
    CredentialKind.CLIENT_SECRET: ("form_fields",),
    CredentialKind.CLIENT_KEY: (
        PASSPHRASE,
        "private_key_id",
        "algorithm",
        "audience",
        "assertion_typ",
        "assertion_lifetime",
        "form_fields",
    ),
}
# Each field that names a file, and the field whose value is in the file.
_FILES: Final = {f"{field}_file": field for field in ("secret_key", "client_secret", "private_key", PASSPHRASE)}
_ONLY_CLIENT_KEY: Final = {"private_key", *_OPTIONAL[CredentialKind.CLIENT_KEY]} - {"form_fields"}


def fields_of(environment: Environment) -> frozenset[str]:
    """Return the fields that credentials of this environment may have."""
    own = {field for kind in environment.rules.credentials for field in (*REQUIRED[kind], *_OPTIONAL[kind])}
    return frozenset(own | {file for file, field in _FILES.items() if field in own})


FIELDS: Final = frozenset[str]().union(*map(fields_of, Environment))


@dataclass(frozen=True, slots=True)
class Profile:
    """Credentials with a name, for one environment, which can be loaded by both.

    Attributes:
        name: the name to load them by; "default" if the source names none.
        environment: the environment that they belong to.
        kind: key pair, client secret or client key.
        source: where they come from, in words: "environment variables", ".env", "keyring" or a file.
    """

    name: str
    environment: Environment
    kind: CredentialKind
    source: str


@dataclass(frozen=True, slots=True)
class ProfileFields:
    """The fields that one place has for a profile.

    Attributes:
        environment: the environment of the profile.
        name: name of the profile.
        source: the place in words, for messages and lists.
        values: text of each field. All are Secrets, because a secret may stand in the wrong field.
        label: returns the place's own name of a field, such as the variable.
        folder: where relative paths of files start.
        confined: True if those files must lie in that folder.
    """

    environment: Environment
    name: str
    source: str
    values: Mapping[str, Secret]
    label: Callable[[str], str]
    folder: Path
    confined: bool = False

    def profile(self) -> Profile:
        """Return the profile as a list shows it. Raises the errors of `kind`."""
        return Profile(self.name, self.environment, self.kind(), self.source)

    def kind(self) -> CredentialKind:
        """Return the kind of credentials that the fields make up.

        Raises:
            CredentialsMismatch: if the environment does not take a field.
            ConfigurationError: if a field is missing, is given twice, or cannot be used with the others.
        """
        self._check_environment()
        for file, field in _FILES.items():
            if {file, field} <= self.values.keys():
                raise self._both_set({file, field})
        present = {_FILES.get(field, field) for field in self.values}
        if {"client_secret", "private_key"} <= present:
            raise self._both_set({self._field_in_use("client_secret"), self._field_in_use("private_key")})
        kind = self._intended_kind(present)
        if missing := [field for field in REQUIRED[kind] if field not in present]:
            raise self._incomplete(missing)
        self._check_kind(kind)
        return kind

    def check_fits(self, kind: CredentialKind) -> None:
        """Check that the fields, of which some may still be missing, can be used with a kind of credentials.

        Raises:
            CredentialsMismatch: if the environment does not take a field.
            ConfigurationError: if the kind does not take a field.
        """
        self._check_environment()
        self._check_kind(kind)

    @frameless
    def credentials(self) -> Credentials:
        """Return the credentials that the fields make up.

        Raises:
            CredentialsMismatch: if the environment does not take a field.
            ConfigurationError: if `kind` raises it, a value is malformed, or a file cannot be read.
        """
        kind = self.kind()
        texts = {_FILES.get(field, field): self._text(field) for field in self.values}
        try:
            credentials = compose(kind, texts, self.environment, self.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"From {self.source}: {error.what}", error.next_step, about=error.about) from None
        credentials.note_source(self.source)
        return credentials

    def _check_environment(self) -> None:
        if foreign := self.values.keys() - fields_of(self.environment):
            kinds = " or a ".join(sorted(self.environment.rules.credentials))
            raise CredentialsMismatch(
                f"{self._labels(foreign)} in {self.source} cannot be for {self.environment}.",
                f"A {self.environment.rules.holder} uses a {kinds}.",
                about=min(foreign),
            )

    def _check_kind(self, kind: CredentialKind) -> None:
        present = {_FILES.get(field, field) for field in self.values}
        if useless := present - {*REQUIRED[kind], *_OPTIONAL[kind]}:
            raise ConfigurationError(
                f"{self._labels(useless)} in {self.source} cannot be used with a {kind}.",
                "Remove it.",
                about=min(useless),
            )

    def _intended_kind(self, present: set[str]) -> CredentialKind:
        if CredentialKind.KEY_PAIR in self.environment.rules.credentials:
            return CredentialKind.KEY_PAIR
        is_key = "client_secret" not in present and _ONLY_CLIENT_KEY & present
        return CredentialKind.CLIENT_KEY if is_key else CredentialKind.CLIENT_SECRET

    def _text(self, field: str) -> Secret:
        """Return the value of a field, read from its file if the field names one."""
        if field not in _FILES:
            return self.values[field]
        # The path is not quoted: a secret may stand in its place by mistake.
        what = f"the file that {self.label(field)} in {self.source} names"
        next_step = "Write its path in full, and let only yourself read it."
        try:
            file = self.folder / expanded(self.values[field].reveal())
        except ConfigurationError:
            raise ConfigurationError(
                f"Cannot read {what}: the home folder in its path does not exist.", next_step, about=field
            ) from None
        if self.confined and not lies_in(file, self.folder):
            raise ConfigurationError(
                f"{self.label(field)} in {self.source} names a file outside the folder of the project.",
                f"A project may not point at secrets elsewhere: set {self.label(field)} as an environment variable, "
                "or save the credentials with save_credentials().",
                about=field,
            )
        try:
            content = read_text(file, what, next_step)
        except ConfigurationError as error:
            raise ConfigurationError(error.what, error.next_step, about=field) from None
        # The line break that editors add does not belong to the secret, but a passphrase may have spaces.
        text = Secret(content.strip("\r\n") if _FILES[field] == PASSPHRASE else content.strip())
        if not text:
            raise ConfigurationError(f"Cannot read {what}: it is empty.", next_step, about=field)
        return text

    def _field_in_use(self, field: str) -> str:
        return field if field in self.values else f"{field}_file"

    def _both_set(self, fields: set[str]) -> ConfigurationError:
        return ConfigurationError(
            f"{self._labels(fields)} in {self.source} are both set, but only one of them can be used.",
            "Keep one of them, and remove the other.",
            about=min(fields),
        )

    def _incomplete(self, missing: list[str]) -> ConfigurationError:
        needed = [self.label(field) for field in missing]
        if "client_secret" in missing:
            secrets = (self.label(field) for field in ("client_secret", "private_key", "private_key_file"))
            needed[-1] = f"one of {', '.join(secrets)}"
        present = self._labels(self.values)
        return ConfigurationError(
            f"The credentials for {self.environment} in {self.source} are incomplete: "
            f"{present or 'nothing'} without {' and '.join(needed)}.",
            "Add what is missing, or remove the rest.",
            about=missing[0],
        )

    def _labels(self, fields: Iterable[str]) -> str:
        return " and ".join(sorted(map(self.label, fields)))
