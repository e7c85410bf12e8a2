"""Convert credentials to profile fields and back, and read profile fields from variables.

The variables TOOLKIT_<ENVIRONMENT>_<FIELD> and TOOLKIT_<ENVIRONMENT>__<PROFILE>_<FIELD> are read from the environment
or the project's `.env` file. The project may be a cloned repository, so its file may contain secrets but cannot pull in
secrets from elsewhere: process variables are not expanded in it, it must not be a link to a file outside the project,
and no value may name such a file. Another user's file is refused, because it could select another account.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from toolkit.auth.credentials import Credentials, Field
from toolkit.auth.kinds import KINDS
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError, CredentialsMismatch, ToolkitError, as_instance
from toolkit.core.secret import Secret
from toolkit.core.tracebacks import frameless
from toolkit.local.files import expanded, lies_in, read_text, shown
from toolkit.local.folders import ENV_FILE, belongs_to_stranger

DEFAULT: Final = "default"
PASSPHRASE: Final = "private_key_passphrase"  # noqa: S105 - the name of a field
REQUIRED: Final = {kind: tuple(field.name for field in KINDS[kind].fields if field.is_required) for kind in KINDS}
_FILE: Final = "_file"
_OWN_PLACES: Final = (
    "A project must not refer to secrets outside its folder. Set environment variables, or save the credentials with "
    "`toolkit credentials add`, or with save_credentials() in Python."
)
# For each kind, its fields by every name they can have, including `<name>_file`.
_FIELDS: Final[Mapping[CredentialKind, Mapping[str, Field]]] = {
    kind: {field.name: field for field in kind_class.fields}
    | {f"{field.name}{_FILE}": field for field in kind_class.fields if field.is_secret}
    for kind, kind_class in KINDS.items()
}
FIELDS: Final = frozenset[str]().union(*_FIELDS.values())


def kinds_of(environment: Environment) -> list[CredentialKind]:
    """Return the kinds of credentials that an environment accepts, in the order of the document."""
    return [kind for kind in CredentialKind if kind in environment.rules.credentials]


@dataclass(frozen=True, slots=True)
class Profile:
    """Named credentials for one environment.

    Attributes:
        name: the name to load them by; "default" if the source names none.
        environment: the environment that they belong to.
        kind: key pair, client secret or client key.
        source: "environment variables", ".env", "keyring" or a file.
    """

    name: str
    environment: Environment
    kind: CredentialKind
    source: str


@dataclass(frozen=True, slots=True)
class ProfileFields:
    """The fields of a profile that were found in one place."""

    environment: Environment
    name: str
    source: str  # the place in words, for messages and lists
    values: Mapping[str, Secret]  # all are Secrets, because a secret may be in the wrong field
    label: Callable[[str], str]  # returns what the place calls a field, such as a variable name
    folder: Path  # base folder of relative file paths
    confined: bool = False  # True if the files must be inside it

    def profile(self) -> Profile:
        """Return the entry for this profile in profile lists. Raises the same errors as `kind`."""
        return Profile(self.name, self.environment, self.kind(), self.source)

    def kind(self) -> CredentialKind:
        """Return the kind of credentials that the fields make up."""
        fitting = self._fitting(kinds_of(self.environment))
        present = [_FIELDS[fitting[0]][name].name for name in self.values]
        if len(set(present)) < len(present):
            raise self._error(self.values, "set both a value and its file, but only one can be used", "Remove one.")
        missing = [self._labels(name for name in REQUIRED[kind] if name not in present) for kind in fitting]
        if all(missing):
            what = f"cannot be used alone: credentials for {self.environment} also need {' or '.join(missing)}"
            raise self._error(self.values, what, "Add the missing fields, or remove the fields that are set.")
        return self.intended_kind()

    def intended_kind(self, wanted: CredentialKind | None = None) -> CredentialKind:
        """Return the requested kind, or else the kind that fits best. Fields may be missing, but none may be wrong."""
        kinds = kinds_of(self.environment)
        if wanted not in (None, *kinds):
            uses = f"A {self.environment.rules.holder} uses a {' or a '.join(kinds)}."
            raise CredentialsMismatch(f"{self.environment} does not accept a {wanted}.", uses, about="kind")
        present = {name.removesuffix(_FILE) for name in self.values}
        fitting = self._fitting(kinds if wanted is None else [wanted])
        return min(fitting, key=lambda kind: len(set(REQUIRED[kind]) - present))

    def _fitting(self, kinds: list[CredentialKind]) -> list[CredentialKind]:
        own = kinds_of(self.environment)
        if foreign := self.values.keys() - set[str]().union(*(_FIELDS[kind] for kind in own)):
            next_step = f"A {self.environment.rules.holder} uses a {' or a '.join(own)}."
            raise self._error(foreign, f"cannot be used for {self.environment}", next_step, CredentialsMismatch)
        fitting = [kind for kind in kinds if self.values.keys() <= _FIELDS[kind].keys()]
        if not fitting:
            how = f"cannot be used {f'with a {kinds[0]}' if len(kinds) == 1 else 'together'}"
            raise self._error(self.values, how, "Remove the fields that belong to another kind of credentials.")
        return fitting

    def _error(
        self, fields: Iterable[str], what: str, next_step: str, kind: type[ToolkitError] = ConfigurationError
    ) -> ToolkitError:
        labels = self._labels(fields) or "The credentials"
        return kind(f"{labels} in {self.source} {what}.", next_step, about=min(fields, default="credentials"))

    @frameless
    def credentials(self) -> Credentials:
        """Return the credentials that the fields make up."""
        kind = self.kind()
        arguments = {}
        try:
            for name in self.values:
                field = _FIELDS[kind][name]
                arguments[field.argument or field.name] = field.read(self._text(name))
            credentials = KINDS[kind](environment=self.environment, name=self.name, **arguments)
        except ConfigurationError as error:
            raise ConfigurationError(f"From {self.source}: {error.what}", error.next_step, about=error.about) from None
        credentials.note_source(self.source)
        return credentials

    def _text(self, name: str) -> Secret:
        """Return a field's value, which is read from a file if the field names one."""
        if not name.endswith(_FILE):
            return self.values[name]
        # The path is not quoted: it may be a secret that was put here by mistake.
        what, next_step = f"the file for {self.label(name)}", "Give its full path, and make it readable only by you."
        file = self.folder / expanded(self.values[name].reveal(), about=name)
        if self.confined and not lies_in(file, self.folder):
            raise self._error([name], "names a file outside the project folder", _OWN_PLACES)
        content = read_text(file, what, next_step)
        # The final line break that editors add is not part of the secret, but spaces may be part of a passphrase.
        text = Secret(content.strip("\r\n") if name.startswith(PASSPHRASE) else content.strip())
        if not text:
            raise self._error([name], "names an empty file", next_step)
        return text

    def _labels(self, fields: Iterable[str]) -> str:
        return " and ".join(sorted(map(self.label, fields)))


def decompose(credentials: Credentials) -> dict[str, Secret]:
    """Return the fields from which equal credentials can be made; a private key is written as PKCS#8 PEM.

    Options that are not set are left out, as is the passphrase, because the key is written unencrypted.
    """
    as_instance(credentials, Credentials, about="credentials", example="tk.KeyPair(...)")
    texts = {field.name: field.text_of(credentials) for field in credentials.fields}
    return {name: text for name, text in texts.items() if text is not None}


def variable(environment: Environment, name: str, field: str) -> str:
    """Return the name of a field's variable, such as TOOLKIT_BROKER_LIVE_CLIENT_ID for `client_id` in broker-live."""
    profile = "" if name == DEFAULT else f"__{_upper(name)}"
    return f"TOOLKIT_{_upper(environment)}{profile}_{field.upper()}"


def variables_to_set(environment: Environment, name: str | None) -> str:
    """List the variables to set for a profile, for each kind of credentials that the environment accepts."""
    profile = DEFAULT if name in (None, DEFAULT) else "<PROFILE>"
    choices = [[variable(environment, profile, field) for field in REQUIRED[kind]] for kind in kinds_of(environment)]
    return ", or ".join(" and ".join(names) for names in choices).replace("PRIVATE_KEY", "PRIVATE_KEY_FILE")


def fields_in_variables(
    variables: Mapping[str, str], source: str, folder: Path, *, confined: bool = False
) -> list[ProfileFields]:
    """Return the fields that are set by variables, one item per profile. An empty variable counts as unset."""
    profiles: dict[tuple[Environment, str], dict[str, Secret]] = {}
    for written in sorted(variables):
        place = _parse(written)
        if place is not None and variables[written]:
            environment, name, field = place
            profiles.setdefault((environment, name), {})[field] = Secret(variables[written])
    return [
        ProfileFields(*key, source, profiles[key], partial(variable, *key), folder, confined)
        for key in sorted(profiles)
    ]


def fields_in_dotenv(project: Path) -> list[ProfileFields]:
    """Return the fields that a project's `.env` sets. They are not added to `os.environ`."""
    file = project / ENV_FILE
    if not (file.is_file() or file.is_fifo()):  # the folder of a virtual environment may have this name
        return []
    if not lies_in(file, project) or belongs_to_stranger(file, project):
        what = f"{shown(file)} links to a file outside the project, or belongs to neither you nor its folder's owner."
        raise ConfigurationError(what, f"Replace it with a file of your own. {_OWN_PLACES}", about=ENV_FILE)
    from dotenv import dotenv_values

    text = io.StringIO(read_text(file, shown(file), "Fix or remove the file."))
    # If it were expanded, a value such as ${ANOTHER_SECRET} would give one of the user's secrets to the project.
    values = {name: value for name, value in dotenv_values(stream=text, interpolate=False).items() if value}
    return fields_in_variables(values, ENV_FILE, project, confined=True)


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _pattern(environment: Environment, fields: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(sorted(field.upper() for field in fields))
    return re.compile(rf"TOOLKIT_{_upper(environment)}(?:__([A-Z0-9][A-Z0-9_]*))?_({alternatives})\Z")


# The patterns with all fields come last: they recognize fields of another environment only to refuse them, and
# PRIVATE_KEY_ID of a broker partner must not be read as KEY_ID of a profile named PRIVATE.
_PATTERNS: Final = [
    *((each, _pattern(each, [name for kind in kinds_of(each) for name in _FIELDS[kind]])) for each in Environment),
    *((each, _pattern(each, FIELDS)) for each in Environment),
]


def _parse(written: str) -> tuple[Environment, str, str] | None:
    """Return a variable's environment, profile name and field, or None if it is not a credentials variable."""
    for environment, pattern in _PATTERNS:
        if match := pattern.match(written):
            profile, field = match.groups()
            return environment, DEFAULT if profile is None else profile.lower().replace("_", "-"), field.lower()
    return None
