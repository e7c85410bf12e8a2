"""Credentials in the `.env` file of a project.

The project may be a cloned repository, so its file may give secrets of its own and nothing else: it is
not expanded from the process's variables, is no link out of the project, and names no file outside. In a
folder that others may write to it may be anybody's, and would have the user work in somebody's account.
"""
# MERGE: Credentials in variables: TOOLKIT_<ENVIRONMENT>_<FIELD>, and TOOLKIT_<ENVIRONMENT>__<PROFILE>_<FIELD>.

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolkit.auth.profiles.fields import FIELDS, Given, fields_of
from toolkit.core.document import Environment
from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret
from toolkit.core.warn import warn
from toolkit.local.files import lies_in, read_text, shown
from toolkit.local.project import belongs_to_stranger

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


FILE_NAME: Final = ".env"
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}\Z")
_GIT_TIMEOUT: Final = 5  # seconds
# A repository's own configuration may name programs: as a file monitor, and as the way to a remote from which
# git would fetch what it lacks.
_GIT_RUNS_NOTHING: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}


def given_in_dotenv(project: Path) -> list[Given]:
    """What the `.env` of this folder gives; nothing of it gets into `os.environ`.

    Warns when git tracks the file.

    Raises:
        ConfigurationError: the file cannot be read, is a link out of the project or a stranger's, or gives a
            reference to another variable in place of a value.
    """
    file = project / FILE_NAME
    if not (file.is_file() or file.is_fifo()):  # a virtual environment's folder may be named so
        return []
    if not lies_in(file, project):
        raise ConfigurationError(
            f"{shown(file)} is a link out of the project.",
            "A project may not point at secrets elsewhere: put the file itself there, set environment variables, "
            "or save the credentials with save_credentials().",
        )
    if belongs_to_stranger(file, project):
        raise ConfigurationError(
            f"{shown(file)} belongs neither to you nor to whoever owns its folder, so anybody may have put it there.",
            "If you trust it, make it yours (chown); else work in a folder of your own.",
        )
    variables = _variables(read_text(file, shown(file), "Mend or remove the file."))
    reference = next((name for name, text in variables.items() if _REFERENCE.match(text.reveal())), None)
    if reference is not None:
        raise ConfigurationError(
            f"{reference} in {shown(file)} refers to another variable, which is not looked up.",
            "Write the value itself, or set the environment variable.",
        )
    if variables and _is_tracked(file):
        warn(
            f"git tracks {shown(file)}: whoever has the repository has the credentials in it. Run "
            f"`git rm --cached {FILE_NAME}`, add it to .gitignore, and have the credentials replaced."
        )
    return given_in(variables, FILE_NAME, project, confined=True)


def _variables(text: str) -> dict[str, Secret]:
    from dotenv import dotenv_values  # keeps dotenv out of `import toolkit`

    # Expanded, a value such as ${ANOTHER_SECRET} would hand the project a secret of the user's.
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: Secret(value) for name, value in values.items() if value and is_credential(name)}


def _is_tracked(file: Path) -> bool:
    """Whether git has the file in its index. Without git, or when in doubt, it has not."""
    git = shutil.which("git")
    if git is None or Path(git).resolve().is_relative_to(file.parent.resolve()):  # Windows looks in the folder first
        return False
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    command = [git, "-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--", file.name]
    try:
        done = subprocess.run(  # noqa: S603 - nothing in it comes from the project
            command,
            cwd=file.parent,
            env={**inherited, **_GIT_RUNS_NOTHING},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_GIT_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
