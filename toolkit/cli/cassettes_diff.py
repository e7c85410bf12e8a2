"""`toolkit cassettes diff`: what changed from one recording of a story to another."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.catalog.comparing import KINDS, RecordingChange, compare_recordings
from toolkit.cassettes.catalog.reading import read_cassette
from toolkit.cassettes.catalog.rewriting import scrubber_to_show
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text, excerpt, nearest
from toolkit.local.settings import Settings

EPILOG: Final = terminal.examples(
    "toolkit cassettes diff accounts-monday accounts-friday",
    "toolkit cassettes diff old.yaml new.yaml --fail-on removed,type,status",
)
_EXIT_CHANGED: Final = 1
_MOST_CHANGES: Final = 200  # printed; the JSON has all

FailOnOption = Annotated[
    str, typer.Option(help=f"Kinds of changes that fail, with commas between: {', '.join(KINDS)}.")
]


def diff(
    old: Annotated[str, typer.Argument(help="Name or path of the old recording.")],
    new: Annotated[str, typer.Argument(help="Name or path of the new recording of the same story.")],
    fail_on: FailOnOption = "",
    as_json: terminal.JsonOption = False,
) -> None:
    """Say what changed from one recording of a story to another.

    Calls are paired by environment, profile, method, URI and body, and repeated calls by their order. Compared are the
    status, the members of JSON and their types, the media type of other bodies, and the time if it at least doubled or
    halved. Values are not compared: they differ on any day.

    JSON has `old`, `new` and `changes`, each with `kind`, `method`, `uri`, `place` in the answer, the text `before` and
    `after`, and the number of the call in the `old` and the `new` recording.

    Exit status: 0, also if there are changes; 1 if there is a change of a kind in --fail-on; 2 if a recording cannot
    be read.
    """
    with terminal.errors_exit_with(2):
        failing = kinds_of(fail_on)
        settings = Settings.load()
        left, right = (read_cassette(cassette, settings).contents for cassette in (old, new))
        changes = compare_recordings(left, right, scrubber_to_show(settings, left, right))
    if as_json:
        terminal.print_json({"old": old, "new": new, "changes": [change._asdict() for change in changes]})
    else:
        print_changes(changes)
    if any(change.kind in failing for change in changes):
        raise typer.Exit(_EXIT_CHANGED)


def kinds_of(text: str) -> set[str]:
    """Return the kinds of changes that an option names, separated by commas.

    Raises:
        ConfigurationError: if a kind is unknown.
    """
    kinds = {kind.strip() for kind in text.split(",")} - {""}
    for kind in sorted(kinds.difference(KINDS)):
        likely = nearest(kind, KINDS)
        raise ConfigurationError(
            f"The kind of change {excerpt(kind, 40)!r} is not known.",
            f"Did you mean {likely}?" if likely else f"The kinds are {', '.join(KINDS)}.",
            about="fail_on",
        )
    return kinds


def print_changes(changes: list[RecordingChange], *, is_live: bool = False) -> None:
    """Print changes as a table, and their number by kind.

    Args:
        changes: the changes.
        is_live: True if the new answers are not in a recording, so that they have no numbers.
    """
    console = Console()
    if not changes:
        console.print("Nothing changed: the same calls, with answers of the same status and shape.")
        return
    table = terminal.folding_table("kind", "calls", "request", "place", "before", "after")
    for change in changes[:_MOST_CHANGES]:
        positions = (change.old,) if is_live else (change.old, change.new)
        numbers = " → ".join("-" if number is None else str(number) for number in positions)
        request = terminal.RequestCell(change.method, change.uri)
        cells = (change.place or "whole call", change.before or "", change.after or "")
        table.add_row(change.kind, numbers, request, *map(terminal.escape, cells))
    console.print(table, highlight=False)
    if len(changes) > _MOST_CHANGES:
        console.print(f"[dim]… {count_text(len(changes) - _MOST_CHANGES, 'more change')}; --json has all[/]")
    counts = Counter(change.kind for change in changes)
    parts = ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind])
    console.print(f"\n{count_text(len(changes), 'change')}: {parts}", highlight=False)
