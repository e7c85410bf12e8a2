"""The records of a large JSON text, cut out without parsing the text: each on a line, for Arrow to read.

What cannot be cut out with certainty raises `Doubtful`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from toolkit.tables.brackets import Brackets, lists_within
from toolkit.tables.flatten import json_text
from toolkit.tables.json_body import Body
from toolkit.tables.row_choice import Rows, choose_rows

# Records that are searched for text before the first reading; text elsewhere may cost a second reading.
_SAMPLE: Final = 20
# Records that are searched for new keys, if there are many new ones among a few records.
_LARGE_SAMPLE: Final = 400
_MARK: Final = b'"toolkit: the rows stand here"'


class Doubtful(Exception):
    """Arrow might change or lose a value of this body."""


@dataclass(frozen=True, slots=True)
class Records:
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


def list_of_rows(content: bytes, brackets: Brackets) -> tuple[int, int]:
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
            raise Doubtful
        longest = int(np.argmax(brackets.positions[closes] - brackets.positions[opens]))
        first, last = int(opens[longest]), int(closes[longest])
    return first, last


def rows_around(content: bytes, span: tuple[int, int], record: Any, path: str | None, key: str | None) -> Rows:
    """Return the rows of the value with this record as the only one in the list, and check that it is a row.

    What `choose_rows` chooses depends on the first record of a list, and on whether all are objects.

    Args:
        span: where the list begins and ends.
    """
    before, after = content[: span[0]], content[span[1] + 1 :]
    if _MARK in before or _MARK in after:
        raise Doubtful
    value = Body(before + b"[{" + _MARK + b":null}]" + after).parse()
    rows_list = _marked_list(value)
    rows_list[0] = record
    rows = choose_rows(value, path, key)
    if len(rows.records) != 1 or rows.records[0] is not record:
        raise Doubtful
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
    raise Doubtful


def record_spans(
    content: bytes, brackets: Brackets, rows: tuple[int, int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where each record begins and ends, exclusive."""
    first, last = rows
    base = brackets.depth[first]
    inside = slice(first + 1, last)
    positions, is_opening, depth = brackets.positions[inside], brackets.is_opening[inside], brackets.depth[inside]
    starts, ends = positions[is_opening & (depth == base + 1)], positions[~is_opening & (depth == base)]
    if content[brackets.positions[first]] != ord("[") or not starts.size:
        raise Doubtful
    if (np.frombuffer(content, np.uint8)[starts] != ord("{")).any():
        raise Doubtful
    return starts, ends + 1


def as_lines(content: bytes, brackets: Brackets, rows: tuple[int, int], records: Records) -> bytes:
    """Return each record on a line of its own, with each list inside it as a string that holds its JSON text.

    Arrow reads lines in parallel, but a list of records in one piece.
    """
    first, last = rows
    begin, end = int(brackets.positions[first]) + 1, int(brackets.positions[last])
    starts, ends = records.starts.tolist(), records.ends.tolist()
    between = {content[a:b] for a, b in zip(ends, starts[1:], strict=False)}
    around = content[begin : starts[0]] + content[ends[-1] : end]
    if around.strip() or any(gap[:1] != b"," or gap[1:].strip() for gap in between):
        raise Doubtful  # for example a null between records, which crashes Arrow
    lines = bytearray(content)
    np.frombuffer(lines, np.uint8)[records.ends[:-1]] = ord("\n")
    view, copied = memoryview(lines), begin
    parts: list[bytes | memoryview] = []
    for a, b in lists_within(content, brackets, first, last):
        parts += [view[copied:a], json.dumps(json_text(Body(content[a:b]).parse())).encode()]
        copied = b
    return b"".join([*parts, view[copied:end]])
