"""Compare two recordings of the same story: which calls came or went, and what changed in the answers.

Values are not compared, because they differ on any day. JSON is compared by the members that it has and by their types,
all rows of an array together; other bodies by their media type.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolkit.cassettes.catalog.facts import read_cassette
from toolkit.cassettes.catalog.showing import frame_of, safe_to_show, scrubber_to_show
from toolkit.local.settings import Settings, as_settings

if TYPE_CHECKING:
    import pandas as pd

import json
from collections import deque
from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.differences import path_step
from toolkit.cassettes.replay.matching import OURS, Matcher, canonical_body
from toolkit.core.errors import SecretLeak
from toolkit.core.text import excerpt
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import RecordedResponse, header_value
from toolkit.scrubbing.scrubber import Scrubber

KINDS: Final = ("added", "removed", "type", "status", "timing")
_MOST: Final = 1_000  # changes of one interaction
_LONGEST_PLACE: Final = 120  # characters
_FACTOR: Final = 2.0  # between times that have changed,
_LEAST_SECONDS: Final = 0.1  # if the difference is at least this
_MATCHER: Final = Matcher(OURS)
# Headers by which clients find the next page or resource, or the time to wait.
_HEADERS: Final = ("Link", "Location", "Retry-After")
_NULL: Final = "null"
_TYPES: Final = {bool: "boolean", str: "string", dict: "object", list: "array", type(None): _NULL}
# By path, such as `$.accounts[].cash`: the path that it is in, and the names of its JSON types. Outer paths come first.
Shape = dict[str, tuple[str, set[str]]]


class InteractionChange(NamedTuple):
    """A change from an old recording of a call to a new one. All texts are safe to show.

    Attributes:
        place: where in the answer, such as `$.accounts[].cash`, "status" or "elapsed"; "" for the whole interaction.
        kind: one of KINDS.
        old: what was there; None if it was added.
        new: what is there; None if it was removed.
    """

    place: str
    kind: str
    old: str | None
    new: str | None


class RecordingChange(NamedTuple):
    """A change from one recording to another; `compare_cassettes` documents the fields. All texts are safe to show."""

    kind: str
    method: str
    uri: str
    place: str | None
    before: str | None
    after: str | None
    old: int | None
    new: int | None


def _key(interaction: Interaction) -> Hashable:
    caller = interaction.authorized_by or interaction.token_obtained
    identity = None if caller is None else (str(caller.environment), caller.profile)
    request = interaction.request
    return identity, interaction.token_obtained is None, _MATCHER.head_key(request), canonical_body(request)


def compare_interactions(old: Interaction, new: Interaction) -> list[InteractionChange]:
    """Return what changed in the answer to a call: its status, the shape of its body, and how long it took."""
    return list(islice(_changes(old, new), _MOST))


def _changes(old: Interaction, new: Interaction) -> Iterator[InteractionChange]:
    statuses = _status(old), _status(new)
    if statuses[0] != statuses[1]:
        yield InteractionChange("status", "status", *statuses)
    if old.failure is None and new.failure is None:
        before, after = ({name.lower() for name, _ in each.response.headers} for each in (old, new))
        for name in _HEADERS:
            if name.lower() in before ^ after:
                is_gone = name.lower() in before
                change = ("removed", "present", None) if is_gone else ("added", None, "present")
                yield InteractionChange(f"header {name}", *change)
        yield from _changes_of_bodies(old.response, new.response)
    if old.elapsed is not None and new.elapsed is not None:
        times = old.elapsed.total_seconds(), new.elapsed.total_seconds()
        shorter, longer = sorted(times)
        if longer >= _FACTOR * shorter and longer - shorter >= _LEAST_SECONDS:
            yield InteractionChange("elapsed", "timing", *(f"{time:.2f} s" for time in times))


def _status(interaction: Interaction) -> str:
    failure = interaction.failure
    return str(interaction.response.status) if failure is None else f"no answer ({failure.type})"


def _changes_of_bodies(old: RecordedResponse, new: RecordedResponse) -> Iterator[InteractionChange]:
    if (old.body, _media_type(old)) == (new.body, _media_type(new)):
        return
    shapes = _json_shape(old), _json_shape(new)
    if shapes[0] is None or shapes[1] is None:
        described = [_described(*pair) for pair in zip((old, new), shapes, strict=True)]
        if described[0] != described[1]:
            yield InteractionChange("body", "type", *described)
        return
    yield from _shape_changes(shapes[0], shapes[1])


def _json_shape(response: RecordedResponse) -> Shape | None:
    """Return the shape of a body that is JSON, or of the lines of one that is JSON line by line; otherwise None."""
    try:
        body = decompress_body(response.headers, response.body)
        values = [json.loads(body)]
    except (SecretLeak, RecursionError):
        return None
    except ValueError:
        try:
            values = [[json.loads(line) for line in body.splitlines() if line.strip()]]
        except (ValueError, RecursionError):
            return None
    return _shape_of(values[0]) if body.strip() else None


def _shape_of(value: Any) -> Shape:
    """Return the shape of a parsed JSON value; all items of an array together."""
    shape: Shape = {}
    pending: deque[tuple[str, str, Any]] = deque([("$", "", value)])
    while pending:
        path, outer, value = pending.popleft()
        shape.setdefault(path, (outer, set()))[1].add(_TYPES.get(type(value), "number"))
        if isinstance(value, dict):
            pending.extend((path + path_step(name), path, member) for name, member in value.items())
        elif isinstance(value, list):
            pending.extend((f"{path}[]", path, item) for item in value)
    return shape


def _shape_changes(old: Shape, new: Shape) -> Iterator[InteractionChange]:
    """Yield the paths where two shapes differ.

    A type that a path did not have before is a change; null is not, since a value may be missing on any day. Nothing
    is said about what is in a path that is missing, or in an array that is empty on one side.
    """
    nothing: tuple[str, set[str]] = ("", set())
    for path, (outer, _) in {**new, **old}.items():
        before, after = (shape.get(path, nothing)[1] for shape in (old, new))
        if not before or not after:
            in_objects = all("object" in shape.get(outer, nothing)[1] for shape in (old, new))
            if in_objects and not path.endswith("[]"):
                kind = "removed" if before else "added"
                yield InteractionChange(excerpt(path, _LONGEST_PLACE), kind, _types_text(before), _types_text(after))
        elif before - {_NULL} and after - before - {_NULL}:
            yield InteractionChange(excerpt(path, _LONGEST_PLACE), "type", _types_text(before), _types_text(after))


def _types_text(types: set[str]) -> str | None:
    return " or ".join(sorted(types - {_NULL})) or (_NULL if types else None)


def _described(response: RecordedResponse, shape: Shape | None) -> str:
    if not response.body:
        return "empty"
    return "JSON" if shape is not None else excerpt(_media_type(response) or "bytes", 60)


def _media_type(response: RecordedResponse) -> str:
    return header_value(response.headers, "content-type").split(";", 1)[0].strip().lower()


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
    scrubber = scrubber_to_show(settings, left, right)  # for URIs of a recording that was not scrubbed
    waiting: dict[Hashable, deque[tuple[int, Interaction]]] = {}
    for number, interaction in right.readable().items():
        waiting.setdefault(_key(interaction), deque()).append((number, interaction))
    rows = []
    for number, before in left.readable().items():
        partners = waiting.get(_key(before))
        at, after = partners.popleft() if partners else (None, None)
        gone = [InteractionChange("", "removed", _status(before), None)]
        changes = compare_interactions(before, after) if after else gone
        rows += [_row(each, before, scrubber, number, at) for each in changes]
    left_over = sorted((pair for pairs in waiting.values() for pair in pairs), key=lambda pair: pair[0])
    for at, after in left_over:
        rows.append(_row(InteractionChange("", "added", None, _status(after)), after, scrubber, None, at))
    return frame_of("kind method uri place before after old new", rows)


def _row(
    change: InteractionChange, call: Interaction, scrubber: Scrubber, old: int | None, new: int | None
) -> RecordingChange:
    head = safe_to_show(call, scrubber).request
    numbers = (None if number is None else number + 1 for number in (old, new))
    method, uri = excerpt(head.method, 20), excerpt(head.uri, 500)
    return RecordingChange(change.kind, method, uri, change.place or None, change.old, change.new, *numbers)
