"""Read TOML that anybody may have written, in little memory whatever it holds, with errors that name the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from toolkit.core.errors import ConfigurationError
from toolkit.local.files import read_text

_MOST_DOTS: Final = 100  # in a key; the parser's memory grows with the square of their number
_MOST_DOTS_IN_A_LINE: Final = 1_000  # that begins with a bracket, and so may be the header of a table


class NotToml(ValueError):
    """The text is not TOML, or not safe to read; says why, and quotes one character at most."""


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a settings file.

    Raises:
        ConfigurationError: if it is missing, unreadable, larger than 1 MiB, or not TOML; names the file and the line.
    """
    if not _exists(file):
        raise ConfigurationError(
            f"The settings file {file} does not exist.", "Create it, or leave the path out.", about="path"
        )
    text = read_text(file, str(file), "Fix or remove the file.")
    try:
        return load_toml(text)
    except NotToml as error:
        raise ConfigurationError(f"{file} is not valid TOML: {error}.", "Fix that line.") from None


def parse_toml(text: str, what: str, next_step: str) -> dict[str, Any]:
    """Return the content of a TOML document that may hold secrets; `what` names it in an error.

    Raises:
        ConfigurationError: if it is not TOML. The parser's own error is dropped, because it keeps the text.
    """
    try:
        return load_toml(text)
    except NotToml:
        del text
    raise ConfigurationError(f"{what} is not valid TOML.", next_step)


def load_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML document.

    Raises:
        NotToml: if it is not TOML, if it is nested too deeply, or if a number is too long.
    """
    import tomllib

    _check_dots(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why = str(error)
    except RecursionError:
        why = "Values are nested too deeply"
    except ValueError:  # of Python's limit for the digits of a number
        why = "A number is too long"
    raise NotToml(why)


def _exists(file: Path) -> bool:
    try:
        file.stat()
    except (FileNotFoundError, ValueError):  # a path with a null character, say
        return False
    except OSError:  # `read_text` says why
        return True
    return True


def _check_dots(text: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") <= _MOST_DOTS:
            continue
        is_header = line.lstrip().startswith("[") and line.count(".") > _MOST_DOTS_IN_A_LINE
        # What stands before an equals sign may be a key.
        if is_header or any(part.count(".") > _MOST_DOTS for part in line.split("=")[:-1]):
            raise NotToml(f"A name has too many parts (at line {number})")
