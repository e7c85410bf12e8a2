"""The rows of a JSON value: where its records are, and which keys identify the enclosing records.

If `records=` is not given, these rules apply:

1. Each item of a list, and each record of a collection, is a row. A collection is a list of objects, an object whose
   keys are data (such as bars by symbol), or an object of arrays of equal length, one of which contains times (such as
   a portfolio's history).
2. If an object has one member, apart from members about paging, the request's outcome and included resources
   (`next_page_token`, `status`, `links`, `meta`, `included`), that member is used. If the member is a collection, its
   records are the rows; if it is empty, there are no rows.
3. Any other object is one row, and a hint names its lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from typing import Any, Final, TypeAlias

from toolkit.core.errors import TabulationError
from toolkit.core.text import excerpt
from toolkit.tables.columns import is_key, words

# The column for the keys of records, if the caller does not name it.
_KEY_COLUMN: Final = "key"
_SHOWN: Final = 5  # paths in a hint or error

# Words for paging, the outcome of a request and inclusion.
_REQUEST_WORDS: Final = frozenset(
    "next previous prev first last page pages paging pagination pageable limit offset skip cursor total count more "
    "link links meta metadata request success ok error errors message messages warning warnings self after before "
    "trace scroll took timed status size index context included includes pagelen incomplete "
    "done quota scanned continue batchcomplete made".split()
)
# Words that are about the request only together with one of those: `next_page_token`, `request_id`, `totalResults`.
_BESIDE_REQUEST_WORDS: Final = frozenset(
    "id number token key has is per of out start end info header code response data items results records elements "
    "remaining max api evaluated odata up url uri href".split()
)
# Collections with these words are not the records; any other may be, whatever its name is.
_ASIDE_WORDS: Final = frozenset("link links meta metadata included includes error errors warning warnings".split())
_OUTCOMES: Final = ("ok", "success", "succeeded", "200", "0", "1", "true")  # a status of the request, not of a record
# Whole names that are about the response.
_NEUTRAL_NAMES: Final = frozenset("version apiVersion api_version etag url uri href".split())
# Endings of `type`, `object` or `kind` that mark the response as a list: `list`, `PodList`, but not `playlist`.
_LIST_TYPE: Final = re.compile(r"(?:^|[^A-Za-z]|(?<=[a-z])(?=[A-Z]))(?i:list|collection|page|bundle|searchset)$")
_TIME_WORDS: Final = frozenset("time times timestamp timestamps date dates datetime t day days".split())
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?", re.ASCII)
# A symbol, a currency, a date, a number, an identifier: keys that are data, not names of members.
_DATA_KEY: Final = re.compile(r"[A-Z0-9^][A-Z0-9 ./:^=@+_-]*|\d.*|[0-9a-f]{8}-[0-9a-f]{4}-.*")

# The keys from a record down to a value; empty for a record that is itself a value.
KeyPath: TypeAlias = tuple[str, ...]
# The values that identify the records that contain a row, by (path of their list, key).
Identity: TypeAlias = dict[tuple[KeyPath, str], Any]
# Records that are contained in the same records.
_Part: TypeAlias = tuple[Sequence[Any], Identity]


@dataclass(frozen=True, slots=True)
class Rows:
    """The records that become table rows, and a hint about the lists that do not become rows."""

    parts: list[_Part]
    hint: str = ""

    @property
    def records(self) -> list[Any]:
        return [record for records, _ in self.parts for record in records]


def choose_rows(value: Any, path: str | None = None, key: str | None = None) -> Rows:
    """Return the rows of a JSON value, found by the rules above or at a dotted path.

    The path may also be relative to the records. If it leads through a list, the lists in all members are joined, and
    each row has the keys that identify the enclosing record. `key` names the column for the keys of an object that maps
    keys to records or to lists of records.

    Raises:
        TabulationError: if the path leads to no list or object, or, given `key`, if no object maps keys to records.
    """
    if path is not None:
        return Rows(_parts_at(value, path, key))
    place = place_of(value) if isinstance(value, dict) else None
    found = reduce(getitem, place or (), value)
    if key is not None:
        around = found if isinstance(found, dict) else value
        return Rows(_opened(_keyed_members(around) or _content(around), (), {}, key))
    if place is None:
        return Rows([(_rows_in(value), {})], _hint(value))
    beside = [other for other in lists_in(value) if other[: len(place)] != place and "links" not in other]
    hint = f"The rows come from {_names([place])}; other lists: {_names(beside)} ({_call(beside)})" if beside else ""
    return Rows(_opened(found, place, {}, None), hint)


def place_of(value: Any) -> KeyPath | None:
    """Return the path of the one collection in a value, or None if the value is a row."""
    if _is_collection(value):
        return ()
    members = value if isinstance(value, dict) else {}
    content = list(_content(members)) or [name for name, member in members.items() if _is_collection(member)]
    if len(content) != 1:
        return None
    member = members[content[0]]
    inside = () if member in ([], {}) or (member is None and len(members) > 1) else place_of(member)
    return None if inside is None else (content[0], *inside)


def lists_in(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of each outermost collection, and of each list of arrays, in an object."""
    for name, member in value.items() if isinstance(value, dict) else ():
        here = (*path, str(name))
        if _is_collection(member) or _are_arrays(member):
            yield here
        else:
            yield from lists_in(member, here)


def _is_about_request(name: Any, member: Any) -> bool:
    """Check whether a member is about paging, the request's outcome or included resources, or names a list type."""
    parts = set(words(name)) if isinstance(name, str) else set()
    if parts == {"status"}:
        return str(member).lower() in _OUTCOMES
    if parts & _REQUEST_WORDS and parts <= _REQUEST_WORDS | _BESIDE_REQUEST_WORDS:
        return bool(parts & _ASIDE_WORDS) or not _is_collection(member)
    if name in ("object", "type", "kind"):
        return isinstance(member, str) and ("#" in member or _LIST_TYPE.search(member) is not None)
    return name in _NEUTRAL_NAMES and not isinstance(member, (dict, list))


def _content(value: Any) -> Any:
    """Return the members of an object that are not about the request; return any other value unchanged."""
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in value.items() if not _is_about_request(name, member)}


def _is_collection(value: Any) -> bool:
    return _are_objects(value) or _are_parallel(value) or bool(_keyed_members(value))


def _are_objects(value: Any) -> bool:
    kinds = set(map(type, value)) - {type(None)} if isinstance(value, (list, tuple)) else set()
    return bool(kinds) and all(issubclass(kind, dict) for kind in kinds)


def _are_arrays(value: Any) -> bool:
    """Check whether a value is a list of arrays of plain values, all of the same length."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(row, (list, tuple)) for row in value):
        return False
    is_nested = any(isinstance(cell, (dict, list, tuple)) for row in value for cell in row)
    return not is_nested and len(set(map(len, value))) == 1 and len(value[0]) > 0


def _are_parallel(value: Any) -> bool:
    """Check whether an object has at least two arrays of plain values, equally long, one of which contains times."""
    members = value.items() if isinstance(value, dict) else ()
    arrays = {name: member for name, member in members if isinstance(member, (list, tuple))}
    if len(arrays) < 2 or not _are_arrays([*arrays.values()]):
        return False
    has_time_name = any(not _TIME_WORDS.isdisjoint(words(str(name))) for name in arrays)
    return has_time_name or any(_DATE.fullmatch(str(array[0])) for array in arrays.values())


def _rows_of_arrays(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a record for each index of the arrays; each begins with the object's other values."""
    arrays = {name: member for name, member in value.items() if isinstance(member, (list, tuple))}
    beside = {name: value[name] for name in value if name not in arrays and not _is_about_request(name, value[name])}
    return [beside | dict(zip(arrays, row, strict=True)) for row in zip(*arrays.values(), strict=True)]


def _keyed_members(value: Any) -> dict[str, Any]:
    """Return the records, or lists of records, if their keys are data such as symbols or dates; otherwise {}."""
    members = {
        name: member
        for name, member in (value.items() if isinstance(value, dict) else ())
        if isinstance(name, str) and (_DATA_KEY.fullmatch(name) or not _is_about_request(name, member))
    }
    if not all(map(_DATA_KEY.fullmatch, members)):
        return {}
    filled = [member for member in members.values() if member is not None and member != []]
    are_alike = all(isinstance(member, dict) for member in filled) or all(map(_are_objects, filled))
    return members if filled and are_alike else {}


def _opened(value: Any, path: KeyPath, identity: Identity, key: str | None) -> list[_Part]:
    """Return the records of the value at a path, with the keys that identify them."""
    members = _keyed_members(value) or (value if key is not None else None)
    if value is None or value in ([], {}):
        return [([], identity)]
    if isinstance(members, dict):
        has_lists = any(isinstance(member, list) for member in members.values())
        return [
            (_rows_in(member), identity | {(path, key or _KEY_COLUMN): name})
            for name, member in members.items()
            if member is not None or not has_lists
        ]
    if key is not None:
        raise TabulationError(
            "key= needs an object whose members are records, but the data does not contain one.",
            'Use key= only if an object maps keys to records or to lists: {"ALFA": {...}, "BRVO": {...}}.',
            about="key",
        )
    return [(_rows_in(value), identity)]


def _rows_in(value: Any) -> Sequence[Any]:
    """Return the records of a list, of arrays in a list (keys 0, 1, ...) or in an object, or else the value itself."""
    if _are_arrays(value):
        return [{str(column): cell for column, cell in enumerate(row)} for row in value]
    if isinstance(value, (list, tuple)):
        return list(value)
    return _rows_of_arrays(value) if _are_parallel(value) else [value]


def _parts_at(value: Any, path: str, key: str | None) -> list[_Part]:
    place = (place_of(value) if isinstance(value, dict) and not _step(value, path)[0] else None) or ()
    inside = reduce(getitem, place, value)
    parts = list(_below(inside, path, (), {}, key))
    if not parts and inside != []:
        raise _nothing_at(path, inside, place)
    return parts


def _below(value: Any, path: str, around: KeyPath, identity: Identity, key: str | None) -> Iterator[_Part]:
    """Yield the parts of a value at a path; `around` has the keys that led to the value."""
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _below(member, path, around, identity, key)
        return
    name, rest = _step(value, path)
    if not name:
        keyed = (value if key is not None else _keyed_members(value)) if isinstance(value, dict) else {}
        for own, member in keyed.items():
            yield from _below(member, path, around, identity | {(around, key or _KEY_COLUMN): own}, None)
        return
    identity = identity | {
        (around, own): member
        for own, member in value.items()
        if is_key(str(own)) and not isinstance(member, (dict, list)) and not _is_about_request(own, member)
    }
    around, member = (*around, name), value[name]
    if rest:
        yield from _below(member, rest, around, identity, key)
    elif member is None or isinstance(member, (dict, list, tuple)):
        inside = (place_of(member) if isinstance(member, dict) and key is None else None) or ()
        yield from _opened(reduce(getitem, inside, value[name]), (*around, *inside), identity, key)


def _step(value: Any, path: str) -> tuple[str, str]:
    """Return the longest key of an object that is a prefix of the path, and the rest. Keys may contain dots."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        key = ".".join(parts[:count])
        if isinstance(value, dict) and key in value:
            return key, ".".join(parts[count:])
    return "", path


def _hint(value: Any) -> str:
    """Return a hint about the lists that stay JSON text in an object's row, or in the first row of a list."""
    if not isinstance(value, (list, tuple)) or not value:
        paths = list(lists_in(value))
        return f"The row contains lists: {_names(paths)} ({_call(paths)} makes a row for each item)" if paths else ""
    at = next((number for number, member in enumerate(value) if _are_objects(member)), None)
    if at is not None:
        return f"Member [{at}] of the list contains records: tk.tabulate(response.json()[{at}])"
    place = place_of(value[0]) if isinstance(value[0], dict) else None
    return f"Each row contains a list: {_names([place])} ({_call([place])} makes a row for each item)" if place else ""


def _names(paths: Sequence[KeyPath]) -> str:
    shown = ", ".join(repr(excerpt(".".join(path), 80)) for path in paths[:_SHOWN])
    return shown + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def _call(paths: Sequence[KeyPath]) -> str:
    return f"tk.tabulate(response, records={_names(paths[:1])})"


def _nothing_at(path: str, value: Any, inside: KeyPath) -> TabulationError:
    first = next(filter(None, value), None) if isinstance(value, (list, tuple)) else value
    members = first.items() if isinstance(first, dict) else ()
    names = [(*inside, str(name)) for name, member in members if isinstance(member, (list, dict))]
    advice = f"Paths in the data: {_names(names)}." if names else "The records contain no lists; leave out records=."
    return TabulationError(f"The path {excerpt(path)!r} does not lead to a list of records.", advice, about="records")
