"""The choice of rows: which part of a JSON value holds the records, and which keys identify the records around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.column_names import is_key, words

# Words for paging and for the outcome of a request.
_ENVELOPE_WORDS: Final = frozenset(
    "next previous prev first last page pages paging pagination limit offset cursor total count more links link "
    "meta metadata request success ok error errors message warnings self after before".split()
)
# Words that belong to an envelope only beside one of the words above: `next_page_token`, `request_id`.
_BESIDE_ENVELOPE_WORDS: Final = frozenset("id number token key size url uri href has is per of start end".split())

# Prefix for keys of the records in a list that has no name.
_UNNAMED_LIST: Final = "parent"
_LEVELS_IN_ERROR: Final = 3  # of lists inside lists

# The values that identify the records around a row, by (name of their list, key).
_Identity: TypeAlias = dict[tuple[str, str], Any]


@dataclass(frozen=True, slots=True)
class Rows:
    """The records that become the rows of a table.

    Attributes:
        records: a JSON value for each row.
        carried: columns that identify the records around each row, by (name of their list, key). A list inside a
            list of the same name is called by both names: `children.children`.
    """

    records: list[Any]
    carried: dict[tuple[str, str], list[Any]] = field(default_factory=dict)


def choose_rows(value: Any, path: str | None = None) -> Rows:
    """Return the rows of a JSON value.

    Without a path these are the members of a list, the members of the list in an envelope (see `envelope_member`),
    or else the value itself as one row.

    With a dotted path they are the members of the list there. If the path leads through a list, the lists of all
    its members are joined, and each row carries the keys that identify the record around it. In an envelope the
    path may also begin at the records.

    Raises:
        TabulationError: if there is no list or object at the path; lists the possible paths.
    """
    member = envelope_member(value)
    if path is None:
        rows = value if member is None else value[member]
        return Rows(list(rows) if isinstance(rows, (list, tuple)) else [rows])
    if member is not None and not any(_steps(value, path)):
        value = value[member]
    parts = list(_lists_at(value, path, (_UNNAMED_LIST,), {}))
    if not parts and value != []:
        raise _nothing_at(path, value)
    return _joined(parts)


def envelope_member(value: Any) -> str | None:
    """Return the key of the list in an envelope, or None if the value is not an envelope.

    An envelope is an object with a single list of objects. Every other member is null, or has a name of words such as
    next, page, total, count and meta. So `{"accounts": [...], "next": null}` is an envelope, and an account with its
    positions, `{"id": ..., "positions": [...]}`, is not.
    """
    if not isinstance(value, dict):
        return None
    lists = [
        key
        for key, member in value.items()
        if isinstance(member, list) and all(isinstance(item, dict) for item in member)
    ]
    chosen = [key for key in lists if value[key]] or lists
    if len(chosen) != 1:
        return None
    others = (key for key, member in value.items() if key != chosen[0] and member is not None)
    return chosen[0] if all(_is_envelope_name(key) for key in others) else None


def _is_envelope_name(name: str) -> bool:
    parts = set(words(name))
    return bool(parts & _ENVELOPE_WORDS) and parts <= _ENVELOPE_WORDS | _BESIDE_ENVELOPE_WORDS


def _steps(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each key of this object that begins the path, with the rest of the path. Keys may contain dots."""
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        key = ".".join(parts[:count])
        if isinstance(value, dict) and key in value:
            yield key, ".".join(parts[count:])


def _lists_at(
    value: Any, path: str, places: tuple[str, ...], carried: _Identity
) -> Iterator[tuple[list[Any], _Identity]]:
    """Yield each list at the path, with the identity that its rows carry.

    Args:
        places: names of the lists around the value, outermost first.
        carried: identity of the records around the value.
    """
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
    """Return a name for the list with this key that is different from the names of the lists around it."""
    name = key
    for place in reversed(above):
        if name not in above:
            break
        name = f"{place}.{name}"
    return name


def _identity(record: dict[str, Any], place: str) -> _Identity:
    return {(place, key): value for key, value in record.items() if is_key(key) and not isinstance(value, (dict, list))}


def _joined(parts: list[tuple[list[Any], _Identity]]) -> Rows:
    rows = Rows([])
    for records, carried in parts:
        for name in carried:
            rows.carried.setdefault(name, [None] * len(rows.records))
        for name, values in rows.carried.items():
            values.extend([carried.get(name)] * len(records))
        rows.records.extend(records)
    return rows


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
