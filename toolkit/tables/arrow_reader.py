"""A faster way to read large bodies, by Arrow: the same columns in less time and memory.

It exists for a measured goal: 100,000 accounts become a table at least 2.5 times as fast as with json.loads and
json_normalize (`python -m tests.benchmarks.tables`). Without that goal this module, `arrow_lines`, `brackets`, and the
branch in `source` that calls them, could be deleted; the tables would stay the same.

Arrow's reader changes some JSON: instants lose their text, large integers become floats, and a null at the beginning
of a list is lost. A hostile body can crash it, by its depth or by a null between records (measured on pyarrow 26).
So the records are read in this order:

1. `brackets` finds all brackets outside strings, and with them the depth and the spans of the records.
2. `arrow_lines` puts each record on a line, and turns the lists inside records into JSON text.
3. Arrow reads the lines, as text where a sample of the records has text.
4. A value that Arrow might have changed raises `Doubtful`. Then `read_columns` returns None, and the caller reads
   the body with `json_body`, `row_choice` and `flatten`, which are always right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from toolkit.core.errors import TabulationError
from toolkit.tables.arrow_lines import Doubtful, Records, as_lines, list_of_rows, record_spans, rows_around
from toolkit.tables.brackets import find_brackets
from toolkit.tables.column_names import KeyPath
from toolkit.tables.flatten import MAX_DEPTH, columns_of, is_hardly_filled
from toolkit.tables.json_body import Body

# Smaller bodies, in bytes, are not worth the overhead.
WORTHWHILE: Final = 64 * 1024

# Arrow counts the bytes of a block in 31 bits.
_TOO_LARGE: Final = 2**31 - 2**20
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


@dataclass(frozen=True, slots=True)
class ArrowColumns:
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


def read_columns(body: Body, path: str | None = None, key: str | None = None) -> ArrowColumns | None:
    """Return the columns of the records that `choose_rows` chooses, or None if in doubt."""
    content = body.content
    try:
        _check_size(content)
        brackets = find_brackets(content, MAX_DEPTH)
        if brackets is None:
            return None
        first, last = list_of_rows(content, brackets)
        records = Records(content, *record_spans(content, brackets, (first, last)))
        span = (int(brackets.positions[first]), int(brackets.positions[last]))
        rows = rows_around(content, span, records.parse(0, 1)[0], path, key)
        texts = _paths_of_texts(records)
        columns = _read(as_lines(content, brackets, (first, last), records), texts, records)
        if any(map(_has_minus_zero, columns.values())) and _MINUS_ZERO.search(content):
            return None
        ordered = {name: columns[name] for name in _first_appearances(records, set(columns))}
        count = len(records)
        return ArrowColumns(ordered, count, {name: values * count for name, values in rows.carried.items()}, rows.hint)
    except (Doubtful, TabulationError, pa.ArrowException, UnicodeError):
        # The slower way raises a TabulationError again, with its place.
        return None


def _paths_of_texts(records: Records) -> set[KeyPath]:
    """Return the paths at which some of the records have text.

    Records with few keys in common are doubtful, because Arrow would make a very wide table of them.
    """
    sample = records.sample()
    columns = columns_of(sample)
    if len(columns) > _WIDE and len(columns) > 5 * max(len(columns_of([record])) for record in sample):
        raise Doubtful
    if _brings_keys(sample, len(records)) and _brings_keys(records.large_sample(), len(records)):
        raise Doubtful
    return {path for path, values in columns.items() if any(isinstance(value, str) for value in values)}


def _brings_keys(sample: list[Any], count: int) -> bool:
    """Check whether record after record has new keys, so that `count` of them would hardly fill their table."""
    half = len(sample) // 2
    late_keys = len(columns_of(sample)) - len(columns_of(sample[:half]))
    filled = sum(len(columns_of([record])) for record in sample)
    late_columns = late_keys * count // (len(sample) - half)
    return late_keys > 1 and is_hardly_filled(late_columns * count, filled * count // len(sample))


def _read(lines: bytes, texts: set[KeyPath], records: Records) -> dict[KeyPath, Any]:
    """Return the values at each path; `texts` are the paths with text in the sample."""
    _check_size(lines)
    for _ in range(3):
        leaves = dict(_leaves((), _structs(lines, records, texts)))
        instants = {path for path, values in leaves.items() if pa.types.is_temporal(values.type)}
        if not instants:
            return {path: _faithful(values) for path, values in leaves.items()}
        texts = texts | instants
    raise Doubtful


def _structs(lines: bytes, records: Records, texts: set[KeyPath]) -> Any:
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
        raise Doubtful
    table.validate(full=True)
    return pa.StructArray.from_arrays([column.combine_chunks() for column in table.columns], table.column_names)


def _struct_type(texts: set[KeyPath]) -> Any:
    """Return a struct type with a string at each of these paths; Arrow infers the other fields."""
    fields = []
    for key in dict.fromkeys(path[0] for path in texts):
        below = {path[1:] for path in texts if path[0] == key}
        if () in below and len(below) > 1:
            raise Doubtful
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
    """Return the values, or raise `Doubtful` if Arrow might have changed them."""
    kind = values.type
    if pa.types.is_floating(kind):
        # NaN and infinities are not JSON; a float of 2**53 or more may have been an integer with more digits.
        if not pc.all(pc.less(pc.abs(values), 2.0**53)).as_py():
            raise Doubtful
    elif not (
        pa.types.is_null(kind) or pa.types.is_boolean(kind) or pa.types.is_int64(kind) or pa.types.is_string(kind)
    ):
        raise Doubtful
    return values


def _has_minus_zero(values: Any) -> bool:
    if not pa.types.is_floating(values.type):
        return False
    # -0.0 equals 0.0, but its bits differ.
    return bool(pc.any(pc.equal(values.view(pa.int64()), -(2**63))).as_py())


def _first_appearances(records: Records, paths: set[KeyPath]) -> list[KeyPath]:
    """Return the paths in order of first appearance, parsing only as many records as needed."""
    ordered: dict[KeyPath, None] = {}
    first, last = 0, 1
    while len(paths) - len(ordered) > 1:
        if first == len(records):
            raise Doubtful
        ordered |= dict.fromkeys(path for path in columns_of(records.parse(first, last)) if path in paths)
        first, last = last, min(last + min(last, _BATCH), len(records))
    return [*ordered, *(paths - ordered.keys())]


def _check_size(text: bytes) -> None:
    if len(text) > _TOO_LARGE:
        raise Doubtful
