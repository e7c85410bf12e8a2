"""`toolkit cassettes`: look at recordings, check and compare them, and drop what is not needed."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.console import Console

from toolkit.cassettes.catalog.facts import OURS, CassetteFacts, cassettes_at, facts_of
from toolkit.cassettes.opening import age_of, is_stale
from toolkit.cli import (
    cassettes_check,
    cassettes_diff,
    cassettes_drift,
    cassettes_import,
    cassettes_rewriting,
    cassettes_show,
    terminal,
)
from toolkit.cli.application import Application
from toolkit.core.clock import SystemClock
from toolkit.core.errors import ConfigurationError
from toolkit.core.ledger import instant_text
from toolkit.core.text import count_text, excerpt
from toolkit.local.settings import Settings


def list_(
    folder: Annotated[str | None, typer.Argument(help="By default the cassettes folder of the project.")] = None,
    as_json: terminal.JsonOption = False,
) -> None:
    """List the recordings in a folder: environment, calls, date, size, who wrote them, and whether they are clean.

    Clean means what `toolkit cassettes check` means, apart from age. Nothing is changed.

    JSON is a list of recordings, each with `name`, `path`, `environments`, `interactions`, `recorded_at`,
    `last_recorded_at`, `age_days`, `is_stale`, `size` in bytes, `written_by`, `is_clean` and `problem`.

    Exit status: 0, also without recordings; 2 if the folder does not exist.
    """
    with terminal.errors_exit_with(2):
        settings, now = Settings.load(), SystemClock().now()
        paths = cassettes_at(folder, settings)
        if not all(map(os.path.lexists, paths)):  # a broken link in a folder is listed
            raise ConfigurationError(
                f"The folder or cassette {excerpt(str(folder))} does not exist.",
                "Without a name, the project's cassettes are listed.",
                about="folder",
            )
        facts = [facts_of(path, settings) for path in paths]
        unclean = cassettes_check.unclean_in(paths, settings, now)
    stale_after = settings.stale_after_days
    if as_json:
        reports = []
        for entry in facts:
            age = age_of(entry.recorded_at, now)
            reports.append(
                {
                    "name": entry.name,
                    "path": str(entry.path),
                    "environments": list(entry.environments),
                    "interactions": entry.interactions,
                    "recorded_at": entry.recorded_at and instant_text(entry.recorded_at),
                    "last_recorded_at": entry.last_recorded_at and instant_text(entry.last_recorded_at),
                    "age_days": None if age is None else age.days,
                    "is_stale": is_stale(entry.recorded_at, stale_after, now),
                    "size": entry.size,
                    "written_by": entry.written_by or None,
                    "is_clean": entry.path not in unclean,
                    "problem": entry.problem or None,
                }
            )
        terminal.print_json(reports)
        return
    console = Console()
    if not facts:
        console.print("This folder has no recordings.")
        return
    table = terminal.folding_table("name", "environment", "calls", "recorded", "size", "state")
    for column in table.columns[1:-1]:
        column.no_wrap = True
    for entry in facts:
        at = entry.recorded_at
        cells = (
            entry.name,
            "\n".join(entry.environments),
            f"{entry.interactions:,}",
            "" if at is None else at.date().isoformat(),
            terminal.size_text(entry.size),
            _state(entry, is_clean=entry.path not in unclean, is_stale=is_stale(at, stale_after, now)),
        )
        table.add_row(*map(terminal.escape, cells))
    console.print(table, highlight=False)
    stale = [entry for entry in facts if is_stale(entry.recorded_at, stale_after, now)]
    if stale:
        days = count_text(settings.stale_after_days or 0, "day")
        terminal.print_warning(
            f"Stale after {days} (stale_after in toolkit.toml): {', '.join(entry.name for entry in stale)}"
        )
    if any(entry.path in unclean or entry.problem for entry in facts):
        terminal.print_next_steps(console, [("toolkit cassettes check", "say what is wrong, and what to do")])


def _state(facts: CassetteFacts, *, is_clean: bool, is_stale: bool) -> str:
    if facts.problem:
        return "not readable" if facts.size else "empty"
    words = ["stale"] if is_stale else []
    words += [f"by {facts.written_by}"] if facts.written_by != OURS else []
    if facts.is_torn or facts.part is not None:
        return ", ".join(["incomplete", *words])
    return ", ".join(["clean" if is_clean else "not clean", *words])


app = Application(
    name="cassettes",
    help="Look at recordings, check and compare them, and drop what is not needed. A NAME is a cassette in the "
    "project's cassettes folder, or a path with its suffix.",
    epilog="Exit status: 0 if all is well; 1 for what a command finds, as its help says; 2 if it could not work.",
)
_LIST_EXAMPLES = terminal.examples("toolkit cassettes list", "toolkit cassettes list tests/ --json")
for _name, _function, _examples, _summary in (
    ("list", list_, _LIST_EXAMPLES, "List the recordings in a folder."),
    ("show", cassettes_show.show, cassettes_show.EPILOG, "Show what is recorded, with headers and bodies."),
    (
        "check",
        cassettes_check.check,
        cassettes_check.EPILOG,
        "Check that recordings are complete, clean and not stale.",
    ),
    ("diff", cassettes_diff.diff, cassettes_diff.EPILOG, "Compare two recordings of the same story."),
    ("prune", cassettes_rewriting.prune, cassettes_rewriting.PRUNE_EPILOG, "Drop interactions."),
    (
        "scrub",
        cassettes_rewriting.scrub,
        cassettes_rewriting.SCRUB_EPILOG,
        "Scrub a recording again, with today's rules.",
    ),
    (
        "import",
        cassettes_import.import_,
        cassettes_import.EPILOG,
        "Make a clean cassette of a HAR file or a vcrpy cassette.",
    ),
    ("drift", cassettes_drift.drift_, cassettes_drift.EPILOG, "Repeat recorded reads live, and say what changed."),
):
    app.add(_name, _function, summary=_summary, examples=_examples)
