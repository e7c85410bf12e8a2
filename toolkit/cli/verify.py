"""`toolkit verify`: run notebooks offline and report where their outputs differ from the stored ones."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt
from toolkit.core.words import count_text
from toolkit.verification.verdict import Kind, Outcome, describe_changes

if TYPE_CHECKING:
    from toolkit.verification import Difference, Verdict
    from toolkit.verification import Progress as CellProgress

EPILOG: Final = terminal.examples(
    "toolkit verify notebooks/",
    "toolkit verify notebooks/01-tour.ipynb --update",
    "toolkit verify notebooks/ --jobs 2 --timeout 30 --json verdicts.json",
)
# How much of a notebook's differences is printed; the JSON report has everything.
_MOST_DIFFERENCES: Final = 20
_MOST_LINES: Final = 30  # of one difference
_LONGEST_LINE: Final = 160  # characters
_COLOURS: Final = {
    Outcome.SAME: "green",
    Outcome.UPDATED: "green",
    Outcome.DIFFERS: "red",
    Outcome.UNSTABLE: "red",
    Outcome.FAILED: "red",
}
_EXIT_DIFFERS, _EXIT_NOT_VERIFIED = 1, 2


def verify(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Notebooks, and folders with notebooks; by default `notebooks`.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Store the new outputs of notebooks that differ.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Notebooks to run at once; by default one per processor.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a cell may take.")] = 120.0,
    report: Annotated[
        Path | None, typer.Option("--json", help="File for the verdicts as JSON; - for standard output.")
    ] = None,
) -> None:
    """Run notebooks offline and compare source, outputs and metadata with what is stored, byte for byte.

    Each notebook runs in a fresh kernel, in replay, without a network, without your environment variables and in an
    empty home folder. **This runs the code of the notebooks and is not a sandbox**: the code can read and write your
    files. Verify only notebooks that you would also run.

    Nothing is written without `--update`, which stores a notebook that differs if it gives the same outputs twice.

    Exit status: 0 if all are the same or updated; 1 if some differ; 2 if some could not run, or the command is wrong.
    """
    from toolkit.verification import verify as verify_notebooks  # slow to load

    is_piped = report is not None and str(report) == "-"
    if report is not None and not is_piped and not report.absolute().parent.is_dir():
        terminal.print_error(
            ConfigurationError(f"There is no folder for {report}.", "Create it, or choose another file.", about="json")
        )
        raise typer.Exit(_EXIT_NOT_VERIFIED)
    console = Console(stderr=is_piped)
    with _termination_as_interrupt():
        try:
            with _progress_display(console) as watch:
                verdicts = verify_notebooks(
                    paths or [Path("notebooks")],
                    update=update,
                    jobs=jobs,
                    timeout=timeout,
                    watch=watch,
                    stopping=_print_stopping,
                )
            if report is not None:
                _write_report(report, verdicts)
        except ConfigurationError as error:
            terminal.print_error(error)
            raise typer.Exit(_EXIT_NOT_VERIFIED) from None
    for verdict in verdicts:
        _print_details(console, verdict)
    _print_summary(console, verdicts)
    if any(verdict.failure is not None for verdict in verdicts):
        raise typer.Exit(_EXIT_NOT_VERIFIED)
    if not all(verdict.outcome.is_good for verdict in verdicts):
        raise typer.Exit(_EXIT_DIFFERS)


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


def _print_details(console: Console, verdict: Verdict) -> None:
    if verdict.outcome.is_good:  # git shows what was updated
        return
    console.print(f"\n[bold]{terminal.escape(str(verdict.path))}[/]", highlight=False, soft_wrap=True)
    failure = verdict.failure
    if failure is not None:
        place = "" if failure.cell is None else f"{_capitalized(str(failure.cell))}: "
        _print(console, f"{place}{failure.what}", "red")
        _print(console, failure.next_step)
    if verdict.outcome is Outcome.UNSTABLE:
        _print(console, "Two runs give different outputs, so the notebook was not updated:", "red")
    differences = _relevant_differences(verdict)
    for difference in differences[:_MOST_DIFFERENCES]:
        _print_difference(console, difference)
    if len(differences) > _MOST_DIFFERENCES:
        _print(console, f"… and {len(differences) - _MOST_DIFFERENCES} more; --json has them all", "dim")
    if words := _describe_versions(verdict):
        _print(console, words, "yellow")


def _relevant_differences(verdict: Verdict) -> list[Difference]:
    """Return the differences without an editor's metadata, which counts only between two runs of ours."""
    is_unstable = verdict.outcome is Outcome.UNSTABLE
    return [difference for difference in verdict.differences if is_unstable or difference.kind is not Kind.EDITOR]


def _print_difference(console: Console, difference: Difference) -> None:
    place = difference.place if difference.cell is None else f"{difference.cell}: {difference.place}"
    _print(console, f"{_capitalized(place)} [{difference.kind}]", "bold")
    for line in difference.diff[:_MOST_LINES]:
        shown = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
        colour = {"-": "red", "+": "green"}.get(line[:1], "dim")
        console.print(f"  [{colour}]{terminal.escape(shown)}[/]", highlight=False, soft_wrap=True)
    if len(difference.diff) > _MOST_LINES:
        _print(console, f"  … {len(difference.diff) - _MOST_LINES} more lines; --json has them all", "dim")
    if difference.hint:
        _print(console, f"  {difference.hint}", "dim")


def _describe_versions(verdict: Verdict) -> str:
    """Return how other library versions may explain the differences; empty if the versions are the same."""
    words = describe_changes(verdict.versions)
    if verdict.in_presentation_only:
        return f"It differs in presentation only{f'; {words}' if words else ''}."
    return f"{_capitalized(words)}." if words else ""


def _print_summary(console: Console, verdicts: list[Verdict]) -> None:
    table = terminal.folding_table("notebook", "cells", "seconds", "result")
    for verdict in verdicts:
        table.add_row(
            terminal.escape(str(verdict.path)),
            str(verdict.cells),
            f"{verdict.seconds:.1f}",
            f"[{_COLOURS[verdict.outcome]}]{terminal.escape(_result_text(verdict))}[/]",
        )
    console.print()
    console.print(table, highlight=False)
    if any(verdict.outcome is Outcome.SAME and verdict.differences for verdict in verdicts):
        console.print("\nAn editor added metadata when it saved, which does not count; [cyan]--update[/] removes it.")
    if any(verdict.outcome is Outcome.DIFFERS for verdict in verdicts):
        console.print("\nIf the new outputs are right, add [cyan]--update[/] and check what git shows.")


def _result_text(verdict: Verdict) -> str:
    count = len(_relevant_differences(verdict))
    if verdict.outcome is Outcome.SAME and verdict.differences:
        return f"{verdict.outcome}, with an editor's metadata"
    if verdict.outcome is Outcome.DIFFERS and verdict.in_presentation_only:
        return f"{verdict.outcome} in presentation only"
    if count:
        return f"{verdict.outcome} at {count_text(count, 'place')}"
    if verdict.outcome is Outcome.SAME and verdict.versions:
        return f"{verdict.outcome} ({_describe_versions(verdict).rstrip('.')})"
    return str(verdict.outcome)


def _write_report(file: Path, verdicts: list[Verdict]) -> None:
    """Write verdicts as JSON; `is_good` and `in_presentation_only` are added to the fields of each.

    Raises:
        ConfigurationError: if the file cannot be written.
    """
    report = [
        {
            **asdict(verdict),
            "is_good": verdict.outcome.is_good,
            "in_presentation_only": verdict.in_presentation_only,
        }
        for verdict in verdicts
    ]
    text = json.dumps(report, indent=1, default=str) + "\n"
    if str(file) == "-":
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write the verdicts to {file}: {error.strerror}.", "Choose another file.", about="json"
        ) from None


def _print(console: Console, text: str, style: str = "") -> None:
    console.print(terminal.escape(text), style=style or None, highlight=False, soft_wrap=True)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
