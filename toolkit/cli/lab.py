"""`toolkit lab`: open the bundled notebooks in JupyterLab."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from toolkit.cli import bundled, terminal
from toolkit.cli.programs import scripts_folder
from toolkit.core.errors import ConfigurationError, how_to_install

_GRACE: Final = 10.0  # seconds; a kernel that is busy gets five from JupyterLab
EPILOG: Final = terminal.examples("toolkit lab", "toolkit lab --copy-to my-notebooks", "toolkit lab -- --no-browser")


def lab(
    copy_to: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Copy notebooks and cassettes to this folder first.")
    ] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments for JupyterLab.")] = None,
) -> None:
    """Open the notebooks in JupyterLab; from an installed package they are copied to a writable folder first."""
    if find_spec("jupyterlab") is None:
        raise ConfigurationError(
            "JupyterLab is not installed.",
            how_to_install("lab"),
        )
    notebooks = bundled.bundled_folder("notebooks")
    if copy_to is not None or bundled.is_installed():
        notebooks = bundled.copy_to((copy_to or Path("toolkit-notebooks")).absolute())
        typer.echo(f"The notebooks are in {notebooks}")
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={notebooks.parent}", *(arguments or [])]
    command.append(f"--LabApp.default_url=/lab/tree/{notebooks.name}/{bundled.TOUR_NOTEBOOK}")
    raise typer.Exit(run_to_its_end(command))


class _TerminatedError(Exception):
    """Somebody asked this process to end."""


def run_to_its_end(command: list[str]) -> int:
    """Run a program and return its exit status; a request to end this process ends the program and its children.

    It finds the programs of this environment without a path, even if the environment is not activated.

    Ctrl+C at a terminal reaches the program itself, which asks back or ends.
    """
    previous = {
        signal.SIGTERM: signal.signal(signal.SIGTERM, _terminate),
        # A function and not SIG_IGN, which the program would inherit.
        signal.SIGINT: signal.signal(signal.SIGINT, _leave_to_the_program if sys.stdin.isatty() else _terminate),
    }
    path = os.pathsep.join(filter(None, [scripts_folder(), os.environ.get("PATH")]))
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(command, env={**os.environ, "PATH": path})  # noqa: S603 - our own interpreter
        status = process.wait()
    except _TerminatedError:
        for number in previous:
            signal.signal(number, _leave_to_the_program)
        status = 0 if process is None else _end(process)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _terminate(*_: object) -> None:
    raise _TerminatedError


def _leave_to_the_program(*_: object) -> None:
    """Do nothing."""


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a program: JupyterLab shuts its kernels down; what is left after a while is killed."""
    children = _children(process.pid)
    process.terminate()
    try:
        status = process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        children = [*children, *_children(process.pid)]
        process.kill()
        status = process.wait()
    for child in children:
        with suppress(Exception):  # it has ended
            child.kill()
    return status


def _children(process: int) -> list[Any]:
    """Return the processes below a process, such as kernels and what they started."""
    try:
        import psutil  # comes with ipykernel

        return list(psutil.Process(process).children(recursive=True))
    except (ImportError, psutil.Error):
        return []
