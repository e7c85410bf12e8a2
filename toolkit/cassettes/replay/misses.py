"""What a strict cassette says: each recording plays once, and all of them do."""
# MERGE: What a miss tells: which file was looked for, or what comes nearest to a request and keeps it from answering.

from __future__ import annotations

import difflib
import errno
import heapq
import json
import os
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile, zip_longest
from pathlib import Path, PurePath
from typing import Any, Final

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.matching import FINE_PARTS, HEAD_PARTS, Identity, Matcher
from toolkit.core.errors import CassetteError, CassetteMiss
from toolkit.core.escaping import excerpt, printable
from toolkit.scrubbing.messages import RecordedRequest

_COMPARED: Final = 40  # recordings that are parsed for a miss: those whose method and URI come nearest
_SHOWN: Final = 3  # of them
_DIFFERENCES: Final = 4  # of a part
_MOST_DIFFERENCES: Final = 1000  # that are looked for
_LONGEST: Final = 60  # characters of a value
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_MOST_FILES: Final = 10_000  # of a folder
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,40}\Z")
_ABSENT: Final = object()


def missing(
    path: Path,
    *,
    elsewhere: Path | None = None,
    is_offline: bool = False,
    to_record: str = 'record it with mode="once" while online',
) -> CassetteMiss:
    """The error for a file that is not there, or has nothing in it.

    Args:
        path: which was looked for.
        elsewhere: where a cassette of that name would be in the project.
        is_offline: whether nothing may be recorded.
        to_record: what to do to record it, in words.
    """
    path = path.absolute()
    what = f"{path} is empty: it holds no recording." if path.is_file() else f"There is no cassette {path}."
    if not path.parent.is_dir():
        what += " There is no such folder either."
    alike = names_alike(path)
    if alike:
        what += f" In that folder {'is' if len(alike) == 1 else 'are'} {', '.join(alike)}."
    advice = f"Check the name, or {to_record}."
    if elsewhere is not None and elsewhere.absolute() != path and elsewhere.is_file():
        advice = f'There is one in {elsewhere.parent}: to open that, give the name "{excerpt(elsewhere.stem)}".'
    return CassetteMiss(what, advice + (" TOOLKIT_OFFLINE is set, so nothing is recorded." if is_offline else ""))


def unreadable(path: Path, error: OSError) -> CassetteError:
    """The error for a file that the system does not let be read."""
    what = f"Cannot read {printable(str(path.absolute()))}: {error.strerror}."
    in_the_way = next((str(folder) for folder in path.absolute().parents if os.path.isfile(folder)), None)  # noqa: PTH113
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir fails where reading did
        advice = 'Give a file in that folder, such as tour.yaml, or a name such as "tour".'
    elif in_the_way is not None:
        advice = f"{printable(in_the_way)} is a file, in which there can be no other; choose another path."
    elif error.errno == errno.ENAMETOOLONG:
        advice = "Choose a shorter name."
    elif isinstance(error, PermissionError):
        advice = "Mend its permissions or choose another."
    else:
        advice = "Choose another, or mend what keeps it from being read."
    return CassetteError(what, advice)


def names_alike(path: Path) -> list[str]:
    """Names of cassettes in the folder of a file that are nearly called as it is, the most similar first."""
    names: dict[str, list[str]] = {}
    try:
        with os.scandir(path.parent) as entries:
            for entry in islice(entries, _MOST_FILES):
                found = PurePath(entry.name)
                if found.suffix.lower() in _SUFFIXES and found.name != path.name and not found.stem.endswith(".part"):
                    names.setdefault(found.stem.casefold(), []).append(found.name)
    except OSError:
        return []
    close = difflib.get_close_matches(path.stem.casefold(), names, n=_SHOWN)
    return [excerpt(name, 80) for stem in close for name in sorted(names[stem])][:_SHOWN]


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
    """The error for a request that nothing recorded answers.

    Args:
        file_name: of the cassette.
        matcher: what must be equal.
        identity: who asks.
        request: what is asked for, scrubbed.
        heads: number and, at least, method and URI of each recorded call.
        parse: a recorded call by its number, scrubbed.
        environments: whose calls are recorded.
        is_empty: whether there are not even token requests.

    Raises:
        CassetteCorrupt: a recording that comes near cannot be read.
    """
    if (
        "identity" in matcher.names
        and identity.environment
        and environments
        and identity.environment not in environments
    ):
        return CassetteMiss(
            f"{file_name} holds calls of {', '.join(environments)}, and this session is {identity.environment}.",
            "To replay it, leave the environment out; to record this environment, name another cassette.",
        )
    close = nearest(matcher, identity, request, heads, parse)
    what = f"Nothing recorded in {file_name} answers {request.method} {excerpt(request.uri, 160)}."
    if close:
        shown = "".join("\n  " + one.replace("\n", "\n  ") for one in close)
        count = f" of {len(heads):,} calls, the {_COMPARED} nearest by method and URI compared whole"
        what += f" The nearest{count if len(heads) > _COMPARED else ''}:{shown}"
    else:
        what += " It is empty." if is_empty else " It holds no calls, only token requests."
    advice = 'To add it, open the cassette online with mode="new_episodes"; to record all anew, mode="all".'
    return CassetteMiss(what, advice, nearest=close)


def nearest(
    matcher: Matcher,
    identity: Identity,
    request: RecordedRequest,
    heads: Iterable[tuple[int, RecordedRequest]],
    parse: Callable[[int], Interaction],
) -> list[str]:
    """The recorded requests that come nearest and what keeps each from answering, best first.

    Each is its method and URI, and below that a line a part that differs and one of the parts that match.
    """
    parts = [HEAD_PARTS[name] for name in matcher.names if name in HEAD_PARTS]
    asked = [part(request) for part in parts]

    def distance(candidate: tuple[int, RecordedRequest]) -> tuple[int, int, int]:
        number, head = candidate
        differing = sum(part(head) != one for part, one in zip(parts, asked, strict=True))
        return differing, -_shared_prefix(head.uri, request.uri), number

    ranked = []
    for number, head in heapq.nsmallest(_COMPARED, heads, key=distance):
        recorded = parse(number)
        found = differences(matcher, identity, request, recorded)
        size = sum(len(hows) for hows in found.values())
        ranked.append((len(found), size, -_shared_prefix(head.uri, request.uri), number, recorded.request, found))
    shown: dict[tuple[str, str], str] = {}
    for *_, recorded_request, found in sorted(ranked, key=lambda one: one[:4]):
        written = recorded_request.method, recorded_request.uri
        if written not in shown:
            shown[written] = _described(matcher, recorded_request, found)
        if len(shown) == _SHOWN:
            break
    return list(shown.values())


def differences(
    matcher: Matcher, identity: Identity, request: RecordedRequest, recorded: Interaction
) -> dict[str, list[str]]:
    """Parts that keep a recorded interaction from answering: name of the part to what differs in it."""
    found = {}
    for name in matcher.names:
        part = HEAD_PARTS.get(name) or FINE_PARTS.get(name)
        if part is None:
            by = recorded.authorized_by
            if by and identity.environment and not _lane_answers(identity, Identity(by.environment, by.profile)):
                asked_by = f"{identity.profile or 'no profile'} ({identity.environment})"
                found["credentials"] = [f"recorded by {by.profile} ({by.environment}), asked by {asked_by}"]
            continue
        one, other = part(recorded.request), part(request)
        if one != other:
            body = name in ("body", "raw_body")
            hows = _in_bodies(recorded.request, request, one, other) if body else _in_part(one, other)
            found[name] = list(islice(hows, _MOST_DIFFERENCES))
    return found


def _described(matcher: Matcher, recorded: RecordedRequest, found: Mapping[str, Sequence[str]]) -> str:
    lines = [f"{recorded.method} {excerpt(recorded.uri, 120)}"]
    for name, hows in found.items():
        more = f"; and {len(hows) - _DIFFERENCES} more" if len(hows) > _DIFFERENCES else ""
        lines.append(f"  {name}: {'; '.join(hows[:_DIFFERENCES])}{more}")
    names = ["credentials" if name == "identity" else name for name in matcher.names]
    same = [name for name in names if name not in found]
    return "\n".join([*lines, f"  the same: {', '.join(same)}"] if same else lines)


def _in_part(recorded: Hashable, asked: Hashable) -> Iterator[str]:
    if isinstance(recorded, tuple) and isinstance(asked, tuple):  # pairs of names and values
        one, other = _by_name(recorded), _by_name(asked)
        for name in dict.fromkeys((*one, *other)):
            left, right = (None if name not in values else ", ".join(values[name]) for values in (one, other))
            if one.get(name) != other.get(name):
                yield _apart(f"{excerpt(name, _LONGEST)}: ", left, right)
    else:
        yield _apart("", str(recorded or "none"), str(asked or "none"))


def _in_bodies(recorded: RecordedRequest, asked: RecordedRequest, one: Hashable, other: Hashable) -> Iterator[str]:
    kinds = [body[0] if isinstance(body, tuple) else "" for body in (one, other)]
    if _is_encoded(recorded) or _is_encoded(asked):
        kinds = []  # what cannot be opened was not scrubbed
    if kinds == ["json", "json"]:
        yield from json_differences(json.loads(recorded.body), json.loads(asked.body))
    elif kinds == ["form", "form"] and isinstance(one, tuple) and isinstance(other, tuple):
        yield from _in_part(one[1], other[1])
    else:
        left, right = _body_text(recorded), _body_text(asked)
        yield "other bytes" if left == right else _apart("", left, right)


def json_differences(recorded: Any, asked: Any) -> Iterator[str]:
    """Where two JSON values differ, by path, such as `$.qty: recorded 1, asked 2`."""
    pending = [("$", recorded, asked)]
    while pending:
        path, one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            names = dict.fromkeys((*one, *other))
            inside = [(path + _step(name), one.get(name, _ABSENT), other.get(name, _ABSENT)) for name in names]
        elif isinstance(one, list) and isinstance(other, list):
            pairs = enumerate(zip_longest(one, other, fillvalue=_ABSENT))
            inside = [(f"{path}[{place}]", left, right) for place, (left, right) in pairs]
        else:
            left, right = (None if value is _ABSENT else json.dumps(value, sort_keys=True) for value in (one, other))
            if left != right:
                yield _apart(f"{path}: ", left, right)
            continue
        pending.extend(reversed(inside))


def _step(name: str) -> str:
    return f".{name}" if _NAME.match(name) else f"[{excerpt(json.dumps(name, ensure_ascii=False), _LONGEST)}]"


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def _apart(where: str, recorded: str | None, asked: str | None) -> str:
    """Two values that differ, cut to where they do; None for one that is not there."""
    if recorded is None or asked is None:
        there = excerpt((asked if recorded is None else recorded) or "", _LONGEST) or "empty"
        return f"{where}not recorded, asked {there}" if recorded is None else f"{where}recorded {there}, not asked"
    shown = [excerpt(text, _LONGEST) or "empty" for text in (recorded, asked)]
    if shown[0] == shown[1]:  # what differs lies beyond the cut, or cannot be printed
        start = max(0, _shared_prefix(recorded, asked) - 10)
        shown = [f"…{ascii(text[start : start + _LONGEST])[1:-1][:_LONGEST]}" for text in (recorded, asked)]
    return f"{where}recorded {shown[0]}, asked {shown[1]}"


def _body_text(request: RecordedRequest) -> str:
    if not request.body:
        return "none"
    size = f"{len(request.body)} bytes"
    try:
        return size if _is_encoded(request) else request.body.decode("utf-8")
    except UnicodeDecodeError:
        return size


def _is_encoded(request: RecordedRequest) -> bool:
    return any(name.lower() == "content-encoding" for name, _ in request.headers)


def _lane_answers(asked: Identity, recorded: Identity) -> bool:
    return asked.environment == recorded.environment and asked.profile in (None, recorded.profile)


def _shared_prefix(left: str, right: str) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))))


_UNPLAYED_SHOWN: Final = 10


def spent(file_name: str, request: RecordedRequest, count: int) -> CassetteMiss:
    """The error for a request whose recordings were all played.

    Args:
        request: scrubbed.
        count: how many recordings answer it.
    """
    recordings = "The one recording" if count == 1 else f"Each of the {count} recordings"
    return CassetteMiss(
        f"{recordings} in {file_name} of {request.method} {excerpt(request.uri, 160)} was played already.",
        "A strict cassette plays each once; without strict=True the last one repeats.",
    )


def left_over(file_name: str, count: int, unplayed: Sequence[str]) -> CassetteError:
    """The error for recordings that were not played.

    Args:
        count: how many there are in the file.
        unplayed: method and URI of those that were not played.
    """
    shown = "".join(f"\n  {excerpt(one, 160)}" for one in unplayed[:_UNPLAYED_SHOWN])
    more = f"\n  and {len(unplayed) - _UNPLAYED_SHOWN} more" if len(unplayed) > _UNPLAYED_SHOWN else ""
    return CassetteError(
        f"Not played, though {file_name} is strict: {len(unplayed)} of the {count} interactions.{shown}{more}",
        "A strict cassette is played whole. Record it anew if the calls are no longer meant to be made.",
    )
