"""Tables sent as an array for each column, `{"timestamp": [1, 2], "equity": [5, 6]}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolkit.tables.envelope_members import is_envelope_name, is_outcome, is_time

# The most members beside the arrays: each of them is repeated in every row.
_MOST_BESIDE: Final = 50


def are_parallel(value: Mapping[str, Any]) -> bool:
    """Check whether an object holds at least two arrays of plain values, all of the same length.

    Equal lengths may be chance, so one array must be of times, or nothing may stand beside at least two values each.
    Arrays in an object beside them (`"cashflow": {"fees": [...]}`) count as well.
    """
    arrays = [member for member in value.values() if isinstance(member, (list, tuple))]
    if len(arrays) < 2 or not arrays[0] or any(len(array) != len(arrays[0]) for array in arrays):
        return False
    if any(isinstance(item, (dict, list, tuple)) for array in arrays for item in array):
        return False
    if sum(len(member) if isinstance(member, dict) else 1 for member in _beside(value).values()) > _MOST_BESIDE:
        return False
    if any(
        isinstance(key, str) and is_time(key) and isinstance(member, (list, tuple)) for key, member in value.items()
    ):
        return True
    return len(arrays[0]) > 1 and not _beside(value)


def rows_of_arrays(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a record for each place in the arrays.

    The plain values beside the arrays come first, the same in each record. Members about paging are left out.
    """
    length = len(next(member for member in value.values() if isinstance(member, (list, tuple))))
    beside = _beside(value)
    columns = {key: member for key, member in value.items() if isinstance(member, (list, tuple))}
    inside = {key: member for key, member in value.items() if isinstance(member, dict) and _has_arrays(member, length)}
    rest = {key: member for key, member in beside.items() if key not in inside and member != {}}
    return [
        rest
        | {key: array[row] for key, array in columns.items()}
        | {key: {name: array[row] for name, array in member.items()} for key, member in inside.items()}
        for row in range(length)
    ]


def _beside(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: member
        for key, member in value.items()
        if not isinstance(member, (list, tuple))
        and not (isinstance(key, str) and (is_envelope_name(key) or is_outcome(key, member)))
    }


def _has_arrays(value: Mapping[str, Any], length: int) -> bool:
    return bool(value) and all(isinstance(array, (list, tuple)) and len(array) == length for array in value.values())
