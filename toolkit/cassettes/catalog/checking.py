"""Check recordings: readable, complete, without secrets, in line with today's rules, not stale, and played."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from toolkit.cassettes.catalog.reading import read_bytes
from toolkit.cassettes.catalog.rewriting import ADDRESS, OTHER, PERSONAL, Rescrubbed, rescrubbed, todays_scrubber
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents, ReadableContents
from toolkit.cassettes.recording import writer_lock
from toolkit.cassettes.recording.recorder import part_of
from toolkit.cassettes.staleness import staleness_text
from toolkit.core.errors import CassetteError, SecretLeak
from toolkit.core.escaping import excerpt
from toolkit.core.words import count_text
from toolkit.local.files import partials
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning import scan_files

CORRUPT, INCOMPLETE, SECRET, RULES, TOKEN, STALE, UNPLAYED = KINDS = (
    "corrupt",
    "incomplete",
    "secret",
    "rules",
    "token",
    "stale",
    "unplayed",
)
# Worth knowing, and no fault of the recording: a session may have used a token of an earlier one.
NOTES: Final = frozenset({TOKEN})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a recording. All texts are safe to show.

    Attributes:
        path: the file.
        kind: one of KINDS.
        what: what is wrong, without a secret.
        next_step: what to do about it.
        line: line of the file, from 1; None for the whole file.
        number: number of the interaction, from 1; None for the whole file.
    """

    path: Path
    kind: str
    what: str
    next_step: str
    line: int | None = None
    number: int | None = None

    @property
    def fails(self) -> bool:
        """True if a check fails because of it."""
        return self.kind not in NOTES


def check_files(
    paths: Sequence[Path],
    settings: Settings,
    now: datetime,
    *,
    played: Mapping[Path, AbstractSet[int]] | None = None,
) -> list[Problem]:
    """Return the problems of recordings, file by file. Nothing is changed.

    Args:
        paths: the files.
        settings: the settings with the rules, the scan's allow-list and the age from which recordings are stale.
        now: the present.
        played: the interactions that notebooks or tests play, from 0, by the real path of the file; None if they
            did not run.
    """
    opened: dict[Path, tuple[bytes, Contents]] = {}
    problems: dict[Path, list[Problem]] = {path: list(_incomplete(path)) for path in paths}
    for path, own in problems.items():
        try:
            data = read_bytes(path)
            if not data.strip():
                what = "It is empty." if path.exists() else "It is a link to a file that does not exist."
                own.append(Problem(path, CORRUPT, what, "Delete it, or record it again."))
                continue
            content = contents.read(data, source=str(path))
            readable = ReadableContents(content)
            for number, error in readable.errors.items():
                own.append(Problem(path, CORRUPT, error.what, error.next_step, content.line(number), number + 1))
            opened[path] = data, readable if readable.errors else content
        except CassetteError as error:
            own.append(Problem(path, CORRUPT, error.what, error.next_step))
    for finding in scan_files([path for path in paths if path.is_file()], settings=settings):
        what = f"{finding.kind[:1].upper()}{finding.kind[1:]}{f' in {finding.place}' if finding.place else ''}."
        problems[finding.path].append(Problem(finding.path, SECRET, what, _TO_SCRUB, finding.line or None))
    for path, result in _rescrubbed_all(opened, settings).items():
        problems[path] += _unclean(path, opened[path][1], result)
    for path, (_, content) in opened.items():
        problems[path] += _facts(path, content, settings, now, None if played is None else _of_file(played, path))
    return [problem for several in problems.values() for problem in several]


_SCRUB: Final = "Scrub it: toolkit cassettes scrub."
_TO_SCRUB: Final = f"{_SCRUB} If the file was shared, replace the secrets in it."


def _incomplete(path: Path) -> Iterator[Problem]:
    """Yield what an interrupted recording left beside the file."""
    real = Path(os.path.realpath(path))  # a link may lead to itself
    if writer_lock.is_held_elsewhere(real):
        return  # it is not interrupted
    part = part_of(real)
    if part.exists():
        yield Problem(
            path,
            INCOMPLETE,
            f"{part.name} is left from an interrupted recording with mode all.",
            f"To use it, rename it to {real.name}; otherwise delete it.",
        )
    for left in (*partials(real), *partials(part)):
        yield Problem(
            path,
            INCOMPLETE,
            f"{left.name} is left from an interrupted write.",
            "Delete it; the next recording to this cassette would, too.",
        )


def _rescrubbed_all(
    opened: Mapping[Path, tuple[bytes, Contents]], settings: Settings
) -> dict[Path, Rescrubbed | CassetteError]:
    """Scrub all recordings again, each by itself."""
    results: dict[Path, Rescrubbed | CassetteError] = {}
    for path, (data, content) in opened.items():
        try:
            results[path] = rescrubbed(data, content, todays_scrubber(settings), source=path)
        except CassetteError as error:
            results[path] = error
    return results


def _unclean(path: Path, opened: Contents, result: Rescrubbed | CassetteError) -> Iterator[Problem]:
    if isinstance(result, SecretLeak):
        yield Problem(path, SECRET, result.what, "Drop that interaction with toolkit cassettes prune.")
    elif isinstance(result, CassetteError):
        yield Problem(path, CORRUPT, result.what, result.next_step)
    else:
        for number, counts in result.replacements:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
            what = f"Recorded today, this would be replaced: {kinds}."
            next_step = _SCRUB if counts.keys() <= {ADDRESS, PERSONAL, OTHER} else _TO_SCRUB
            yield Problem(path, RULES, what, next_step, opened.line(number), opened.position(number) + 1)


def _facts(
    path: Path, opened: Contents, settings: Settings, now: datetime, played: AbstractSet[int] | None
) -> Iterator[Problem]:
    if opened.is_torn:
        complete = count_text(len(opened), "interaction")
        what = f"It ends in an incomplete interaction; {complete} before it can be played."
        yield Problem(path, INCOMPLETE, what, "Open it once with tk.Cassette, which cuts it off, or record it again.")
    yield from _tokens(path, opened)
    stale = staleness_text(path, opened.recorded_at, settings.stale_after_days, now)
    if stale is not None:
        yield Problem(path, STALE, stale, 'Record it again with mode="all"; toolkit cassettes drift says what changed.')
    for number in range(len(opened)):
        if played is not None and opened.position(number) not in played:
            head = opened.head(number)
            what = f"Nothing plays {excerpt(head.method, 20)} {excerpt(head.uri, 160)}."
            next_step = "Drop what nothing plays: toolkit cassettes prune, with the same notebooks or log."
            yield Problem(path, UNPLAYED, what, next_step, opened.line(number), opened.position(number) + 1)


def _tokens(path: Path, opened: Contents) -> Iterator[Problem]:
    """Yield the calls that a token authorized whose request is not recorded; the first call of each token."""
    obtained = {opened.interaction(number).token_obtained for number in opened.token_requests}
    for number in range(len(opened)):
        caller = opened.interaction(number).authorized_by
        if caller is not None and caller.token is not None and caller not in obtained:
            obtained.add(caller)
            what = f"The request for token {caller.token} is not recorded: an earlier session obtained the token."
            yield Problem(
                path,
                TOKEN,
                what,
                "Nothing needs to be done: calls replay without it.",
                opened.line(number),
                opened.position(number) + 1,
            )


def _of_file(played: Mapping[Path, AbstractSet[int]], path: Path) -> AbstractSet[int]:
    return played.get(path.resolve(), frozenset())


def failing(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems because of which a check fails."""
    return [problem for problem in problems if problem.fails]
