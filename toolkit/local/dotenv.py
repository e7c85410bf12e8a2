"""The `.env` files of projects: variables that a project brings along, and that editors export into the process.

A process cannot tell where its variables come from. So a variable is the user's own only if no `.env` sets it that an
editor or a shell may have taken it from. The repository does not matter: a superproject exports to its submodules.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from glob import iglob
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.local.files import shown
from toolkit.local.folders import PROJECT_VARIABLE, folders_upward, notebook_folder

FILE_NAME: Final = ".env"
PREFIX: Final = "TOOLKIT_"
_LARGEST: Final = 1 << 20  # bytes
# Readers differ in what ends a line, and some take a value in quotes from the next one.
_ASSIGNED: Final = re.compile(r"""(?<!\w)([^\W\d]\w*)["']?\s*[=:](?=[^\S\r\n]*\S|\s*["'`])""")


def variables_in(text: str) -> dict[str, str]:
    """Return the variables in the text of a `.env` that have a value."""
    from dotenv import dotenv_values

    # If it were expanded, a value such as ${ANOTHER_SECRET} would hand a secret of the user to the project.
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value}


def exported_by(project: Path, *, beside: bool = False) -> dict[str, Path]:
    """Return the names of variables that the `.env` files around a project and a working folder set, with the files.

    The files lie in these folders and in all above them, below the home folder: the project, the working directory,
    the folder that the shell was in, that in TOOLKIT_PROJECT, and that of the running notebook, each under its own name
    and without links. No settings are taken from these files.

    Names are in capitals, because on Windows a variable in small letters is the same. What looks like an assignment
    counts even within a value, but not in a line that is a comment: editors read such files each in its own way.

    Args:
        project: the folder of the project.
        beside: True to look into the folders beside and directly below these, too. An editor with several folders open
            exports the file of one of them to all.

    Raises:
        ConfigurationError: if a file is too large to be read, so that nobody knows what it sets.
    """
    places: dict[str, Path] = {}
    for file in _files_around(project, beside=beside):
        if os.access(file, os.R_OK) and file.is_file():
            text = _text(file)
            names = {*variables_in(text), *_names_assigned(text)}
            places = {**dict.fromkeys(map(str.upper, names), file), **places}
    return places


def own_variable(name: str) -> str | None:
    """Return a variable of the process; None if it is not set, a `.env` sets it, or nobody knows whether one does.

    The files in folders beside count for variables of the toolkit only: others may be there for other programs.
    """
    value = os.environ.get(name)
    if not value:
        return None
    try:
        exported = exported_by(Path.cwd(), beside=name.startswith(PREFIX))
    except (ConfigurationError, OSError):
        return None
    return None if name in exported else value


def refuse_exported(names: Iterable[str], project: Path, what: str, otherwise: str, *, about: str) -> None:
    """Check that the `.env` of a project sets none of these variables, unless this process does not have it.

    Args:
        names: the variables, in capitals.
        project: the folder of the project.
        what: what such a file does not choose, such as "your proxy".
        otherwise: how to choose it instead.
        about: the argument or setting that the variables stand for.

    Raises:
        UnsafeAddress: if it sets one.
    """
    names = [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
    exported = exported_by(project, beside=any(name.startswith(PREFIX) for name in names)) if names else {}
    for name in names:
        if name in exported:
            raise UnsafeAddress(
                f"{shown(exported[name])} sets {name}, and the file of a project does not choose {what}.",
                f"Take it out there, and {otherwise}",
                about=about,
            )


def _files_around(project: Path, *, beside: bool) -> Iterator[Path]:
    other = Path(os.environ.get(PROJECT_VARIABLE, ""))
    named = [project, Path.cwd(), Path(os.environ.get("PWD", "")), other, notebook_folder(os.environ)]
    starts = [Path(os.path.abspath(folder)) for folder in named if folder is not None]  # noqa: PTH100 - keeps links
    starts = list(dict.fromkeys([*starts, *(Path(os.path.realpath(folder)) for folder in starts)]))
    folders = dict.fromkeys(folder for start in starts for folder in folders_upward(start))
    yield from (folder / FILE_NAME for folder in folders)
    for folder in dict.fromkeys([*folders, *(start.parent for start in starts)]) if beside else ():
        # Path.glob would end at the first folder that may not be read.
        for file in iglob(f"*/{FILE_NAME}", root_dir=folder, include_hidden=True):  # noqa: PTH207
            yield folder / file


def _text(file: Path) -> str:
    with file.open("rb") as stream:
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ConfigurationError(f"Cannot read {shown(file)}: it is larger than 1 MiB.", "Fix or remove the file.")
    return data.decode("utf-8-sig", "replace")  # names are ASCII, whatever encoding the values have


def _names_assigned(text: str) -> list[str]:
    lines = (line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))
    return _ASSIGNED.findall("".join(lines))
