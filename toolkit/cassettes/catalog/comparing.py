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
from typing import Any, Final, NamedTuple, cast

from toolkit.cassettes.format.contents import Contents
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
# The names of members on the way to a value; None for an item of an array, such as ("accounts", None, "cash").
Place = tuple[str | None, ...]
# The names of the JSON types at each place; a place comes after the one that it is in.
Shape = dict[Place, set[str]]


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


def compare_recordings(old: Contents, new: Contents, scrubber: Scrubber) -> list[RecordingChange]:
    """Return what changed from one recording of a story to another, in the order of the old one.

    The scrubber makes the URIs of recordings that were not scrubbed safe to show.
    """
    changes = []
    for left, right in _pairs(old, new):
        before, after = (None if at is None else opened.interaction(at) for at, opened in ((left, old), (right, new)))
        call = safe_to_show(cast("Interaction", before or after), scrubber).request
        head = excerpt(call.method, 20), excerpt(call.uri, 500)
        numbers = (None if number is None else number + 1 for number in (left, right))
        if before and after:
            found = compare_interactions(before, after)
        else:
            kind = "removed" if before else "added"
            found = [InteractionChange("", kind, before and _status(before), after and _status(after))]
        at = tuple(numbers)
        changes += [RecordingChange(each.kind, *head, each.place or None, each.old, each.new, *at) for each in found]
    return changes


def _pairs(old: Contents, new: Contents) -> list[tuple[int | None, int | None]]:
    """Return the numbers of the interactions of two recordings in pairs. Those only in the new one come last.

    Two interactions are a pair if environment, profile, method, URI and body are equal. Of several such, the first
    belongs to the first, and so on. One that cannot be read belongs to none.
    """
    waiting: dict[Hashable, deque[int]] = {}
    for number, interaction in new.readable().items():
        waiting.setdefault(_key(interaction), deque()).append(number)
    paired: list[tuple[int | None, int | None]] = []
    for number, interaction in old.readable().items():
        numbers = waiting.get(_key(interaction))
        paired.append((number, numbers.popleft() if numbers else None))
    left_over = sorted(number for numbers in waiting.values() for number in numbers)
    return [*paired, *((None, number) for number in left_over)]


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
    for place, before, after in shape_changes(shapes[0], shapes[1]):
        kind = "added" if before is None else "removed" if after is None else "type"
        yield InteractionChange(excerpt(place, _LONGEST_PLACE), kind, before, after)


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
    return shape_of(values[0]) if body.strip() else None


def shape_of(value: Any) -> Shape:
    """Return the shape of a parsed JSON value; all items of an array together."""
    shape: Shape = {}
    pending: deque[tuple[Place, Any]] = deque([((), value)])
    while pending:
        place, value = pending.popleft()
        shape.setdefault(place, set()).add(_TYPES.get(type(value), "number"))
        if isinstance(value, dict):
            pending.extend(((*place, name), member) for name, member in value.items())
        elif isinstance(value, list):
            pending.extend(((*place, None), item) for item in value)
    return shape


def shape_changes(old: Shape, new: Shape) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the places where two shapes differ, with the types before and after; None for a member that is missing.

    A type that a place did not have before is a change; null is not, since a value may be missing on any day. Nothing
    is said about what is in a place that is missing, or in an array that is empty on one side.
    """
    missing: set[Place] = set()
    for place in dict.fromkeys((*old, *new)):
        before, after, outer = old.get(place), new.get(place), place[:-1]
        if before is None or after is None:
            missing.add(place)
            is_member = (
                place and place[-1] is not None and all("object" in shape.get(outer, ()) for shape in (old, new))
            )
            if not is_member or outer in missing:
                continue
        elif not before - {_NULL} or not after - before - {_NULL}:
            continue
        text = "$" + "".join("[]" if name is None else path_step(name) for name in place)
        yield text, _described_types(before), _described_types(after)


def _described_types(types: set[str] | None) -> str | None:
    return None if types is None else " or ".join(sorted(types - {_NULL})) or _NULL


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
    changes = compare_recordings(left, right, scrubber_to_show(settings, left, right))
    return frame_of("kind method uri place before after old new", changes)
