"""Records as columns: nested objects become paths of keys, and lists become JSON text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from toolkit.core.errors import TabulationError
from toolkit.tables.column_names import KeyPath
from toolkit.tables.json_body import NumberText

# Levels of nested objects and lists, counted from the record.
MAX_DEPTH: Final = 64

# More cells than this, with fewer than one in `_SPARSE` filled, come from objects with identifiers as keys.
_MANY_CELLS: Final = 20_000_000
_SPARSE: Final = 100

_SCALARS: Final = frozenset({str, int, float, bool, type(None), NumberText})


def columns_of(records: Sequence[Any]) -> dict[KeyPath, list[Any]]:
    """Return the values at each path, with None for a record without a value there; paths by first appearance.

    A record that is not an object is the value at the empty path. Null and an empty object make a column, unless
    another record has an object with members there.

    Raises:
        TabulationError: if a record is nested deeper than `MAX_DEPTH` or is not JSON, or if there are millions of
            cells and hardly any of them is filled.
    """
    columns = RecordColumns()
    columns.add(records)
    return columns.finish()


class RecordColumns:
    """The columns of records that come part by part; see `columns_of`.

    Attributes:
        count: number of records so far.
    """

    __slots__ = ("_columns", "_root", "count")

    def __init__(self) -> None:
        self.count = 0
        self._columns = _Columns()
        self._root = _Level((), self._columns)

    def add(self, records: Sequence[Any]) -> None:
        """Add records, all of them or, if this raises, none.

        Raises:
            TabulationError: as `columns_of`.
        """
        mark = self._columns.mark()
        try:
            for row, record in enumerate(records, self.count):
                if isinstance(record, dict):
                    self._root.add(record, row)
                elif record is not None:
                    value = json_text(record, 1) if isinstance(record, (list, tuple)) else record
                    self._columns.at((), row).append(value)
        except BaseException:
            self._columns.back_to(mark, self.count)
            self._root = _Level((), self._columns)  # the old one knows columns that no longer exist
            raise
        self.count += len(records)

    def finish(self) -> dict[KeyPath, list[Any]]:
        """Return the values at each path; nothing may be added afterwards.

        Raises:
            TabulationError: if there are millions of cells and hardly any of them is filled.
        """
        return _without_empty_parents(self._columns.padded(self.count))


def json_text(value: Any, depth: int = 0) -> str:
    """Return a parsed value as JSON text on one line; `NumberText` stays as it is.

    Raises:
        TabulationError: if the value is nested deeper than `MAX_DEPTH`, or is not JSON.
    """
    _check_depth(depth)
    if isinstance(value, NumberText):
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
    """The values at each path so far; each list ends at the last record that has a value.

    Attributes:
        filled: number of members of objects so far.
    """

    __slots__ = ("_values", "filled")

    def __init__(self) -> None:
        self._values: dict[KeyPath, list[Any]] = {}
        self.filled = 0

    def at(self, path: KeyPath, row: int) -> list[Any]:
        """Return the values at the path, padded up to this row."""
        values = self._values.setdefault(path, [])
        if not values:
            self._check_filled(row)
        values.extend([None] * (row - len(values)))
        return values

    def mark(self) -> tuple[int, int]:
        """Return what `back_to` needs to come back to this state."""
        return len(self._values), self.filled

    def back_to(self, mark: tuple[int, int], count: int) -> None:
        """Forget everything since the mark, when there were `count` records."""
        columns, self.filled = mark
        for path in list(self._values)[columns:]:
            del self._values[path]
        for values in self._values.values():
            del values[count:]

    def padded(self, count: int) -> dict[KeyPath, list[Any]]:
        """Return all values, padded up to `count` records."""
        self._check_filled(count)
        for values in self._values.values():
            values.extend([None] * (count - len(values)))
        return self._values

    def _check_filled(self, rows: int) -> None:
        cells = len(self._values) * rows
        if cells > _MANY_CELLS and cells > self.filled * _SPARSE:
            raise TabulationError(
                f"{rows} records with {len(self._values)} different keys have hardly any key in common.",
                "If the keys are identifiers, turn the objects into lists first.",
            )


class _Level:
    """The columns of the objects at one path."""

    __slots__ = ("_all", "_leaves", "_levels", "_path")

    def __init__(self, path: KeyPath, columns: _Columns) -> None:
        _check_depth(len(path))
        self._path = path
        self._all = columns
        self._leaves: dict[str, list[Any]] = {}
        self._levels: dict[str, _Level] = {}

    def add(self, record: dict[str, Any], row: int) -> None:
        """Add the values of an object to the columns."""
        leaves = self._leaves
        self._all.filled += len(record)
        for key, member in record.items():
            value = member
            if type(member) not in _SCALARS:
                if isinstance(member, dict):
                    if member:
                        self._below(key).add(member, row)
                        continue
                    value = None
                elif isinstance(member, (list, tuple)):
                    value = json_text(member, len(self._path) + 1)
            values = leaves.get(key)
            if values is None:
                values = leaves[key] = self._all.at((*self._path, _checked_key(key)), row)
            elif len(values) < row:
                values.extend([None] * (row - len(values)))
            values.append(value)

    def _below(self, key: str) -> _Level:
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = _Level((*self._path, _checked_key(key)), self._all)
        return level


def _without_empty_parents(columns: dict[KeyPath, list[Any]]) -> dict[KeyPath, list[Any]]:
    """Drop the columns without a value at paths where other records have an object with members."""
    parents = {path[:length] for path in columns for length in range(1, len(path))}
    return {
        path: values
        for path, values in columns.items()
        if path not in parents or any(value is not None for value in values)
    }


def _checked_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TabulationError(
            f"A key of an object is of type {type(key).__name__}; the keys of JSON objects are text.",
            "Convert the keys to text first.",
        )
    return key


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TabulationError(f"A record is nested deeper than {MAX_DEPTH} levels.", "Tabulate a part of it.")


def _scalar_text(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise TabulationError(
            f"A list holds a value of type {type(value).__name__} that JSON does not have.",
            "Convert such values to text or numbers first.",
        ) from None
