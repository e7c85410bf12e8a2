"""Compare two recordings of the same calls: which calls were added or removed, and what changed in the responses.

Values are not compared, because they differ every day. JSON is compared by its members and their types, with all items
of an array merged; other bodies are compared by their media type.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolkit.cassettes.catalog.facts import frame_of, read_cassette, safe_to_show, scrubber_to_show
from toolkit.cassettes.format.interactions import Interaction
from toolkit.cassettes.replay.differences import json_places
from toolkit.cassettes.replay.matching import OURS, Matcher, canonical_body
from toolkit.core.errors import SecretLeak
from toolkit.core.text import excerpt
from toolkit.local.settings import Settings, as_settings
from toolkit.scrubbing.compression import decompress_body
from toolkit.scrubbing.messages import RecordedResponse, header_value

if TYPE_CHECKING:
    import pandas as pd

KINDS: Final = ("added", "removed", "type", "status", "timing")
_LONGEST_PLACE: Final = 120  # characters
_FACTOR: Final = 2.0  # times have changed if they differ by this factor,
_LEAST_SECONDS: Final = 0.1  # and by at least this many seconds
_MATCHER: Final = Matcher(OURS)
_NULL: Final = "null"
_TYPES: Final = {bool: "boolean", str: "string", dict: "object", list: "array", type(None): _NULL}
_NOTHING: Final[tuple[str, frozenset[str]]] = ("", frozenset())
# By path, such as `$.accounts[].cash`: the parent path, and the names of the JSON types. Outer paths come first.
Shape = dict[str, tuple[str, set[str]]]


class RecordingChange(NamedTuple):
    """A change between two recordings; `compare_cassettes` documents the fields. All strings are safe to show."""

    kind: str
    method: str
    uri: str
    place: str | None = None
    before: str | None = None
    after: str | None = None
    old: int | None = None
    new: int | None = None


def compare_interactions(old: Interaction, new: Interaction, call: RecordingChange) -> Iterator[RecordingChange]:
    """Yield what changed in the response to a call: its status, the shape of its body, and how long it took.

    `call` has the fields that all changes have in common: method, URI and numbers, safe to show.
    """
    if _status(old) != _status(new):
        yield call._replace(kind="status", place="status", before=_status(old), after=_status(new))
    if old.failure is None and new.failure is None:
        yield from _changes_of_bodies(old.response, new.response, call)
    if old.elapsed is not None and new.elapsed is not None:
        times = old.elapsed.total_seconds(), new.elapsed.total_seconds()
        if max(times) >= _FACTOR * min(times) and max(times) - min(times) >= _LEAST_SECONDS:
            before, after = (f"{seconds:.2f} s" for seconds in times)
            yield call._replace(kind="timing", place="elapsed", before=before, after=after)


def _status(interaction: Interaction) -> str:
    failure = interaction.failure
    return str(interaction.response.status) if failure is None else f"no answer ({failure.type})"


def _changes_of_bodies(
    old: RecordedResponse, new: RecordedResponse, call: RecordingChange
) -> Iterator[RecordingChange]:
    """Yield the differences between two bodies.

    A type that a path did not have before is a change. Null does not count, because a value may be missing on some
    days. If one recording lacks a path or has an empty array at this path, the paths below it are not reported.
    """
    shapes = [_shape_of(old), _shape_of(new)]
    if not all(shapes):
        before, after = _described(old, shapes[0]), _described(new, shapes[1])
        if before != after:
            yield call._replace(kind="type", place="body", before=before, after=after)
        return
    for path, (outer, _) in {**shapes[1], **shapes[0]}.items():
        types, others = (shape.get(path, _NOTHING)[1] for shape in shapes)
        kind = "added" if not types else "removed" if not others else "type"
        if kind == "type":
            is_change = bool(types - {_NULL} and others - types - {_NULL})
        else:
            in_objects = all("object" in shape.get(outer, _NOTHING)[1] for shape in shapes)
            is_change = in_objects and not path.endswith("[]")
        if is_change:
            place = excerpt(path, _LONGEST_PLACE)
            yield call._replace(kind=kind, place=place, before=_types_text(types), after=_types_text(others))


def _shape_of(response: RecordedResponse) -> Shape:
    """Return the shape of a JSON body, with the items of each array merged; the shape of any other body is empty."""
    shape: Shape = {}
    try:
        content = json.loads(decompress_body(response.headers, response.body))
    except (SecretLeak, ValueError, RecursionError):
        return shape
    for path, outer, value in json_places(content, is_merged=True):
        shape.setdefault(path, (outer, set()))[1].add(_TYPES.get(type(value), "number"))
    return shape


def _types_text(types: set[str] | frozenset[str]) -> str | None:
    return " or ".join(sorted(types - {_NULL})) or (_NULL if types else None)


def _described(response: RecordedResponse, shape: Shape) -> str:
    media_type = header_value(response.headers, "content-type").split(";", 1)[0].strip().lower()
    return "empty" if not response.body else "JSON" if shape else excerpt(media_type or "bytes", 60)


def compare_cassettes(old: str | Path, new: str | Path, *, settings: Settings | None = None) -> pd.DataFrame:
    """Return what changed from one recording to another recording of the same calls.

    Calls are paired by environment, profile, method, URI and body, and repeated calls by their order. Values in the
    responses are not compared, because they differ every day.

    Args:
        old, new: names or paths of the cassettes.
        settings: defaults to the project's settings.

    Returns:
        One row per change, in the order of the old recording:
            kind (str): "added" or "removed" for a call or a JSON member; "type" if the type of a member or the media
                type of a body changed; "status"; "timing" for a response that took at least twice as long, or at most
                half as long, with a difference of at least 0.1 s.
            method, uri (str): the call.
            place (str): the place in the response, such as `$.accounts[].cash`; missing for the whole call.
            before, after (str): the old and the new type, status or time; missing if there is none.
            old, new (Int64): number of the call in each recording, from 1; missing if the call is not in it.

    Raises:
        CassetteMiss, CassetteCorrupt: if a cassette does not exist, or a file is not a cassette.
    """
    settings = as_settings(settings)
    left, right = (read_cassette(cassette, settings) for cassette in (old, new))
    scrubber = scrubber_to_show(settings, left, right)  # for URIs of a recording that was not scrubbed

    def call(interaction: Interaction, old: int | None, new: int | None) -> RecordingChange:
        head = safe_to_show(interaction, scrubber).request
        numbers = (None if number is None else number + 1 for number in (old, new))
        return RecordingChange("", excerpt(head.method, 20), excerpt(head.uri, 500), None, None, None, *numbers)

    waiting: dict[Hashable, deque[tuple[int, Interaction]]] = {}
    for number, interaction in right.readable().items():
        waiting.setdefault(_key(interaction), deque()).append((number, interaction))
    rows: list[RecordingChange] = []
    for number, before in left.readable().items():
        if partners := waiting.get(_key(before)):
            at, after = partners.popleft()
            rows += compare_interactions(before, after, call(before, number, at))
        else:
            rows.append(call(before, number, None)._replace(kind="removed", before=_status(before)))
    for at, after in sorted((pair for pairs in waiting.values() for pair in pairs), key=lambda pair: pair[0]):
        rows.append(call(after, None, at)._replace(kind="added", after=_status(after)))
    return frame_of("kind method uri place before after old new", rows)


def _key(interaction: Interaction) -> Hashable:
    caller = interaction.authorized_by or interaction.token_obtained
    identity = None if caller is None else (str(caller.environment), caller.profile)
    request = interaction.request
    return identity, interaction.token_obtained is None, _MATCHER.head_key(request), canonical_body(request)
