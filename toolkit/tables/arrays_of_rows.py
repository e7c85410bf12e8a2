"""Tables sent as an array for each row, `[["2026-05-12", 1.5], ["2026-05-13", 1.6]]`, perhaps beside their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

# Members of an object that describes a column.
_NAMES: Final = ("name", "id", "field", "key")


def are_rows(value: Any) -> bool:
    """Check whether a value is a list of arrays of plain values, all of the same length."""
    if not isinstance(value, (list, tuple)) or not value or not isinstance(value[0], (list, tuple)) or not value[0]:
        return False
    width = len(value[0])
    return all(isinstance(row, (list, tuple)) and len(row) == width for row in value) and not any(
        isinstance(item, (dict, list, tuple)) for row in value for item in row
    )


def header_of(value: Mapping[str, Any], key: str) -> str | None:
    """Return the key of the list that names the columns of the rows at another key of an object, or None.

    It has a distinct text for each column, or an object with its `name`.
    """
    width = len(value[key][0])
    others = (other for other, member in value.items() if isinstance(member, list) and len(member) == width)
    return next((other for other in others if other != key and len(set(_names(value[other]))) == width), None)


def named_rows(rows: Sequence[Any], header: Sequence[Any] = ()) -> list[Any]:
    """Return arrays of the same length as objects, with the names of a header, or the keys 0, 1, ...

    Other values stay as they are.
    """
    if not are_rows(rows):
        return list(rows)
    names = _names(header) or [str(column) for column in range(len(rows[0]))]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _names(header: Sequence[Any]) -> list[str]:
    """Return the names of columns in a header."""
    names = [_name(item) if isinstance(item, dict) else item for item in header]
    return [name for name in names if isinstance(name, str)]


def _name(column: Mapping[str, Any]) -> Any:
    return next((column[name] for name in _NAMES if name in column), None)
