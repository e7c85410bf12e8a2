"""Compare two recordings of the same story: which calls came or went, and what changed in the answers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from toolkit.cassettes.catalog.rewriting import safe_to_show
from toolkit.cassettes.format.contents import Contents
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.bodies import canonical_body
from toolkit.cassettes.replay.differences import path_step
from toolkit.cassettes.replay.matching import OURS, Matcher
from toolkit.core.errors import SecretLeak
from toolkit.core.escaping import excerpt
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import RecordedResponse, header_value
from toolkit.scrubbing.scrubber import Scrubber

NULL: Final = "null"


@dataclass(slots=True)
class Shape:
    """The shape of the values at one place.

    Attributes:
        types: names of the JSON types that occur there.
        members: the shapes of the members of objects there, by name.
        items: the shape of the items of arrays there; None if all arrays are empty.
    """

    types: set[str] = field(default_factory=set)
    members: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None

    def describe(self) -> str:
        """Return the types in words, such as `number or string`."""
        return " or ".join(sorted(self.types - {NULL})) or NULL


class ShapeChange(NamedTuple):
    """A place whose shape differs.

    Attributes:
        place: path of the place, such as `$.accounts[].cash`.
        old, new: the types there; None if the member is missing.
    """

    place: str
    old: str | None
    new: str | None


def shape_of(value: Any) -> Shape:
    """Return the shape of a parsed JSON value."""
    top = Shape()
    pending: list[tuple[Any, Shape]] = [(value, top)]
    while pending:
        value, shape = pending.pop()
        shape.types.add(_type_of(value))
        if isinstance(value, dict):
            for name, member in value.items():
                pending.append((member, shape.members.setdefault(name, Shape())))
        elif isinstance(value, list) and value:
            shape.items = shape.items or Shape()
            pending.extend((item, shape.items) for item in value)
    return top


def shape_changes(old: Shape, new: Shape) -> Iterator[ShapeChange]:
    """Yield the places where two shapes differ.

    A type that a place did not have before is a change; null is not, since a value may be missing on any day. Nothing
    is said about the items of an array that is empty on one side.
    """
    pending = [("$", old, new)]
    while pending:
        place, left, right = pending.pop()
        types = left.types - {NULL}
        if types and right.types - {NULL} - types:
            yield ShapeChange(place, left.describe(), right.describe())
        children = []
        if "object" in left.types and "object" in right.types:
            for name in dict.fromkeys((*left.members, *right.members)):
                step = place + path_step(name)
                before, after = left.members.get(name), right.members.get(name)
                if before is not None and after is not None:
                    children.append((step, before, after))
                else:
                    yield ShapeChange(step, *(shape.describe() if shape else None for shape in (before, after)))
        if left.items is not None and right.items is not None:
            children.append((f"{place}[]", left.items, right.items))
        pending.extend(reversed(children))


def _type_of(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


KINDS: Final = ("added", "removed", "type", "status", "timing")
_MOST: Final = 1_000  # changes of one interaction
_LONGEST_PLACE: Final = 120  # characters
_LONGEST_METHOD, _LONGEST_URI = 20, 500  # characters
_FACTOR: Final = 2.0
_LEAST_SECONDS: Final = 0.1
_MATCHER: Final = Matcher(OURS)
# Headers by which clients find the next page or resource, or the time to wait.
_HEADERS: Final = ("Link", "Location", "Retry-After")


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


class Pair(NamedTuple):
    """A call that is in both of two recordings.

    Attributes:
        old: its number in the old recording, from 0; None if it is only in the new one.
        new: its number in the new recording, from 0; None if it is only in the old one.
    """

    old: int | None
    new: int | None


class RecordingChange(NamedTuple):
    """A change from an old recording of a story to a new one. All texts are safe to show.

    Attributes:
        kind: one of KINDS.
        method, uri: the call.
        place: where in the answer; "" for the whole call.
        before, after: what was there and what is there, or None.
        old, new: number of the call in each recording, from 1, or None.
    """

    kind: str
    method: str
    uri: str
    place: str
    before: str | None
    after: str | None
    old: int | None
    new: int | None


def compare_recordings(old: Contents, new: Contents, scrubber: Scrubber) -> list[RecordingChange]:
    """Return what changed from one recording of a story to another, in the order of `pairs`.

    The scrubber makes the URIs of recordings that were not scrubbed safe to show.
    """
    changes = []
    for pair in pairs(old, new):
        before = None if pair.old is None else old.interaction(pair.old)
        after = None if pair.new is None else new.interaction(pair.new)
        for change in _changes_of_pair(before, after):
            call = before or after
            assert call is not None  # noqa: S101 - a pair has at least one side
            numbers = (None if number is None else number + 1 for number in pair)
            uri = safe_to_show(call, scrubber).request.uri
            head = excerpt(call.request.method, _LONGEST_METHOD), excerpt(uri, _LONGEST_URI)
            changes.append(RecordingChange(change.kind, *head, change.place, change.old, change.new, *numbers))
    return changes


def _changes_of_pair(old: Interaction | None, new: Interaction | None) -> list[InteractionChange]:
    if old is not None and new is not None:
        return compare_interactions(old, new)
    if old is not None:
        return [InteractionChange("", "removed", _status(old), None)]
    return [] if new is None else [InteractionChange("", "added", None, _status(new))]


def pairs(old: Contents, new: Contents) -> list[Pair]:
    """Return the interactions of two recordings in pairs, in the order of the old one, then those only in the new one.

    Two interactions are a pair if environment, profile, method, URI and body are equal. Of several such, the first
    belongs to the first, and so on.
    """
    waiting: dict[Hashable, deque[int]] = {}
    for number in range(len(new)):
        waiting.setdefault(_key(new.interaction(number)), deque()).append(number)
    paired = []
    for number in range(len(old)):
        numbers = waiting.get(_key(old.interaction(number)))
        paired.append(Pair(number, numbers.popleft() if numbers else None))
    left_over = sorted(number for numbers in waiting.values() for number in numbers)
    return [*paired, *(Pair(None, number) for number in left_over)]


def compare_interactions(
    old: Interaction, new: Interaction, *, factor: float = _FACTOR, seconds: float = _LEAST_SECONDS
) -> list[InteractionChange]:
    """Return what changed in the answer to a call: its status, the shape of its body, and how long it took.

    Values are not compared, because they differ on any day. JSON is compared by the members that it has and by their
    types, all rows of an array together; other bodies by their media type.

    Args:
        old, new: the interactions, of the same request.
        factor: the times have changed if one is this many times as long as the other,
        seconds: and longer by this many seconds.
    """
    return list(islice(_changes(old, new, factor, seconds), _MOST))


def _key(interaction: Interaction) -> Hashable:
    caller = interaction.authorized_by or interaction.token_obtained
    identity = None if caller is None else (str(caller.environment), caller.profile)
    request = interaction.request
    return identity, interaction.token_obtained is None, _MATCHER.head_key(request), canonical_body(request)


def _changes(old: Interaction, new: Interaction, factor: float, seconds: float) -> Iterator[InteractionChange]:
    statuses = _status(old), _status(new)
    if statuses[0] != statuses[1]:
        yield InteractionChange("status", "status", *statuses)
    if old.failure is None and new.failure is None:
        yield from _changes_of_headers(old.response, new.response)
        yield from _changes_of_bodies(old.response, new.response)
    if old.elapsed is not None and new.elapsed is not None:
        times = old.elapsed.total_seconds(), new.elapsed.total_seconds()
        shorter, longer = sorted(times)
        if longer >= factor * shorter and longer - shorter >= seconds:
            yield InteractionChange("elapsed", "timing", *(f"{time:.2f} s" for time in times))


def _status(interaction: Interaction) -> str:
    failure = interaction.failure
    return str(interaction.response.status) if failure is None else f"no answer ({failure.type})"


def _changes_of_headers(old: RecordedResponse, new: RecordedResponse) -> Iterator[InteractionChange]:
    before, after = ({name.lower() for name, _ in response.headers} for response in (old, new))
    for name in _HEADERS:
        if name.lower() in before - after:
            yield InteractionChange(f"header {name}", "removed", "present", None)
        elif name.lower() in after - before:
            yield InteractionChange(f"header {name}", "added", None, "present")


def _changes_of_bodies(old: RecordedResponse, new: RecordedResponse) -> Iterator[InteractionChange]:
    if (old.body, _media_type(old)) == (new.body, _media_type(new)):
        return
    shapes = _json_shape(old), _json_shape(new)
    if shapes[0] is None or shapes[1] is None:
        described = [_described(*pair) for pair in zip((old, new), shapes, strict=True)]
        if described[0] != described[1]:
            yield InteractionChange("body", "type", *described)
        return
    for change in shape_changes(shapes[0], shapes[1]):
        kind = "added" if change.old is None else "removed" if change.new is None else "type"
        yield InteractionChange(excerpt(change.place, _LONGEST_PLACE), kind, change.old, change.new)


def _json_shape(response: RecordedResponse) -> Shape | None:
    """Return the shape of a body that is JSON, or of the lines of one that is JSON line by line; otherwise None."""
    try:
        body = decompress_body(response.headers, response.body)
    except SecretLeak:  # it cannot be decompressed
        return None
    if not body.strip():
        return None
    try:
        return shape_of(json.loads(body))
    except (ValueError, RecursionError):
        pass
    try:
        rows: list[Any] = [json.loads(line) for line in body.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None
    return shape_of(rows)


def _described(response: RecordedResponse, shape: Shape | None) -> str:
    if not response.body:
        return "empty"
    if shape is not None:
        return "JSON"
    return excerpt(_media_type(response) or "bytes", 60)


def _media_type(response: RecordedResponse) -> str:
    return header_value(response.headers, "content-type").split(";", 1)[0].strip().lower()
