"""Credentials in variables: TOOLKIT_<ENVIRONMENT>_<FIELD>, and TOOLKIT_<ENVIRONMENT>__<PROFILE>_<FIELD>."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

from toolkit.errors import ConfigurationError
from toolkit.profiles.fields import FIELDS, Given, fields_of
from toolkit.secret import Secret
from toolkit.service import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

DEFAULT: Final = "default"


def variable(environment: Environment, name: str, field: str) -> str:
    """The variable of a field: `client_id` of broker-live is TOOLKIT_BROKER_LIVE_CLIENT_ID."""
    profile = "" if name == DEFAULT else f"__{_upper(name)}"
    return f"TOOLKIT_{_upper(environment)}{profile}_{field.upper()}"


def given_in(
    variables: Mapping[str, str] | Mapping[str, Secret], source: str, folder: Path, *, confined: bool = False
) -> list[Given]:
    """What these variables give, by environment and name. An empty variable counts as unset.

    Args:
        variables: name to text.
        source: where they come from, in words.
        folder: where relative paths of files start.
        confined: whether files that the variables name must lie in that folder.

    Raises:
        ConfigurationError: a field of the default profile is given under both of its names.
    """
    found: dict[tuple[Environment, str], dict[str, Secret]] = {}
    for written in sorted(variables):
        place = _place(written)
        if place is None or not variables[written]:
            continue
        environment, name, field = place
        values = found.setdefault((environment, name), {})
        if field in values:
            del variables  # a verbose traceback shows local variables
            raise ConfigurationError(
                f"{written} and {variable(environment, name, field)} in {source} are the same.", "Keep one of them."
            )
        values[field] = Secret(variables[written])
    return [
        Given(
            environment, name, source, found[environment, name], partial(variable, environment, name), folder, confined
        )
        for environment, name in sorted(found)
    ]


def is_credential(variable_name: str) -> bool:
    """Whether a variable of this name holds a part of credentials."""
    return _place(variable_name) is not None


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


def _pattern(environment: Environment, fields: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(sorted(field.upper() for field in fields))
    return re.compile(rf"TOOLKIT_{_upper(environment)}(?:__([A-Z0-9][A-Z0-9_]*))?_({alternatives})\Z")


# All fields come last: those of another environment are recognized only to say that they are out of place, and
# PRIVATE_KEY_ID of a broker partner is not read as the KEY_ID of a profile PRIVATE.
_PATTERNS: Final = [
    *((environment, _pattern(environment, fields_of(environment))) for environment in Environment),
    *((environment, _pattern(environment, FIELDS)) for environment in Environment),
]


def _place(written: str) -> tuple[Environment, str, str] | None:
    """Environment, profile name and field that a variable is for, or None."""
    for environment, pattern in _PATTERNS:
        if match := pattern.match(written):
            profile, field = match.groups()
            return environment, DEFAULT if profile is None else profile.lower().replace("_", "-"), field.lower()
    return None
