"""`toolkit cassettes check`: check that recordings are readable, complete, clean, not stale, and played."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from toolkit.cassettes.catalog.checking import CORRUPT, INCOMPLETE, RULES, SECRET, Problem, check_files, failing
from toolkit.cassettes.catalog.facts import cassettes_at, name_of
from toolkit.cassettes.replay.player import VARIABLE, read_play_log
from toolkit.cli import terminal
from toolkit.core.clock import SystemClock
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text
from toolkit.local.settings import Settings

EPILOG: Final = terminal.examples(
    "toolkit cassettes check",
    "toolkit cassettes check tour tests/cassettes --json",
    "toolkit cassettes check --unplayed notebooks/",
    f"{VARIABLE}=plays pytest && toolkit cassettes check --play-log plays",
)
_EXIT_PROBLEMS: Final = 1
_MOST_OF_FILE: Final = 20  # problems that are printed; the JSON has all

UnplayedOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--unplayed", help="Run this notebook or folder offline, and look for what it does not play; may be repeated."
    ),
]
PlayLogOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help=f"Where runs noted what they played ({VARIABLE}): look for what they did not."),
]


def check(
    places: Annotated[
        list[str] | None, typer.Argument(help="Names, files and folders; by default the project's cassettes folder.")
    ] = None,
    unplayed: UnplayedOption = None,
    play_log: PlayLogOption = None,
    as_json: terminal.JsonOption = False,
) -> None:
    """Check recordings: readable, complete, without secrets, as today's rules would record them, and not stale.

    A recording is stale at the age `stale_after` in toolkit.toml, such as "180d". Nothing is changed, and nothing is
    recorded again.

    JSON has `files`, the number of recordings, and `problems`, each with `path`, `kind`, `what`, `next_step`, `line`,
    `number` of the interaction, and `fails`: false for a note that does not change the exit status.

    Exit status: 0 if all is well; 1 if something is wrong; 2 if the check could not be made.
    """
    with terminal.errors_exit_with(2):
        settings = Settings.load()
        wanted = [cassettes_at(place, settings) for place in places] if places else [cassettes_at(None, settings)]
        paths = list(dict.fromkeys(path for several in wanted for path in several))
        missing = [path for path in paths if not os.path.lexists(path)]  # a broken link is a problem of its own
        if missing:
            raise ConfigurationError(
                f"The cassette {missing[0]} does not exist.",
                "toolkit cassettes list shows those of the project.",
                about="places",
            )
        problems = check_files(paths, settings, SystemClock().now(), played=plays(unplayed, play_log))
    wrong = failing(problems)
    if as_json:
        entries = [{**asdict(problem), "path": str(problem.path), "fails": problem.fails} for problem in problems]
        terminal.print_json({"files": len(paths), "problems": entries})
    else:
        _print(Console(), paths, problems, settings)
    if wrong:
        raise typer.Exit(_EXIT_PROBLEMS)


def plays(notebooks: Sequence[Path] | None, play_log: Path | None) -> Mapping[Path, AbstractSet[int]] | None:
    """Return what notebooks play when they run offline, and what a log says; None if neither is given.

    Raises:
        ConfigurationError: if a notebook cannot be run to its end, or the log cannot be read.
    """
    played: dict[Path, set[int]] = {}
    logs = [read_play_log(play_log)] if play_log is not None else []
    if notebooks:
        logs.append(_plays_of(notebooks))
    for log in logs:
        for path, numbers in log.items():
            played.setdefault(path, set()).update(numbers)
    return played if logs else None


def _plays_of(notebooks: Sequence[Path]) -> dict[Path, set[int]]:
    from toolkit.verification import verify  # slow to load

    with tempfile.TemporaryDirectory(prefix="plays-") as folder:
        log = Path(folder) / "log"
        log.mkdir()
        for verdict in verify(notebooks, play_log=log):
            if verdict.failure is not None:
                raise ConfigurationError(
                    f"{verdict.path} could not be run, so it is not known what it plays. {verdict.failure.what}",
                    f"See toolkit verify {verdict.path}",
                    about="unplayed",
                )
        return read_play_log(log)


def unclean_in(paths: Sequence[Path], settings: Settings, now: datetime) -> set[Path]:
    """Return the files that are not readable, not complete or not clean."""
    kinds = (CORRUPT, INCOMPLETE, SECRET, RULES)
    return {problem.path for problem in check_files(paths, settings, now) if problem.kind in kinds}


def _print(console: Console, paths: Sequence[Path], problems: Sequence[Problem], settings: Settings) -> None:
    for path in dict.fromkeys(problem.path for problem in problems):
        console.print(f"[bold]{terminal.escape(name_of(path, settings))}[/]", highlight=False, soft_wrap=True)
        own = [problem for problem in problems if problem.path == path]
        for problem in own[:_MOST_OF_FILE]:
            _print_problem(console, problem)
        if len(own) > _MOST_OF_FILE:
            console.print(f"  [dim]… and {len(own) - _MOST_OF_FILE:,} more; --json has all[/]", highlight=False)
        console.print()
    bad = {problem.path for problem in failing(problems)}
    checked = count_text(len(paths), "recording")
    if bad:
        count = count_text(len(failing(problems)), "problem")
        console.print(f"[red]{count} in {len(bad):,} of {checked}[/]", highlight=False)
    else:
        console.print(f"[green]{checked} checked: nothing is wrong[/]", highlight=False)


def _print_problem(console: Console, problem: Problem) -> None:
    place = [f"interaction {problem.number}"] if problem.number else []
    place += [f"line {problem.line}"] if problem.line else []
    where = f" ({', '.join(place)})" if place else ""
    colour = "red" if problem.fails else "yellow"
    text = f"  [{colour}]{problem.kind}[/]{where}: {terminal.escape(problem.what)}"
    console.print(text, highlight=False, soft_wrap=True)
    console.print(f"    [dim]{terminal.escape_hint(problem.next_step)}[/]", highlight=False, soft_wrap=True)
