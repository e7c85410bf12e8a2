"""The words about a choice of rows: hints at other lists, and errors that name the paths to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.column_names import KeyPath
from toolkit.tables.envelopes import ListKind, ListPlace, member_at

_SHOWN: Final = 5  # paths in a hint or error
_LENGTH_SHOWN: Final = 80  # characters of a path
_LEVELS: Final = 3  # of lists inside lists, in an error


def hint_at_others(chosen: KeyPath, others: Sequence[KeyPath]) -> str:
    """Return the hint that an answer has other lists of records beside the rows."""
    return f"The rows are those of {_names([chosen])}; other lists of records: {_names(others)} ({_call(others)})"


def hint_at_lists(paths: Sequence[KeyPath], *, rows: str) -> str:
    """Return the hint that rows, such as "one row", hold lists as JSON text."""
    return f"{rows} holds JSON text of lists: {_names(paths)} ({_call(paths)} makes rows of them)"


def _names(paths: Sequence[KeyPath]) -> str:
    shown = ", ".join(repr(excerpt(".".join(path), _LENGTH_SHOWN)) for path in paths[:_SHOWN])
    return shown + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def _call(paths: Sequence[KeyPath]) -> str:
    return f"tk.tabulate(response, records={_names(paths[:1])})"


def ambiguous(value: Mapping[str, Any], prefix: KeyPath, places: Sequence[ListPlace]) -> TabulationError:
    """Return the error about several places in an object, of which none is better than the others."""
    paths = [(*prefix, *place.path, *_only_key(member_at(value, place.path), place)) for place in places]
    are_siblings = len({place.path[:-1] for place in places}) == 1 and all(
        place.kind is ListKind.LIST for place in places
    )
    together = ' key="..." joins them, with their names in a column of that name.' if are_siblings else ""
    return TabulationError(
        f"Several lists hold records: {_names(paths)}.",
        f"Choose one of them, for example records={_names(paths[:1])}.{together}",
        about="records",
    )


def _only_key(member: Any, place: ListPlace) -> KeyPath:
    """Return the key of the only list that an object holds under a key, so that a path names the list itself."""
    return place.keys if len(place.keys) == 1 and isinstance(member[place.keys[0]], list) else ()


def no_keys(path: KeyPath) -> TabulationError:
    """Return the error about a `key` for data without an object that has records under keys."""
    place = f" at {excerpt('.'.join(path))!r}" if path else ""
    return TabulationError(
        f"No object{place} has records as its members, so a column cannot hold their keys.",
        'key= is for {"ALFA": {...}, "BRVO": {...}}, or a list under each key; leave it out otherwise.',
        about="key",
    )


def nothing_at(path: str, value: Any, inside: KeyPath = ()) -> TabulationError:
    """Return the error about a path that leads to no list, with the paths that do.

    Args:
        path: the path.
        value: the records, or the data.
        inside: path of the records in their envelope.
    """
    paths = dict.fromkeys(_paths(value, _LEVELS))
    names = ", ".join(repr(excerpt(name, 40)) for name in list(paths)[:10])
    start, there = (f"The records are at {_names([inside])}. ", "Inside them") if inside else ("", "There are")
    advice = start + (f"{there}: {names}." if names else "The records contain no lists; leave out records=.")
    return TabulationError(f"The path {excerpt(path)!r} does not lead to a list of records.", advice, about="records")


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
