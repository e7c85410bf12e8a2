"""The beginnings and ends of the lists and objects in a large JSON text, found without parsing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

# Bytes that are searched at once; they fit into the cache of a processor.
_CHUNK: Final = 2**20


@dataclass(frozen=True, slots=True)
class Brackets:
    """The brackets of a JSON text outside its strings.

    Attributes:
        positions: position of each bracket, ascending.
        is_opening: True for `[` and `{`.
        depth: number of pairs that are open after the bracket.
    """

    positions: npt.NDArray[np.int64]
    is_opening: npt.NDArray[np.bool_]
    depth: npt.NDArray[np.int64]


def find_brackets(content: bytes, max_depth: int) -> Brackets | None:
    """Return the brackets of a text that is one list or object, at most `max_depth` deep; None for any other text.

    The text between the brackets is not checked, nor whether a square bracket is closed by a square bracket.
    """
    positions, is_closed = _bracket_positions(content)
    if positions.size < 2 or not is_closed:
        return None
    is_opening = (np.frombuffer(content, np.uint8)[positions] | 0x20) == ord("{")
    depth = np.cumsum(np.where(is_opening, 1, -1))
    if depth.max() > max_depth or depth[-1] != 0 or depth[:-1].min() < 1:
        return None
    if content[: positions[0]].strip() or content[positions[-1] + 1 :].strip():
        return None
    return Brackets(positions, is_opening, depth)


def lists_within(content: bytes, brackets: Brackets, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end, exclusive, of each outermost list between the brackets at the indexes first and last."""
    is_list = np.frombuffer(content, np.uint8)[brackets.positions] == ord("[")
    lists = np.flatnonzero(is_list[first + 1 : last]) + first + 1
    if not lists.size:
        return
    positions, depth, done = brackets.positions.tolist(), brackets.depth.tolist(), first
    for index in lists.tolist():
        if index > done:
            done = index + 1
            while depth[done] >= depth[index]:
                done += 1
            yield positions[index], positions[done] + 1


def _bracket_positions(content: bytes) -> tuple[npt.NDArray[np.int64], bool]:
    """Return the positions of brackets outside strings, and whether the last string is closed."""
    view = np.frombuffer(_without_escapes(content), np.uint8)
    positions, quotes_before = [np.empty(0, np.int64)], 0
    for begin in range(0, len(view), _CHUNK):
        chunk = view[begin : begin + _CHUNK]
        quotes = np.flatnonzero(chunk == ord('"'))
        # `[` and `{`, and `]` and `}`, differ only in this bit.
        folded = chunk | 0x20
        brackets = np.flatnonzero((folded == ord("{")) | (folded == ord("}")))
        is_in_string = (np.searchsorted(quotes, brackets) + quotes_before) & 1
        positions.append(brackets[is_in_string == 0] + begin)
        quotes_before += len(quotes)
    return np.concatenate(positions), quotes_before % 2 == 0


def _without_escapes(content: bytes) -> bytes:
    """Return the text at the same length, with escaped backslashes and quotes replaced."""
    if b"\\" not in content:
        return content
    return content.replace(b"\\\\", b"__").replace(b'\\"', b"__")
