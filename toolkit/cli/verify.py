"""`toolkit verify`: run notebooks offline and report where their outputs differ from the stored ones."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.local.files import write_atomically

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
    """Run notebooks offline and compare their outputs with what is stored.

    Each notebook runs in a fresh kernel, in replay, without a network, without your environment variables and in an
    empty home folder. **This runs the code of the notebooks and is not a sandbox**: the code can read and write your
    files. Verify only notebooks that you would also run.

    No notebook is written without `--update`, which stores one that differs if it gives the same outputs twice.

    `--changed` runs what is not committed: changed and new notebooks, and those that name a cassette that changed.

    JSON is a list with an entry for each notebook: `path`, `outcome`, `is_good`, `cells`, `seconds`,
    `differences`, `failure` and `saved_to`.

    Exit status: 0 if all are the same or updated; 1 if some differ; 2 if some could not run, or the command is wrong.
    """
    with terminal.errors_exit_with(_EXIT_NOT_VERIFIED):
        terminal.check_one_format(as_json, form)
        from toolkit.verification import FORMATS  # slow to load
        from toolkit.verification import verify as verify_notebooks

        with _termination_as_interrupt(), Console(stderr=True).status("Verifying") as status:
            verdicts = verify_notebooks(
                paths or ["notebooks"],
                update=update,
                since=since or ("HEAD" if changed else None),
                jobs=jobs,
                timeout=timeout,
                save_to=save_notebooks,
                watch=lambda step: status.update(terminal.escape(step)),
            )
        checkout = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
        if save_json is not None:
            _save(save_json, FORMATS["json"](verdicts, checkout))
        sys.stdout.write(FORMATS["json" if as_json else form](verdicts, checkout))
    if any(verdict.failure is not None for verdict in verdicts):
        raise typer.Exit(_EXIT_NOT_VERIFIED)
    if not all(verdict.outcome.is_good for verdict in verdicts):
        raise typer.Exit(_EXIT_DIFFERS)


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM, which CI sends to stop a job, clean up as Ctrl+C does."""
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _save(file: Path, text: str) -> None:
    try:
        write_atomically(file, text.encode())
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write the verdicts to {file}: {error.strerror}.", "Choose another file.", about="save_json"
        ) from None
