"""Credentials in the `.env` file of a project.

The project may be a cloned repository, so its file may give secrets of its own and nothing else: it is
not expanded from the process's variables, is no link out of the project, and names no file outside. In a
folder that others may write to it may be anybody's, and would have the user work in somebody's account.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from toolkit.errors import ConfigurationError
from toolkit.private_files import shown
from toolkit.profiles.environ import given_in, is_credential
from toolkit.profiles.fields import Given
from toolkit.profiles.reading import lies_in, read_text
from toolkit.project import is_strangers
from toolkit.secret import Secret
from toolkit.warning import warn

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
    if is_strangers(file, project):
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
    from dotenv import dotenv_values  # noqa: PLC0415 - keeps dotenv out of `import toolkit`

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
