"""`toolkit verify`: run notebooks offline and report where their outputs differ from the stored ones."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolkit.cli import terminal
from toolkit.core.text import count_text

if TYPE_CHECKING:
    from toolkit.verification import Progress, Verdict

EXAMPLES: Final = terminal.examples(
    "toolkit verify notebooks/",
    "toolkit verify notebooks/01-my-accounts.ipynb --update",
    "toolkit verify notebooks/ --since origin/main --format github --save-notebooks executed",
)
_DIFFERS, _NOT_VERIFIED = 1, 2  # exit statuses


@terminal.errors_exit_with(_NOT_VERIFIED)
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
        str, typer.Option("--format", help="text; `github` annotates the cells in a pull request.")
    ] = "text",
    as_json: terminal.JsonOption = False,
    save_json: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the JSON in a file.")] = None,
) -> None:
    """Run notebooks offline and compare their outputs.

    Source, outputs and metadata are compared with what is stored, byte for byte. Each notebook runs in a fresh kernel,
    in replay, without a network, without your environment variables and in an empty home folder. **This runs the code
    of the notebooks and is not a sandbox**: the code can read and write your files. Verify only notebooks that you
    would also run. `--update` stores a notebook that differs if it gives the same outputs twice.

    JSON is a list with an entry for each notebook: `path`, `outcome`, `is_good`, `cells`, `seconds`,
    `differences`, `failure`, `versions` and `saved_to`.

    Exit status: 0 if all are the same or updated; 1 if some differ; 2 if some could not run, or the command is wrong.
    """
    from toolkit.verification import report, verifier  # slow to load
    from toolkit.verification.changes import HEAD, changed_notebooks
    from toolkit.verification.notebook_files import find_notebooks

    terminal.check_format(form, ("text", "github"), as_json=as_json)
    is_for_people = not as_json and form == "text"
    notebooks = paths or [Path("notebooks")]
    if changed or since is not None:
        found = find_notebooks(notebooks, without=save_notebooks)
        notebooks = changed_notebooks(found, since or HEAD)
        terminal.note(f"{len(notebooks)} of {count_text(len(found), 'notebook')} changed since {since or HEAD}.")
    verdicts: list[Verdict] = []
    if notebooks:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # CI stops a job with it; clean up as on Ctrl+C
        verdicts = verifier.verify(
            notebooks,
            update=update,
            jobs=jobs,
            timeout=timeout,
            strict=strict,
            save_to=save_notebooks,
            watch=_print_finished if is_for_people else lambda _: None,
            stopping=lambda: terminal.note("Stopping the kernels."),
        )
    if save_json is not None:
        terminal.save_report(save_json, report.json_text(verdicts))
    if as_json:
        typer.echo(report.json_text(verdicts), nl=False)
    elif form == "github":
        typer.echo(report.github_text(verdicts, Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())), nl=False)
    elif verdicts:
        for text in filter(None, map(report.details_text, verdicts)):
            terminal.say(f"\n{terminal.pasteable(text)}")
        terminal.say()
        rows = [(str(each.path), each.cells, each.seconds, report.result_text(each)) for each in verdicts]
        terminal.print_table(("notebook", "cells", "seconds", "result"), rows)
    if any(verdict.failure is not None for verdict in verdicts):
        raise typer.Exit(_NOT_VERIFIED)
    if not all(verdict.outcome.is_good for verdict in verdicts):
        raise typer.Exit(_DIFFERS)


def _print_finished(progress: Progress) -> None:
    verdict = progress.verdict
    if verdict is not None:
        terminal.say(f"{verdict.path}: {verdict.outcome} ({verdict.seconds:.1f} s)")
