"""Environment variables: the TOOLKIT_* variables, and those that a project brings along in its `.env`.

Editors export the `.env` files of projects into the process, and a process cannot tell where its variables come from.
So a variable is the user's own only if no `.env` sets it that an editor or a shell may have taken it from.

Variables with credentials are not among them: see `toolkit.auth.profiles.fields`.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from glob import iglob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.core.addresses import Address, is_loopback
from toolkit.core.document import ADDRESS_NAMES
from toolkit.core.errors import ConfigurationError, UnsafeAddress
from toolkit.core.text import excerpt, nearest
from toolkit.local.files import read_file, shown
from toolkit.local.folders import PROJECT_VARIABLE, folders_upward, notebook_folder

if TYPE_CHECKING:
    from toolkit.local.settings import Settings

PREFIX_VARIABLE: Final = "TOOLKIT_HEADER_PREFIX"
CASSETTES_VARIABLE: Final = "TOOLKIT_CASSETTES"
VERIFY_VARIABLE: Final = "TOOLKIT_VERIFY"
_OFFLINE_VARIABLE: Final = "TOOLKIT_OFFLINE"
_OTHERS: Final = (PREFIX_VARIABLE, CASSETTES_VARIABLE, _OFFLINE_VARIABLE, VERIFY_VARIABLE, PROJECT_VARIABLE)
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"", "0", "false", "no", "off"})
FILE_NAME: Final = ".env"
PREFIX: Final = "TOOLKIT_"
_LARGEST: Final = 1 << 20  # bytes
_AUTHORITY_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # of OpenSSL and httpx; a path in code overrides them
_KEY_LOG_VARIABLE: Final = "SSLKEYLOGFILE"  # of Python's ssl: a file for the keys of all connections
_PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")  # or in small letters
# Readers differ in what ends a line, and some take a value in quotes from the next one.
_ASSIGNED: Final = re.compile(r"""(?<!\w)([^\W\d]\w*)["']?\s*[=:](?=[^\S\r\n]*\S|\s*["'`])""")


def variable_name(setting: str) -> str:
    """Return the environment variable of an address or `header_prefix`: TOOLKIT_AUTH_URL for `auth`."""
    return PREFIX_VARIABLE if setting == "header_prefix" else f"TOOLKIT_{setting.upper()}_URL"


def addresses_from(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses in variables, by their names.

    Raises:
        ConfigurationError: if the name of a variable looks like a misspelt TOOLKIT_* variable.
    """
    names = {variable_name(name): name for name in ADDRESS_NAMES}
    known = (*names, *_OTHERS)
    for variable in sorted(environ):
        # TOOLKIT_ is a common prefix: variables of other programs are ignored, misspelt ones are errors.
        if variable.startswith("TOOLKIT_") and (variable.endswith("_URL") or nearest(variable, known, cutoff=0.9)):
            check_known(variable, known, "variable")
    return {name: environ[variable] for variable, name in names.items() if environ.get(variable)}


def is_offline() -> bool:
    """Return True if TOOLKIT_OFFLINE asks for replay only.

    Raises:
        ConfigurationError: if its value means neither yes nor no.
    """
    value = os.environ.get(_OFFLINE_VARIABLE, "").strip().lower()
    if value not in _TRUE | _FALSE:
        raise ConfigurationError(
            f"TOOLKIT_OFFLINE is {value!r}, which means neither yes nor no.",
            "Set it to 1 or 0.",
            about=_OFFLINE_VARIABLE,
        )
    return value in _TRUE


def check_known(name: str, names: Iterable[str], noun: str, *, where: str = "") -> None:
    """Refuse an unknown name, and suggest the one that was probably meant.

    Raises:
        ConfigurationError: if the name is not one of `names`.
    """
    names = tuple(names)
    if name in names:
        return
    text = excerpt(str(name))
    meant = nearest(text, names)
    advice = f"Did you mean {meant}?" if meant else f"Known: {listed(names)}."
    raise ConfigurationError(f"Unknown {noun} {text!r}{where}.", advice, about=text)


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence."""
    return ", ".join(names)


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


def check_trust(verify: Any, settings: Settings, *, needs_proxy: bool) -> Any:
    """Return whose certificates a session that may send trusts: with True, what the settings say, or httpx's.

    Whoever wrote the `.env` of a project could vouch for a server of his own, write down the keys of connections, or
    name a proxy with a reference to a secret in its URL, which the editor expands. So such a file does not choose them.

    Args:
        verify: the argument of the session.
        settings: its settings.
        needs_proxy: True if it takes its proxy from the variables.

    Raises:
        UnsafeAddress: if a file sets the variable that names the authorities in force, or the file for the keys of
            connections; or a proxy for a session that may send beyond this machine.
    """
    trusted = settings.trusted or True if verify is True else verify
    names = [_KEY_LOG_VARIABLE]
    if trusted is True or trusted == "system":
        names += _AUTHORITY_VARIABLES
    elif verify is True and settings.place_of("verify") == VERIFY_VARIABLE:
        names.append(VERIFY_VARIABLE)
    hosts = (Address.parse(text, setting=name).origin.host for name, text in settings.addresses.items())
    if needs_proxy and not all(map(is_loopback, hosts)):
        names += _PROXY_VARIABLES
    names = [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]
    exported = exported_by(settings.project, beside=VERIFY_VARIABLE in names) if names else {}
    for name in names:
        if name in exported:
            raise UnsafeAddress(
                f"{shown(exported[name])} sets {name}, but the file of a project does not choose whom you trust, your "
                "proxy, or who can read what is sent.",
                "Take it out there. Set it in your own environment, or pass verify= or proxy= in code.",
                about=name,
            )
    return trusted


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
    data = read_file(file, _LARGEST + 1)
    if len(data) > _LARGEST:
        raise ConfigurationError(f"Cannot read {shown(file)}: it is larger than 1 MiB.", "Fix or remove the file.")
    return data.decode("utf-8-sig", "replace")  # names are ASCII, whatever encoding the values have


def _names_assigned(text: str) -> list[str]:
    lines = (line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))
    return _ASSIGNED.findall("".join(lines))
