"""Find the project's and the user's folders, and distinguish the user's own variables from a project's variables.

A project may come from anybody: it may be cloned, or in a folder that other users can write to, such as /tmp.

- A settings file says where credentials are sent. So it is used only if it belongs to this user, to root, or to the
  owner of the working directory, who is trusted anyway, because Python imports modules from that directory.
- Editors load the variables in a project's `.env` files into the process, and a process cannot tell where its variables
  come from. So a variable counts as the user's own only if none of these `.env` files sets it.
- The user's configuration folder holds saved profiles, keys, and the addresses that credentials may be sent to; the
  cache folder holds tokens. A variable that a `.env` sets cannot move these folders.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from glob import iglob
from pathlib import Path
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import shell, warn
from toolkit.local.files import create_new, expanded, private_folder, read_file, read_private, shown

APPLICATION: Final = "service-access-toolkit"
SETTINGS_FILE: Final = "toolkit.toml"
PROJECT_VARIABLE: Final = "TOOLKIT_PROJECT"
HOW_TO_NAME_PROJECT: Final = (
    f"If the project is elsewhere, set the variable {PROJECT_VARIABLE} to its folder, or start the program in "
    "that folder (papermill --cwd FOLDER)."
)
ENV_FILE: Final = ".env"
_PREFIX: Final = "TOOLKIT_"
_MARKERS: Final = (SETTINGS_FILE, "pyproject.toml")
_ROOT: Final = 0
_KEY_LENGTH: Final = 32  # bytes
_LARGEST: Final = 1 << 20  # bytes of a `.env`
# Readers of `.env` differ in what ends a line, and some accept a quoted value on the next line.
_ASSIGNED: Final = re.compile(r"""(?<!\w)([^\W\d]\w*)["']?\s*[=:](?=[^\S\r\n]*\S|\s*["'`])""")


def current_project(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the project that this process is working in.

    It is the first of these: the folder in TOOLKIT_PROJECT; the project of the working directory; the project of the
    running notebook, if Jupyter or VS Code says where it is; the working directory.

    Args:
        environ: environment variables; defaults to `os.environ`.

    Raises:
        ConfigurationError: if TOOLKIT_PROJECT does not name a folder, or another user's `toolkit.toml` is in one of
            these folders.
    """
    environ = os.environ if environ is None else environ
    named = environ.get(PROJECT_VARIABLE)
    if named:
        return _named_project(named)
    here, notebook = Path.cwd(), _notebook_folder(environ)
    return project_of(here) or (notebook and project_of(notebook)) or here


def project_of(start: Path) -> Path | None:
    """Return the nearest folder, from `start` upward, that has a `toolkit.toml` or `pyproject.toml`, or None.

    The search ends at the root of a git repository or at the home folder; the home folder counts only if it is `start`.
    It skips a folder above `start`, with a warning, if the file or the folder belongs to another user. (On Windows,
    owners are not checked.)

    Raises:
        ConfigurationError: if `start` itself has a `toolkit.toml` that belongs to another user.
    """
    start = _absolute(start)
    for folder in _folders_upward(start):
        file = next((folder / name for name in _MARKERS if (folder / name).is_file()), None)
        if file is not None and _counts(file, start):
            return folder
        if (folder / ".git").exists():
            return None
    return None


def belongs_to_stranger(file: Path, folder: Path) -> bool:
    """Return True if a file, or a link in its place, belongs to anyone but this user, root or the folder's owner."""
    trusted = {_user(), _ROOT, *_owners(folder)}
    return _user() is not None and not _owners(file) <= trusted


def exported_by(project: Path, *, beside: bool = False) -> dict[str, Path]:
    """Return the variables that `.env` files around a project set, as a mapping from upper-case names to files.

    The files are looked for in the following folders and their parents, up to but not including the home folder: the
    project, the working directory, the folder in PWD, the folder in TOOLKIT_PROJECT, and the folder of the running
    notebook. Anything that looks like an assignment counts, even inside a value, but not in a comment line, because
    editors parse these files differently.

    Args:
        project: the folder of the project.
        beside: True to include siblings and direct subfolders of these folders, because an editor with several open
            folders may load the `.env` of one of them for all.

    Raises:
        ConfigurationError: if a file is too large to be read, because it might set any variable.
    """
    names: dict[str, Path] = {}
    for file in _env_files(project, beside=beside):
        if not os.access(file, os.R_OK) or not file.is_file():
            continue
        data = read_file(file, _LARGEST + 1)
        if len(data) > _LARGEST:
            raise ConfigurationError(f"Cannot read {shown(file)}: it is larger than 1 MiB.", "Fix or remove the file.")
        lines = data.decode("utf-8-sig", "replace").splitlines(keepends=True)
        text = "".join(line for line in lines if not line.lstrip().startswith("#"))
        for name in _ASSIGNED.findall(text):
            names.setdefault(name.upper(), file)
    return names


def own_variable(name: str) -> str | None:
    """Return the value of an environment variable; None if it is not set, or if a `.env` sets it or may set it.

    The `.env` files in sibling folders count only for TOOLKIT_* variables, because they may be for other programs.
    """
    value = os.environ.get(name)
    if not value:
        return None
    try:
        return None if name in exported_by(Path.cwd(), beside=name.startswith(_PREFIX)) else value
    except (ConfigurationError, OSError):
        return None


def cache_folder() -> Path:
    """Return the user's cache folder for the toolkit, such as `~/.cache/service-access-toolkit`; it need not exist."""
    from platformdirs import user_cache_dir

    is_moved = os.environ.get("XDG_CACHE_HOME") and not own_variable("XDG_CACHE_HOME")
    return Path.home() / ".cache" / APPLICATION if is_moved else Path(user_cache_dir(APPLICATION, appauthor=False))


def config_folder() -> Path:
    """Return the user's configuration folder, such as `~/.config/service-access-toolkit`; it need not exist."""
    from platformdirs import user_config_dir

    is_moved = os.environ.get("XDG_CONFIG_HOME") and not own_variable("XDG_CONFIG_HOME")
    return Path.home() / ".config" / APPLICATION if is_moved else Path(user_config_dir(APPLICATION, appauthor=False))


def user_key(name: str, *, makes: bool) -> bytes | None:
    """Return the 32-byte key in `<name>.key`. If the file does not exist, create it if `makes`, else return None.

    Raises:
        OSError: if the key cannot be read or created, or if the file does not contain such a key.
    """
    file = config_folder() / f"{name}.key"
    if makes and not file.exists():
        private_folder(file.parent)
        with suppress(FileExistsError):  # another process has just made it
            create_new(file, os.urandom(_KEY_LENGTH).hex().encode())
    if not file.exists():
        return None
    try:
        key = bytes.fromhex((read_private(file, 1024) or b"").decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_LENGTH:
        raise OSError(errno.EINVAL, "it does not contain a toolkit key, or belongs to another user", str(file))
    return key


def _absolute(folder: Path) -> Path:
    return Path(os.path.abspath(folder))  # noqa: PTH100 - removes "..", and keeps links


def _named_project(text: str) -> Path:
    folder = _absolute(expanded(text, about=PROJECT_VARIABLE))
    if folder.is_dir():
        if (folder / SETTINGS_FILE).is_file():
            _counts(folder / SETTINGS_FILE, folder)
        return folder
    raise ConfigurationError(
        f"{PROJECT_VARIABLE} is {excerpt(text)!r}, which is not a folder.",
        f"Set it to your project folder, the one with {SETTINGS_FILE}, or unset it.",
        about=PROJECT_VARIABLE,
    )


def _counts(file: Path, start: Path) -> bool:
    """Check a project file's owner: another user's file is an error in `start`, and ignored with a warning above it."""
    is_in_start = file.parent == start
    is_strange = belongs_to_stranger(file, start) or belongs_to_stranger(file.parent, start)
    if not is_strange or (is_in_start and file.name != SETTINGS_FILE):
        return True
    advice = (
        f"If you trust it, take ownership (chown) or load it by name: tk.Settings.load({str(file)!r}). "
        "Otherwise, work in your own folder."
    )
    if is_in_start:
        what = f"{file} belongs neither to you nor to the owner of its folder, so anybody may have put it there."
        raise ConfigurationError(what, advice, about="settings")
    warn(f"Ignored {file}: it or its folder belongs to another user. {advice}")
    return False


def _folders_upward(start: Path) -> Iterator[Path]:
    """Yield a folder and its parents, up to the home folder, which is included only if it is `start`."""
    try:
        homes = {Path.home(), Path.home().resolve()}
    except RuntimeError:  # a user without a home folder, as in containers
        homes = set()
    for folder in (start, *start.parents):
        if folder not in homes or folder == start:
            yield folder
        if folder in homes:
            return


def _notebook_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the notebook that runs in this process, if it is known.

    Jupyter's server sets JPY_SESSION_NAME for the kernels that it starts, and VS Code sets a variable in the notebook.
    """
    in_vs_code = getattr(shell(), "user_ns", {}).get("__vsc_ipynb_file__")
    for name in (in_vs_code, environ.get("JPY_SESSION_NAME")):
        if isinstance(name, str) and "\0" not in name and Path(name).is_absolute() and Path(name).is_file():
            return Path(name).parent
    return None


def _env_files(project: Path, *, beside: bool) -> Iterator[Path]:
    named = [Path(os.environ.get(name, "")) for name in ("PWD", PROJECT_VARIABLE)]
    starts = [_absolute(each) for each in (project, Path.cwd(), *named, _notebook_folder(os.environ)) if each]
    starts = list(dict.fromkeys([*starts, *(Path(os.path.realpath(folder)) for folder in starts)]))
    folders = dict.fromkeys(folder for start in starts for folder in _folders_upward(start))
    yield from (folder / ENV_FILE for folder in folders)
    for folder in dict.fromkeys([*folders, *(start.parent for start in starts)]) if beside else ():
        # Path.glob would stop at the first folder that cannot be read.
        for file in iglob(f"*/{ENV_FILE}", root_dir=folder, include_hidden=True):  # noqa: PTH207
            yield folder / file


def _user() -> int | None:
    """Return the user ID of this process, or None on Windows, which has no numeric user IDs."""
    return os.geteuid() if os.name == "posix" else None


def _owners(path: Path) -> set[int]:
    """Return the owners of a file and, if it is a link, of its target; an empty set if it does not exist."""
    owners = set()
    for get_status in (path.lstat, path.stat):
        with suppress(OSError):  # gone, or not accessible
            owners.add(get_status().st_uid)
    return owners
