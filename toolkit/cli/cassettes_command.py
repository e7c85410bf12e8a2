"""`toolkit cassettes`: look at recordings, compare them, and drop what is not needed."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.catalog.comparing import KINDS, RecordingChange, compare_recordings
from toolkit.cassettes.catalog.reading import read_cassette
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.words import count_text, nearest

_CHANGED: Final = 1  # exit status
_MOST_CHANGES: Final = 200  # printed; the JSON has all

app = typer.Typer(
    name="cassettes",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Look at recordings, compare them, and drop what is not needed. A NAME is a cassette in the project's "
    "cassettes folder, or a path with its suffix.",
    epilog="Exit status: 0 if all is well; 1 for what a command finds, as its help says; 2 if it could not work.",
)

Name = Annotated[str, typer.Argument(help="Name of a cassette, or a path.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.callback()
def _group() -> None:
    """Keep the commands of this group below its name."""


@app.command(
    epilog=terminal.examples(
        "toolkit cassettes diff accounts-monday accounts-friday",
        "toolkit cassettes diff old.yaml new.yaml --fail-on removed,type,status",
    )
)
def diff(
    old: Annotated[str, typer.Argument(help="Name or path of the old recording.")],
    new: Annotated[str, typer.Argument(help="Name or path of the new recording of the same story.")],
    fail_on: Annotated[str, typer.Option(help=f"Kinds of changes that fail, of {','.join(KINDS)}.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say what changed from one recording of a story to another.

    Calls are paired by environment, profile, method, URI and body, and repeated calls by their order. Compared are the
    status, the members of JSON and their types, the media type of other bodies, and the time if it at least doubled or
    halved. Values are not compared: they differ on any day.

    Exit status: 0, also if there are changes; 1 if there is a change of a kind in --fail-on; 2 if a recording cannot
    be read.
    """
    with terminal.errors_exit_with(2):
        failing = _kinds(fail_on)
        changes = compare_recordings(read_cassette(old).contents, read_cassette(new).contents)
    if as_json:
        terminal.print_json({"old": old, "new": new, "changes": [change._asdict() for change in changes]})
    else:
        _print_changes(changes)
    if any(change.kind in failing for change in changes):
        raise typer.Exit(_CHANGED)


def _kinds(text: str) -> set[str]:
    kinds = {kind.strip() for kind in text.split(",")} - {""}
    for kind in sorted(kinds.difference(KINDS)):
        likely = nearest(kind, KINDS)
        raise ConfigurationError(
            f"There is no kind of change {kind!r}.",
            f"Did you mean {likely}?" if likely else f"The kinds are {', '.join(KINDS)}.",
            about="fail_on",
        )
    return kinds


def _print_changes(changes: list[RecordingChange]) -> None:
    console = Console()
    if not changes:
        console.print("Nothing changed: the same calls, with answers of the same status and shape.")
        return
    table = terminal.folding_table("kind", "call", "place", "before", "after")
    for change in changes[:_MOST_CHANGES]:
        numbers = " → ".join("-" if number is None else str(number) for number in (change.old, change.new))
        call = f"{change.method} {_short(change.uri)} ({numbers})"
        cells = (change.kind, call, change.place or "the call", change.before or "", change.after or "")
        table.add_row(*map(terminal.escape, cells))
    console.print(table, highlight=False)
    if len(changes) > _MOST_CHANGES:
        console.print(f"[dim]… {count_text(len(changes) - _MOST_CHANGES, 'more change')}; --json has all[/]")
    counts = Counter(change.kind for change in changes)
    parts = ", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind])
    console.print(f"\n{count_text(len(changes), 'change')}: {parts}", highlight=False)


def _short(uri: str) -> str:
    """Return a URI without the parts that all symbolic addresses share."""
    return uri.removeprefix("https://").replace(".svc.invalid/", "/", 1)
