"""Variables and words as their readers take them: a shell on any system, a `.env` file, or TOML.

Each form is quoted so that its reader gets the value back exactly, whatever characters it has.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from toolkit.core.errors import ConfigurationError

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:@%+=,-]+\Z")
_PLAIN_IN_ENV: Final = re.compile(r"[A-Za-z0-9_./:@+-]+\Z")
_PLAIN_ON_WINDOWS: Final = re.compile(r"[A-Za-z0-9_./:@+=\\~-]+\Z")
# PowerShell takes typographic quotes for plain ones (about_Quoting_Rules).
_SINGLE_QUOTES: Final = re.compile("(['\u2018\u2019\u201a\u201b])")
_LINES: Final = re.compile(r"(?:[ -&(-~]*\n)+\Z")  # such as a PEM; without quotes, which TOML would have to escape
_NOT_IN_CMD: Final = re.compile(r"""["%!^\r\n]""")  # cmd has no escape for them that always works
_ESCAPES_IN_ENV: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}


class Form(StrEnum):
    """A form in which variables are written."""

    BASH = "bash"
    POWERSHELL = "powershell"
    CMD = "cmd"
    ENV = "env"
    TOML = "toml"


def usual_form(os_name: str, environ: Mapping[str, str]) -> Form:
    """Return the form for the shell that this process was probably started from.

    Args:
        os_name: "nt" on Windows, as `os.name` has it.
        environ: the environment variables: Git's Bash sets SHELL on Windows too, and cmd sets PROMPT.
    """
    if os_name != "nt" or environ.get("SHELL"):
        return Form.BASH
    return Form.CMD if environ.get("PROMPT") else Form.POWERSHELL


def assignment(form: Form, name: str, value: str) -> str:
    """Return the line, or lines, that set a variable; in TOML, a key.

    Raises:
        ConfigurationError: if cmd has no way to write the value. The message does not quote it.
    """
    match form:
        case Form.BASH:
            return f"export {name}={value if _PLAIN.match(value) else shlex.quote(value)}"
        case Form.POWERSHELL:
            doubled = _SINGLE_QUOTES.sub(r"\1\1", value)
            return f"$env:{name} = '{doubled}'"
        case Form.CMD:
            if _NOT_IN_CMD.search(value):
                raise ConfigurationError(
                    f"cmd has no way to write the value of {name}: it has a line break or a special character.",
                    "Use PowerShell.",
                    about="format",
                )
            return f'set "{name}={value}"'
        case Form.ENV:
            return f"{name}={_in_env(value)}"
        case Form.TOML:
            return f"{name} = {_toml_lines(value) if _LINES.match(value) else toml_string(value)}"


def comment(form: Form, text: str) -> str:
    """Return a line that the reader of the form skips."""
    return f"{'rem' if form is Form.CMD else '#'} {text}"


def toml_string(text: str) -> str:
    """Return a TOML basic string. JSON writes the same, except for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_lines(text: str) -> str:
    """Return a multi-line literal string, whose lines can be copied; TOML leaves out the first line break."""
    return f"'''\n{text}'''"


def shell_word(text: str, *, os_name: str = os.name) -> str:
    """Return a text as one word of a command: for a POSIX shell, or on Windows for PowerShell and cmd alike.

    What Windows allows in file names needs no more than double quotes there.
    """
    if os_name != "nt":
        return shlex.quote(text)
    return text if _PLAIN_ON_WINDOWS.match(text) else f'"{text.replace(chr(34), "")}"'


def _in_env(value: str) -> str:
    if _PLAIN_IN_ENV.match(value):
        return value
    if "\n" in value or "\r" in value:  # escapes, since many readers take one line only
        return '"' + "".join(_ESCAPES_IN_ENV.get(character, character) for character in value) + '"'
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
