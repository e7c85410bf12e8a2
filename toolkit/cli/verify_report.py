"""The report of `toolkit verify`: differences, failures and a table of verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

from toolkit.cli import terminal
from toolkit.cli.programs import pasteable
from toolkit.core.shells import shell_word
from toolkit.core.text import count_text
from toolkit.verification.annotations import cell_annotations, cell_lines
from toolkit.verification.notebook_files import NotANotebook, read_notebook
from toolkit.verification.verdict import Outcome, describe_changes

if TYPE_CHECKING:
    from toolkit.verification import Difference, Verdict

# How much of a notebook's differences is printed; the JSON report has everything.
_MOST_DIFFERENCES: Final = 20
_MOST_LINES: Final = 30  # of one difference
_COLOURS: Final = {
    Outcome.SAME: "green",
    Outcome.UPDATED: "green",
    Outcome.DIFFERS: "red",
    Outcome.UNSTABLE: "red",
    Outcome.FAILED: "red",
}


def print_verdicts(console: Console, verdicts: list[Verdict]) -> None:
    """Print where notebooks differ or why they failed, then a table of all of them and what to do next."""
    for verdict in verdicts:
        _print_details(console, verdict)
    if verdicts:
        _print_summary(console, verdicts)


def print_annotations(console: Console, verdicts: list[Verdict], variables: Mapping[str, str]) -> None:
    """Print annotations for GitHub; the variables of the process name the folder of the checkout."""
    workspace = Path(variables.get("GITHUB_WORKSPACE") or Path.cwd())
    for verdict in verdicts:
        for line in _annotations(verdict, workspace):
            print_text(console, line)


def _print_details(console: Console, verdict: Verdict) -> None:
    if verdict.outcome.is_good:  # git shows what was updated
        return
    console.print(f"\n[bold]{terminal.escape(str(verdict.path))}[/]", highlight=False, soft_wrap=True)
    failure = verdict.failure
    if failure is not None:
        place = "" if failure.cell is None else f"{_capitalized(str(failure.cell))}: "
        print_text(console, f"{place}{failure.what}", "red")
        print_text(console, pasteable(failure.next_step))
    if verdict.outcome is Outcome.UNSTABLE:
        print_text(console, "Two runs give different outputs, so the notebook was not updated:", "red")
    differences = verdict.decisive_differences
    for difference in differences[:_MOST_DIFFERENCES]:
        _print_difference(console, difference)
    if len(differences) > _MOST_DIFFERENCES:
        print_text(console, f"… and {len(differences) - _MOST_DIFFERENCES} more; --json has them all", "dim")
    if words := _describe_versions(verdict):
        print_text(console, words, "yellow")


def _annotations(verdict: Verdict, workspace: Path) -> list[str]:
    try:
        lines = cell_lines(read_notebook(verdict.path).data)
    except NotANotebook:
        lines = []
    return cell_annotations(verdict, lines, workspace)


def _print_difference(console: Console, difference: Difference) -> None:
    place = difference.place if difference.cell is None else f"{difference.cell}: {difference.place}"
    print_text(console, f"{_capitalized(place)} [{difference.kind}]", "bold")
    for line in difference.excerpt(_MOST_LINES):
        print_text(console, f"  {line}", {"-": "red", "+": "green"}.get(line[:1], "dim"))
    if difference.hint:
        print_text(console, f"  {difference.hint}", "dim")


def _describe_versions(verdict: Verdict) -> str:
    """Return how other library versions may explain the differences; empty if the versions are the same."""
    words = describe_changes(verdict.versions)
    return f"{_capitalized(words)}." if words else ""


def _print_summary(console: Console, verdicts: list[Verdict]) -> None:
    table = terminal.folding_table("notebook", "cells", "seconds", "result")
    for verdict in verdicts:
        table.add_row(
            terminal.FoldedText(str(verdict.path)),
            str(verdict.cells),
            f"{verdict.seconds:.1f}",
            f"[{_COLOURS[verdict.outcome]}]{terminal.escape(_result_text(verdict))}[/]",
        )
    console.print()
    console.print(table, highlight=False)
    if any(verdict.outcome is Outcome.SAME and verdict.differences for verdict in verdicts):
        console.print(
            "\nWhat other programs save in their own way does not count. [cyan]--update[/] stores it as this run does."
        )
    if any(verdict.outcome is Outcome.DIFFERS for verdict in verdicts):
        console.print("\nIf the new outputs are right, add [cyan]--update[/] and check what git shows.")
    for verdict in verdicts:
        if verdict.saved_to is not None and not verdict.outcome.is_good:
            files = (terminal.escape(shell_word(str(path))) for path in (verdict.path, verdict.saved_to))
            console.print(f"\nTo see it as notebooks, with nbdime: [cyan]nbdiff {' '.join(files)}[/]", soft_wrap=True)
            break


def _result_text(verdict: Verdict) -> str:
    count = len(verdict.decisive_differences)
    if verdict.outcome is Outcome.SAME and verdict.differences:
        return f"{verdict.outcome}, as another program saved it"
    if count:
        return f"{verdict.outcome} at {count_text(count, 'place')}"
    if verdict.outcome is Outcome.SAME and verdict.versions:
        return f"{verdict.outcome} ({_describe_versions(verdict).rstrip('.')})"
    return str(verdict.outcome)


def print_text(console: Console, text: str, style: str = "") -> None:
    """Print text from outside on one line."""
    console.print(terminal.escape(text), style=style or None, highlight=False, soft_wrap=True)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
