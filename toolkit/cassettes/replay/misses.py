"""The errors of replay: a cassette that does not exist, a request that no recording answers, a strict cassette."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path, PurePath
from typing import Final

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.differences import COMPARED, nearest
from toolkit.cassettes.replay.matching import Identity, Matcher
from toolkit.core.document import SYMBOLIC_ENDING
from toolkit.core.errors import CassetteError, CassetteMiss
from toolkit.core.escaping import excerpt, printable
from toolkit.local.folders import how_to_name_project
from toolkit.scrubbing.messages import RecordedRequest

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_MOST_FILES: Final = 10_000  # examined in a folder
_MOST_NAMES: Final = 3
_MOST_UNPLAYED: Final = 10  # shown


def missing(
    path: Path,
    *,
    elsewhere: Path | None = None,
    is_offline: bool = False,
    to_record: str = 'record it with mode="once" while online',
) -> CassetteMiss:
    """Return the error for a file that does not exist or is empty.

    Args:
        path: the file.
        elsewhere: where a cassette of that name would be in the project.
        is_offline: True if nothing may be recorded.
        to_record: advice on how to record it.
    """
    path = path.absolute()
    what = f"{path} is empty: it has no recordings." if path.is_file() else f"The cassette {path} does not exist."
    if not path.parent.is_dir():
        what += " Its folder does not exist either."
    alike = similar_names(path)
    if alike:
        what += f" In that folder {'is' if len(alike) == 1 else 'are'} {', '.join(alike)}."
    advice = f"Check the name, or {to_record}."
    if elsewhere is not None and elsewhere.absolute() != path and elsewhere.is_file():
        advice = f'One of that name is in {elsewhere.parent}: to open it, give the name "{excerpt(elsewhere.stem)}".'
    elif not path.parent.is_dir() and path.is_relative_to(Path.cwd()):
        advice = f"{advice} {how_to_name_project()}".rstrip()
    if is_offline:
        advice += " TOOLKIT_OFFLINE is set, so nothing is recorded."
    return CassetteMiss(what, advice, about="cassette")


def unreadable(path: Path, error: OSError) -> CassetteError:
    """Return the error for a file that the system cannot read."""
    what = f"Cannot read {printable(str(path.absolute()))}: {error.strerror}."
    file_in_path = next((str(folder) for folder in path.absolute().parents if os.path.isfile(folder)), None)  # noqa: PTH113
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises the same error
        advice = 'Give a file in that folder, such as tour.yaml, or a name such as "tour".'
    elif file_in_path is not None:
        advice = f"{printable(file_in_path)} is a file, not a folder; choose another path."
    elif error.errno == errno.ENAMETOOLONG:
        advice = "Choose a shorter name."
    elif isinstance(error, PermissionError):
        advice = "Change its permissions, or choose another cassette."
    else:
        advice = "Fix the cause, or choose another cassette."
    return CassetteError(what, advice, about="cassette")


def similar_names(path: Path) -> list[str]:
    """Return the names of cassettes in the same folder that are similar to a file's name, most similar first."""
    names: dict[str, list[str]] = {}
    try:
        with os.scandir(path.parent) as entries:
            for entry in islice(entries, _MOST_FILES):
                other = PurePath(entry.name)
                if other.suffix.lower() in _SUFFIXES and other.name != path.name and not other.stem.endswith(".part"):
                    names.setdefault(other.stem.casefold(), []).append(other.name)
    except OSError:
        return []
    from difflib import get_close_matches

    stems = get_close_matches(path.stem.casefold(), names, n=_MOST_NAMES)
    return [excerpt(name, 80) for stem in stems for name in sorted(names[stem])][:_MOST_NAMES]


def no_match(
    file_name: str,
    matcher: Matcher,
    identity: Identity,
    request: RecordedRequest,
    heads: Sequence[tuple[int, RecordedRequest]],
    parse: Callable[[int], Interaction],
    *,
    environments: Sequence[str] = (),
    is_empty: bool = False,
) -> CassetteMiss:
    """Return the error for a request that no recording answers.

    Args:
        file_name: name of the cassette's file.
        matcher, identity, request, heads, parse: see `nearest`, for the recorded calls.
        environments: names of the environments whose calls are recorded.
        is_empty: True if there are no token requests either.

    Raises:
        CassetteCorrupt: if one of the nearest recordings cannot be read.
    """
    environment = identity.environment if "identity" in matcher.names else None
    if environment and environments and environment not in environments:
        return CassetteMiss(
            f"{file_name} holds calls of {', '.join(environments)}, and this session is {environment}.",
            "To replay it, leave the environment out; to record this environment, name another cassette.",
            about="environment",
        )
    what = f"Nothing recorded in {file_name} answers {request.method} {excerpt(request.uri, 160)}."
    descriptions = nearest(matcher, identity, request, heads, parse)
    if descriptions:
        scope = f" of {len(heads):,} calls, the {COMPARED} nearest by method and URI compared in full"
        indented = "".join("\n  " + description.replace("\n", "\n  ") for description in descriptions)
        what += f" The nearest{scope if len(heads) > COMPARED else ''}:{indented}"
    else:
        what += " It is empty." if is_empty else " It has no calls, only token requests."
    advice = 'To add it, open the cassette online with mode="new_episodes"; to record everything again, use mode="all".'
    if SYMBOLIC_ENDING not in request.uri and any(SYMBOLIC_ENDING in description for description in descriptions):
        advice += f" A host in {SYMBOLIC_ENDING} stands for an address in toolkit.toml: if that is missing, set it."
    return CassetteMiss(what, advice, about="cassette", nearest=descriptions)


def still_recorded(miss: CassetteMiss) -> CassetteMiss:
    """Return the error for a file to which another process is still recording: the call may be added after all."""
    return miss.reworded(
        f"{miss.what}\nAnother process is still recording to this cassette.",
        "Open the cassette again when that has ended; a call that is missing then is added with "
        'mode="new_episodes", online.',
    )


def all_played(file_name: str, request: RecordedRequest, count: int) -> CassetteMiss:
    """Return the error of a strict cassette for a scrubbed request whose `count` recordings were all played."""
    recordings = "The only recording" if count == 1 else f"Each of the {count} recordings"
    return CassetteMiss(
        f"{recordings} of {request.method} {excerpt(request.uri, 160)} in {file_name} was already played.",
        "A strict cassette plays each recording once; without strict=True the last one repeats.",
        about="strict",
    )


def left_over(file_name: str, count: int, unplayed: Sequence[str]) -> CassetteError:
    """Return the error of a strict cassette with `count` recordings, some of them unplayed, by method and URI."""
    shown = "".join(f"\n  {excerpt(head, 160)}" for head in unplayed[:_MOST_UNPLAYED])
    more = f"\n  and {len(unplayed) - _MOST_UNPLAYED} more" if len(unplayed) > _MOST_UNPLAYED else ""
    return CassetteError(
        f"{file_name} is strict, but {len(unplayed)} of its {count} interactions were not played.{shown}{more}",
        "Make the missing calls, or record the cassette again if they are no longer needed.",
        about="strict",
    )
