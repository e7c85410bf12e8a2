"""The choice of rows: which part of a JSON value holds the records, and which keys identify the records around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolkit.tables.arrays_of_rows import are_rows, header_of, named_rows
from toolkit.tables.column_names import KeyPath, is_key
from toolkit.tables.envelope_members import is_bare, is_envelope_name, is_main, is_own_key, is_record
from toolkit.tables.envelopes import Choice, ListKind, ListPlace, choose_place, is_page, lists_in, member_at
from toolkit.tables.identity import UNNAMED_LIST, Around, Part, joined
from toolkit.tables.keyed_records import KEY_COLUMN, data_members, has_data_keys, keyed_rows
from toolkit.tables.parallel_arrays import rows_of_arrays
from toolkit.tables.row_hints import ambiguous, hint_at_lists, hint_at_others, no_keys, nothing_at

# Prefix for keys of an envelope, where a path begins at its records.
_UNNAMED_ENVELOPE: Final = "envelope"


@dataclass(slots=True)
class Rows:
    """The records that become the rows of a table.

    Attributes:
        records: a JSON value for each row.
        carried: columns that identify the records around each row, by (name of their list, key). A list inside a
            list of the same name is called by both names: `children.children`.
        hint: what the user may want to know about the choice: other lists of records, or lists that stay JSON text;
            "" if there is nothing to say.
        is_record: True if the hint is about a single record that has lists.
    """

    records: list[Any]
    carried: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    hint: str = field(default="", compare=False)
    is_record: bool = field(default=False, compare=False)


def choose_rows(value: Any, path: str | None = None, key: str | None = None) -> Rows:
    """Return the rows of a JSON value.

    Without a path these are the members of a list, the records in an envelope (see `envelopes`), or else the value
    itself as one row. The rows of an envelope carry the keys that stand beside the list, such as a symbol.

    With a dotted path they are the members of the list there, or the records in the envelope there. If the path leads
    through a list, the lists of all its members are joined, and each row carries the keys that identify the record
    around it. In an envelope the path may also begin at the records.

    Args:
        path: dotted path of the records.
        key: name of a column for the keys of an object whose members are the records, or lists of them.

    Raises:
        TabulationError: if the path does not lead to a list or object; lists the possible paths. If several lists of
            records could be meant; names them. Or if no object has keys for `key`.
    """
    reader = _Reader()
    parts = reader.parts(value, Around(), key) if path is None else reader.parts_at(value, path, key)
    records, carried = joined(parts)
    return Rows(named_rows(records), carried, reader.hint, reader.is_record)


class _Reader:
    """One choice of rows.

    Attributes:
        hint, is_record: as in `Rows`.
    """

    def __init__(self) -> None:
        self.hint = ""
        self.is_record = False

    def parts(self, value: Any, around: Around, key: str | None, *, is_named: bool = False) -> list[Part]:
        """Return the parts of a value that no path leads into.

        Args:
            key: as in `choose_rows`.
            is_named: True if a path names the value.
        """
        if isinstance(value, (list, tuple)):
            if key is not None and value:
                raise no_keys(around.prefix)
            if is_page(value):
                value = value[1]
            self._hint_at_wrappers(value, around.prefix)
            return [(list(value), around.carried)]
        if not isinstance(value, dict):
            return [([value], around.carried)]
        if key is not None:
            place = ListPlace((), ListKind.KEYED, keys=tuple(value)) if is_named else _place_of_keys(value)
            return _opened(value, place, around, key)
        choice = choose_place(value)
        if choice.is_ambiguous:
            raise ambiguous(value, around.prefix, choice.others)
        if choice.place is None:
            self._hint_at_lists(value, around.prefix, choice)
            return [([value], around.carried)]
        chosen = (*around.prefix, *choice.place.path)
        others = [(*around.prefix, *other.path) for other in choice.others if other.kind is not ListKind.KEYED]
        if others:
            self.hint = hint_at_others(chosen, others)
        parts = _opened(value, choice.place, around)
        self._hint_at_wrappers(parts[0][0] if parts else [], chosen)
        return parts

    def parts_at(self, value: Any, path: str, key: str | None) -> list[Part]:
        """Return the parts at a dotted path; in an envelope it may begin at the records."""
        place = choose_place(value).place if isinstance(value, dict) and not any(_steps(value, path)) else None
        if place is None:
            parts, records = list(self._below(value, path, Around(), key)), value
        else:
            is_keyed = place.kind is ListKind.KEYED
            opened = _opened(value, place, Around(places=(_UNNAMED_ENVELOPE,)), key if is_keyed else None)
            key = None if is_keyed else key
            records = [record for members, _ in opened for record in members]
            arounds = ((members, Around((), (UNNAMED_LIST,), carried, in_list=True)) for members, carried in opened)
            parts = [part for members, around in arounds for part in self._below(members, path, around, key)]
        if not parts and records != []:
            raise nothing_at(path, records, () if place is None else place.path)
        return parts

    def _below(self, value: Any, path: str, around: Around, key: str | None) -> Iterator[Part]:
        """Yield the parts at a path."""
        if isinstance(value, (list, tuple)):
            for member in value:
                yield from self._below(member, path, replace(around, in_list=True), key)
            return
        steps = list(_steps(value, path))
        if not steps and isinstance(value, dict) and (key is not None or has_data_keys(value)):
            for name, member in (value if key is not None else data_members(value)).items():
                carried = around.carried | {(around.places[-1], key or KEY_COLUMN): name}
                yield from self._below(member, path, replace(around, carried=carried, in_list=True), None)
            return
        for name, rest in steps:
            here = around.below(value, name, is_envelope=not around.in_list and _leads_to_records(value, name))
            if rest:
                yield from self._below(value[name], rest, here, key)
                return
            member = _with_header(value, name) if are_rows(value[name]) else value[name]
            parts = self._parts_of_member(member, here, key)
            if parts is not None:
                yield from parts
                return

    def _parts_of_member(self, member: Any, around: Around, key: str | None) -> list[Part] | None:
        """Return the parts of a member that a path names, or None if it cannot have records."""
        if member is None or (member == {} and key is not None):
            return [([], around.carried)]
        if isinstance(member, dict):
            is_connection = not member.keys().isdisjoint(("edges", "nodes"))
            if around.in_list and key is None and not is_connection:
                return [([member], around.carried)]
            return self.parts(member, around, key, is_named=True)
        if not isinstance(member, (list, tuple)):
            return None
        if key is not None and member:
            raise no_keys(around.prefix)
        return [(list(member), around.carried)]

    def _hint_at_lists(self, value: Mapping[str, Any], prefix: KeyPath, choice: Choice) -> None:
        """Say which lists stay JSON text in the one row of an object."""
        paths = [place.path for place in choice.others if place.kind is not ListKind.KEYED and place.path]
        self.is_record = bool(paths)
        if not paths:
            has_content = _has_content(value)
            paths = [path for path, member in lists_in(value) if are_rows(member) or not (has_content or path[1:])]
        if paths and not self.hint:
            self.hint = hint_at_lists([(*prefix, *path) for path in paths], rows="The row")

    def _hint_at_wrappers(self, records: Sequence[Any], path: KeyPath) -> None:
        """Say that the records are themselves envelopes, whose lists stay JSON text; the first of them decides."""
        first = records[0] if records else None
        if self.hint or not isinstance(first, dict):
            return
        place = choose_place(first).place
        if place is not None and place.kind in (ListKind.LIST, ListKind.EDGES) and is_bare(first, place.path):
            self.hint = hint_at_lists([(*path, *place.path)], rows="Each row")


def _opened(value: Mapping[str, Any], chosen: ListPlace, around: Around, key: str | None = None) -> list[Part]:
    """Return the parts at a place in an object."""
    here: Any = value
    for step in chosen.path:
        around, here = replace(around.below(here, step, is_envelope=True), places=(step,)), here[step]
    carried = around.carried
    if chosen.kind is ListKind.EMPTY:
        return [([], {})]
    if chosen.kind is ListKind.ARRAYS:
        return [(rows_of_arrays(here), carried)]
    if chosen.kind is ListKind.ROWS:
        return [(_with_header(member_at(value, chosen.path[:-1]), chosen.path[-1]), carried)]
    if chosen.kind is ListKind.EDGES:
        return [_edge(edge, around) for edge in here if edge is not None]
    if chosen.kind is ListKind.LIST:
        return [(list(here), carried)]
    members = {name: here[name] for name in chosen.keys}
    has_lists = any(isinstance(member, list) for member in members.values())
    return [
        (keyed_rows(member), carried | {(around.places[-1], key or KEY_COLUMN): name})
        for name, member in members.items()
        if member is not None or not has_lists
    ]


def _with_header(value: Mapping[str, Any], key: str) -> list[Any]:
    """Return the rows at a key of an object, with the names of the columns that stand beside them."""
    header = header_of(value, key)
    return named_rows(value[key], () if header is None else value[header])


def _has_content(value: Mapping[str, Any]) -> bool:
    """Check whether an object says who it is, or has plain values beside keys and what is about the request."""
    return any(
        is_own_key(name) or not (is_envelope_name(name) or is_key(name))
        for name, member in value.items()
        if isinstance(name, str) and member is not None and not isinstance(member, list)
    )


def _edge(edge: Mapping[str, Any], around: Around) -> Part:
    """Return the node of one of GraphQL's edges, with the plain values of the edge."""
    beside = {
        (around.places[-1], name): member
        for name, member in edge.items()
        if name not in ("node", "cursor", "__typename") and not isinstance(member, (dict, list))
    }
    return [edge.get("node")], around.carried | beside


def _place_of_keys(value: Mapping[str, Any]) -> ListPlace:
    """Return the place of the object whose keys the user wants as a column."""
    choice = choose_place(value)
    if choice.place is not None and choice.place.kind is ListKind.KEYED:
        return choice.place
    places = [place for place in (choice.place, *choice.others) if place is not None and place.path]
    path: KeyPath = places[0].path[:-1] if places else ()
    here = member_at(value, path)
    while not places and len(here) == 1 and is_main(next(iter(here))) and isinstance(next(iter(here.values())), dict):
        path, here = (*path, next(iter(here))), next(iter(here.values()))
    keys = tuple(name for name, member in data_members(here).items() if isinstance(member, (dict, list)))
    if not keys:
        raise no_keys(path)
    return ListPlace(path, ListKind.KEYED, keys=keys)


def _leads_to_records(value: Mapping[str, Any], key: str) -> bool:
    """Check whether an object is the envelope of the records at, or below, one of its keys."""
    choice = choose_place(value)
    places = choice.others if choice.place is None else (choice.place, *choice.others)
    return any(place.path[:1] == (key,) for place in places) and not is_record(value, key)


def _steps(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each key of this object that begins the path, with the rest of the path. Keys may contain dots."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        key = ".".join(parts[:count])
        if isinstance(value, dict) and key in value:
            yield key, ".".join(parts[count:])
