"""The `.env` files of a project: variables that a project brings along, and that editors export into the process."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from toolkit.local.files import read_text, shown
from toolkit.local.folders import folders_upward

FILE_NAME: Final = ".env"
_ASSIGNMENT: Final = re.compile(r"""[\s\ufeff]*(?:export\s+)?["']?([^\W\d]\w*)["']?\s*[=:]\s*\S""")


def variables_in(text: str) -> dict[str, str]:
    """Return the variables in the text of a `.env` that have a value."""
    from dotenv import dotenv_values

    # If it were expanded, a value such as ${ANOTHER_SECRET} would hand a secret of the user to the project.
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {name: value for name, value in values.items() if value}


def exported_by(project: Path) -> dict[str, Path]:
    """Return the names of variables that a `.env` sets, each with the file: that of a project, or of a folder above it.

    Names are in capitals, because on Windows a variable in small letters is the same. A line that looks like an
    assignment counts even within a quoted value: editors read some files line by line, and each in its own way.
    The folders end at the repository. The working directory counts as a project, too: TOOLKIT_PROJECT may name another
    one than that whose `.env` the editor exported. The toolkit does not take settings from these files.

    Raises:
        ConfigurationError: if a file cannot be read, so that nobody knows what it sets.
    """
    places: dict[str, Path] = {}
    for folder in dict.fromkeys([*folders_upward(project), *folders_upward(Path.cwd())]):
        file = folder / FILE_NAME
        if file.is_file():
            text = read_text(file, shown(file), "Fix or remove the file.")
            names = {*variables_in(text), *_names_by_line(text)}
            places = {**dict.fromkeys(map(str.upper, names), file), **places}
    return places


def _names_by_line(text: str) -> list[str]:
    return [found[1] for line in text.splitlines() if (found := _ASSIGNMENT.match(line))]
