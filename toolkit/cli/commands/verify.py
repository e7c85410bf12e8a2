"""`toolkit verify`: notebooks give today what they gave when they were stored, or it says where not."""

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
from toolkit.cli.terminal import table
from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt

if TYPE_CHECKING:
    from toolkit.verification import Difference, Verdict
    from toolkit.verification import Progress as HowFar

EPILOG: Final = "Examples:\n\n" + "\n\n".join(
    f"`toolkit verify {rest}`"
    for rest in (
        "notebooks/",
        "notebooks/01-tour.ipynb --update",
        "notebooks/ --jobs 2 --timeout 30 --json verdicts.json",
    )
)
_PLACES: Final = 20  # differences of one notebook, shown here; the JSON has all
_LINES: Final = 30  # of one difference, shown here; the JSON has all
_WIDTH: Final = 160  # characters of one line
_COLOURS: Final = {"same": "green", "updated": "green", "differs": "red", "unstable": "red", "failed": "red"}
_DIFFERS, _NOT_VERIFIED = 1, 2


def verify(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Notebooks, and folders with notebooks; by default `notebooks`.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write anew those that differ.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Notebooks to run at once; by default one for each processor.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a cell may take.")] = 120.0,
    report: Annotated[
        Path | None, typer.Option("--json", help="File for the verdicts as JSON; - for standard output.")
    ] = None,
) -> None:
    """Run notebooks offline and compare source, outputs and metadata with what is stored, byte by byte.

    Each runs in a fresh kernel, in replay, with the network shut, without your environment variables and in
    an empty home folder. **It runs the code of the notebooks and is no sandbox**: their code can read and
    write your files. Verify notebooks that you would also run.

    Nothing is written without `--update`, which writes a notebook anew if it differs and gives the same twice.

    Exit status: 0 all are the same or updated; 1 some differ; 2 some could not be run, or the command is wrong.
    """
    from toolkit.verification import verify as verify_notebooks  # slow to load

    is_piped = report is not None and str(report) == "-"
    if report is not None and not is_piped and not report.absolute().parent.is_dir():
        _print_error(ConfigurationError(f"There is no folder for {report}.", "Make it, or choose another file."))
        raise typer.Exit(_NOT_VERIFIED)
    console = Console(stderr=is_piped)
    with _stopped_like_an_interrupt():
        try:
            with _watched(console) as watch:
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
            _print_error(error)
            raise typer.Exit(_NOT_VERIFIED) from None
    for verdict in verdicts:
        _print_details(console, verdict)
    _print_summary(console, verdicts)
    if any(verdict.failure is not None for verdict in verdicts):
        raise typer.Exit(_NOT_VERIFIED)
    if not all(verdict.outcome.is_good for verdict in verdicts):
        raise typer.Exit(_DIFFERS)


@contextmanager
def _watched(console: Console) -> Iterator[Any]:
    """Progress: a bar where somebody looks at a terminal, a line for each notebook otherwise."""
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

        def show(progress: HowFar) -> None:
            if progress.path not in tasks:
                name = excerpt(progress.path.name, 40)
                tasks[progress.path] = bars.add_task(name, total=progress.cells or 1)
            done = (progress.cells or 1) if progress.cell is None else progress.cell - 1
            bars.update(tasks[progress.path], completed=done)

        yield show


def _print_line(console: Console, progress: HowFar) -> None:
    verdict = progress.verdict
    if verdict is not None:
        path = terminal.escape(str(verdict.path))
        console.print(f"{path}: {verdict.outcome} ({verdict.seconds:.1f} s)", highlight=False, soft_wrap=True)


def _print_stopping() -> None:
    # Not by a console: while there is a bar, this stream prints above it.
    with suppress(OSError):
        sys.stderr.write("Stopping; the kernels are ended.\n")
        sys.stderr.flush()


@contextmanager
def _stopped_like_an_interrupt() -> Iterator[None]:
    """Let a request to end, as CI sends it, clear up like Ctrl+C does."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_details(console: Console, verdict: Verdict) -> None:
    if verdict.outcome.is_good:  # what was updated, git shows better
        return
    console.print(f"\n[bold]{terminal.escape(str(verdict.path))}[/]", highlight=False, soft_wrap=True)
    failure = verdict.failure
    if failure is not None:
        where = "" if failure.cell is None else f"{_capital(str(failure.cell))}: "
        _say(console, f"{where}{failure.what}", "red")
        _say(console, failure.next_step)
    if verdict.outcome == "unstable":
        _say(console, "Two runs of it give different things, so it is left as it was:", "red")
    shown = _shown(verdict)
    for difference in shown[:_PLACES]:
        _print_difference(console, difference)
    if len(shown) > _PLACES:
        _say(console, f"… and {len(shown) - _PLACES} more; --json has them all", "dim")
    words = _about_versions(verdict)
    if words:
        _say(console, words, "yellow")


def _shown(verdict: Verdict) -> list[Difference]:
    """What differs, without what an editor keeps; between two runs that is no editor's."""
    is_unstable = verdict.outcome == "unstable"
    return [each for each in verdict.differences if is_unstable or each.kind != "the editor's own"]


def _print_difference(console: Console, difference: Difference) -> None:
    where = difference.place if difference.cell is None else f"{difference.cell}: {difference.place}"
    _say(console, f"{_capital(where)} [{difference.kind}]", "bold")
    for line in difference.diff[:_LINES]:
        shown = line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
        colour = {"-": "red", "+": "green"}.get(line[:1], "dim")
        console.print(f"  [{colour}]{terminal.escape(shown)}[/]", highlight=False, soft_wrap=True)
    if len(difference.diff) > _LINES:
        _say(console, f"  … {len(difference.diff) - _LINES} more lines; --json has them all", "dim")
    if difference.hint:
        _say(console, f"  {difference.hint}", "dim")


def _about_versions(verdict: Verdict) -> str:
    """What other versions may have to do with it, in words; empty when they are the same."""
    from toolkit.verification.verdict import in_words  # with the rest of it

    words = in_words(verdict.versions)
    if verdict.in_presentation_only:
        return f"It differs in presentation only{f'; {words}' if words else ''}."
    return f"{_capital(words)}." if words else ""


def _print_summary(console: Console, verdicts: list[Verdict]) -> None:
    rows = table("notebook", "cells", "seconds", "result")
    for verdict in verdicts:
        result = str(verdict.outcome)
        count = len(_shown(verdict))
        if verdict.outcome == "same" and verdict.differences:
            result += ", with an editor's metadata"
        elif verdict.in_presentation_only and verdict.outcome == "differs":
            result += " in presentation only"
        elif count:
            result += f" at {count} place{'' if count == 1 else 's'}"
        elif verdict.outcome == "same" and verdict.versions:
            result += f" ({_about_versions(verdict).rstrip('.')})"
        rows.add_row(
            terminal.escape(str(verdict.path)),
            str(verdict.cells),
            f"{verdict.seconds:.1f}",
            f"[{_COLOURS[verdict.outcome]}]{terminal.escape(result)}[/]",
        )
    console.print()
    console.print(rows, highlight=False)
    if any(verdict.outcome == "same" and verdict.differences for verdict in verdicts):
        console.print("\nWhat an editor adds when it saves is no result; [cyan]--update[/] takes it out.")
    if any(verdict.outcome == "differs" for verdict in verdicts):
        console.print("\nIf what they give now is right, add [cyan]--update[/] and look at what git shows.")


def _write_report(file: Path, verdicts: list[Verdict]) -> None:
    """Verdicts as JSON, with whether each is good and differs in presentation only.

    Raises:
        ConfigurationError: the file cannot be written.
    """
    told = [
        {**asdict(each), "is_good": each.outcome.is_good, "in_presentation_only": each.in_presentation_only}
        for each in verdicts
    ]
    text = json.dumps(told, indent=1, default=str) + "\n"
    if str(file) == "-":
        sys.stdout.write(text)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"The verdicts cannot be written to {file}: {error.strerror}.", "Choose another file."
        ) from None


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(terminal.escape(text), style=style or None, highlight=False, soft_wrap=True)


def _print_error(error: ConfigurationError) -> None:
    Console(stderr=True).print(
        f"[bold red]Error:[/] {terminal.escape(error.what)}\n{terminal.escape(error.next_step)}", soft_wrap=True
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
