"""Check recordings: readable, complete, without secrets, in line with today's rules, not stale, and played."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from toolkit.cassettes.catalog.rewriting import ADDRESS, OTHER, PERSONAL, rescrubbed
from toolkit.cassettes.format import contents
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.opening import read_bytes, staleness_text, todays_scrubber
from toolkit.cassettes.recording import writer_lock
from toolkit.cassettes.recording.recorder import part_of
from toolkit.core.errors import CassetteCorrupt, CassetteError, SecretLeak
from toolkit.core.text import count_text, excerpt
from toolkit.local.files import partials
from toolkit.local.settings import Settings
from toolkit.scrubbing.scanning import scan_files

CORRUPT, INCOMPLETE, SECRET, RULES, TOKEN, STALE, UNPLAYED = (
    "corrupt",
    "incomplete",
    "secret",
    "rules",
    "token",
    "stale",
    "unplayed",
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a recording. All texts are safe to show.

    Attributes:
        path: the file.
        kind: such as CORRUPT.
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
        return self.kind != TOKEN  # no fault of the recording: a session may have used a token of an earlier one


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
            for number in range(len(content)):
                if isinstance(error := content.interaction_or_error(number), CassetteCorrupt):
                    own.append(Problem(path, CORRUPT, error.what, error.next_step, content.line(number), number + 1))
            opened[path] = data, content
        except CassetteError as error:
            own.append(Problem(path, CORRUPT, error.what, error.next_step))
    for finding in scan_files([path for path in paths if path.is_file()], settings=settings):
        what = f"{finding.kind[:1].upper()}{finding.kind[1:]}{f' in {finding.place}' if finding.place else ''}."
        problems[finding.path].append(Problem(finding.path, SECRET, what, _TO_SCRUB, finding.line or None))
    for path, (data, content) in opened.items():
        problems[path] += _unclean(path, data, content, settings)
        problems[path] += _facts(
            path, content, settings, now, None if played is None else played.get(path.resolve(), ())
        )
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


def _unclean(path: Path, data: bytes, opened: Contents, settings: Settings) -> Iterator[Problem]:
    """Yield what recording the same calls today, under today's rules, would replace."""
    try:
        scrubber, recorded = todays_scrubber(settings), opened.readable()
        result = rescrubbed(data, opened, scrubber, source=path, recorded=recorded)
    except SecretLeak as error:
        yield Problem(path, SECRET, error.what, "Drop that interaction with toolkit cassettes prune.")
    except CassetteError as error:
        yield Problem(path, CORRUPT, error.what, error.next_step)
    else:
        for number, counts in result.replacements:
            kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
            what = f"Recorded today, this would be replaced: {kinds}."
            next_step = _SCRUB if counts.keys() <= {ADDRESS, PERSONAL, OTHER} else _TO_SCRUB
            yield Problem(path, RULES, what, next_step, opened.line(number), number + 1)


def _facts(
    path: Path, opened: Contents, settings: Settings, now: datetime, played: Container[int] | None
) -> Iterator[Problem]:
    if opened.is_torn:
        complete = count_text(len(opened), "interaction")
        what = f"It ends in an incomplete interaction; {complete} before it can be played."
        yield Problem(path, INCOMPLETE, what, "Open it once with tk.Cassette, which cuts it off, or record it again.")
    yield from _tokens(path, opened)
    stale = staleness_text(path, opened.recorded_at, settings.stale_after_days, now)
    if stale is not None:
        yield Problem(path, STALE, stale, 'Record it again with mode="all"; toolkit cassettes drift says what changed.')
    for number, interaction in opened.readable().items():
        if played is not None and number not in played:
            head = interaction.request
            what = f"Nothing plays {excerpt(head.method, 20)} {excerpt(head.uri, 160)}."
            next_step = "Drop what nothing plays: toolkit cassettes prune, with the same notebooks or log."
            yield Problem(path, UNPLAYED, what, next_step, opened.line(number), number + 1)


def _tokens(path: Path, opened: Contents) -> Iterator[Problem]:
    """Yield the calls that a token authorized whose request is not recorded; the first call of each token."""
    recorded = opened.readable()
    obtained = {interaction.token_obtained for interaction in recorded.values()}
    for number, interaction in recorded.items():
        caller = interaction.authorized_by
        if caller is not None and caller.token is not None and caller not in obtained:
            obtained.add(caller)
            what = f"The request for token {caller.token} is not recorded: an earlier session obtained the token."
            yield Problem(
                path,
                TOKEN,
                what,
                "Nothing needs to be done: calls replay without it.",
                opened.line(number),
                number + 1,
            )


def failing(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems because of which a check fails."""
    return [problem for problem in problems if problem.fails]
