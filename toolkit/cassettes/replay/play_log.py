"""A log of what is played, for programs that run notebooks or tests in other processes and ask what they used.

If the variable TOOLKIT_PLAY_LOG names a folder, each process appends lines of JSON to a file of its own there: one when
a cassette is opened, and one when an interaction is played for the first time since. Each line is a single write, so
the log of a killed process is complete up to its last line.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.dotenv import own_variable
from toolkit.local.files import append_to, expanded

VARIABLE: Final = "TOOLKIT_PLAY_LOG"
_SUFFIX: Final = ".plays"


class PlayLog:
    """Notes what is played from one cassette.

    Args:
        folder: the folder of the log; it is made if need be.
        cassette: the file of the cassette.
    """

    __slots__ = ("_cassette", "_folder")

    def __init__(self, folder: Path, cassette: Path) -> None:
        self._folder = folder
        self._cassette = os.path.realpath(cassette)

    def note(self, number: int | None) -> None:
        """Note that an interaction (numbered from 0) is played; None notes that the cassette is opened.

        Raises:
            ConfigurationError: if the log cannot be written. An incomplete log would name too few interactions.
        """
        line = json.dumps([self._cassette, number]).encode("ascii") + b"\n"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # The name is made for each line, because a forked process has another id than its parent.
            append_to(self._folder / f"{os.getpid()}{_SUFFIX}", line)
        except OSError as error:
            raise ConfigurationError(
                f"Cannot write the log of what is played to {self._folder}: {error.strerror}.",
                f"Set {VARIABLE} to a folder that can be written, or unset it.",
                about=VARIABLE,
            ) from None


def play_log_of(cassette: Path) -> PlayLog | None:
    """Return the log for a cassette that is opened, with a note of that, or None if nothing is logged.

    A project does not choose the folder: what its `.env` sets does not count.

    Raises:
        ConfigurationError: if the log cannot be written.
    """
    folder = own_variable(VARIABLE)
    if not folder:
        return None
    log = PlayLog(Path(folder), cassette)
    log.note(None)
    return log


def read_play_log(folder: str | Path) -> dict[Path, set[int]]:
    """Return the interactions that were played, by their numbers from 0, for each cassette that was opened.

    Args:
        folder: the folder that TOOLKIT_PLAY_LOG named.

    Returns:
        The numbers by the real path of the cassette (absolute, links resolved). The set of a cassette that was opened
        and not played is empty.

    Raises:
        ConfigurationError: if the folder cannot be read.
    """
    played: dict[Path, set[int]] = {}
    path = expanded(folder, about="play_log")
    try:
        for file in sorted(path.iterdir()):
            for line in file.read_bytes().splitlines() if file.suffix == _SUFFIX else ():
                entry = _entry(line)
                if entry is not None:
                    cassette, number = entry
                    played.setdefault(Path(cassette), set()).update(() if number is None else (number,))
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read the log of what was played in {folder}: {error.strerror}.",
            f"Name the folder that {VARIABLE} named in the run.",
            about=VARIABLE,
        ) from None
    return played


def _entry(line: bytes) -> tuple[str, int | None] | None:
    """Return the cassette and the number in a line, or None if the line was not written completely."""
    try:
        entry: Any = json.loads(line)
    except ValueError:
        return None
    if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str):
        number = entry[1]
        return (entry[0], number) if number is None or type(number) is int else None
    return None
