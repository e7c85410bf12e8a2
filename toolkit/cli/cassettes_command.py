"""`toolkit cassettes`: show, check and compare recordings, and drop interactions that are not needed.

Each command calls the corresponding Python function, such as `tk.check_cassettes`, and prints its rows as a table or,
with `--json`, as a list of objects.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.catalog.checking import check_cassettes
from toolkit.cassettes.catalog.comparing import KINDS, compare_cassettes
from toolkit.cassettes.catalog.facts import (
    EXCERPT,
    as_numbers,
    list_cassettes,
    messages_of,
    read_cassette,
    row_of,
    scrubber_to_show,
)
from toolkit.cassettes.catalog.rewriting import prune_cassette, scrub_cassette
from toolkit.cassettes.importing import import_cassette
from toolkit.cassettes.replay.player import VARIABLE
from toolkit.cli import terminal
from toolkit.core.errors import ConfigurationError
from toolkit.core.text import count_text
from toolkit.local.settings import Settings
from toolkit.session.session import Session

_FOUND, _UNUSABLE = 1, 2  # exit statuses
_CHANGE: Final = ("kind", "number", "old", "new", "method", "uri", "place", "before", "after")
app = terminal.command_group(
    "cassettes",
    help="List, show, check, compare and import recordings.",
    epilog="A NAME is a cassette in the project's cassettes folder, or a path with its suffix. "
    "Exit status: 0 if all is well; 1 if the command finds something (see its help); 2 if it could not run.",
)
NameArgument = Annotated[str, typer.Argument(help="Name of a cassette, or a path.")]
NumbersArgument = Annotated[list[int] | None, typer.Argument(help="Interaction numbers, counted from 1.")]
UnplayedOption = Annotated[
    list[Path] | None,
    typer.Option("--unplayed", help="Run a notebook or a folder of notebooks offline, and find the unplayed calls."),
]
PlayLogOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help=f"{VARIABLE} folder from earlier runs; find the unplayed calls.")
]
FailOnOption = Annotated[str, typer.Option(help=f"Kinds of changes to fail on, such as {','.join(KINDS)}.")]


@app.command("list", epilog=terminal.examples("toolkit cassettes list", "toolkit cassettes list tests/ --json"))
@terminal.errors_exit_with(_UNUSABLE)
def list_(
    folder: Annotated[Path | None, typer.Argument(help="By default the project's cassettes folder.")] = None,
    as_json: terminal.JsonOption = False,
) -> None:
    """List the recordings in a folder.

    A recording is stale if it is at least as old as `stale_after` in toolkit.toml. The JSON output has the columns of
    `tk.list_cassettes`.
    """
    recordings = terminal.records(list_cassettes(folder))
    columns = ("name", "environments", "interactions", "recorded", "stale", "size", "written_by", "problem")
    terminal.print_rows(recordings, columns, as_json=as_json, empty="This folder has no recordings.")


@app.command(epilog=terminal.examples("toolkit cassettes show tour", "toolkit cassettes show tour 3 --json"))
@terminal.errors_exit_with(_UNUSABLE)
def show(
    name: NameArgument,
    numbers: NumbersArgument = None,
    characters: Annotated[int, typer.Option(min=0, help="Number of characters of each body to show.")] = EXCERPT,
    as_json: terminal.JsonOption = False,
) -> None:
    """Show what is recorded, with headers and bodies.

    By default, each interaction is shown on one line. If numbers are given, those interactions are shown in full.
    Everything is shown as it would be recorded today, so secrets in a file that was recorded without scrubbing are not
    shown. The JSON output is a list of interactions; the ones shown in full also have `request` and `response`.
    """
    settings = Settings.load()
    opened = read_cassette(name, settings)
    scrubber = scrubber_to_show(settings, opened)
    scrubber.recall(opened.raw)
    chosen = sorted(as_numbers(numbers or (), len(opened)))
    rows = []
    for number in chosen or range(len(opened)):
        row = row_of(opened, number, scrubber)
        if number in chosen and not row["problem"]:
            row |= messages_of(opened.interaction(number), scrubber, characters)
        rows.append(row)
    if chosen and not as_json:
        for row in rows:
            _print_full(row)
        return
    columns = ("number", "method", "uri", "status", "failure", "elapsed", "size", "profile", "token", "problem")
    terminal.print_rows(rows, columns, as_json=as_json, empty="This cassette has no interactions.")


@app.command(epilog=terminal.examples("toolkit cassettes check", "toolkit cassettes check --unplayed notebooks/"))
@terminal.errors_exit_with(_UNUSABLE)
def check(
    places: Annotated[
        list[str] | None, typer.Argument(help="Names, files and folders; by default the project's cassettes folder.")
    ] = None,
    unplayed: UnplayedOption = None,
    play_log: PlayLogOption = None,
    as_json: terminal.JsonOption = False,
) -> None:
    """Check that recordings are complete, clean and not stale.

    A clean recording contains no secrets, and nothing that the current rules would replace. A recording becomes stale
    when it reaches the age `stale_after` in toolkit.toml. The JSON output has the columns of `tk.check_cassettes`.

    Exit status: 0 if all is well; 1 if something is wrong; 2 if the check could not be completed.
    """
    with _plays(unplayed or (), play_log) as log:
        problems = terminal.records(check_cassettes(places, play_log=log))
    if as_json:
        terminal.print_json(problems)
    for each in [] if as_json else problems:
        place = f", interaction {each['interaction']}" if each["interaction"] else ""
        text = f"{each['name']}{place}: {each['kind']}: {each['what']}"
        terminal.say(text, "red")
        terminal.say(f"  {terminal.pasteable(each['next'])}", "dim")
    if not problems and not as_json:
        terminal.say("No problems found.", "green")
    if problems:
        raise typer.Exit(_FOUND)


@app.command(epilog=terminal.examples("toolkit cassettes diff old.yaml new.yaml --fail-on removed,type,status"))
@terminal.errors_exit_with(_UNUSABLE)
def diff(
    old: Annotated[str, typer.Argument(help="Name or path of the old recording.")],
    new: Annotated[str, typer.Argument(help="Name or path of the new recording of the same calls.")],
    fail_on: FailOnOption = "",
    as_json: terminal.JsonOption = False,
) -> None:
    """Compare two recordings of the same calls.

    Calls are paired by environment, profile, method, URI and body, and repeated calls by their order. The comparison
    covers the status, JSON members and their types, and the media type of other bodies, but not values. Times are
    reported only if they at least doubled or halved. The JSON output has the columns of `tk.compare_cassettes`.

    Exit status: 1 if there is a change of a kind listed in --fail-on; 2 if a recording cannot be read; otherwise 0.
    """
    _print_changes(terminal.records(compare_cassettes(old, new)), _kinds(fail_on), as_json=as_json)


@app.command(
    epilog=terminal.examples("toolkit cassettes prune tour 3 5", "toolkit cassettes prune tour --uri '*/v2/*'")
)
@terminal.errors_exit_with(_UNUSABLE)
def prune(
    name: NameArgument,
    numbers: NumbersArgument = None,
    method: Annotated[str | None, typer.Option(help="Drop calls with this method.")] = None,
    uri: Annotated[str | None, typer.Option(help="Drop calls to this URI or path, quoted; * matches any text.")] = None,
    unplayed: UnplayedOption = None,
    play_log: PlayLogOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: terminal.YesOption = False,
    as_json: terminal.JsonOption = False,
) -> None:
    """Remove interactions.

    Removes the interactions with the given numbers and, in addition, the calls that meet all the other conditions. They
    are listed, and you are asked before the file is changed. A token request is removed with the last of its calls. The
    remaining interactions keep their bytes; a stock vcrpy recording is scrubbed and converted to the toolkit's layout.
    The JSON output has the columns of `tk.prune_cassette`; `--json` needs --yes or --dry-run.
    """
    with _plays(unplayed or (), play_log) as log:
        choice: dict[str, Any] = {"method": method, "uri": uri, "play_log": log}
        dropped = terminal.records(prune_cassette(name, numbers or (), **choice))
        if not dropped:
            what = f"No interaction of {name} matches, so there is nothing to remove."
            next_step = f"Pass numbers, --unplayed, --method or --uri; see toolkit cassettes show {name}"
            raise ConfigurationError(what, next_step, about="numbers")
        terminal.print_rows(dropped, ("number", "method", "uri", "status"), as_json=as_json)
        count = count_text(len(dropped), "interaction")
        if not dry_run:
            terminal.confirm(f"Drop {count} from {name}?", yes=yes, piped=as_json)
            prune_cassette(name, numbers or (), **choice, dry_run=False)
    if not as_json:
        terminal.say(f"{count} would be removed. Nothing was changed." if dry_run else f"Dropped {count} from {name}.")


@app.command(epilog=terminal.examples("toolkit cassettes scrub tour --dry-run", "toolkit cassettes scrub old.yaml"))
@terminal.errors_exit_with(_UNUSABLE)
def scrub(
    name: NameArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be replaced.")] = False,
    as_json: terminal.JsonOption = False,
) -> None:
    """Scrub a recording again with the current rules.

    Shows what was replaced, by kind. Interactions without replacements keep their bytes. A stock vcrpy recording is
    converted to the toolkit's layout. If the file was shared, revoke the secrets that were in it: scrubbing does not
    change other people's copies or the git history. The JSON output has the columns of `tk.scrub_cassette`.
    """
    replaced = terminal.records(scrub_cassette(name, dry_run=dry_run))
    nothing = "Nothing needs to be replaced: the recording already complies with the current rules."
    terminal.print_rows(replaced, ("number", "kind", "count"), as_json=as_json, empty=nothing)
    if replaced and not as_json:
        terminal.say("Nothing was changed; these values would be replaced." if dry_run else f"Replaced in {name}.")


@app.command("import", epilog=terminal.examples("toolkit cassettes import session.har checkout --only api.example.com"))
@terminal.errors_exit_with(_UNUSABLE)
def import_(
    source: Annotated[Path, typer.Argument(help="A HAR file, or a vcrpy cassette. The file is not changed.")],
    name: Annotated[str, typer.Argument(help="Name of the new cassette, or its path.")],
    environment: terminal.OptionalEnvironment = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Import only this host or host/path (* matches any text); may be repeated.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace an existing cassette.")] = False,
    as_json: terminal.JsonOption = False,
) -> None:
    """Make a clean cassette from a HAR file or a vcrpy cassette.

    Secrets are removed as in a recording, and the report names their kinds. Addresses in toolkit.toml become symbolic.
    If you name the environment, its sessions can replay the cassette. What cannot be replayed, such as an entry without
    a stored body, is left out. Other programs' recordings are not converted. The JSON output has the attributes of
    `tk.ImportReport`.

    Exit status: 0 if a cassette was written; 1 if nothing in the file could be imported; 2 if the file cannot be read
    or the cassette cannot be written.
    """
    terminal.check_new_name(name)
    report = import_cassette(source, name, environment=environment, only=only or (), replace=replace)
    if as_json:
        terminal.print_json(report.to_json())
    else:
        terminal.say("\n".join(report.lines()))
    if report.path is None:
        raise typer.Exit(_FOUND)
    if not as_json:
        terminal.print_next_steps((f"toolkit cassettes show {name}", "see what is in it"))


@app.command(epilog=terminal.examples("toolkit cassettes drift accounts-monday --fail-on removed,type,status"))
@terminal.errors_exit_with(_UNUSABLE)
def drift(
    name: NameArgument,
    environment: terminal.OptionalEnvironment = None,
    credentials: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of a profile; by default the one in the recording.")
    ] = None,
    per_second: Annotated[float | None, typer.Option(help="Maximum number of calls per second.")] = None,
    fail_on: FailOnOption = "",
    as_json: terminal.JsonOption = False,
) -> None:
    """Repeat recorded reads live, and show what changed.

    Only GET and HEAD requests are repeated, in the recorded environment or in another one. Other calls are never sent,
    nor are calls that contain a placeholder or pseudonym. Responses are compared as in `diff`. Nothing is recorded. The
    JSON output has the columns of `tk.Drift.table`.

    Exit status: 1 if there is a change of a kind listed in --fail-on; 2 if the recording cannot be read or the service
    cannot be called; otherwise 0, even if there are other changes.
    """
    from toolkit.sharing.drift import drift as repeat_reads

    failing = _kinds(fail_on)
    terminal.check_online("calls cannot be repeated live")
    cassette = Cassette(name, "none")
    profiles = set(cassette.table()["profile"].dropna()) - {""}
    if environment is None and len(cassette.contents.environments) == 1:
        environment = cassette.contents.environments[0]
    if credentials is None and len(profiles) == 1:
        credentials = profiles.pop()
    with Session(environment, credentials, per_second=per_second) as session:
        result = repeat_reads(name, session)
    if not as_json:
        terminal.say(f"{count_text(result.repeated, 'call')} repeated in {session.environment}.")
        for reason, count in Counter(call.reason for call in result.not_repeated).most_common():
            terminal.say(f"{count:,} not repeated because {reason.rstrip('.')}.", "dim")
    _print_changes(terminal.records(result.table()), failing, as_json=as_json)


@contextmanager
def _plays(notebooks: Iterable[Path], play_log: Path | None) -> Iterator[Path | None]:
    """Run the notebooks and yield the folder of the play log, or None if neither notebooks nor a log is given."""
    if not notebooks:
        yield play_log
        return
    from toolkit.verification import verify  # slow to load

    with tempfile.TemporaryDirectory(prefix="plays-") as folder:
        log = play_log or Path(folder)
        for verdict in verify(notebooks, play_log=log):
            if verdict.failure is not None:
                what = f"{verdict.path} could not be run, so the calls it replays are not known. {verdict.failure.what}"
                raise ConfigurationError(what, f"To see why: toolkit verify {verdict.path}", about="unplayed")
        yield log


def _kinds(text: str) -> set[str]:
    """Return the kinds of changes listed in a comma-separated option."""
    kinds = {kind.strip() for kind in text.split(",")} - {""}
    if kinds.difference(KINDS):
        raise typer.BadParameter(f"The kinds of changes are {', '.join(KINDS)}.", param_hint="--fail-on")
    return kinds


def _print_changes(changes: list[dict[str, Any]], failing: set[str], *, as_json: bool) -> None:
    """Print changes, and exit with status 1 if any of them is of a kind in `failing`."""
    nothing = "Nothing changed: the same calls, and responses with the same status and shape."
    terminal.print_rows(changes, _CHANGE, as_json=as_json, empty=nothing)
    if any(each["kind"] in failing for each in changes):
        raise typer.Exit(_FOUND)


def _print_full(row: dict[str, Any]) -> None:
    terminal.say(f"\nInteraction {row['number']}", "bold")
    for name, value in row.items():
        if value not in (None, "", False) and not isinstance(value, dict):
            terminal.say(f"{name}: {value}", "dim")
    for name in ("request", "response"):
        message = row.get(name)
        if message is None:
            continue
        terminal.say(f"\n{name.capitalize()}", "cyan")
        for key, value in message["headers"]:
            terminal.say(f"{key}: {value}", "dim")
        if message["body"]:
            terminal.say(f"\n{message['body']}")
        if message["is_cut"]:
            terminal.say(f"… the body has {message['size']:,} bytes; --characters shows more", "dim")
