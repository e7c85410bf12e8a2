"""`toolkit lab`: open the bundled notebooks in JupyterLab."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

import typer

from toolkit.cli import bundled, terminal
from toolkit.core.errors import ConfigurationError

EPILOG: Final = terminal.examples("toolkit lab", "toolkit lab --copy-to my-notebooks", "toolkit lab -- --no-browser")


def lab(
    copy_to: Annotated[Path | None, typer.Option(help="Folder to copy notebooks and cassettes to first.")] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for JupyterLab.")] = None,
) -> None:
    """Open the notebooks in JupyterLab; from an installed package they are copied to a writable folder first."""
    if find_spec("jupyterlab") is None:
        raise ConfigurationError(
            "JupyterLab is not installed.",
            "Install the extra: pip install 'service-access-toolkit[lab]', or in a checkout pip install '.[lab]'.",
        )
    notebooks = bundled.bundled_folder("notebooks")
    if copy_to is not None or bundled.is_installed():
        notebooks = bundled.copy_to((copy_to or Path("toolkit-notebooks")).absolute())
        typer.echo(f"The notebooks are in {notebooks}")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={notebooks.parent}", *(arguments or [])]
    command.append(f"--LabApp.default_url=/lab/tree/{notebooks.name}/{bundled.TOUR_NOTEBOOK}")
    raise typer.Exit(subprocess.run(command, check=False).returncode)  # noqa: S603 - our own interpreter
