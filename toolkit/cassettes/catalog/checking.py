"""Check that recordings are readable, complete, without secrets, scrubbed by the current rules, fresh and played."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolkit.cassettes.catalog.facts import cassettes_at, frame_of, name_of, staleness_text, try_to_read
from toolkit.cassettes.catalog.rewriting import rescrubbed
from toolkit.cassettes.recording.recorder import todays_scrubber
from toolkit.cassettes.replay.player import read_play_log
from toolkit.core.errors import CassetteCorrupt, ConfigurationError, SecretLeak, wrong_type
from toolkit.core.ledger import Clock, as_clock
from toolkit.core.text import count_text, excerpt
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.scanning import Finding, scan_files

if TYPE_CHECKING:
    import pandas as pd

_TO_SCRUB: Final = "Scrub it: toolkit cassettes scrub. If the file was shared, revoke the secrets that it contained."


class _Problem(NamedTuple):
    kind: str
    what: str
    next: str
    line: int | None = None
    interaction: int | None = None  # from 1


def check_cassettes(
    cassettes: str | Path | Iterable[str | Path] | None = None,
    *,
    play_log: str | Path | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
) -> pd.DataFrame:
    """Return the problems in recordings, one per row; no rows if all are clean, complete, readable and not stale.

    Clean means that `tk.scan` finds nothing, and that the current rules would not replace anything more. No file is
    changed.

    Args:
        cassettes: names, files and folders; defaults to the project's cassettes folder.
        play_log: the folder that TOOLKIT_PLAY_LOG named while notebooks or tests ran, or that was passed to `verify`;
            if given, interactions that were not played are listed too.
        settings: defaults to the project's settings.
        clock: used to decide which recordings are stale; defaults to the system clock.

    Returns:
        One row per problem, file by file:
            name (str): name or path to open the file with.
            kind (str): "corrupt", "incomplete", "secret", "rules" (something that would be replaced today), "stale" or
                "unplayed".
            line (Int64): line of the problem, from 1; missing if unknown.
            interaction (Int64): number of the interaction, from 1; missing if none is known.
            what, next (str): what is wrong, and what to do.

    Raises:
        ConfigurationError: if a file or folder does not exist, or the log cannot be read.
    """
    settings = as_settings(settings)
    places: object = cassettes
    if isinstance(places, bytes) or not isinstance(places, str | Path | Iterable | None):
        raise wrong_type("cassettes", "a name, a path or a list of them", places, 'For example cassettes="tour".')
    several = [cassettes] if cassettes is None or isinstance(cassettes, str | Path) else list(cassettes)
    paths = list(dict.fromkeys(path for place in several for path in cassettes_at(place, settings)))
    if missing := next((path for path in paths if not os.path.lexists(path)), None):  # a broken link is a problem
        what = f"The cassette {missing} does not exist."
        raise ConfigurationError(what, "List them with: toolkit cassettes list.", about="cassettes")
    played = None if play_log is None else read_play_log(play_log)
    now = as_clock(clock).now()
    findings = scan_files([path for path in paths if path.is_file()], settings=settings)
    rows: list[tuple[Any, ...]] = []
    for path in paths:
        found = [each for each in findings if each.path == path]
        numbers = None if played is None else played.get(path.resolve(), ())
        problems = _problems(path, found, settings, now, numbers)
        name = name_of(path, settings)
        rows += [(name, each.kind, each.line, each.interaction, each.what, each.next) for each in problems]
    return frame_of("name kind line interaction what next", rows)


def _problems(
    path: Path, findings: Iterable[Finding], settings: Settings, now: datetime, played: Container[int] | None
) -> Iterator[_Problem]:
    """Yield the problems of a cassette, given the findings of a scan and the interactions that were played."""
    opened, error = try_to_read(path)
    if error is not None:
        yield _Problem("corrupt", error.what, error.next_step)
    for number in range(len(opened)):
        found, place = opened.interaction_or_error(number), (opened.items[number].line, number + 1)
        if isinstance(found, CassetteCorrupt):
            yield _Problem("corrupt", found.what, found.next_step, *place)
        elif played is not None and number not in played:
            call = f"{excerpt(found.request.method, 20)} {excerpt(found.request.uri, 160)}"
            next_step = "To remove it, run toolkit cassettes prune with the same notebooks or play log."
            yield _Problem("unplayed", f"{call} is never replayed.", next_step, *place)
    for finding in findings:
        what = f"{finding.kind[:1].upper()}{finding.kind[1:]}{f' in {finding.place}' if finding.place else ''}."
        yield _Problem("secret", what, _TO_SCRUB, finding.line or None)
    try:
        _, replacements = rescrubbed(opened, todays_scrubber(settings), opened.readable())
    except SecretLeak as leak:
        yield _Problem("secret", leak.what, "Drop that interaction with toolkit cassettes prune.")
        replacements = []
    for number, counts in replacements:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
        what = f"Under the current rules, the following would be replaced: {kinds}."
        yield _Problem("rules", what, _TO_SCRUB, opened.items[number].line, number + 1)
    if opened.is_torn:
        what = f"It ends in an incomplete interaction; {count_text(len(opened), 'interaction')} can be played."
        yield _Problem("incomplete", what, "To repair the file, open it once with tk.Cassette, or record it again.")
    stale = staleness_text(path, opened.recorded_at, settings.stale_after_days, now)
    if stale is not None:
        yield _Problem("stale", stale, 'Record it again with mode="all"; toolkit cassettes drift shows what changed.')
