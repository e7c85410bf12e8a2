"""Lines that GitHub Actions reads from a job's log: annotations of files, and text that is not read as commands.

The syntax is described under "Workflow commands for GitHub Actions" in GitHub's documentation. A runner looks for
commands in everything that a job prints, so foreign text must be escaped or fenced in.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from toolkit.core.escaping import printable

_LONGEST_MESSAGE: Final = 4000  # characters


def annotation(
    level: Literal["error", "warning", "notice"],
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    title: str = "",
) -> str:
    """Return the line that annotates a file, or the whole run if `file` is None.

    Args:
        message: the text, which may have several lines; a very long one is cut.
        file: the path as `workspace_path` gives it.
        line: the line in the file, from 1.
        title: a few words above the message.
    """
    properties = {"file": file, "line": line, "title": title}
    shown = ",".join(f"{name}={_escaped_property(str(value))}" for name, value in properties.items() if value)
    text = message if len(message) <= _LONGEST_MESSAGE else f"{message[: _LONGEST_MESSAGE - 1]}…"
    return f"::{level}{f' {shown}' if shown else ''}::{_escaped(text)}"


def fence(token: str) -> tuple[str, str]:
    """Return the lines between which a runner looks for no commands in what is printed.

    Args:
        token: a word that nobody can know in advance; it ends the fence.
    """
    return f"::stop-commands::{token}", f"::{token}::"


def workspace_path(path: Path, workspace: Path) -> str:
    """Return a path as annotations need it: relative to the folder of the checkout, with slashes.

    A path outside of the checkout is returned as it is.
    """
    absolute, root = path.absolute(), workspace.absolute()
    for file, folder in ((absolute, root), (absolute.resolve(), root.resolve())):
        if file.is_relative_to(folder):
            return file.relative_to(folder).as_posix()
    return path.as_posix()


def _escaped(text: str) -> str:
    return printable(text.replace("\r\n", "\n")).replace("%", "%25").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
