"""Which part of a JSON value is the rows, and what a child table carries of its parents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.column_names import is_key, words

# Words that name what surrounds a page of records: where it is among the pages, and how the request went.
_ENVELOPE_WORDS: Final = frozenset(
    "next previous prev first last page pages paging pagination limit offset cursor total count more links link "
    "meta metadata request success ok error errors message warnings self after before".split()
)
# Words that say so only beside one of those: `next_page_token`, `request_id`, `page_number`.
_BESIDE_ENVELOPE_WORDS: Final = frozenset("id number token key size url uri href has is per of start end".split())

# Prefix of what a child table carries from a list that has no name.
_UNNAMED_PARENT: Final = "parent"
_NAMED_LEVELS: Final = 3  # of lists in lists, in the error that says which there are


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table to be.

    Attributes:
        records: a JSON value a row.
        carried: columns from the records around, by (name of their list, key); a value a row. A list in one of
            the same name has the names of both: `children.children`.
    """

    records: list[Any]
    carried: dict[tuple[str, str], list[Any]] = field(default_factory=dict)


def choose_rows(value: Any, path: str | None = None) -> Rows:
    """The rows of a JSON value.

    Without a path: the members of a list; of an envelope (see `envelope_member`), those of the list in
    it; otherwise the value itself, one row. With a dotted path: the list there. A path that goes
    through a list takes the lists of all its members, one after the other, and each row carries what
    identifies the record it was in. A path that does not begin in an envelope begins in its records.

    Raises:
        TabulationError: there is no list or object at the path; says which lists there are.
    """
    if path is None:
        inner = envelope_member(value)
        return Rows(_as_list(value if inner is None else value[inner]))
    inner = envelope_member(value)
    if inner is not None and not any(_steps(value, path)):
        value = value[inner]
    found = list(_lists_at(value, path, (_UNNAMED_PARENT,), {}))
    if not found and value != []:
        raise _nothing_at(path, value)
    return _joined(found)


def envelope_member(value: Any) -> str | None:
    """The key of the list of objects that an object is the envelope of, or None when it is none.

    It is one when a single member is a list of objects, and each other member is null or named in
    words such as next, page, total, count or meta. So `{"accounts": [...], "next": null}` is, and an
    account with its positions, `{"id": ..., "positions": [...]}`, is not.
    """
    if not isinstance(value, dict):
        return None
    lists = [key for key, member in value.items() if _is_list_of_objects(member)]
    filled = [key for key in lists if value[key]]
    chosen = filled or lists
    if len(chosen) != 1:
        return None
    others = (key for key, member in value.items() if key != chosen[0] and member is not None)
    return chosen[0] if all(_is_envelope_name(key) for key in others) else None


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(member, dict) for member in value)


def _is_envelope_name(name: str) -> bool:
    found = set(words(name))
    return bool(found & _ENVELOPE_WORDS) and found <= _ENVELOPE_WORDS | _BESIDE_ENVELOPE_WORDS


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _steps(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The ways to take a first key of this object off a path: (key, rest). Keys may contain dots."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        key = ".".join(parts[:count])
        if isinstance(value, dict) and key in value:
            yield key, ".".join(parts[count:])


_Found = tuple[list[Any], dict[tuple[str, str], Any]]


def _lists_at(value: Any, path: str, places: tuple[str, ...], carried: dict[tuple[str, str], Any]) -> Iterator[_Found]:
    """Each list at the path, with what its rows carry. `places` name the lists that this value is in."""
    if isinstance(value, (list, tuple)):
        for member in value:
            yield from _lists_at(member, path, places, carried)
        return
    for key, rest in _steps(value, path):
        is_envelope = envelope_member(value) == key
        here = carried if is_envelope else carried | _identity(value, places[-1])
        member = value[key]
        if rest:
            above = places[:-1] if is_envelope else places
            yield from _lists_at(member, rest, (*above, _place(key, above)), here)
        elif isinstance(member, (list, tuple)):
            yield list(member), here
        elif isinstance(member, dict):
            yield [member], here
        elif member is None:
            yield [], here
        else:
            continue
        return


def _place(key: str, above: tuple[str, ...]) -> str:
    """A name for the list under this key that none of the lists around it has."""
    name = key
    for place in reversed(above):
        if name not in above:
            break
        name = f"{place}.{name}"
    return name


def _identity(record: dict[str, Any], place: str) -> dict[tuple[str, str], Any]:
    return {(place, key): value for key, value in record.items() if is_key(key) and not isinstance(value, (dict, list))}


def _joined(found: list[_Found]) -> Rows:
    rows = Rows([])
    for records, carried in found:
        for name in carried:
            rows.carried.setdefault(name, [None] * len(rows.records))
        for name, values in rows.carried.items():
            values.extend([carried.get(name)] * len(records))
        rows.records.extend(records)
    return rows


def _nothing_at(path: str, value: Any) -> TabulationError:
    there = dict.fromkeys(_paths(value, _NAMED_LEVELS))
    names = ", ".join(repr(excerpt(name, 40)) for name in list(there)[:10])
    return TabulationError(
        f"there is no list of records at {excerpt(path)!r}",
        f"There are: {names}." if names else "There is none at all.",
    )


def _paths(value: Any, levels: int) -> Iterator[str]:
    """The paths of all lists and objects in some records, those of one level before those below it."""
    members = value if isinstance(value, (list, tuple)) else [value]
    held = [
        (key, member)
        for record in members
        if isinstance(record, dict)
        for key, member in record.items()
        if isinstance(member, (list, dict))
    ]
    yield from (key for key, _ in held)
    if levels > 1:
        yield from (f"{key}.{path}" for key, member in held for path in _paths(member, levels - 1))
