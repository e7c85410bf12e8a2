"""Where the brackets of a JSON text are, and how deep it is, without reading it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

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
