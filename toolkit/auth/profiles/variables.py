"""Credentials in variables: TOOLKIT_<ENVIRONMENT>_<FIELD>, and TOOLKIT_<ENVIRONMENT>__<PROFILE>_<FIELD>.

The variables are those of the process, or those in the `.env` file of a project. The project may be a cloned
repository, so its file may contain secrets but may not point at others: variables of the process are not expanded in
it, it may not be a link out of the project, and it cannot name a file outside. A file of another user is refused,
because it would choose the account that the user works in.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.profiles.fields import FIELDS, REQUIRED, ProfileFields, fields_of
from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.local.dotenv import FILE_NAME, variables_in
from toolkit.local.files import lies_in, read_text, shown
from toolkit.local.folders import belongs_to_stranger

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT: Final = "default"
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}\Z")


def variable(environment: Environment, name: str, field: str) -> str:
    """Return the variable of a field: `client_id` of broker-live is TOOLKIT_BROKER_LIVE_CLIENT_ID."""
    profile = "" if name == DEFAULT else f"__{_upper(name)}"
    return f"TOOLKIT_{_upper(environment)}{profile}_{field.upper()}"


def variables_to_set(environment: Environment, name: str | None) -> str:
    """List in words the variables to set for a profile, for each kind of credentials that the environment takes."""
    profile = DEFAULT if name in (None, DEFAULT) else "<PROFILE>"
    choices = [
        [variable(environment, profile, field) for field in REQUIRED[kind]]
        for kind in CredentialKind
        if kind in environment.rules.credentials
    ]
    return ", or ".join(" and ".join(names) for names in choices).replace("PRIVATE_KEY", "PRIVATE_KEY_FILE")


def fields_in_variables(
    variables: Mapping[str, str] | Mapping[str, Secret], source: str, folder: Path, *, confined: bool = False
) -> list[ProfileFields]:
    """Return the fields that variables set, one item for each profile. An empty variable counts as unset.

    Args:
        variables: names and texts.
        source: where they come from, in words.
        folder: where relative paths of files start.
        confined: True if files that the variables name must lie in that folder.

    Raises:
        ConfigurationError: if a field of the default profile is given under both of its names.
    """
    profiles: dict[tuple[Environment, str], dict[str, Secret]] = {}
    for written in sorted(variables):
        place = _parse(written)
        if place is None or not variables[written]:
            continue
        environment, name, field = place
        values = profiles.setdefault((environment, name), {})
        if field in values:
            raise ConfigurationError(
                f"{written} and {variable(environment, name, field)} in {source} are the same variable.",
                "Keep one of them.",
                about=field,
            )
        values[field] = Secret(variables[written])
    return [
        ProfileFields(
            environment,
            name,
            source,
            profiles[environment, name],
            partial(variable, environment, name),
            folder,
            confined,
        )
        for environment, name in sorted(profiles)
    ]


def fields_in_dotenv(project: Path) -> list[ProfileFields]:
    """Return the fields that the `.env` of a folder sets. They are not added to `os.environ`.

    Raises:
        ConfigurationError: if the file cannot be read, is a link out of the project or belongs to a stranger, or has
            a reference to another variable in place of a value.
    """
    file = project / FILE_NAME
    if not (file.is_file() or file.is_fifo()):  # the folder of a virtual environment may have this name
        return []
    if not lies_in(file, project):
        raise ConfigurationError(
            f"{shown(file)} is a link out of the project.",
            "A project may not point at secrets elsewhere: put the file itself there, set environment variables, "
            "or save the credentials: `toolkit credentials add`, or save_credentials() in Python.",
            about=FILE_NAME,
        )
    if belongs_to_stranger(file, project):
        raise ConfigurationError(
            f"{shown(file)} belongs neither to you nor to the owner of its folder, so anybody may have put it there.",
            "If you trust it, make it yours (chown); otherwise work in a folder of your own.",
            about=FILE_NAME,
        )
    variables = _credential_variables(read_text(file, shown(file), "Fix or remove the file."))
    reference = next((name for name, text in variables.items() if _REFERENCE.match(text.reveal())), None)
    if reference is not None:
        raise ConfigurationError(
            f"{reference} in {shown(file)} refers to another variable, which is not looked up.",
            "Write the value itself, or set the environment variable.",
            about=FILE_NAME,
        )
    return fields_in_variables(variables, FILE_NAME, project, confined=True)


def _credential_variables(text: str) -> dict[str, Secret]:
    return {name: Secret(value) for name, value in variables_in(text).items() if _parse(name)}


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _pattern(environment: Environment, fields: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(sorted(field.upper() for field in fields))
    return re.compile(rf"TOOLKIT_{_upper(environment)}(?:__([A-Z0-9][A-Z0-9_]*))?_({alternatives})\Z")


# The patterns with all fields come last: they recognize fields of another environment only to refuse them, and
# PRIVATE_KEY_ID of a broker partner must not be read as the KEY_ID of a profile PRIVATE.
_PATTERNS: Final = [
    *((environment, _pattern(environment, fields_of(environment))) for environment in Environment),
    *((environment, _pattern(environment, FIELDS)) for environment in Environment),
]


def _parse(written: str) -> tuple[Environment, str, str] | None:
    """Return environment, profile name and field of a variable, or None if it is not for credentials."""
    for environment, pattern in _PATTERNS:
        if match := pattern.match(written):
            profile, field = match.groups()
            return environment, DEFAULT if profile is None else profile.lower().replace("_", "-"), field.lower()
    return None
