"""The catalog from Python: what it says as DataFrames, and the changes that it makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolkit.cassettes.catalog.checking import check_files
from toolkit.cassettes.catalog.comparing import compare_recordings
from toolkit.cassettes.catalog.facts import cassettes_at, cassettes_in, facts_of, name_of
from toolkit.cassettes.catalog.reading import read_cassette, selected
from toolkit.cassettes.catalog.rewriting import check_rewritable, rescrubbed, rewrite, scrubber_to_show, without
from toolkit.cassettes.catalog.showing import table_of
from toolkit.cassettes.format import contents
from toolkit.cassettes.opening import is_stale, todays_scrubber
from toolkit.cassettes.replay.player import read_play_log
from toolkit.core.arguments import as_clock, as_flag, as_text, wrong_type
from toolkit.core.clock import Clock, SystemClock
from toolkit.local.files import expanded
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.rules.model import Rules, as_rules

if TYPE_CHECKING:
    import pandas as pd

# Types of the columns that are not text.
_TYPES: Final = {
    **dict.fromkeys(("interactions", "size", "number", "count"), "int64"),
    **dict.fromkeys(("recorded", "last"), "datetime64[us, UTC]"),
    **dict.fromkeys(("stale", "fails"), "bool"),
    **dict.fromkeys(("line", "interaction", "old", "new"), "Int64"),
}


def list_cassettes(
    folder: str | Path | None = None, *, settings: Settings | None = None, clock: Clock | None = None
) -> pd.DataFrame:
    """Return the recordings in a folder and below it, one row each.

    Args:
        folder: by default the cassettes folder of the project.
        settings: by default those of the project.
        clock: by default the machine's; it decides what is stale.

    Returns:
        Sorted by path:
            name (str): what to open it by.
            environments (str): names of the environments that were called, separated by commas.
            interactions (int64): how many there are.
            recorded, last (datetime64[us, UTC]): when the first and the last interaction were recorded; missing if
                that is not known.
            stale (bool): whether the first is older than `stale_after` in toolkit.toml.
            size (int64): bytes of the file.
            written_by (str): "toolkit" or "vcrpy"; missing if it cannot be read.
            problem (str): why it cannot be read as a cassette; missing if it can.

    Raises:
        ConfigurationError: if the folder does not exist, or is a whole disk.
    """
    settings = as_settings(settings)
    now = (as_clock(clock) or SystemClock()).now()
    files = cassettes_in(settings.cassettes_folder if folder is None else expanded(folder, about="folder"))
    facts = [facts_of(path, settings) for path in files]
    names = "name environments interactions recorded last stale size written_by problem"
    return _frame(
        names,
        [(*fact[:5], is_stale(fact.recorded, settings.stale_after_days, now), *fact[5:]) for fact in facts],
    )


def check_cassettes(
    cassettes: str | Path | Iterable[str | Path] | None = None,
    *,
    play_log: str | Path | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
) -> pd.DataFrame:
    """Return what is wrong with recordings; no rows if all are clean, complete, readable and not stale.

    Clean means that `tk.scan` finds nothing, and that recording the same calls today, under today's rules, would
    replace nothing more. Nothing is changed.

    Args:
        cassettes: names, files and folders; by default the cassettes folder of the project.
        play_log: the folder that TOOLKIT_PLAY_LOG named while notebooks or tests ran, or that `verify` was given: then
            interactions that they did not play are listed.
        settings: by default those of the project.
        clock: by default the machine's; it decides what is stale.

    Returns:
        One row per problem, file by file:
            name (str): what to open the file by.
            kind (str): "corrupt", "incomplete", "secret", "rules" (something that would be replaced today), "stale",
                "unplayed", or "token" (a note: a token of an earlier session).
            line (Int64): its line, from 1, if it is known.
            interaction (Int64): number of the interaction, from 1, if it is about one.
            what, next (str): what is wrong, and what to do.
            fails (bool): whether `toolkit cassettes check` fails because of it.

    Raises:
        ConfigurationError: if the folder does not exist, or the log cannot be read.
    """
    settings = as_settings(settings)
    value: object = cassettes
    if value is not None and (isinstance(value, bytes) or not isinstance(value, str | Path | Iterable)):
        raise wrong_type("cassettes", "a name, a path or a list of them", value, 'For example cassettes="tour".')
    several = [cassettes] if cassettes is None or isinstance(cassettes, str | Path) else list(cassettes)
    paths = list(dict.fromkeys(path for place in several for path in cassettes_at(place, settings)))
    played = None if play_log is None else read_play_log(play_log)
    problems = check_files(paths, settings, (as_clock(clock) or SystemClock()).now(), played=played)
    rows = [
        (name_of(each.path, settings), each.kind, each.line, each.interaction, each.what, each.next, each.fails)
        for each in problems
    ]
    return _frame("name kind line interaction what next fails", rows)


def compare_cassettes(old: str | Path, new: str | Path, *, settings: Settings | None = None) -> pd.DataFrame:
    """Return what changed from one recording of a story to another.

    Calls are paired by environment, profile, method, URI and body, and repeated calls by their order. Values in the
    answers are not compared: they differ on any day.

    Args:
        old, new: names or paths of the cassettes.
        settings: by default those of the project.

    Returns:
        One row per change, in the order of the old recording:
            kind (str): "added" or "removed" for a call, a member of JSON or a header; "type" for a member of another
                type or a body of another media type; "status"; "timing" for an answer that took at least twice as
                long, or half as long, by at least 0.1 s.
            method, uri (str): the call.
            place (str): where in the answer, such as `$.accounts[].cash`; missing for the whole call.
            before, after (str): what was there and what is there; missing if there was or is nothing.
            old, new (Int64): number of the call in each recording, from 1; missing if it is only in the other.

    Raises:
        CassetteMiss, CassetteCorrupt: if one of them does not exist or is not a cassette.
    """
    settings = as_settings(settings)
    left, right = (read_cassette(cassette, settings).contents for cassette in (old, new))
    changes = compare_recordings(left, right, scrubber_to_show(settings, left, right))
    return _frame("kind method uri place before after old new", changes)


def prune_cassette(
    cassette: str | Path,
    numbers: int | str | Iterable[int | str] = (),
    *,
    method: str | None = None,
    uri: str | None = None,
    play_log: str | Path | None = None,
    dry_run: bool = True,
    settings: Settings | None = None,
) -> pd.DataFrame:
    """Show which interactions would be dropped from a recording, or with `dry_run=False` drop them.

    The others keep their bytes; a file of stock vcrpy is rewritten as ours. Their numbers change, so a cell that drops
    by number must not run twice: by default nothing is written.

    Dropped are the interactions with these numbers, and the calls that fit all other conditions. A token request goes
    with the last of its calls.

    Args:
        cassette: name or path.
        numbers: numbers from 1, and ranges such as "5-7".
        method: drop calls of this method,
        uri: whose URI, or path with or without its query, fits this pattern (`*` stands for any text),
        play_log: and that are not played according to this log (see `check_cassettes`).
        dry_run: False to write the file; by default nothing is changed.
        settings: by default those of the project.

    Returns:
        The interactions that are dropped, one row each: `number` (int64, from 1) and the columns of `Cassette.table()`.

    Raises:
        ConfigurationError: if an interaction does not exist, nothing would be left, or the file is JSON.
        CassetteBusy: if somebody is recording to the file.
        CassetteMiss, CassetteCorrupt: if the cassette does not exist, or it cannot be read.
    """
    settings = as_settings(settings)
    opened = read_cassette(cassette, settings)
    check_rewritable(opened.path)
    scrubber = scrubber_to_show(settings, opened.contents)
    played = None if play_log is None else read_play_log(play_log).get(opened.path.resolve(), set())
    if not isinstance(numbers, Iterable | int):
        raise wrong_type("numbers", "a number, a range or a list of them", numbers, 'For example numbers=[3, "5-7"].')
    several = [numbers] if isinstance(numbers, int | str) else numbers
    method = None if method is None else as_text(method, about="method", example='"POST"')
    uri = None if uri is None else as_text(uri, about="uri", example='"*/orders*"')
    as_flag(dry_run, about="dry_run")
    dropped = selected(opened.contents, several, method=method, uri=uri, played=played)
    source = str(opened.path)
    without(opened.data, dropped, scrubber, source=source)
    if not dry_run and dropped:
        rewrite(opened.path, scrubber, lambda data: without(data, dropped, scrubber, source=source))
    return table_of(opened.contents, sorted(dropped), scrubber)


def scrub_cassette(
    cassette: str | Path, *, rules: Rules | None = None, dry_run: bool = False, settings: Settings | None = None
) -> pd.DataFrame:
    """Scrub a recording again, as if it were recorded today.

    Interactions in which nothing is replaced keep their bytes; a file of stock vcrpy is rewritten as ours.

    Args:
        cassette: name or path.
        rules: rules besides those of the project.
        dry_run: change nothing.
        settings: by default those of the project.

    Returns:
        What is replaced, one row for each interaction and kind: `number` (int64, from 1), `kind` (str; a placeholder
        such as ACCESS_TOKEN, "address", "personal data" or "other") and `count` (int64).

    Raises:
        ConfigurationError: if the file is JSON.
        CassetteBusy: if somebody is recording to the file.
        SecretLeak: if it holds a secret that cannot be removed; nothing was changed.
        CassetteMiss, CassetteCorrupt: if the cassette does not exist, or it cannot be read.
    """
    settings = as_settings(settings)
    path, data, _ = read_cassette(cassette, settings)
    check_rewritable(path)
    scrubber = todays_scrubber(settings, as_rules(rules))
    rows: list[tuple[Any, ...]] = []

    def scrubbed(data: bytes) -> bytes:
        result = rescrubbed(data, contents.read(data, source=str(path)), scrubber, source=path)
        rows[:] = [
            (at + 1, kind, count) for at, counts in result.replacements for kind, count in sorted(counts.items())
        ]
        return result.data

    if as_flag(dry_run, about="dry_run"):
        scrubbed(data)
    else:
        rewrite(path, scrubber, scrubbed)
    return _frame("number kind count", rows)


def _frame(names: str, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    import pandas as pd

    columns = {
        name: pd.Series([row[at] for row in rows], dtype=_TYPES.get(name, "str"))
        for at, name in enumerate(names.split())
    }
    return pd.DataFrame(columns)
