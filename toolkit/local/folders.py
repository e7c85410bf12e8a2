"""Find the folder of the project.

A settings file says where credentials are sent, and in a folder that others may write to, such as /tmp, anybody may
have put it there. So a file counts only if it belongs to this user, to root, or to the owner of the working folder.
That owner is trusted already, because Python runs modules from the working folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from stat import S_IWOTH
from typing import Final

from toolkit.core.errors import ConfigurationError
from toolkit.core.text import excerpt
from toolkit.core.tracebacks import shell, warn

SETTINGS_FILE: Final = "toolkit.toml"
PROJECT_VARIABLE: Final = "TOOLKIT_PROJECT"
VS_CODE_NOTEBOOK: Final = "__vsc_ipynb_file__"  # a variable that VS Code sets in the kernels that it starts
_MARKERS: Final = (SETTINGS_FILE, "pyproject.toml")
_ROOT: Final = 0


def current_project(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the project that this process works in.

    That is the folder in TOOLKIT_PROJECT; else the project of the working directory; else that of the running
    notebook, if Jupyter or VS Code says where it lies; else the working directory.

    Args:
        environ: environment variables; by default those of the process.

    Raises:
        ConfigurationError: if TOOLKIT_PROJECT does not name a folder, or another user's `toolkit.toml` lies in one of
            these folders.
    """
    named = (os.environ if environ is None else environ).get(PROJECT_VARIABLE)
    if named:
        return _named_project(named)
    here = Path.cwd()
    project = project_of(here)
    if project is None:
        notebook = notebook_folder(os.environ if environ is None else environ)
        project = None if notebook is None else project_of(notebook)
    return here if project is None else project


def how_to_name_project() -> str:
    """Return what to do if this process works in no project; "" if it does.

    papermill and a scheduler run a notebook in the folder that they were started in, and do not say where it lies.
    """
    if os.environ.get(PROJECT_VARIABLE) or project_of(current_project()) is not None:
        return ""
    return (
        f"No project was found: neither {Path.cwd()} nor a folder above it has a {SETTINGS_FILE}. If the project is "
        f"elsewhere, set the variable {PROJECT_VARIABLE} to its folder, or start there (papermill --cwd FOLDER)."
    )


def find_project(start: Path) -> Path:
    """Return the project that a folder belongs to, as `project_of` does, else the folder itself."""
    return project_of(start) or Path(os.path.abspath(start))  # noqa: PTH100 - removes "..", and keeps links


def project_of(start: Path) -> Path | None:
    """Return the nearest folder upward that has a `toolkit.toml` or `pyproject.toml`, or None.

    The search ends at the root of a git repository and at the home folder, which counts only if it is `start`.
    It skips a folder above `start`, with a warning, if the file or the folder belongs to another user, or if
    everybody may write to the folder but not to `start`. (On a Windows disk mounted in Linux, everybody may write
    to both. On Windows itself, owners are not checked.)

    Raises:
        ConfigurationError: if `start` itself has a `toolkit.toml` of another user.
    """
    start = Path(os.path.abspath(start))  # noqa: PTH100 - removes "..", and keeps links
    for folder in folders_upward(start):
        file = next((folder / name for name in _MARKERS if (folder / name).is_file()), None)
        if file is not None and folder == start:
            if file.name == SETTINGS_FILE:
                _refuse_stranger(file)
            return folder
        if file is not None:
            objection = _objection(file, start)
            if objection is None:
                return folder
            warn(f"Ignored {file}: {objection}. {_if_trusted(file)}")
        if (folder / ".git").exists():
            return None
    return None


def folders_upward(start: Path) -> Iterator[Path]:
    """Yield a folder and those above it; the home folder and those above that only if it is `start`."""
    homes = _homes()
    for folder in (start, *start.parents):
        if folder in homes and folder != start:
            return
        yield folder
        if folder in homes:
            return


def belongs_to_stranger(file: Path, folder: Path) -> bool:
    """Return True unless a file, or a link in its place, belongs to this user, root or the folder's owner."""
    trusted = {_user(), _ROOT, *_owners(folder)}
    return _user() is not None and not _owners(file) <= trusted


def _named_project(text: str) -> Path:
    try:
        folder = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 - removes "..", and keeps links
        exists = folder.is_dir()
    except (RuntimeError, ValueError):  # no such home folder; a null character
        exists = False
    if not exists:
        raise ConfigurationError(
            f"{PROJECT_VARIABLE} is {excerpt(text)!r}, which is not a folder.",
            f"Set it to the folder of your project, the one with {SETTINGS_FILE}, or unset it.",
            about=PROJECT_VARIABLE,
        )
    if (folder / SETTINGS_FILE).is_file():
        _refuse_stranger(folder / SETTINGS_FILE)
    return folder


def notebook_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the notebook that runs in this process, if it says where it lies.

    Jupyter's server sets JPY_SESSION_NAME for the kernels that it starts, and VS Code a variable in the notebook.
    """
    for name in (getattr(shell(), "user_ns", {}).get(VS_CODE_NOTEBOOK), environ.get("JPY_SESSION_NAME")):
        if isinstance(name, str) and "\0" not in name and Path(name).is_absolute() and Path(name).is_file():
            return Path(name).parent
    return None


def _refuse_stranger(file: Path) -> None:
    if belongs_to_stranger(file, file.parent):
        raise ConfigurationError(
            f"{file} belongs neither to you nor to the owner of its folder, so anybody may have put it there.",
            _if_trusted(file),
            about="settings",
        )


def _if_trusted(file: Path) -> str:
    return (
        f"If you trust it, take ownership (chown) or load it by name: tk.Settings.load({str(file)!r}). "
        "Otherwise work in a folder of your own."
    )


def _objection(file: Path, start: Path) -> str | None:
    """Return why a file above `start` is ignored, or None if it counts."""
    if belongs_to_stranger(file, start) or belongs_to_stranger(file.parent, start):
        return "it or its folder belongs to another user"
    if _is_open_to_all(file.parent) and not _is_open_to_all(start):
        return "everybody may write to its folder"
    return None


def _user() -> int | None:
    """Return the user ID of this process, or None on Windows, which has owners of another kind."""
    return os.geteuid() if os.name == "posix" else None


def _owners(path: Path) -> set[int]:
    """Return the owners of a file and, if it is a link, of its target; an empty set if it does not exist."""
    owners = set()
    for get_status in (path.lstat, path.stat):
        try:
            owners.add(get_status().st_uid)
        except OSError:  # gone, or not accessible
            continue
    return owners


def _is_open_to_all(folder: Path) -> bool:
    try:
        return os.name == "posix" and bool(folder.stat().st_mode & S_IWOTH)
    except OSError:
        return False


def _homes() -> set[Path]:
    """Return the home folder and its real path, which the working directory has if the home folder is a link."""
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home folder, as in containers
        return set()
    return {home, home.resolve()}
