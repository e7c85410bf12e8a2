"""The place of the records in an answer that is an object.

A service wraps a list of records in an envelope: an object with paging, the outcome of the request, a total, a symbol.
`choose_place` finds the records by these rules, which look at shapes and at the words of names, not at single services:

- Records are a list of objects, an object with records under keys that are data (`keyed_records`), or arrays of equal
  length for the columns (`parallel_arrays`) or for the rows (`arrays_of_rows`, if a header stands beside them, or their
  name is like `data`). They may be several objects deep, but not inside a list.
- An empty list, a list of plain values, and a list of links, errors or metadata do not count beside them.
- An object that says who it is, and does not look like a page, is a record that has a list (`is_record`): one row.
- Of several places, a name like `data`, `items` or `results` decides, then the smaller depth; else nothing is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from toolkit.tables.arrays_of_rows import are_rows, header_of
from toolkit.tables.column_names import KeyPath
from toolkit.tables.envelope_members import (
    is_about_request,
    is_aside,
    is_bare,
    is_envelope_name,
    is_main,
    is_own_key,
    is_paging_name,
    is_record,
    is_result,
)
from toolkit.tables.keyed_records import are_alike, data_members, has_data_keys
from toolkit.tables.parallel_arrays import are_parallel

# More lists of arrays in one object have no header.
_MOST_ROWS: Final = 20
# Objects inside objects that are searched for records.
_DEEPEST: Final = 32
# Members of a GraphQL connection beside its `nodes`.
_CONNECTION: Final = frozenset({"pageInfo", "totalCount", "page_info"})


class ListKind(Enum):
    """The shape in which records are sent."""

    LIST = "list"
    EDGES = "edges"
    """A list of GraphQL's edges; the records are their nodes."""
    KEYED = "keyed"
    ARRAYS = "arrays"
    ROWS = "rows"
    """A list of arrays, one for each row."""
    EMPTY = "empty"
    """A list without members, or null where a list would be."""


@dataclass(frozen=True, slots=True)
class ListPlace:
    """A place where an answer has records.

    Attributes:
        path: the keys that lead to it.
        kind: the shape of the records.
        is_connection: True if it is a list of GraphQL's connections: edges, or nodes beside pageInfo.
        keys: the keys that the records stand under, if they are keyed.
    """

    path: KeyPath
    kind: ListKind
    is_connection: bool = False
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice between the places in an answer.

    Attributes:
        place: the chosen place; None if the answer is one row, or if `is_ambiguous`.
        others: other places that have records.
        is_ambiguous: True if no place is better than the others.
    """

    place: ListPlace | None
    others: tuple[ListPlace, ...] = ()
    is_ambiguous: bool = False


def choose_place(value: Mapping[str, Any]) -> Choice:
    """Return where an object has its records."""
    places = list(_places(value, ()))
    filled = [place for place in places if place.kind is not ListKind.EMPTY]
    main = [place for place in filled if not is_aside(place.path)]
    if not main:
        empty = _empty_place(value, places)
        if empty is not None:
            return Choice(empty)
        main = filled
    if not main:
        return Choice(None if places else _alike_place(value))
    if _are_inside_record(value, main):
        return Choice(None, tuple(main))
    best = min(map(_rank, main))
    chosen = [place for place in main if _rank(place) == best]
    others = tuple(place for place in main if place != chosen[0])
    around = chosen[0].path[:-1]
    # The smaller depth says something only about lists in the same object, and in objects beside them.
    is_nearest = not best[0] or all(place.path[: len(around)] == around for place in others)
    if len(chosen) > 1 or not is_nearest:
        return Choice(None, tuple(main), is_ambiguous=True)
    return Choice(chosen[0], others)


def is_list_of_records(value: Any) -> bool:
    """Check whether a value is a list of objects, with nulls at most between them."""
    return (
        isinstance(value, (list, tuple))
        and any(isinstance(item, dict) for item in value)
        and all(item is None or isinstance(item, dict) for item in value)
    )


def lists_in(value: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Sequence[Any]]]:
    """Yield the path of each list with members in an object and the objects inside it, and the list."""
    for key, member in value.items():
        if isinstance(key, str) and isinstance(member, (list, tuple)) and member:
            yield (*path, key), member
        elif isinstance(key, str) and isinstance(member, dict) and len(path) < _DEEPEST:
            yield from lists_in(member, (*path, key))


def is_page(value: Sequence[Any]) -> bool:
    """Check whether a list has two members, an object with paging and a list of records."""
    if len(value) != 2 or not isinstance(value[0], dict) or not is_list_of_records(value[1]):
        return False
    return any(isinstance(name, str) and is_paging_name(name) for name in value[0])


def is_list_of_edges(value: Sequence[Any]) -> bool:
    """Check whether a list of objects holds GraphQL's edges; the first of them decides."""
    first = next(item for item in value if item is not None)
    return "node" in first and isinstance(first["node"], (dict, type(None)))


def member_at(value: Any, path: KeyPath) -> Any:
    """Return the member at a path of keys."""
    for key in path:
        value = value[key]
    return value


def _places(value: Mapping[str, Any], path: KeyPath) -> Iterator[ListPlace]:
    """Yield each outermost place in an object that has records, or a list without members."""
    if has_data_keys(value):
        yield ListPlace(path, ListKind.KEYED, keys=tuple(data_members(value)))
        return
    if are_parallel(value):
        yield ListPlace(path, ListKind.ARRAYS)
        return
    members = {key: member for key, member in value.items() if isinstance(key, str)}
    headers = _headers(members)
    names = set(headers.values())
    for key, member in members.items():
        here = (*path, key)
        if isinstance(member, dict):
            if len(here) < _DEEPEST:
                yield from _places(member, here)
        elif key in headers:
            if headers[key] is not None or is_main(key):
                yield ListPlace(here, ListKind.ROWS)
        elif key not in names:
            yield from _place_of_list(member, here, value)


def _headers(members: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the key of the header, or None, for the key of each list of arrays."""
    keys = [key for key, member in members.items() if are_rows(member)]
    return {key: header_of(members, key) if len(keys) <= _MOST_ROWS else None for key in keys}


def _place_of_list(member: Any, path: KeyPath, around: Mapping[str, Any]) -> Iterator[ListPlace]:
    """Yield the place of a list of objects, or of an empty list."""
    if isinstance(member, (list, tuple)) and not member:
        yield ListPlace(path, ListKind.EMPTY)
    elif is_list_of_records(member):
        is_edges = is_list_of_edges(member)
        is_connection = is_edges or (path[-1] == "nodes" and not around.keys().isdisjoint(_CONNECTION))
        yield ListPlace(path, ListKind.EDGES if is_edges else ListKind.LIST, is_connection)


def _rank(place: ListPlace) -> tuple[bool, int]:
    return not (bool(place.path) and is_main(place.path[-1])), len(place.path)


def _are_inside_record(value: Mapping[str, Any], places: Sequence[ListPlace]) -> bool:
    """Check whether an object on the way to the places, or one with parallel arrays, is a record; ask each once."""
    steps: dict[KeyPath, str] = {}
    for place in places:
        keys = (*place.path, "") if place.kind is ListKind.ARRAYS else place.path
        for depth, key in enumerate(() if place.is_connection else keys):
            if not is_result(key):
                steps.setdefault(keys[:depth], key)
    return any(is_record(member_at(value, path), key) for path, key in steps.items())


def _alike_place(value: Mapping[str, Any]) -> ListPlace | None:
    """Return the object that holds similar objects under words, if it is the only content."""
    path: KeyPath = ()
    while len(path) < _DEEPEST:
        members = {
            key: member
            for key, member in value.items()
            if isinstance(key, str) and (isinstance(member, dict) or not is_about_request(key, member))
        }
        content = {key: member for key, member in members.items() if not is_envelope_name(key)}
        for alike in (members, content):
            if are_alike(alike):
                return ListPlace(path, ListKind.KEYED, keys=tuple(alike))
        if len(content) != 1:
            return None
        ((key, member),) = content.items()
        if not isinstance(member, dict):
            return None
        path, value = (*path, key), member
    return None


def _empty_place(value: Mapping[str, Any], places: list[ListPlace]) -> ListPlace | None:
    """Return the empty list that would hold the records, or None if the object is a record all the same.

    An empty list may be one of plain values, so its envelope has to show: by its name, by paging, or because nothing
    else stands in it.
    """
    empty = [place for place in places if place.kind is ListKind.EMPTY]
    if not empty:
        return None if places else _null_place(value)
    first = min([place for place in empty if not is_aside(place.path)] or empty, key=_rank)
    around = [(member_at(value, first.path[:length]), key) for length, key in enumerate(first.path)]
    if any(is_record(here, key) for here, key in around):
        return None
    if is_result(first.path[-1]) or any(is_paging_name(name) for here, _ in around for name in here):
        return first
    return first if is_bare(value, first.path) and len(empty) == len(places) else None


def _null_place(value: Mapping[str, Any]) -> ListPlace | None:
    """Return the member of a page that is null or an empty object, if it is the only one that may be a list."""
    names = [name for name in value if isinstance(name, str)]
    if not any(map(is_paging_name, names)) or any(map(is_own_key, names)):
        return None
    content = {key: member for key, member in value.items() if not is_about_request(key, member, nulls=False)}
    if len(content) != 1:
        return None
    ((key, member),) = content.items()
    return ListPlace((key,), ListKind.EMPTY) if member in (None, {}) else None
