"""A quick test of which known secrets may be in a text, in one pass over the text.

Each form of a secret contains a run of letters and digits, its anchor, that stands plainly wherever the form does.
`GroupIndex` reads a text in groups of four bytes, every fourth position only, and looks each group up. `Prefilter`
enters the last bytes of each anchor there, cut into groups at all four offsets, so that one of them matches wherever
the anchor stands. A match is a candidate only, which the caller then searches for exactly; but a secret that is not
a candidate is not in the text.

This carries measured speed: 2 MB of random tokens take 5 ms with one known secret, 6 ms with 33, and 170 ms with
3,000; an exact search takes 11 ms for each secret.
"""

from __future__ import annotations

import sys
import threading
from typing import Any, Final, Generic, TypeVar

from toolkit.scrubbing.encoded_forms import SHORTEST_ANCHOR, Forms, unescaped_levels

T = TypeVar("T")

WIDTH: Final = 4  # bytes of a group, which is an unsigned int
_LARGE: Final = 1 << 15  # bytes of text above which the lookup table pays
_SMALLEST_TABLE: Final = 1 << 16
_SPREAD: Final = 2_654_435_761  # 2**32 divided by the golden ratio: hashes neighbouring numbers far apart
_AROUND: Final = SHORTEST_ANCHOR - WIDTH  # bytes of an anchor's end that may stand before or after a group


def group_at(data: bytes, at: int) -> int:
    """Return the group of four bytes that begins at a position."""
    return int.from_bytes(data[at : at + WIDTH], sys.byteorder)


class GroupIndex(Generic[T]):
    """Groups of four bytes to look for, each with an owner.

    In a large text, a table of bits rules out nearly all groups first; it never rules out one that is in the index.
    Adding is safe while another thread searches.
    """

    __slots__ = ("_lock", "_owners", "_table", "_unfinished_table")

    def __init__(self) -> None:
        self._owners: dict[int, T] = {}
        self._table: Any = None
        self._unfinished_table: Any = None
        # Reentrant: the garbage collector may run inside, and finalizers may print, which searches again.
        self._lock = threading.RLock()

    def get(self, group: int) -> T | None:
        """Return the owner of a group, or None."""
        return self._owners.get(group)

    def put(self, group: int, owner: T) -> None:
        """Add a group to look for."""
        self._owners[group] = owner
        for table in (self._unfinished_table, self._table):
            if table is not None:
                table[_slot(group, len(table))] = True

    def matches_in(self, data: bytes) -> list[tuple[int, T]]:
        """Return the position of each match in `data`, in order, with the owner of its group."""
        owners = self._owners
        if not owners:
            return []
        whole_groups = memoryview(data)[: len(data) // WIDTH * WIDTH]
        if len(data) < _LARGE:
            groups = whole_groups.cast("I").tolist()
            if owners.keys().isdisjoint(groups):
                return []
            return [(number * WIDTH, owners[group]) for number, group in enumerate(groups) if group in owners]
        import numpy as np

        numbers = np.frombuffer(whole_groups, np.uint32)
        table = self._fitting_table()
        places = np.flatnonzero(table[_slot(numbers, len(table))])
        candidates = zip(places.tolist(), numbers[places].tolist(), strict=True)
        return [(number * WIDTH, owners[group]) for number, group in candidates if group in owners]

    def _fitting_table(self) -> Any:
        """Return a table with the slots of all groups set, at most one slot in eight."""
        table = self._table
        if table is not None and len(table) >= 8 * len(self._owners):
            return table
        import numpy as np

        with self._lock:
            size = max(_SMALLEST_TABLE, 1 << (16 * len(self._owners) - 1).bit_length())
            before = self._table
            # `put` in another thread sets its slot in the unfinished table too.
            new = self._unfinished_table = np.zeros(size, bool)
            new[_slot(np.array(list(self._owners), np.uint32), size)] = True
            if self._table is before:  # otherwise a nested call made a newer table, with later groups
                self._table = new
            self._unfinished_table = None
            return self._table


def _slot(group: Any, size: int) -> Any:
    """Return the slot of a group, or of an array of groups, in a table whose size is a power of two."""
    return ((group * _SPREAD) & 0xFFFF_FFFF) >> (33 - size.bit_length())


class Prefilter:
    """Numbered secrets to look for; each takes some 5 kB. Adding is safe while another thread searches."""

    __slots__ = ("_always", "_ends", "_index")

    def __init__(self) -> None:
        self._index: GroupIndex[tuple[int, ...]] = GroupIndex()
        self._ends: dict[int, tuple[bytes, ...]] = {}
        self._always: list[int] = []  # secrets without anchors, which any text may hold

    def add(self, number: int, forms: Forms) -> None:
        """Add a secret to look for, with its forms."""
        anchors = forms.anchors()
        if anchors is None:
            self._always.append(number)
            return
        alone = (number,)
        self._ends[number] = ends = tuple({anchor[-SHORTEST_ANCHOR:] for anchor in anchors})
        for end in ends:
            for at in range(len(end) - WIDTH + 1):
                group = group_at(end, at)
                others = self._index.get(group)
                if others is None:
                    self._index.put(group, alone)
                elif number not in others:
                    self._index.put(group, others + alone)

    def candidates(self, data: bytes) -> set[int]:
        """Return the numbers of the secrets that may be in `data`, including every secret that is there."""
        candidates = set(self._always)
        for level in (data, *unescaped_levels(data)):
            for at, numbers in self._index.matches_in(level):
                around = level[max(0, at - _AROUND) : at + WIDTH + _AROUND]  # many numbers contain the same four bytes
                candidates.update(
                    number
                    for number in numbers
                    if number not in candidates and any(end in around for end in self._ends[number])
                )
        return candidates
