"""Records spread over columns: a path for each value, and no key lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from toolkit.core.errors import TabulationError
from toolkit.tables.column_names import Path
from toolkit.tables.json_body import Written

# Objects and lists within objects and lists, counted from the record.
MAX_DEPTH: Final = 64

# A table of more cells than this, with fewer than one in `_SPARSE` filled, is no table but a map taken for one.
_MANY_CELLS: Final = 20_000_000
_SPARSE: Final = 100

_SCALARS: Final = frozenset({str, int, float, bool, type(None), Written})


def columns_of(records: Sequence[Any]) -> dict[Path, list[Any]]:
    """The values of each path, one a record, None where a record has none; paths by first appearance.

    Objects become longer paths. Lists become JSON text. A record that is no object is the value of
    the empty path; one that is null has no value. In a record, null or an object without members
    says nothing of its own where other records have an object; elsewhere it makes a column.

    Raises:
        TabulationError: deeper than `MAX_DEPTH`, or not JSON; or millions of cells and hardly one filled.
    """
    columns = _Columns()
    root = _Level((), columns)
    for row, record in enumerate(records):
        if isinstance(record, dict):
            root.add(record, row)
        elif record is not None:
            held = json_text(record, 1) if isinstance(record, (list, tuple)) else record
            columns.at((), row).append(held)
    return _without_shadows(columns.padded(len(records)))


def json_text(value: Any, depth: int = 0) -> str:
    """A parsed value as JSON text on one line, with `Written` numbers as they were written.

    Raises:
        TabulationError: deeper than `MAX_DEPTH`, or not JSON.
    """
    _check_depth(depth)
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, dict):
        members = (
            f"{_scalar_text(_checked_key(key))}: {json_text(member, depth + 1)}" for key, member in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join([json_text(member, depth + 1) for member in value]) + "]"
    return _scalar_text(value)


class _Columns:
    """The values of each path so far, as far as the last record that has one."""

    __slots__ = ("_values", "filled")

    def __init__(self) -> None:
        self._values: dict[Path, list[Any]] = {}
        self.filled = 0

    def at(self, path: Path, row: int) -> list[Any]:
        """The values at the path, padded up to this row."""
        values = self._values.setdefault(path, [])
        if not values:
            self._check_filled(row)
        values.extend([None] * (row - len(values)))
        return values

    def padded(self, count: int) -> dict[Path, list[Any]]:
        self._check_filled(count)
        for values in self._values.values():
            values.extend([None] * (count - len(values)))
        return self._values

    def _check_filled(self, rows: int) -> None:
        cells = len(self._values) * rows
        if cells > _MANY_CELLS and cells > self.filled * _SPARSE:
            raise TabulationError(
                f"{rows} records with {len(self._values)} different keys have hardly a key in common",
                "Where keys are identifiers, turn the objects into lists first.",
            )


class _Level:
    """The columns of the objects at one path."""

    __slots__ = ("_all", "_leaves", "_levels", "_path")

    def __init__(self, path: Path, columns: _Columns) -> None:
        _check_depth(len(path))
        self._path = path
        self._all = columns
        self._leaves: dict[str, list[Any]] = {}
        self._levels: dict[str, _Level] = {}

    def add(self, record: dict[str, Any], row: int) -> None:
        leaves = self._leaves
        self._all.filled += len(record)
        for key, value in record.items():
            held = value
            if type(value) not in _SCALARS:
                if isinstance(value, dict):
                    if value:
                        self._below(key).add(value, row)
                        continue
                    held = None
                elif isinstance(value, (list, tuple)):
                    held = json_text(value, len(self._path) + 1)
            values = leaves.get(key)
            if values is None:
                values = leaves[key] = self._all.at((*self._path, _checked_key(key)), row)
            elif len(values) < row:
                values.extend([None] * (row - len(values)))
            values.append(held)

    def _below(self, key: str) -> _Level:
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = _Level((*self._path, _checked_key(key)), self._all)
        return level


def _without_shadows(columns: dict[Path, list[Any]]) -> dict[Path, list[Any]]:
    above = {path[:length] for path in columns for length in range(1, len(path))}
    return {
        path: values
        for path, values in columns.items()
        if path not in above or any(value is not None for value in values)
    }


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TabulationError(f"a key of an object is {type(key).__name__}; the keys of JSON are text")
    return key


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TabulationError(f"a record is nested deeper than {MAX_DEPTH} levels")


def _scalar_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise TabulationError(f"a list holds {type(value).__name__} that JSON cannot hold") from None
