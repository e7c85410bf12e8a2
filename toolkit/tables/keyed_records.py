"""Objects that hold records under keys that are data: `{"ALFA": {...}, "BRVO": {...}}`, or a list under each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolkit.tables.envelope_members import are_names_of_members, is_envelope_name
from toolkit.tables.parallel_arrays import are_parallel, rows_of_arrays

# The column of the keys, where nobody named it.
KEY_COLUMN: Final = "key"

# A symbol, a currency, a date, a number, an identifier: keys that are data, as no member is called.
_DATA_KEY: Final = re.compile(r"[A-Z0-9^][A-Z0-9 ./:^=@+_-]*|\d.*|[0-9a-f]{8}-[0-9a-f]{4}-.*")
# Share of members that records under ordinary words must have in common.
_ALIKE: Final = 0.75


def has_data_keys(value: Mapping[str, Any]) -> bool:
    """Check whether an object holds records under keys that are data, all of them objects or all lists of objects.

    Members about paging, and a list of the keys, may stand beside them.
    """
    members = data_members(value)
    if not members or are_names_of_members(members) or not all(_DATA_KEY.fullmatch(key) for key in members):
        return False
    values = [member for member in members.values() if member is not None and member != []]
    return bool(values) and (
        _are_objects(values) or all(isinstance(member, list) and _are_objects(member) for member in values)
    )


def are_alike(value: Mapping[str, Any]) -> bool:
    """Check whether an object holds at least two objects that have most of their keys in common, and nothing else."""
    members = list(value.values())
    if len(members) < 2 or not _are_objects(members) or not all(members):
        return False
    keys = {key for member in members for key in member}
    return sum(map(len, members)) >= _ALIKE * len(keys) * len(members)


def data_members(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an object that are not about paging, and not a list of the keys of the others."""
    return {
        key: member
        for key, member in value.items()
        if isinstance(key, str)
        and (_DATA_KEY.fullmatch(key) or not (is_envelope_name(key) or _lists_keys(member, value)))
    }


def _lists_keys(member: Any, value: Mapping[str, Any]) -> bool:
    return (
        isinstance(member, list)
        and bool(member)
        and all(isinstance(item, (str, int)) and str(item) in value for item in member)
    )


def keyed_rows(member: Any) -> list[Any]:
    """Return the records under one key: those of a list or of parallel arrays, or the member itself."""
    if isinstance(member, (list, tuple)):
        return list(member)
    if isinstance(member, dict) and are_parallel(member):
        return rows_of_arrays(member)
    return [member]


def _are_objects(values: list[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)
