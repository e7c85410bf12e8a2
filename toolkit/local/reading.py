"""Reading files that hold secrets: in bounds, and with errors that quote nothing of them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.secret import Secret

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST: Final = 1 << 20  # bytes; a key has a few thousand


def read_text(file: Path, what: str, next_step: str) -> str:
    """The text of a file, without a byte order mark.

    `what` names the file in a message. The path is not added: a secret put in its place by mistake would show.

    Raises:
        ConfigurationError: there is no such file, or it is unreadable, larger than 1 MiB, or not UTF-8 text.
    """
    text, reason = _read(file)
    del file  # a verbose traceback shows local variables
    if text is not None:
        return text.reveal()
    raise ConfigurationError(f"Cannot read {what}: {reason}.", next_step)


def _read(file: Path) -> tuple[Secret | None, str]:
    """The text, or why there is none. No error hangs on to what was read, and no frame of one."""
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
        text = Secret(data.decode("utf-8-sig")) if len(data) <= _LARGEST else None
    except OSError as error:
        return None, error.strerror or type(error).__name__
    except UnicodeDecodeError:
        return None, "it is not UTF-8 text"
    except ValueError:  # a null character
        return None, "this names no file"
    return text, "it is larger than 1 MiB"


def parse_toml(text: str, what: str, next_step: str) -> dict[str, Any]:
    """The TOML of a text that may hold secrets.

    Raises:
        ConfigurationError: it is no TOML. The parser's own message and error may hold the text; neither is kept.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        del text
    raise ConfigurationError(f"{what} is not valid TOML.", next_step)


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, links followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links; a null character
        return False
