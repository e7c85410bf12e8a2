"""`toolkit cassettes show`: the interactions of a recording, or one of them in full."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from toolkit.cassettes.catalog.facts import facts_of
from toolkit.cassettes.catalog.reading import Opened, parse_numbers, read_cassette
from toolkit.cassettes.catalog.rewriting import scrubber_to_show
from toolkit.cassettes.catalog.showing import EXCERPT, InteractionRow, Message, messages_of, row_of, rows_of
from toolkit.cli import terminal
from toolkit.core.ledger import instant_text
from toolkit.core.text import count_text, date_text, instant_words
from toolkit.local.settings import Settings
from toolkit.scrubbing.scrubber import Scrubber

EPILOG: Final = terminal.examples(
    "toolkit cassettes show tour",
    "toolkit cassettes show tour 3",
    "toolkit cassettes show tests/cassettes/login.yaml --json",
)


def show(
    name: Annotated[str, typer.Argument(help="Name of a cassette, or a path.")],
    numbers: Annotated[
        list[str] | None, typer.Argument(help="Interactions to show in full: numbers such as 3, ranges such as 5-7.")
    ] = None,
    characters: Annotated[int, typer.Option(min=0, help="Characters to show of each body.")] = EXCERPT,
    as_json: terminal.JsonOption = False,
) -> None:
    """Show the interactions of a recording, or some of them in full, with headers and the beginning of each body.

    What is shown is what would be recorded today: secrets in a file that was recorded without scrubbing are not shown.

    JSON is a list of interactions, each with `number`, `recorded`, `method`, `uri`, `status`, `failure`, `elapsed` in
    seconds, `size` in bytes, `environment`, `profile`, `token` (its number), `is_token_request`, `tries`,
    `ended_early`, `line` and `problem` (why it cannot be read). Those that are shown in full also have `request` and
    `response`, each with `headers`, `body`, `size` and `is_cut`.

    Exit status: 0; 2 if the cassette or the interaction does not exist.
    """
    with terminal.errors_exit_with(2):
        settings = Settings.load()
        opened = read_cassette(name, settings)
        scrubber = scrubber_to_show(settings, opened.contents)
        scrubber.recall(opened.data)
        chosen = sorted(parse_numbers(numbers or (), len(opened.contents)))
        if as_json:
            shown = [_full_report(opened, number, scrubber, characters) for number in chosen]
            terminal.print_json(shown if numbers else [_report(row) for row in rows_of(opened.contents, scrubber)])
            return
        console = Console()
        if not numbers:
            _print_table(console, opened, scrubber, settings)
        for number in chosen:
            _print_full(console, opened, number, scrubber, characters)


def _print_table(console: Console, opened: Opened, scrubber: Scrubber, settings: Settings) -> None:
    facts, rows = facts_of(opened.path, settings), rows_of(opened.contents, scrubber)
    profiles = {row.profile for row in rows if row.profile}
    parts = [count_text(facts.interactions, "interaction"), terminal.size_text(facts.size)]
    parts += [", ".join(facts.environments)] if facts.environments else []
    parts += [f"profile {profile}" for profile in profiles if len(profiles) == 1]
    parts += [f"recorded {date_text(facts.recorded_at)}"] if facts.recorded_at else []
    parts += ["written by vcrpy: shown as it would be recorded today"] if opened.contents.is_foreign else []
    console.print(
        f"[bold]{terminal.escape(facts.name)}[/]: {terminal.escape('; '.join(parts))}\n",
        highlight=False,
        soft_wrap=True,
    )
    columns = ["status", "seconds", "size", *(["profile"] if len(profiles) > 1 else []), "token"]
    table = terminal.folding_table("", "request", *columns)
    for row in rows:
        cells = [
            "unreadable" if row.problem else row.failure or str(row.status),
            "" if row.elapsed is None else f"{row.elapsed:.3f}",
            terminal.size_text(row.size) + (", ended early" if row.ended_early else ""),
            *([row.profile] if len(profiles) > 1 else []),
            "" if row.token is None else f"{'gets ' if row.is_token_request else ''}{row.token}",
        ]
        request = terminal.RequestCell(row.method, row.uri)
        table.add_row(str(row.number), request, *map(terminal.escape, cells))
    console.print(table, highlight=False)
    if facts.is_torn:
        terminal.print_warning("The file ends in an incomplete interaction, which is not shown.")


def _print_full(console: Console, opened: Opened, number: int, scrubber: Scrubber, characters: int) -> None:
    row = row_of(opened.contents, number, scrubber)
    if row.problem:
        _print_line(console, f"\nInteraction {row.number}: {row.problem}")
        return
    interaction = opened.contents.interaction(number)
    request, response = messages_of(interaction, scrubber, characters)
    console.print(f"\n[bold]Interaction {row.number}[/]{terminal.escape(_noted(row))}", highlight=False, soft_wrap=True)
    _print_line(console, f"{row.method} {row.uri}", "cyan")
    _print_message(console, request)
    console.print()
    answer = f"{interaction.response.status} {interaction.response.reason} {interaction.response.http_version}".strip()
    _print_line(console, f"no answer: {row.failure}" if row.failure else answer, "cyan")
    _print_message(console, response)


def _noted(row: InteractionRow) -> str:
    """Return what the recorder noted about an interaction."""
    parts = [instant_words(row.recorded)] if row.recorded else []
    parts += [f"{row.elapsed:.3f} s"] if row.elapsed is not None else []
    parts += [f"{row.environment}, profile {row.profile}"] if row.environment else []
    if row.token is not None:
        parts.append(f"{'requests ' if row.is_token_request else ''}token {row.token}")
    parts += [f"sent {row.tries} times"] if row.tries > 1 else []
    parts += ["ended early by the caller"] if row.ended_early else []
    parts += [f"line {row.line}"] if row.line else []
    return f": {'; '.join(parts)}" if parts else ""


def _print_message(console: Console, message: Message) -> None:
    for name, value in message.headers:
        _print_line(console, f"{name}: {value}", "dim")
    if message.body:
        console.print()
        _print_line(console, message.body)
    if message.is_cut:
        console.print(f"[dim]… the body has {terminal.size_text(message.size)}; --characters shows more[/]")


def _print_line(console: Console, text: str, style: str = "") -> None:
    console.print(terminal.escape(text), style=style or None, highlight=False, soft_wrap=True)


def _report(row: InteractionRow) -> dict[str, Any]:
    return {name: instant_text(value) if isinstance(value, datetime) else value for name, value in asdict(row).items()}


def _full_report(opened: Opened, number: int, scrubber: Scrubber, characters: int) -> dict[str, Any]:
    row = row_of(opened.contents, number, scrubber)
    report = _report(row)
    if row.problem:
        return report
    request, response = messages_of(opened.contents.interaction(number), scrubber, characters)
    return {**report, "request": asdict(request), "response": asdict(response)}
