"""`toolkit verify`: run notebooks offline and report where their outputs differ from the stored ones."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from toolkit.cli import terminal, verify_report
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text, excerpt, fence
from toolkit.local.files import write_atomically
from toolkit.verification.notebook_files import find_notebooks

if TYPE_CHECKING:
    from toolkit.verification import Progress as CellProgress
    from toolkit.verification import Verdict

EPILOG: Final = terminal.examples(
    "toolkit verify notebooks/",
    "toolkit verify notebooks/01-my-accounts.ipynb --update",
    "toolkit verify notebooks/ --changed",
    "toolkit verify notebooks/ --since origin/main --format github --save-notebooks executed",
    "toolkit verify notebooks/ --jobs 2 --timeout 30 --save-json verdicts.json",
)
_EXIT_DIFFERS, _EXIT_NOT_VERIFIED = 1, 2


class VerdictFormat(StrEnum):
    """The formats in which verdicts are printed."""

    TEXT = "text"
    GITHUB = "github"


def verify(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Notebooks, and folders with notebooks; by default `notebooks`.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Store the new outputs of notebooks that differ.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Run only notebooks that changed, as git says, or whose cassette changed.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="As --changed, for all that this branch changed since COMMIT.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Count metadata that JupyterLab adds when it saves as a difference.")
    ] = False,
    save_notebooks: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the notebooks as executed in a folder, for `nbdiff`.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Notebooks to run at once; by default one per processor.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a cell may take.")] = 120.0,
    form: Annotated[
        VerdictFormat, typer.Option("--format", help="`github` annotates the cells in a pull request.")
    ] = VerdictFormat.TEXT,
    as_json: terminal.JsonOption = False,
    save_json: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the JSON in a file.")] = None,
) -> None:
    """Run notebooks offline and compare source, outputs and metadata with what is stored, byte for byte.

    Each notebook runs in a fresh kernel, in replay, without a network, without your environment variables and in an
    empty home folder. **This runs the code of the notebooks and is not a sandbox**: the code can read and write your
    files. Verify only notebooks that you would also run.

    No notebook is written without `--update`, which stores one that differs if it gives the same outputs twice.

    `--changed` runs what is not committed: changed and new notebooks, and those that name a cassette that changed.

    JSON is a list with an entry for each notebook: `path`, `outcome`, `is_good`, `cells`, `seconds`,
    `differences`, `failure`, `versions` and `saved_to`.

    Exit status: 0 if all are the same or updated; 1 if some differ; 2 if some could not run, or the command is wrong.
    """
    console = Console(stderr=as_json)
    to_github = form is VerdictFormat.GITHUB
    options = {"update": update, "jobs": jobs, "timeout": timeout, "strict": strict, "save_to": save_notebooks}
    with terminal.errors_exit_with(_EXIT_NOT_VERIFIED):
        terminal.check_one_format(as_json, form)
        _check_folder_of(save_json)
        with _without_commands(console) if to_github else nullcontext():
            notebooks = paths or [Path("notebooks")]
            if changed or since is not None:
                notebooks = _changed(console, notebooks, since, save_notebooks)
            verdicts = _verify(console, notebooks, options) if notebooks else []
            if as_json:
                sys.stdout.write(_json_text(verdicts))
            if save_json is not None:
                _save_json(save_json, verdicts)
            verify_report.print_verdicts(console, verdicts)
    if to_github:
        verify_report.print_annotations(console, verdicts, os.environ)
    if any(verdict.failure is not None for verdict in verdicts):
        raise typer.Exit(_EXIT_NOT_VERIFIED)
    if not all(verdict.outcome.is_good for verdict in verdicts):
        raise typer.Exit(_EXIT_DIFFERS)


def _check_folder_of(file: Path | None) -> None:
    """Check whether the JSON can be saved before the notebooks run, which takes long."""
    if file is not None and not file.absolute().parent.is_dir():
        raise ConfigurationError(
            f"The folder of {file} does not exist.", "Create it, or choose another file.", about="save_json"
        )


def _changed(console: Console, paths: list[Path], since: str | None, save_to: Path | None) -> list[Path]:
    """Return the notebooks that git says changed, and print how many."""
    from toolkit.verification.changes import HEAD, changed_notebooks

    notebooks = find_notebooks(paths, without=save_to)
    selected = changed_notebooks(notebooks, since or HEAD)
    words = f"{len(selected)} of {count_text(len(notebooks), 'notebook')} changed"
    verify_report.print_text(console, f"{words}{f' since {since}' if since else ', as git says'}.")
    return selected


def _verify(console: Console, notebooks: list[Path], options: dict[str, Any]) -> list[Verdict]:
    from toolkit.verification import verify as verify_notebooks  # slow to load

    with _termination_as_interrupt(), _progress_display(console) as watch:
        return verify_notebooks(notebooks, watch=watch, stopping=_print_stopping, **options)


@contextmanager
def _without_commands(console: Console) -> Iterator[None]:
    """Keep GitHub's runner from reading commands in what is printed: outputs of notebooks are foreign text."""
    begin, end = fence(secrets.token_hex(16))
    verify_report.print_text(console, begin)
    try:
        yield
    finally:
        verify_report.print_text(console, end)


@contextmanager
def _progress_display(console: Console) -> Iterator[Any]:
    """Show progress: a bar for each notebook at a terminal, otherwise a line for each finished notebook."""
    if not console.is_terminal:
        yield lambda progress: _print_line(console, progress)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[Path, Any] = {}

        def show(progress: CellProgress) -> None:
            if progress.path not in tasks:
                name = excerpt(progress.path.name, 40)
                tasks[progress.path] = bars.add_task(name, total=progress.cells or 1)
            done = (progress.cells or 1) if progress.cell is None else progress.cell - 1
            bars.update(tasks[progress.path], completed=done)

        yield show


def _print_line(console: Console, progress: CellProgress) -> None:
    verdict = progress.verdict
    if verdict is not None:
        path = terminal.escape(str(verdict.path))
        console.print(f"{path}: {verdict.outcome} ({verdict.seconds:.1f} s)", highlight=False, soft_wrap=True)


def _print_stopping() -> None:
    # Written without a console: while there is a progress bar, this stream prints above it.
    with suppress(OSError):
        sys.stderr.write("Stopping the kernels.\n")
        sys.stderr.flush()


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM, which CI sends to stop a job, clean up as Ctrl+C does."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _json_text(verdicts: list[Verdict]) -> str:
    """Return verdicts as JSON: their fields, and `is_good`."""
    report = [{**asdict(verdict), "is_good": verdict.outcome.is_good} for verdict in verdicts]
    return json.dumps(report, indent=1, default=str) + "\n"


def _save_json(file: Path, verdicts: list[Verdict]) -> None:
    try:
        write_atomically(file, _json_text(verdicts).encode())
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write the verdicts to {file}: {error.strerror}.", "Choose another file.", about="save_json"
        ) from None
