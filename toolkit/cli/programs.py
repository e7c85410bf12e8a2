"""How to start a program of this Python environment from where a message is read, so that commands can be pasted.

Often the environment is not activated, and a shell does not find `toolkit`: then messages name its path. In a notebook
they never do, because its outputs are saved and must be the same on every machine. `toolkit lab` starts JupyterLab so
that its terminals and cells find the program.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Final

from toolkit.core.tracebacks import shell

TOOLKIT: Final = "toolkit"
COMMANDS: Final = (
    "cassettes",
    "credentials",
    "demo",
    "keys",
    "lab",
    "practice",
    "publish",
    "record",
    "scan",
    "verify",
)
_COMMAND: Final = re.compile(rf"(?<![\w./\\-]){TOOLKIT}(?= (?:{'|'.join(COMMANDS)})\b)")


def scripts_folder() -> str:
    """Return the folder with the programs of this environment."""
    return sysconfig.get_path("scripts")


def program(name: str = TOOLKIT) -> str:
    """Return what to type to start a program of this environment.

    This is its name if a shell finds it or the reader is in a notebook, else its path: as the user typed it, or the
    shorter of the relative and the absolute path.
    """
    typed = (sys.argv[0] if sys.argv else "").removesuffix(".exe")
    is_typed = Path(typed).name == name
    own = shutil.which(name, path=Path(typed).parent if is_typed else scripts_folder())
    if own is None or getattr(shell(), "kernel", None) is not None:
        return name
    found = shutil.which(name)
    if found is not None and Path(found).samefile(own):
        return name
    return _as_word(typed if is_typed else _shortest(Path(own).with_suffix("")))


def pasteable(text: str) -> str:
    """Return a text in which commands such as `toolkit lab` start with what to type to start the toolkit."""
    return _COMMAND.sub(lambda _: program(), text) if _COMMAND.search(text) else text


def _shortest(path: Path) -> str:
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the working directory is gone, or is on another drive of Windows
        return str(path)
    if relative == path.name:  # a shell would look for the mere name elsewhere
        return f"{os.curdir}{os.sep}{relative}"
    return min(relative, str(path), key=len)


def _as_word(path: str) -> str:
    """Quote a path for a shell; `shells` does more, but imports the errors, which import this module."""
    if os.name != "nt":
        return shlex.quote(path)
    return f'"{path}"' if " " in path else path
