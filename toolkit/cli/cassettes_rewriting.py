"""`toolkit cassettes prune` and `scrub`: drop interactions from a recording, or scrub it again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.auth.typed_secrets import can_ask
from toolkit.cassettes.catalog.reading import read_cassette, selected
from toolkit.cassettes.catalog.rewriting import (
    check_rewritable,
    rescrub,
    rescrubbed,
    scrubber_to_show,
    without,
)
from toolkit.cassettes.catalog.rewriting import prune as prune_file
from toolkit.cassettes.catalog.showing import InteractionRow, row_of
from toolkit.cassettes.opening import todays_scrubber
from toolkit.cli import terminal
from toolkit.cli.cassettes_check import PlayLogOption, UnplayedOption, plays
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text
from toolkit.local.settings import Settings

PRUNE_EPILOG: Final = terminal.examples(
    "toolkit cassettes prune tour 3 5-7",
    "toolkit cassettes prune tour --unplayed notebooks/ --dry-run",
    'toolkit cassettes prune tour --method POST --uri "*/orders*" --yes',
)
SCRUB_EPILOG: Final = terminal.examples("toolkit cassettes scrub tour --dry-run", "toolkit cassettes scrub old.yaml")


def prune(
    name: Annotated[str, typer.Argument(help="Name of a cassette, or a path.")],
    numbers: Annotated[
        list[str] | None, typer.Argument(help="Interactions to drop: numbers such as 3, ranges such as 5-7.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Drop calls of this method.")] = None,
    uri: Annotated[
        str | None, typer.Option(help="Drop calls whose URI or path fits; * stands for any text. Quote it.")
    ] = None,
    unplayed: UnplayedOption = None,
    play_log: PlayLogOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: terminal.JsonOption = False,
) -> None:
    """Drop interactions from a recording: by number, and calls that fit all other conditions together.

    Shows what goes, and asks before it writes; without a terminal to ask at, it writes only with --yes. A token request
    goes with the last of its calls. The other interactions keep their bytes; a recording of stock vcrpy is scrubbed and
    rewritten as one of ours.

    JSON has `path`, `dropped` with `number`, `method`, `uri` and `status`, `kept` (a count) and `is_written`. It comes
    without a question.

    Exit status: 0; 2 if nothing fits, nothing would be left, or somebody is recording to the file.
    """
    with terminal.errors_exit_with(2):
        settings = Settings.load()
        opened = read_cassette(name, settings)
        check_rewritable(opened.path)
        content, scrubber = opened.contents, scrubber_to_show(settings, opened.contents)
        if not numbers and method is None and uri is None and not unplayed and play_log is None:
            raise ConfigurationError(
                "No interactions to drop were named.",
                "Give numbers, or --unplayed, --method or --uri.",
                about="numbers",
            )
        played = plays(unplayed, play_log)
        own = None if played is None else played.get(opened.path.resolve(), frozenset())
        dropped = selected(content, numbers or (), method=method, uri=uri, played=own)
        if not dropped:
            raise ConfigurationError(
                f"No interaction of {name} fits, so there is nothing to drop.",
                f"See what is in it: toolkit cassettes show {name}",
                about="numbers",
            )
        without(opened.data, dropped, scrubber, source=str(opened.path))
        rows = [row_of(content, number, scrubber) for number in sorted(dropped)]
        left = len(content) - len(dropped)
        if not as_json:
            _print_rows(rows)
        is_written = not dry_run and (yes or (not as_json and can_ask() and _is_confirmed(rows, left)))
        if is_written:
            prune_file(opened.path, dropped, scrubber)
    if as_json:
        report = [{"number": row.number, "method": row.method, "uri": row.uri, "status": row.status} for row in rows]
        terminal.print_json({"path": str(opened.path), "dropped": report, "kept": left, "is_written": is_written})
    else:
        _print_result(rows, left, opened.path, is_written=is_written)


def _print_rows(rows: list[InteractionRow]) -> None:
    table = terminal.folding_table("", "request", "status")
    for row in rows:
        request = terminal.RequestCell(row.method, row.uri)
        table.add_row(str(row.number), request, str(row.status))
    Console().print(table, highlight=False)


def _is_confirmed(rows: list[InteractionRow], left: int) -> bool:
    return typer.confirm(f"Drop {count_text(len(rows), 'interaction')} and keep {left:,}?")


def _print_result(rows: list[InteractionRow], left: int, path: Path, *, is_written: bool) -> None:
    count = count_text(len(rows), "interaction")
    if is_written:
        text = f"Dropped {count} of {path}; {left:,} {'is' if left == 1 else 'are'} left."
    else:
        text = f"{count} would go, {left:,} would be left. Nothing was changed: add --yes to drop them."
    Console().print(f"\n{terminal.escape(text)}", highlight=False, soft_wrap=True)


def scrub(
    name: Annotated[str, typer.Argument(help="Name of a cassette, or a path.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be replaced.")] = False,
    as_json: terminal.JsonOption = False,
) -> None:
    """Scrub a recording again, as if it were recorded today: with the rules of toolkit.toml, and the same checks.

    Says what was replaced, by kind. Interactions in which nothing is replaced keep their bytes; a recording of stock
    vcrpy is rewritten as one of ours. If the file was shared, replace the secrets that were in it: scrubbing does not
    call them back, nor does it change what git remembers.

    JSON has `path`, `interactions` (how many change), `replaced` (counts by kind) and `is_written`.

    Exit status: 0; 2 if a secret cannot be removed, or somebody is recording to the file. Then nothing is changed.
    """
    with terminal.errors_exit_with(2):
        settings = Settings.load()
        opened = read_cassette(name, settings)
        check_rewritable(opened.path)
        scrubber = todays_scrubber(settings)
        if dry_run:
            result = rescrubbed(opened.data, opened.contents, scrubber, source=opened.path)
        else:
            result = rescrub(opened.path, scrubber)
    counts = result.counts
    if as_json:
        terminal.print_json(
            {
                "path": str(opened.path),
                "interactions": len(result.replacements),
                "replaced": dict(sorted(counts.items())),
                "is_written": not dry_run and bool(result.replacements),
            }
        )
        return
    console = Console()
    if not result.replacements:
        console.print("Nothing needs to be replaced: it is as it would be recorded today.")
        return
    table = terminal.folding_table("kind", "replaced")
    for kind, count in sorted(counts.items()):
        table.add_row(terminal.escape(kind), f"{count:,}")
    console.print(table, highlight=False)
    where = f"{count_text(len(result.replacements), 'interaction')} of {opened.path}"
    text = f"Nothing was changed: this would be replaced in {where}." if dry_run else f"Replaced in {where}."
    console.print(f"\n{terminal.escape(text)}", highlight=False, soft_wrap=True)
