"""A faster way to read large bodies, by Arrow: the same columns in less time and memory.

It exists for a measured goal: 100,000 accounts become a table at least 2.5 times as fast as with json.loads and
json_normalize (`python -m tests.benchmarks.tables`). Without that goal this module, and the branch in
`source` that calls it, could be deleted; the tables would stay the same.

Arrow's reader changes some JSON: instants lose their text, large integers become floats, and a null at the beginning
of a list is lost. A hostile body can crash it, by its depth or by a null between records (measured on pyarrow 26).
So the records are read in this order:

1. `brackets` finds all brackets outside strings, and with them the depth and the spans of the records.
2. `_as_lines` puts each record on a line, and turns the lists inside records into JSON text.
3. Arrow reads the lines, as text where a sample of the records has text.
4. A value that Arrow might have changed raises `_Doubtful`. Then `read_columns` returns None, and the caller reads
   the body with `json_body`, `row_choice` and `flatten`, which are always right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from toolkit.core.errors import TabulationError
from toolkit.tables.brackets import Brackets, find_brackets, lists_within
from toolkit.tables.column_names import KeyPath
from toolkit.tables.flatten import MAX_DEPTH, columns_of, is_hardly_filled, json_text
from toolkit.tables.json_body import Body
from toolkit.tables.row_choice import Rows, choose_rows

# Smaller bodies, in bytes, are not worth the overhead.
WORTHWHILE: Final = 64 * 1024

# Arrow counts the bytes of a block in 31 bits.
_TOO_LARGE: Final = 2**31 - 2**20
# Records that are searched for text before the first reading; text elsewhere may cost a second reading.
_SAMPLE: Final = 20
# Records that are searched for new keys, if there are many new ones among a few records.
_LARGE_SAMPLE: Final = 400
# More columns of records with few keys in common are left to `flatten`, which counts their cells.
_WIDE: Final = 200
# The most records that are parsed at once to find the order of the columns.
_BATCH: Final = 1000
# Bytes that Arrow reads at once, if each record is shorter.
_BLOCK: Final = 4 * 2**20
# Upper bound of how many times longer a list gets as JSON text: `1e15` becomes `1000000000000000.0`.
_GROWTH: Final = 8
# JSON's integer -0 is 0. Arrow reads it as 0, but among floats as -0.0.
_MINUS_ZERO: Final = re.compile(rb"-0[,}\]\s]")
_MARK: Final = b'"toolkit: the rows stand here"'


class _Doubtful(Exception):
    """Arrow might change or lose a value of this body."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Records as columns.

    Attributes:
        columns: those of `flatten.columns_of`, as Arrow arrays of null, bool, int64, double or string.
        count: number of records.
        carried, hint: as in `row_choice.Rows`.
    """

    columns: dict[KeyPath, Any]
    count: int
    carried: dict[tuple[str, str], list[Any]]
    hint: str


def read_columns(body: Body, path: str | None = None, key: str | None = None) -> Reading | None:
    """Return the columns of the records that `choose_rows` chooses, or None if in doubt."""
    content = body.content
    try:
        _check_size(content)
        brackets = find_brackets(content, MAX_DEPTH)
        if brackets is None:
            return None
        first, last = _list_of_rows(content, brackets)
        records = _Records(content, *_record_spans(content, brackets, (first, last)))
        span = (int(brackets.positions[first]), int(brackets.positions[last]))
        rows = _rows_around(content, span, records.parse(0, 1)[0], path, key)
        texts = _paths_of_texts(records)
        columns = _read(_as_lines(content, brackets, (first, last), records), texts, records)
        if any(map(_has_minus_zero, columns.values())) and _MINUS_ZERO.search(content):
            return None
        ordered = {name: columns[name] for name in _first_appearances(records, set(columns))}
        count = len(records)
        return Reading(ordered, count, {name: values * count for name, values in rows.carried.items()}, rows.hint)
    except (_Doubtful, TabulationError, pa.ArrowException, UnicodeError):
        # The slower way raises a TabulationError again, with its place.
        return None


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a JSON text, parsed on demand.

    Attributes:
        content: the JSON text.
        starts: where each record begins.
        ends: where each record ends, exclusive.
    """

    content: bytes
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    def sample(self) -> list[Any]:
        """Return a few records, spread from the first to the last."""
        return self._at(np.linspace(0, len(self) - 1, min(_SAMPLE, len(self)), dtype=np.int64))

    def large_sample(self) -> list[Any]:
        """Return more records, chosen without any order, and the same ones each time."""
        return self._at(np.random.default_rng(0).permutation(len(self))[:_LARGE_SAMPLE])

    def _at(self, rows: npt.NDArray[np.int64]) -> list[Any]:
        return [record for row in rows.tolist() for record in self.parse(row, row + 1)]

    def parse(self, first: int, last: int) -> list[Any]:
        """Return the records from `first` to `last`, exclusive."""
        records: list[Any] = Body(b"[" + self.content[self.starts[first] : self.ends[last - 1]] + b"]").parse()
        return records


def _list_of_rows(content: bytes, brackets: Brackets) -> tuple[int, int]:
    """Return the indexes of the brackets that open and close the list of the rows.

    In an object these are the longest of its members, and so on until a list.
    """
    first, last = 0, len(brackets.positions) - 1
    while content[brackets.positions[first]] != ord("["):
        level = brackets.depth[first]
        inside = slice(first + 1, last)
        is_opening, depth = brackets.is_opening[inside], brackets.depth[inside]
        opens = np.flatnonzero(is_opening & (depth == level + 1)) + first + 1
        closes = np.flatnonzero(~is_opening & (depth == level)) + first + 1
        if not opens.size:
            raise _Doubtful
        longest = int(np.argmax(brackets.positions[closes] - brackets.positions[opens]))
        first, last = int(opens[longest]), int(closes[longest])
    return first, last


def _rows_around(content: bytes, span: tuple[int, int], record: Any, path: str | None, key: str | None) -> Rows:
    """Return the rows of the value with this record as the only one in the list, and check that it is a row.

    What `choose_rows` chooses depends on the first record of a list, and on whether all are objects.

    Args:
        span: where the list begins and ends.
    """
    before, after = content[: span[0]], content[span[1] + 1 :]
    if _MARK in before or _MARK in after:
        raise _Doubtful
    value = Body(before + b"[{" + _MARK + b":null}]" + after).parse()
    list_of_rows = _marked_list(value)
    list_of_rows[0] = record
    rows = choose_rows(value, path, key)
    if len(rows.records) != 1 or rows.records[0] is not record:
        raise _Doubtful
    return rows


def _marked_list(value: Any) -> list[Any]:
    """Return the list that holds the mark; it is not inside another list."""
    mark = [{json.loads(_MARK): None}]
    below = [value]
    while below:
        member = below.pop()
        if member == mark:
            return member  # type: ignore[no-any-return]
        below += member.values() if isinstance(member, dict) else ()
    raise _Doubtful


def _record_spans(
    content: bytes, brackets: Brackets, rows: tuple[int, int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where each record begins and ends, exclusive."""
    first, last = rows
    base = brackets.depth[first]
    inside = slice(first + 1, last)
    positions, is_opening, depth = brackets.positions[inside], brackets.is_opening[inside], brackets.depth[inside]
    starts, ends = positions[is_opening & (depth == base + 1)], positions[~is_opening & (depth == base)]
    if content[brackets.positions[first]] != ord("[") or not starts.size:
        raise _Doubtful
    if (np.frombuffer(content, np.uint8)[starts] != ord("{")).any():
        raise _Doubtful
    return starts, ends + 1


def _as_lines(content: bytes, brackets: Brackets, rows: tuple[int, int], records: _Records) -> bytes:
    """Return each record on a line of its own, with each list inside it as a string that holds its JSON text.

    Arrow reads lines in parallel, but a list of records in one piece.
    """
    first, last = rows
    begin, end = int(brackets.positions[first]) + 1, int(brackets.positions[last])
    starts, ends = records.starts.tolist(), records.ends.tolist()
    between = {content[a:b] for a, b in zip(ends, starts[1:], strict=False)}
    around = content[begin : starts[0]] + content[ends[-1] : end]
    if around.strip() or any(gap[:1] != b"," or gap[1:].strip() for gap in between):
        raise _Doubtful  # for example a null between records, which crashes Arrow
    lines = bytearray(content)
    np.frombuffer(lines, np.uint8)[records.ends[:-1]] = ord("\n")
    view, copied = memoryview(lines), begin
    parts: list[bytes | memoryview] = []
    for a, b in lists_within(content, brackets, first, last):
        parts += [view[copied:a], json.dumps(json_text(Body(content[a:b]).parse())).encode()]
        copied = b
    return b"".join([*parts, view[copied:end]])


def _paths_of_texts(records: _Records) -> set[KeyPath]:
    """Return the paths at which some of the records have text.

    Records with few keys in common are doubtful, because Arrow would make a very wide table of them.
    """
    sample = records.sample()
    columns = columns_of(sample)
    if len(columns) > _WIDE and len(columns) > 5 * max(len(columns_of([record])) for record in sample):
        raise _Doubtful
    if _brings_keys(sample, len(records)) and _brings_keys(records.large_sample(), len(records)):
        raise _Doubtful
    return {path for path, values in columns.items() if any(isinstance(value, str) for value in values)}


def _brings_keys(sample: list[Any], count: int) -> bool:
    """Check whether record after record has new keys, so that `count` of them would hardly fill their table."""
    half = len(sample) // 2
    late_keys = len(columns_of(sample)) - len(columns_of(sample[:half]))
    filled = sum(len(columns_of([record])) for record in sample)
    late_columns = late_keys * count // (len(sample) - half)
    return late_keys > 1 and is_hardly_filled(late_columns * count, filled * count // len(sample))


def _read(lines: bytes, texts: set[KeyPath], records: _Records) -> dict[KeyPath, Any]:
    """Return the values at each path; `texts` are the paths with text in the sample."""
    _check_size(lines)
    for _ in range(3):
        leaves = dict(_leaves((), _structs(lines, records, texts)))
        instants = {path for path, values in leaves.items() if pa.types.is_temporal(values.type)}
        if not instants:
            return {path: _faithful(values) for path, values in leaves.items()}
        texts = texts | instants
    raise _Doubtful


def _structs(lines: bytes, records: _Records, texts: set[KeyPath]) -> Any:
    """Return the records as Arrow structs, with the values at `texts` read as text."""
    is_indented = b"\r" in lines or lines.count(b"\n") >= len(records)
    longest = int((records.ends - records.starts).max()) * _GROWTH
    table = pyarrow.json.read_json(
        pa.BufferReader(lines),
        read_options=pyarrow.json.ReadOptions(block_size=len(lines) + 1 if is_indented else max(_BLOCK, longest)),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(list(_struct_type(texts))) if texts else None, newlines_in_values=is_indented
        ),
    )
    if table.num_rows != len(records):
        raise _Doubtful
    table.validate(full=True)
    return pa.StructArray.from_arrays([column.combine_chunks() for column in table.columns], table.column_names)


def _struct_type(texts: set[KeyPath]) -> Any:
    """Return a struct type with a string at each of these paths; Arrow infers the other fields."""
    fields = []
    for key in dict.fromkeys(path[0] for path in texts):
        below = {path[1:] for path in texts if path[0] == key}
        if () in below and len(below) > 1:
            raise _Doubtful
        fields.append(pa.field(key, pa.string() if () in below else _struct_type(below)))
    return pa.struct(fields)


def _leaves(path: KeyPath, structs: Any) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the path and the values of each field that is not a struct."""
    if path and not structs.type.num_fields:
        yield path, pa.nulls(len(structs))
    # Unlike field(), flatten() gives nulls where the struct itself is null.
    for field, values in zip(structs.type, structs.flatten(), strict=True):
        below = (*path, field.name)
        if pa.types.is_struct(values.type):
            yield from _leaves(below, values)
        else:
            yield below, values


def _faithful(values: Any) -> Any:
    """Return the values, or raise `_Doubtful` if Arrow might have changed them."""
    kind = values.type
    if pa.types.is_floating(kind):
        # NaN and infinities are not JSON; a float of 2**53 or more may have been an integer with more digits.
        if not pc.all(pc.less(pc.abs(values), 2.0**53)).as_py():
            raise _Doubtful
    elif not (
        pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_int64(kind) or pa.types.is_string(kind)
    ):
        raise _Doubtful
    return values


def _has_minus_zero(values: Any) -> bool:
    if not pa.types.is_floating(values.type):
        return False
    # -0.0 equals 0.0, but its bits differ.
    return bool(pc.any(pc.equal(values.view(pa.int64()), -(2**63))).as_py())


def _first_appearances(records: _Records, paths: set[KeyPath]) -> list[KeyPath]:
    """Return the paths in order of first appearance, parsing only as many records as needed."""
    ordered: dict[KeyPath, None] = {}
    first, last = 0, 1
    while len(paths) - len(ordered) > 1:
        if first == len(records):
            raise _Doubtful
        ordered |= dict.fromkeys(path for path in columns_of(records.parse(first, last)) if path in paths)
        first, last = last, min(last + min(last, _BATCH), len(records))
    return [*ordered, *(paths - ordered.keys())]


def _check_size(text: bytes) -> None:
    if len(text) > _TOO_LARGE:
        raise _Doubtful
