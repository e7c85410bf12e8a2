"""The records around a row, and the columns that identify them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from toolkit.tables.column_names import KeyPath, is_key
from toolkit.tables.envelope_members import is_leading

# Prefix for keys of the records in a list that has no name.
UNNAMED_LIST: Final = "parent"
# The most columns that an envelope puts before its records: each of them is repeated in every row.
_MOST_LEADING: Final = 20

# The values that identify the records around a row, by (name of their list, key).
Identity: TypeAlias = dict[tuple[str, str], Any]
# Records that share the records around them.
Part: TypeAlias = tuple[list[Any], Identity]


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of a value.

    Attributes:
        prefix: the keys that lead to it.
        places: names of the lists and objects around it, outermost first.
        carried: identity of the records around it.
        in_list: True if it is in a list; its shape says less than that of a single object.
    """

    prefix: KeyPath = ()
    places: tuple[str, ...] = (UNNAMED_LIST,)
    carried: Identity = field(default_factory=dict)
    in_list: bool = False

    def below(self, record: Mapping[str, Any], key: str, *, is_envelope: bool) -> Around:
        """Return what is around the member of a record, or of an envelope, at a key."""
        here = self.carried | identity(record, self.places[-1], is_envelope=is_envelope)
        above = self.places[:-1] if is_envelope else self.places
        return Around((*self.prefix, key), (*above, _place(key, above)), here, self.in_list)


def _place(key: str, above: tuple[str, ...]) -> str:
    """Return a name for the list with this key that is different from the names of the lists around it."""
    name = key
    for place in reversed(above):
        if name not in above:
            break
        name = f"{place}.{name}"
    return name


def identity(record: Mapping[str, Any], place: str, *, is_envelope: bool) -> Identity:
    """Return the keys of an object; of an envelope those that are not about the request, and not too many."""
    names = [
        name
        for name, value in record.items()
        if isinstance(name, str)
        and (is_leading if is_envelope else is_key)(name)
        and not isinstance(value, (dict, list))
    ]
    return {(place, name): record[name] for name in (names[:_MOST_LEADING] if is_envelope else names)}


def joined(parts: list[Part]) -> tuple[list[Any], dict[tuple[str, str], list[Any]]]:
    """Return the records of all parts, and the columns that they carry."""
    rows: list[Any] = []
    columns: dict[tuple[str, str], list[Any]] = {}
    for records, carried in parts:
        count = len(rows)
        for name, value in carried.items():
            column = columns.setdefault(name, [])
            column.extend([None] * (count - len(column)))
            column.extend([value] * len(records))
        rows.extend(records)
    for column in columns.values():
        column.extend([None] * (len(rows) - len(column)))
    return rows, columns
