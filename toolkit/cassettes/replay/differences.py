"""Replay errors, which describe how a request differs from the nearest recording."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from heapq import nsmallest
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.matching import HEAD_PARTS, PARSED_PARTS, Identity, Matcher
from toolkit.cassettes.selection import find_cassette
from toolkit.core.document import SYMBOLIC_ENDING
from toolkit.core.errors import CassetteError, CassetteMiss, ConfigurationError
from toolkit.core.text import excerpt, printable
from toolkit.local.folders import HOW_TO_NAME_PROJECT
from toolkit.local.settings import Settings
from toolkit.scrubbing.messages import RecordedRequest

_COMPARED: Final = 40  # recordings; those with the nearest method and URI
_DIFFERENCES: Final = 4  # shown for each part
_MOST_DIFFERENCES: Final = 1000  # counted for each part
_LONGEST: Final = 60  # characters of a value
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,40}\Z")
_MOST_UNPLAYED: Final = 10  # shown
Pairs = tuple[tuple[str, str], ...]  # names and strings


def no_match(
    file_name: str,
    matcher: Matcher,
    identity: Identity,
    request: RecordedRequest,
    calls: Sequence[Interaction],
    environments: Sequence[str] = (),
) -> CassetteMiss:
    """Return the error for a request that no recording answers; the request and the recorded calls are scrubbed."""
    environment = identity.environment if matcher.uses_identity else None
    if environment and environments and environment not in environments:
        return CassetteMiss(
            f"{file_name} contains calls made in {', '.join(environments)}, but this session is for {environment}.",
            "To replay it, leave the environment out; to record this environment, name another cassette.",
            about="environment",
        )
    what = f"No call recorded in {file_name} matches {request.method} {excerpt(request.uri, 160)}."
    nearest = _nearest(matcher, identity, request, calls) if calls else ""
    if nearest:
        indented = nearest.replace("\n", "\n  ")
        what += f" The nearest one:\n  {indented}"
    else:
        what += " No calls are recorded in it."
    advice = 'To add it, use mode="new_episodes" while you are online; to record everything again, use mode="all".'
    if SYMBOLIC_ENDING not in request.uri and SYMBOLIC_ENDING in nearest:
        advice += f" A host ending in {SYMBOLIC_ENDING} stands for an address in toolkit.toml: set it if it is missing."
    return CassetteMiss(what, advice, about="cassette", nearest=(printable(nearest),) if nearest else ())


def _nearest(matcher: Matcher, identity: Identity, request: RecordedRequest, calls: Sequence[Interaction]) -> str:
    """Describe the recording nearest to a request.

    The description is the recording's method and URI, then a line for each part that differs and a line that lists
    the parts that match.
    """
    wanted = matcher.head_key(request)

    def distance(recorded: Interaction) -> tuple[int, int]:
        key = matcher.head_key(recorded.request)
        differing = sum(part != value for part, value in zip(key, wanted, strict=True))
        return differing, -_shared_prefix(recorded.request.uri, request.uri)

    compared = [(differences(matcher, identity, request, each), each) for each in nsmallest(_COMPARED, calls, distance)]
    by_part, nearest = min(compared, key=lambda pair: (len(pair[0]), sum(map(len, pair[0].values()))))
    lines = [f"{nearest.request.method} {excerpt(nearest.request.uri, 120)}"]
    for name, texts in by_part.items():
        more = f"; and {len(texts) - _DIFFERENCES} more" if len(texts) > _DIFFERENCES else ""
        lines.append(f"  {name}: {'; '.join(texts[:_DIFFERENCES])}{more}")
    names = ["credentials" if name == "identity" else name for name in matcher.names]
    same = [name for name in names if name not in by_part]
    lines += [f"  the same: {', '.join(same)}"] if same else []
    return "\n".join(lines)


def differences(
    matcher: Matcher, identity: Identity, request: RecordedRequest, recorded: Interaction
) -> dict[str, list[str]]:
    """Describe how a request differs from a recording; return lists of descriptions keyed by part."""
    by_part = {}
    caller = recorded.authorized_by
    if matcher.uses_identity and caller is not None and not identity.includes(caller):
        asker = f"{identity.profile or 'no profile'} ({identity.environment})"
        by_part["credentials"] = [f"recorded by {caller.profile} ({caller.environment}), requested by {asker}"]
    requests = recorded.request, request
    for name, part in {**HEAD_PARTS, **PARSED_PARTS}.items():
        left, right = values = [part(each) for each in requests] if name in matcher.names else (None, None)
        if left != right:
            texts = _in_bodies(requests, values) if name in ("body", "raw_body") else _in_part(*map(_listed, values))
            by_part[name] = list(islice(texts, _MOST_DIFFERENCES)) or ["other bytes"]
    return by_part


def json_places(value: Any, *, is_merged: bool = False) -> Iterator[tuple[str, str, Any]]:
    """Yield the path of each value in JSON, such as `$.legs[0].qty`, its parent path, and the value.

    Outer values come first. If `is_merged` is True, all items of an array share one path, such as `$.legs[].qty`.
    """
    pending = deque([("$", "", value)])
    while pending:
        path, outer, value = pending.popleft()
        yield path, outer, value
        if isinstance(value, dict):
            pending.extend((path + _step(name), path, member) for name, member in value.items())
        elif isinstance(value, list):
            pending.extend((f"{path}[{'' if is_merged else at}]", path, item) for at, item in enumerate(value))


def _step(name: str) -> str:
    """Return a step of a path into JSON: `.name`, or `["a name"]` for a name that is not plain."""
    return f".{name}" if _NAME.match(name) else f"[{excerpt(json.dumps(name, ensure_ascii=False), _LONGEST)}]"


def _listed(part: Hashable) -> Pairs:
    return part if isinstance(part, tuple) else (("", str(part or "none")),)


def _in_part(recorded: Pairs, requested: Pairs) -> Iterator[str]:
    """Yield the differences between two lists of names and strings; the name "" means a whole part."""
    sides: list[dict[str, list[str]]] = [{}, {}]
    for side, pairs in zip(sides, (recorded, requested), strict=True):
        for name, text in pairs:
            side.setdefault(name, []).append(text)
    for name in dict.fromkeys((*sides[0], *sides[1])):
        left, right = (", ".join(side[name]) if name in side else None for side in sides)
        if left != right:
            yield _difference(f"{excerpt(name, _LONGEST)}: " if name else "", left, right)


def _in_bodies(requests: Sequence[RecordedRequest], values: Sequence[Any]) -> Iterator[str]:
    # A body that cannot be decoded was not scrubbed, so only its size may be shown.
    is_encoded = any(name.lower() == "content-encoding" for each in requests for name, _ in each.headers)
    kinds = [value[0] if isinstance(value, tuple) else "" for value in values]
    if is_encoded or kinds[0] != kinds[1] or not kinds[0]:
        texts = [_text_of(each.body, is_shown=not is_encoded) for each in requests]
        return _in_part(*((("", text),) for text in texts))
    return _in_part(*(_leaves(content) if kind == "json" else content for kind, content in values))


def _leaves(text: str) -> Pairs:
    places = json_places(json.loads(text))
    return tuple(
        (path, json.dumps(value)) for path, _, value in places if not (isinstance(value, dict | list) and value)
    )


def _text_of(body: bytes, *, is_shown: bool) -> str:
    try:
        return (body.decode("utf-8") if is_shown else f"{len(body)} bytes") if body else "none"
    except UnicodeDecodeError:
        return f"{len(body)} bytes"


def _difference(where: str, recorded: str | None, requested: str | None) -> str:
    """Describe two different values, shortened so that the difference is visible; None means a missing value."""
    left, right = (None if text is None else excerpt(text, _LONGEST) or "empty" for text in (recorded, requested))
    if recorded is None:
        return f"{where}not recorded, requested {right}"
    if requested is None:
        return f"{where}recorded {left}, not requested"
    if left == right:  # the difference is unprintable, or after the cut-off
        start = max(0, _shared_prefix(recorded, requested) - 10)
        left, right = (f"…{ascii(text[start:])[1:-1][:_LONGEST]}" for text in (recorded, requested))
    return f"{where}recorded {left}, requested {right}"


def _shared_prefix(left: str, right: str) -> int:
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False))))


def missing(
    path: Path,
    settings: Settings | None = None,
    *,
    is_offline: bool = False,
    to_record: str = 'record it with mode="once" while online',
) -> CassetteMiss:
    """Return the error for a file that does not exist or is empty; `to_record` is advice on how to record it."""
    path = path.absolute()
    what = f"{path} is empty: it has no recordings." if path.is_file() else f"The cassette {path} does not exist."
    advice = f"Check the name, or {to_record}."
    elsewhere = path
    with suppress(ConfigurationError):  # not a valid cassette name
        elsewhere = find_cassette(path.stem, settings).absolute()
    if elsewhere != path and elsewhere.is_file():
        advice = f'A cassette with this name is in {elsewhere.parent}: to open it, pass "{excerpt(elsewhere.stem)}".'
    elif not path.parent.is_dir():
        what += " Its folder does not exist either."
        advice = f"{advice} {HOW_TO_NAME_PROJECT}"
    if is_offline:
        advice += " Nothing is recorded while offline: unset TOOLKIT_OFFLINE, or do not use tk.offline()."
    return CassetteMiss(what, advice, about="cassette")


def all_played(file_name: str, request: RecordedRequest) -> CassetteMiss:
    """Return a strict cassette's error for a scrubbed request whose recordings have all been played."""
    return CassetteMiss(
        f"Every recording of {request.method} {excerpt(request.uri, 160)} in {file_name} has already been played.",
        "A strict cassette plays each recording once; without strict=True the last one repeats.",
        about="strict",
    )


def left_over(file_name: str, count: int, unplayed: Sequence[str]) -> CassetteError:
    """Return a strict cassette's error for `unplayed` recordings (given by method and URI), out of `count` in all."""
    shown = "".join(f"\n  {excerpt(head, 160)}" for head in unplayed[:_MOST_UNPLAYED])
    more = f"\n  and {len(unplayed) - _MOST_UNPLAYED} more" if len(unplayed) > _MOST_UNPLAYED else ""
    return CassetteError(
        f"{file_name} is strict, but {len(unplayed)} of its {count} interactions were not played.{shown}{more}",
        "Make the missing calls or, if they are no longer needed, record the cassette again.",
        about="strict",
    )
