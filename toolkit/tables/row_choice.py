"""The choice of rows: which part of a JSON value holds the records, and which keys identify the records around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrays_of_rows import are_rows, header_of, named_rows
from toolkit.tables.column_names import KeyPath, is_key
from toolkit.tables.envelope_names import is_envelope_name, is_leading, is_main
from toolkit.tables.envelopes import (
    Choice,
    Kind,
    Place,
    choose_place,
    is_bare,
    is_page,
    is_record,
    member_at,
)
from toolkit.tables.keyed_records import KEY_COLUMN, has_data_keys, keyed_members, keyed_rows
from toolkit.tables.parallel_arrays import rows_of_arrays

# Prefix for keys of the records in a list that has no name, and of the envelope around such a list.
_UNNAMED_LIST: Final = "parent"
_UNNAMED_ENVELOPE: Final = "envelope"
_LEVELS_IN_ERROR: Final = 3  # of lists inside lists
_SHOWN: Final = 5  # paths in a hint
# The most columns that an envelope puts before its records: each of them is repeated in every row.
_MOST_LEADING: Final = 20

# The values that identify the records around a row, by (name of their list, key).
_Identity: TypeAlias = dict[tuple[str, str], Any]
# Records that share the records around them.
_Part: TypeAlias = tuple[list[Any], _Identity]


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
        TabulationError: if there is no list or object at the path, and lists the possible paths; if there are several
            lists of records to choose from, and names them; or if there is no object with keys for `key`.
    """
    reader = _Reader()
    parts = reader.parts(value, (), _UNNAMED_LIST, {}, key) if path is None else reader.parts_at(value, path, key)
    rows = _joined(parts)
    rows.records = named_rows(rows.records)
    rows.hint, rows.is_record = reader.hint, reader.is_record
    return rows


class _Reader:
    """One choice of rows.

    Attributes:
        hint, is_record: as in `Rows`.
    """

    def __init__(self) -> None:
        self.hint = ""
        self.is_record = False

    def parts(self, value: Any, prefix: KeyPath, place: str, carried: _Identity, key: str | None) -> list[_Part]:
        """Return the parts of a value that no path leads into.

        Args:
            prefix: the keys that lead to the value.
            place: a name for the object itself.
            carried: identity of the records around the value.
            key: as in `choose_rows`.
        """
        if isinstance(value, (list, tuple)):
            if key is not None and value:
                raise _no_keys(prefix)
            if is_page(value):
                value = value[1]
            self._hint_at_wrappers(value, prefix)
            return [(list(value), carried)]
        if not isinstance(value, dict):
            return [([value], carried)]
        choice = choose_place(value)
        if key is not None:
            path = _path_of_keys(value, choice)
            return self._opened(value, Place(path, Kind.KEYED), place, carried, key, is_forced=True)
        if choice.is_ambiguous:
            raise _ambiguous(value, prefix, choice.others)
        if choice.place is None:
            self._hint_at_lists(value, prefix, choice)
            return [([value], carried)]
        chosen = choice.place
        lists = [other for other in choice.others if other.kind is not Kind.KEYED]
        if lists:
            names = _names([(*prefix, *other.path) for other in lists], "records=")
            rows = excerpt(".".join((*prefix, *chosen.path)), 40)
            self.hint = f"the rows are those of {rows!r}; other lists of records: tk.tabulate(response, {names})"
        parts = self._opened(value, chosen, place, carried, None)
        self._hint_at_wrappers([record for records, _ in parts[:1] for record in records[:1]], (*prefix, *chosen.path))
        return parts

    def parts_at(self, value: Any, path: str, key: str | None) -> list[_Part]:
        """Return the parts at a dotted path; in an envelope it may begin at the records."""
        around: list[_Part] = [([value], {})]
        in_list = False
        if isinstance(value, dict) and not any(_steps(value, path)):
            place = choose_place(value).place
            if place is not None:
                around, in_list = self._opened(value, place, _UNNAMED_ENVELOPE, {}, None), True
        parts = [
            part
            for records, carried in around
            for record in records
            for part in self._below(record, path, (), (_UNNAMED_LIST,), carried, key, in_list=in_list)
        ]
        if not parts and any(record != [] for records, _ in around for record in records):
            raise _nothing_at(path, [record for records, _ in around for record in records] if in_list else value)
        return parts

    def _below(
        self,
        value: Any,
        path: str,
        prefix: KeyPath,
        places: tuple[str, ...],
        carried: _Identity,
        key: str | None,
        *,
        in_list: bool,
    ) -> Iterator[_Part]:
        """Yield the parts at a path.

        Args:
            prefix: the keys that lead to the value.
            places: names of the lists around the value, outermost first.
            carried: identity of the records around the value.
            in_list: whether the value is in a list; its shape says less than that of a single object.
        """
        if isinstance(value, (list, tuple)):
            for member in value:
                yield from self._below(member, path, prefix, places, carried, key, in_list=True)
            return
        steps = list(_steps(value, path))
        if not steps and isinstance(value, dict) and (key is not None or has_data_keys(value)):
            for name, member in keyed_members(value).items():
                here = carried | {(places[-1], key or KEY_COLUMN): name}
                yield from self._below(member, path, prefix, places, here, None, in_list=True)
            return
        for name, rest in steps:
            is_envelope = not in_list and _leads_to_records(value, name)
            here = carried | _identity(value, places[-1], is_envelope=is_envelope)
            above = places[:-1] if is_envelope else places
            below, member = (*above, _place(name, above)), value[name]
            if are_rows(member) and not rest:
                member = _with_header(value, name)
            if rest:
                yield from self._below(member, rest, (*prefix, name), below, here, key, in_list=in_list)
                return
            parts = self._parts_of_member(member, (*prefix, name), below[-1], here, key, in_list=in_list)
            if parts is not None:
                yield from parts
                return

    def _parts_of_member(
        self, member: Any, prefix: KeyPath, place: str, carried: _Identity, key: str | None, *, in_list: bool
    ) -> list[_Part] | None:
        """Return the parts of a member that a path names, or None if it cannot have records."""
        if member is None:
            return [([], carried)]
        if isinstance(member, dict):
            if not in_list or key is not None or not member.keys().isdisjoint(("edges", "nodes")):
                return self.parts(member, prefix, place, carried, key)
            return [([member], carried)]
        if isinstance(member, (list, tuple)):
            if key is not None and member:
                raise _no_keys(prefix)
            return [(list(member), carried)]
        return None

    def _opened(
        self,
        value: Mapping[str, Any],
        chosen: Place,
        place: str,
        carried: _Identity,
        key: str | None,
        *,
        is_forced: bool = False,
    ) -> list[_Part]:
        """Return the parts at a place in an object."""
        here: Any = value
        around = value
        for step in chosen.path:
            around = here
            carried, here, place = carried | _identity(here, place, is_envelope=True), here[step], step
        if chosen.kind is Kind.EMPTY:
            return [([], carried)]
        if chosen.kind is Kind.ARRAYS:
            return [(rows_of_arrays(here), carried)]
        if chosen.kind is Kind.EDGES:
            return [_edge(edge, place, carried) for edge in here if edge is not None]
        if chosen.kind is Kind.LIST:
            return [(list(here), carried)]
        if chosen.kind is Kind.ROWS:
            return [(_with_header(around, chosen.path[-1]), carried)]
        column = key or KEY_COLUMN
        members = {
            name: member
            for name, member in keyed_members(here).items()
            if not is_forced or chosen.path or isinstance(member, (dict, list))
        }
        has_lists = any(isinstance(member, list) for member in members.values())
        return [
            (keyed_rows(member), carried | {(place, column): name})
            for name, member in members.items()
            if member is not None or not has_lists
        ]

    def _hint_at_lists(self, value: Mapping[str, Any], prefix: KeyPath, choice: Choice) -> None:
        """Say which lists stay JSON text in the one row of an object."""
        paths = [(*prefix, *place.path) for place in choice.others if place.kind in (Kind.LIST, Kind.EDGES)]
        self.is_record = bool(paths)
        if not paths:
            lists = [(key, member) for key, member in value.items() if isinstance(member, (list, tuple)) and member]
            has_content = _has_content(value)
            paths = [(*prefix, key) for key, member in lists if are_rows(member) or not has_content]
        if paths and not self.hint:
            self.hint = (
                f"one row holds lists as JSON text: tk.tabulate(response, {_names(paths, 'records=')}) opens them"
            )

    def _hint_at_wrappers(self, records: Sequence[Any], path: KeyPath) -> None:
        """Say that the records are themselves envelopes, whose lists stay JSON text; the first of them decides."""
        first = records[0] if records else None
        if self.hint or not isinstance(first, dict):
            return
        place = choose_place(first).place
        if place is not None and place.kind in (Kind.LIST, Kind.EDGES) and is_bare(first, place.path):
            names = _names([(*path, *place.path)], "records=")
            self.hint = f"each row holds a list as JSON text: tk.tabulate(response, {names}) opens it"


def _with_header(value: Mapping[str, Any], key: str) -> list[Any]:
    """Return the rows at a key of an object, with the names of the columns that stand beside them."""
    header = header_of(value, key)
    return named_rows(value[key], () if header is None else value[header])


def _has_content(value: Mapping[str, Any]) -> bool:
    """Check whether an object has plain values of its own, beside keys and what is about the request."""
    return any(
        isinstance(name, str) and not is_envelope_name(name) and not is_key(name) and not isinstance(member, list)
        for name, member in value.items()
        if member is not None
    )


def _edge(edge: Mapping[str, Any], place: str, carried: _Identity) -> _Part:
    """Return the node of one of GraphQL's edges, with the plain values of the edge."""
    beside = {
        (place, name): member
        for name, member in edge.items()
        if name not in ("node", "cursor", "__typename") and not isinstance(member, (dict, list))
    }
    return [edge.get("node")], carried | beside


def _path_of_keys(value: Mapping[str, Any], choice: Choice) -> KeyPath:
    """Return the path of the object whose keys the user wants as a column."""
    place = choice.place
    if place is not None and place.kind is Kind.KEYED:
        return place.path
    paths = [place.path] if place is not None else [other.path for other in choice.others]
    if paths and paths[0]:
        return paths[0][:-1]
    path: KeyPath = ()
    while True:
        members = keyed_members(member_at(value, path))
        if len(members) != 1 or not is_main(next(iter(members))) or not isinstance(next(iter(members.values())), dict):
            break
        path = (*path, next(iter(members)))
    if not any(isinstance(member, (dict, list)) for member in members.values()):
        raise _no_keys(path)
    return path


def _leads_to_records(value: Any, key: str) -> bool:
    """Check whether an object is the envelope of the records at, or below, one of its keys."""
    if not isinstance(value, dict):
        return False
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


def _place(key: str, above: tuple[str, ...]) -> str:
    """Return a name for the list with this key that is different from the names of the lists around it."""
    name = key
    for place in reversed(above):
        if name not in above:
            break
        name = f"{place}.{name}"
    return name


def _identity(record: Mapping[str, Any], place: str, *, is_envelope: bool) -> _Identity:
    """Return the keys of an object; of an envelope those that are not about the request, and not too many."""
    names = [
        name
        for name, value in record.items()
        if isinstance(name, str)
        and (is_leading if is_envelope else is_key)(name)
        and not isinstance(value, (dict, list))
    ]
    return {(place, name): record[name] for name in (names[:_MOST_LEADING] if is_envelope else names)}


def _joined(parts: list[_Part]) -> Rows:
    rows = Rows([])
    for records, carried in parts:
        count = len(rows.records)
        for name, value in carried.items():
            column = rows.carried.setdefault(name, [])
            column.extend([None] * (count - len(column)))
            column.extend([value] * len(records))
        rows.records.extend(records)
    for column in rows.carried.values():
        column.extend([None] * (len(rows.records) - len(column)))
    return rows


def _names(paths: Sequence[KeyPath], option: str = "") -> str:
    shown = [f"{option}{excerpt('.'.join(path), 60)!r}" for path in paths[:_SHOWN]]
    return " or ".join(shown) if option else ", ".join(shown)


def _ambiguous(value: Mapping[str, Any], prefix: KeyPath, places: Sequence[Place]) -> TabulationError:
    paths = [(*prefix, *place.path, *_only_key(member_at(value, place.path), place)) for place in places]
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    are_siblings = len({place.path[:-1] for place in places}) == 1 and all(place.kind is Kind.LIST for place in places)
    together = ' key="..." joins them, with their names in a column of that name.' if are_siblings else ""
    return TabulationError(
        f"There are several lists of records: {_names(paths)}{more}.",
        f"Choose with {_names(paths, 'records=')}.{together}",
        about="records",
    )


def _only_key(member: Any, place: Place) -> KeyPath:
    """Return the key of the only list that an object holds under a key, so that a path names the list itself."""
    keys = list(keyed_members(member)) if place.kind is Kind.KEYED else []
    return (keys[0],) if len(keys) == 1 and isinstance(member[keys[0]], list) else ()


def _no_keys(path: KeyPath) -> TabulationError:
    place = f" at {excerpt('.'.join(path))!r}" if path else ""
    return TabulationError(
        f"There is no object{place} whose members are records, so there are no keys for a column.",
        'key= is for {"ALFA": {...}, "BRVO": {...}}, or a list under each key; leave it out otherwise.',
        about="key",
    )


def _nothing_at(path: str, value: Any) -> TabulationError:
    paths = dict.fromkeys(_paths(value, _LEVELS_IN_ERROR))
    names = ", ".join(repr(excerpt(name, 40)) for name in list(paths)[:10])
    return TabulationError(
        f"There is no list of records at {excerpt(path)!r}.",
        f"There are: {names}." if names else "The data contains no list.",
        about="records",
    )


def _paths(value: Any, levels: int) -> Iterator[str]:
    """Yield the paths of all lists and objects in some records, level by level."""
    records = value if isinstance(value, (list, tuple)) else [value]
    members = [
        (key, member)
        for record in records
        if isinstance(record, dict)
        for key, member in record.items()
        if isinstance(member, (list, dict))
    ]
    yield from (key for key, _ in members)
    if levels > 1:
        yield from (f"{key}.{path}" for key, member in members for path in _paths(member, levels - 1))
