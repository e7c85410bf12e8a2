"""Where the brackets of a JSON text are, and how deep it is, without reading it."""
# MERGE: Large bodies read by Arrow: the same columns as the plain way, several times faster and in less memory. Arrow's reader changes or loses some JSON (instants become times without their text, large integers become floats, a null that begins a list is lost) and a hostile body can crash it, by depth or by a null between records (measured on pyarrow 26). So brackets are counted first, Arrow only sees what it reads faithfully, and whatever is doubtful is left to the plain way, which is always right.

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
from toolkit.tables.column_names import Path
from toolkit.tables.flatten import MAX_DEPTH, columns_of, json_text
from toolkit.tables.json_body import Body
from toolkit.tables.row_choice import choose_rows

# Bytes from which on this way is worth its start.
WORTHWHILE: Final = 64 * 1024

# Arrow counts the bytes of a block in 31 bits.
_TOO_LARGE: Final = 2**31 - 2**20
# Text is told from instants in this many records before the first reading; others cost a second reading.
_SAMPLE: Final = 20
_WIDE: Final = 200
_BATCH: Final = 1000
# Bytes that are read in one go, as long as a record is shorter.
_BLOCK: Final = 4 * 2**20
# A list as text has escapes; its longest are those of a letter of two bytes, `\\u00e9`.
_GROWTH: Final = 8
# An integer, which has no sign of its own: Arrow reads it as 0, and among floats as -0.0.
_MINUS_ZERO: Final = re.compile(rb"-0[,}\]\s]")
_MARK: Final = b'"toolkit: the rows stand here"'


class _Doubtful(Exception):
    """Arrow may not read this as it is."""


def read_columns(body: Body, path: str | None = None, *, written: bool = False) -> tuple[dict[Path, Any], int] | None:
    """The columns of the records that `choose_rows` chooses, and how many records; None when in doubt.

    The columns are those of `flatten.columns_of`, as Arrow arrays of null, bool, int64, double or
    string. With `written`, which asks for each number as it was written, a float is a doubt, and so is -0.
    """
    content = body.content
    try:
        _check_size(content)
        brackets = find_brackets(content, MAX_DEPTH)
        if brackets is None:
            return None
        rows = _list_of_rows(content, brackets, path)
        records = _Records(content, *_record_spans(content, brackets, rows))
        texts = _paths_of_texts(records.sample(), written=written)
        lines = _as_lines(content, brackets, rows, records, written=written)
        columns = _read(lines, texts, records)
        if written and any(pa.types.is_floating(values.type) for values in columns.values()):
            return None
        if (written or any(map(_has_minus_zero, columns.values()))) and _MINUS_ZERO.search(content):
            return None
        return {found: columns[found] for found in _first_appearances(records, set(columns))}, len(records)
    except (_Doubtful, TabulationError, pa.ArrowException, UnicodeError):
        # A TabulationError too is for the plain way to raise, which sees where.
        return None


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a JSON text, each read when it is asked for.

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
        """A few records, from the first to the last."""
        rows = np.linspace(0, len(self) - 1, min(_SAMPLE, len(self)), dtype=np.int64)
        return [record for row in rows.tolist() for record in self.read(row, row + 1)]

    def read(self, first: int, last: int) -> list[Any]:
        """The records from `first` up to `last`, exclusive."""
        records: list[Any] = Body(b"[" + self.content[self.starts[first] : self.ends[last - 1]] + b"]").parse()
        return records


def _list_of_rows(content: bytes, brackets: Brackets, path: str | None) -> tuple[int, int]:
    """Where in `brackets` the list of the rows opens and closes."""
    last = len(brackets.at) - 1
    if content[brackets.at[0]] == ord("["):
        if path is not None:
            raise _Doubtful
        return 0, last
    opens = np.flatnonzero(brackets.opening & (brackets.depth == 2))
    closes = np.flatnonzero(~brackets.opening & (brackets.depth == 1))
    if not opens.size:
        raise _Doubtful
    largest = int(np.argmax(brackets.at[closes] - brackets.at[opens]))
    first, last = int(opens[largest]), int(closes[largest])
    _check_choice(content[: brackets.at[first]], content[brackets.at[last] + 1 :], path)
    return first, last


def _check_choice(before: bytes, after: bytes, path: str | None) -> None:
    """Whether the rows are those of the list between these two parts of an object, and nothing else."""
    if _MARK in before or _MARK in after:
        raise _Doubtful
    mark = {json.loads(_MARK): None}
    rows = choose_rows(Body(before + b"[{" + _MARK + b":null}]" + after).parse(), path)
    if rows.records != [mark] or rows.carried:
        raise _Doubtful


def _record_spans(
    content: bytes, brackets: Brackets, rows: tuple[int, int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    first, last = rows
    base = brackets.depth[first]
    inside = slice(first + 1, last)
    at, opening, depth = brackets.at[inside], brackets.opening[inside], brackets.depth[inside]
    starts, ends = at[opening & (depth == base + 1)], at[~opening & (depth == base)]
    if content[brackets.at[first]] != ord("[") or not starts.size:
        raise _Doubtful
    if (np.frombuffer(content, np.uint8)[starts] != ord("{")).any():
        raise _Doubtful
    return starts, ends + 1


def _as_lines(content: bytes, brackets: Brackets, rows: tuple[int, int], records: _Records, *, written: bool) -> bytes:
    """The records, each on a line of its own, with each list in a record as its JSON text.

    Arrow reads lines in parallel, and a list of records in one go.
    """
    first, last = rows
    begin, end = int(brackets.at[first]) + 1, int(brackets.at[last])
    starts, ends = records.starts.tolist(), records.ends.tolist()
    between = {content[a:b] for a, b in zip(ends, starts[1:], strict=False)}
    around = content[begin : starts[0]] + content[ends[-1] : end]
    if around.strip() or any(gap[:1] != b"," or gap[1:].strip() for gap in between):
        raise _Doubtful  # such as a null between records, which Arrow crashes on
    lined = bytearray(content)
    np.frombuffer(lined, np.uint8)[records.ends[:-1]] = ord("\n")
    view, copied = memoryview(lined), begin
    pieces: list[bytes | memoryview] = []
    for a, b in lists_within(content, brackets, first, last):
        text = json_text(Body(content[a:b]).parse(written=written))
        pieces += [view[copied:a], json.dumps(text).encode()]
        copied = b
    return b"".join([*pieces, view[copied:end]])


def _paths_of_texts(sample: list[Any], *, written: bool) -> set[Path]:
    """Where these records have text.

    Records with few keys in common are a doubt, as Arrow would make a very wide table of them.
    """
    columns = columns_of(sample)
    if len(columns) > _WIDE and len(columns) > 5 * max(len(columns_of([record])) for record in sample):
        raise _Doubtful
    kinds = {path: set(map(type, values)) for path, values in columns.items()}
    if written and any(float in found for found in kinds.values()):
        raise _Doubtful
    return {path for path, found in kinds.items() if str in found}


def _read(lines: bytes, texts: set[Path], records: _Records) -> dict[Path, Any]:
    """The values of each path; `texts` are the paths of which it is known that they hold text."""
    _check_size(lines)
    for _ in range(3):
        leaves = dict(_leaves((), _structs(lines, records, texts)))
        instants = {path for path, values in leaves.items() if pa.types.is_temporal(values.type)}
        if not instants:
            return {path: _faithful(values) for path, values in leaves.items()}
        texts = texts | instants
    raise _Doubtful


def _structs(lines: bytes, records: _Records, texts: set[Path]) -> Any:
    """The records as Arrow structs, with the values at these paths read as text."""
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


def _struct_type(texts: set[Path]) -> Any:
    """A struct with a string at each path; what else the records hold is left to be found."""
    fields = []
    for key in dict.fromkeys(path[0] for path in texts):
        below = {path[1:] for path in texts if path[0] == key}
        if () in below and len(below) > 1:
            raise _Doubtful
        fields.append(pa.field(key, pa.string() if () in below else _struct_type(below)))
    return pa.struct(fields)


def _leaves(path: Path, structs: Any) -> Iterator[tuple[Path, Any]]:
    if path and not structs.type.num_fields:
        yield path, pa.nulls(len(structs))
    # flatten(), unlike field(), gives nulls where the struct itself is null.
    for field, values in zip(structs.type, structs.flatten(), strict=True):
        below = (*path, field.name)
        if pa.types.is_struct(values.type):
            yield from _leaves(below, values)
        else:
            yield below, values


def _faithful(values: Any) -> Any:
    kind = values.type
    if pa.types.is_floating(kind):
        # NaN and infinities are no JSON; a float beyond 2**53 may have been written as an integer of more digits.
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
    # Only the bits tell it from 0.0.
    return bool(pc.any(pc.equal(values.view(pa.int64()), -(2**63))).as_py())


def _first_appearances(records: _Records, paths: set[Path]) -> list[Path]:
    """The paths in the order in which the records have them, reading only as far as needed."""
    found: dict[Path, None] = {}
    first, last = 0, 1
    while len(paths) - len(found) > 1:
        if first == len(records):
            raise _Doubtful
        found |= dict.fromkeys(path for path in columns_of(records.read(first, last)) if path in paths)
        first, last = last, min(last + min(last, _BATCH), len(records))
    return [*found, *(paths - found.keys())]


def _check_size(text: bytes) -> None:
    if len(text) > _TOO_LARGE:
        raise _Doubtful


# Bytes looked at in one go: few enough to stay in a processor's cache, and to need little memory.
_PIECE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Brackets:
    """The brackets of a JSON text outside its strings.

    Attributes:
        at: position of each, ascending.
        opening: whether it opens.
        depth: how many are open from it on; that of a closing one does not count the pair it ends.
    """

    at: npt.NDArray[np.int64]
    opening: npt.NDArray[np.bool_]
    depth: npt.NDArray[np.int64]


def find_brackets(content: bytes, max_depth: int) -> Brackets | None:
    """The brackets of a text that is a single list or object, no deeper than `max_depth`; None of any other.

    Says nothing of what is between them, nor whether a square one closes a square one.
    """
    at, closed = _positions(content)
    if at.size < 2 or not closed:
        return None
    opening = (np.frombuffer(content, np.uint8)[at] | 0x20) == ord("{")
    depth = np.cumsum(np.where(opening, 1, -1))
    if depth.max() > max_depth or depth[-1] != 0 or depth[:-1].min() < 1:
        return None
    if content[: at[0]].strip() or content[at[-1] + 1 :].strip():
        return None
    return Brackets(at, opening, depth)


def lists_within(content: bytes, brackets: Brackets, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each list between two brackets that is in no other list between them.

    `first` and `last` count brackets, not bytes. The end is exclusive.
    """
    is_list = np.frombuffer(content, np.uint8)[brackets.at] == ord("[")
    lists = np.flatnonzero(is_list[first + 1 : last]) + first + 1
    if not lists.size:
        return
    at, depth, done = brackets.at.tolist(), brackets.depth.tolist(), first
    for index in lists.tolist():
        if index > done:
            done = index + 1
            while depth[done] >= depth[index]:
                done += 1
            yield at[index], at[done] + 1


def _positions(content: bytes) -> tuple[npt.NDArray[np.int64], bool]:
    """Where brackets are outside strings, and whether the last string ends."""
    view = np.frombuffer(_without_escapes(content), np.uint8)
    found, quotes_before = [np.empty(0, np.int64)], 0
    for begin in range(0, len(view), _PIECE):
        piece = view[begin : begin + _PIECE]
        quotes = np.flatnonzero(piece == ord('"'))
        # `[` and `{`, `]` and `}` differ in this bit alone.
        folded = piece | 0x20
        brackets = np.flatnonzero((folded == ord("{")) | (folded == ord("}")))
        in_string = (np.searchsorted(quotes, brackets) + quotes_before) & 1
        found.append(brackets[in_string == 0] + begin)
        quotes_before += len(quotes)
    return np.concatenate(found), quotes_before % 2 == 0


def _without_escapes(content: bytes) -> bytes:
    """A text of the same length in which no quote is escaped."""
    if b"\\" not in content:
        return content
    return content.replace(b"\\\\", b"__").replace(b'\\"', b"__")
