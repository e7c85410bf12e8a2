"""`toolkit lab`: open the bundled notebooks in JupyterLab."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from toolkit.cli import terminal
from toolkit.cli.demo import bundled_files
from toolkit.core.errors import ConfigurationError, how_to_install
from toolkit.local.files import create_new
from toolkit.local.folders import SETTINGS_FILE

EXAMPLES: Final = terminal.examples("toolkit lab", "toolkit lab --copy-to my-notebooks", "toolkit lab -- --no-browser")
_FIRST_NOTEBOOK: Final = "01-my-accounts.ipynb"
# Notebooks link to the pages beside them and to the README, which links to the changelog.
_COPIED: Final = ("*.md", "notebooks/[a-z0-9]*.*", "notebooks/[a-z]*/*.md", "cassettes/*.yaml")
_SETTINGS: Final = b"# Addresses of the service go here; see the README.\n[addresses]\n"


def lab(
    copy_to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Copy notebooks and cassettes to this folder first.")
    ] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for JupyterLab.")] = None,
) -> None:
    """Open the tutorials in JupyterLab.

    If the toolkit is installed as a package, the notebooks are copied to a folder where you can change them, by default
    `toolkit-notebooks`.
    """
    if find_spec("jupyterlab") is None:
        raise ConfigurationError("JupyterLab is not installed.", how_to_install("lab"))
    root = bundled_files()
    if copy_to is not None or root.name == "_shipped":
        root = (copy_to or Path("toolkit-notebooks")).absolute()
        copy_notebooks(root)
        terminal.say(f"The notebooks are in {root / 'notebooks'}")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root}", *(arguments or [])]
    command.append(f"--LabApp.default_url=/lab/tree/notebooks/{_FIRST_NOTEBOOK}")
    if not sys.stdin.isatty():  # an interrupt then stops it without asking for a confirmation that nobody could give
        command.append("--ServerApp.answer_yes=True")
    # Its terminals and cells find the programs of this environment, even if the environment is not activated.
    path = os.pathsep.join(filter(None, [sysconfig.get_path("scripts"), os.environ.get("PATH")]))
    environ = {**os.environ, "PATH": path}
    if os.name == "nt":
        raise typer.Exit(subprocess.call(command, env=environ))  # noqa: S603 - our own interpreter
    sys.stdout.flush()
    os.execve(sys.executable, command, environ)  # noqa: S606 - JupyterLab gets the signals and stops its kernels


def copy_notebooks(target: Path) -> None:
    """Copy notebooks, pages and cassettes to a folder and make it a project; existing files are kept."""
    source = bundled_files()
    copies = {file.relative_to(source): file.read_bytes() for pattern in _COPIED for file in source.glob(pattern)}
    try:
        for name, data in {**copies, Path(SETTINGS_FILE): _SETTINGS}.items():
            file = target / name
            file.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                create_new(file, data, private=False)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot copy the notebooks to {target}: {error.strerror}.", "Choose another folder.", about="copy_to"
        ) from None
