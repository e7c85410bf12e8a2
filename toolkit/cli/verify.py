"""`toolkit verify`: run notebooks offline and report where their outputs differ from the stored ones."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated, Final

import typer

from toolkit.cli import terminal
from toolkit.core.errors import as_choice

EXAMPLES: Final = terminal.examples(
    "toolkit verify notebooks/",
    "toolkit verify notebooks/01-my-accounts.ipynb --update",
    "toolkit verify notebooks/ --since origin/main --format github --save-notebooks executed",
)
_FORMATS: Final = ("text", "github")
_DIFFERS, _NOT_VERIFIED = 1, 2  # exit statuses


@terminal.errors_exit_with(_NOT_VERIFIED)
def verify(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Notebooks and folders of notebooks; by default `notebooks`.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Store the new outputs of notebooks that differ.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Run only notebooks whose file or cassette has changed according to git.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(metavar="COMMIT", help="Like --changed, for all changes on this branch since COMMIT.")
    ] = None,
    save_notebooks: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the executed notebooks in a folder, for `nbdiff`.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of notebooks to run at once; by default one per processor.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Time limit for each cell, in seconds.")] = 120.0,
    form: Annotated[
        str, typer.Option("--format", help="`text`, or `github` to annotate the cells in a pull request.")
    ] = "text",
    as_json: terminal.JsonOption = False,
    save_json: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the JSON output in a file.")] = None,
) -> None:
    """Run notebooks offline and compare their outputs.

    Each notebook runs in a fresh kernel and replays its recordings, without a network, without your environment
    variables and with an empty home folder. **This runs the notebooks' code and is not a sandbox**: the code can read
    and write your files. Verify only notebooks that you would run yourself.

    No notebook is changed without `--update`, which stores new outputs if two runs produce the same outputs.

    The JSON output is a list with an entry for each notebook: `path`, `outcome`, `is_good`, `cells`, `seconds`,
    `differences`, `failure` and `saved_to`.

    Exit status: 0 if all match or were updated; 1 if some differ; 2 if some could not run or the usage is wrong.
    """
    from toolkit.verification import FORMATS  # slow to load
    from toolkit.verification import verify as verify_notebooks

    as_choice(form, _FORMATS, about="format")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # CI stops a job with it; clean up as on Ctrl+C
    with terminal.status("Verifying") as watch:
        verdicts = verify_notebooks(
            paths or ["notebooks"],
            update=update,
            since=since or ("HEAD" if changed else None),
            jobs=jobs,
            timeout=timeout,
            save_to=save_notebooks,
            watch=watch,
        )
    checkout = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    if save_json is not None:
        terminal.save_report(save_json, FORMATS["json"](verdicts, checkout))
    typer.echo(FORMATS["json" if as_json else form](verdicts, checkout), nl=False)
    if any(verdict.failure is not None for verdict in verdicts):
        raise typer.Exit(_NOT_VERIFIED)
    if not all(verdict.outcome.is_good for verdict in verdicts):
        raise typer.Exit(_DIFFERS)
