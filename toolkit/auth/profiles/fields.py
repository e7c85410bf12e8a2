"""The fields that credentials consist of, named alike in variables and files, and what of them one source gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolkit.auth.credentials import Credentials
from toolkit.auth.profiles.profile import Profile
from toolkit.auth.profiles.serialize import PASSPHRASE, compose
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch
from toolkit.core.secret import Secret
from toolkit.local.files import lies_in, read_text

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
# A field that names the file in which the value of another stands.
_FILES: Final = {f"{field}_file": field for field in ("secret_key", "client_secret", "private_key", PASSPHRASE)}
# What only a client key has, whichever of them is given.
_OF_A_KEY: Final = {"private_key", *_OPTIONAL[CredentialKind.CLIENT_KEY]} - {*_OPTIONAL[CredentialKind.CLIENT_SECRET]}


def fields_of(environment: Environment) -> frozenset[str]:
    """The fields that credentials of this environment may have."""
    own = {field for kind in environment.rules.credentials for field in (*REQUIRED[kind], *_OPTIONAL[kind])}
    return frozenset(own | {file for file, field in _FILES.items() if field in own})


FIELDS: Final = frozenset[str]().union(*map(fields_of, Environment))


@dataclass(frozen=True, slots=True)
class Given:
    """What one source gives for one profile.

    Attributes:
        environment: the environment that the source says it is for.
        name: profile name.
        source: where it comes from, in words.
        values: text of each field given. All are kept as secrets: a value may stand under the wrong field.
        label: how the source names a field, such as the variable of it.
        folder: where relative paths of files start.
        confined: whether those files must lie in that folder.
    """

    environment: Environment
    name: str
    source: str
    values: Mapping[str, Secret]
    label: Callable[[str], str]
    folder: Path
    confined: bool = False

    def profile(self) -> Profile:
        return Profile(self.name, self.environment, self.kind(), self.source)

    def kind(self) -> CredentialKind:
        """What kind of credentials the fields make up.

        Raises:
            CredentialsMismatch: a field belongs to a kind that the environment does not take.
            ConfigurationError: a field is missing, given twice, or has no use beside the others.
        """
        given = {_FILES.get(field, field) for field in self.values}
        if foreign := self.values.keys() - fields_of(self.environment):
            taken = " or a ".join(sorted(self.environment.rules.credentials))
            raise CredentialsMismatch(
                f"{self._labels(foreign)} in {self.source} cannot be for {self.environment}.",
                f"A {self.environment.rules.holder} uses a {taken}.",
            )
        for file, field in _FILES.items():
            if {file, field} <= self.values.keys():
                raise self._contradiction({file, field})
        if {"client_secret", "private_key"} <= given:
            raise self._contradiction({self._as_given("client_secret"), self._as_given("private_key")})
        kind = self._likely_kind(given)
        if missing := [field for field in REQUIRED[kind] if field not in given]:
            raise self._half_given(missing, given)
        if useless := given - {*REQUIRED[kind], *_OPTIONAL[kind]}:
            raise ConfigurationError(
                f"{self._labels(useless)} in {self.source} has no use with a {kind}.", "Remove it."
            )
        return kind

    def credentials(self) -> Credentials:
        """The credentials that the fields make up.

        Raises:
            CredentialsMismatch: a field belongs to a kind that the environment does not take.
            ConfigurationError: as `kind` does; a value is malformed, or a file cannot be read.
        """
        kind = self.kind()
        texts = {_FILES.get(field, field): self._text(field) for field in self.values}
        try:
            return compose(kind, texts, self.environment, self.name)
        except ConfigurationError as error:
            raise ConfigurationError(f"From {self.source}: {error.what}", error.next_step) from None

    def _likely_kind(self, given: set[str]) -> CredentialKind:
        if CredentialKind.KEY_PAIR in self.environment.rules.credentials:
            return CredentialKind.KEY_PAIR
        is_key = "client_secret" not in given and _OF_A_KEY & given
        return CredentialKind.CLIENT_KEY if is_key else CredentialKind.CLIENT_SECRET

    def _text(self, field: str) -> Secret:
        if field not in _FILES:
            return self.values[field]
        what = f"the file that {self.label(field)} in {self.source} names"
        next_step = "Write its path in full, and let only yourself read it."
        if self.confined and not lies_in(self._path(field), self.folder):
            raise ConfigurationError(
                f"{self.label(field)} in {self.source} names a file beyond the folder of the project.",
                f"A project may not point at secrets elsewhere: set {self.label(field)} as an environment variable, "
                "or save the credentials with save_credentials().",
            )
        content = read_text(self._path(field), what, next_step)
        # The line end that editors add is no part of a secret; space may be one of a passphrase.
        text = Secret(content.strip("\r\n") if _FILES[field] == PASSPHRASE else content.strip())
        if not text:
            raise ConfigurationError(f"Cannot read {what}: it is empty.", next_step)
        return text

    def _path(self, field: str) -> Path:
        """What the field names. It may be no path at all but a secret, and is not quoted."""
        return self.folder / _expanded(Path(self.values[field].reveal()))

    def _as_given(self, field: str) -> str:
        return field if field in self.values else f"{field}_file"

    def _contradiction(self, fields: set[str]) -> ConfigurationError:
        return ConfigurationError(
            f"{self._labels(fields)} in {self.source} are given both.", "Keep one of them: they are told apart by it."
        )

    def _half_given(self, missing: list[str], given: set[str]) -> ConfigurationError:
        wanted = [self.label(field) for field in missing]
        if "client_secret" in missing:
            secrets = (self.label(field) for field in ("client_secret", "private_key", "private_key_file"))
            wanted[-1] = f"one of {', '.join(secrets)}"
        present = self._labels({self._as_given(field) for field in given})
        return ConfigurationError(
            f"The credentials for {self.environment} in {self.source} are half given: "
            f"{present or 'nothing'} without {' and '.join(wanted)}.",
            "Give what is missing, or remove the rest.",
        )

    def _labels(self, fields: set[str]) -> str:
        return " and ".join(sorted(map(self.label, fields)))


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # no home folder; the file is then not found
        return path
