"""Which of many secrets may be in a text at all: one pass over the text, however many secrets there are.

Each form of a secret has a run of letters and digits that stands plainly wherever the form does. Of its end
the groups of four bytes at each of four offsets are looked for among every fourth group of a text, and where
one is, the whole end. What comes out is a candidate, to be searched for exactly; what does not is not there.
"""
# MERGE: Which of many groups of four bytes stand in a text, at every fourth byte: one pass, however many are looked for.

from __future__ import annotations

import sys
import threading
from typing import Any, Final, Generic, TypeVar

from toolkit.scrubbing.encoded_forms import SHORTEST_ANCHOR, Forms, less_escaped

T = TypeVar("T")

WIDTH: Final = 4  # bytes; an unsigned int
_LARGE: Final = 1 << 15  # bytes of text; below that a filter does not pay
_SMALLEST_FILTER: Final = 1 << 16
_SPREAD: Final = 2_654_435_761  # 2**32 divided by the golden ratio: neighbours end up far apart


def group_at(data: bytes, at: int) -> int:
    """The group of four bytes that begins there."""
    return int.from_bytes(data[at : at + WIDTH], sys.byteorder)


class Groups(Generic[T]):
    """What each group is looked for on behalf of.

    In a large text, nearly all of its groups are told apart by a filter that is never wrong about one that is
    looked for. Adding is safe while another thread searches.
    """

    __slots__ = ("_filter", "_filter_in_the_making", "_lock", "_owners")

    def __init__(self) -> None:
        self._owners: dict[int, T] = {}
        self._filter: Any = None
        self._filter_in_the_making: Any = None
        self._lock = threading.RLock()  # the garbage collector may run in there, and what it collects may print

    def get(self, group: int) -> T | None:
        return self._owners.get(group)

    def put(self, group: int, owner: T) -> None:
        """Look for a group from now on."""
        self._owners[group] = owner
        for one in (self._filter_in_the_making, self._filter):
            if one is not None:
                one[_slot(group, len(one))] = True

    def found_in(self, data: bytes) -> list[tuple[int, T]]:
        """Where each group that is looked for begins in `data`, in order, and on whose behalf."""
        owners = self._owners
        if not owners:
            return []
        whole = memoryview(data)[: len(data) // WIDTH * WIDTH]
        if len(data) < _LARGE:
            groups = whole.cast("I").tolist()
            if owners.keys().isdisjoint(groups):
                return []
            return [(at * WIDTH, owners[group]) for at, group in enumerate(groups) if group in owners]
        import numpy as np  # slow to load

        numbers = np.frombuffer(whole, np.uint32)
        known = self._fitting_filter()
        places = np.flatnonzero(known[_slot(numbers, len(known))])
        candidates = zip(places.tolist(), numbers[places].tolist(), strict=True)
        return [(at * WIDTH, owners[group]) for at, group in candidates if group in owners]

    def _fitting_filter(self) -> Any:
        """A table in which at most one slot of eight is taken, those of all groups that are looked for among them."""
        known = self._filter
        if known is not None and len(known) >= 8 * len(self._owners):
            return known
        import numpy as np  # slow to load

        with self._lock:
            size = max(_SMALLEST_FILTER, 1 << (16 * len(self._owners) - 1).bit_length())
            before = self._filter
            # From here on, what another thread adds is in it as well.
            made = self._filter_in_the_making = np.zeros(size, bool)
            made[_slot(np.array(list(self._owners), np.uint32), size)] = True
            if self._filter is before:  # else another was made in the midst of this one, which missed what came then
                self._filter = made
            self._filter_in_the_making = None
            return self._filter


def _slot(group: Any, size: int) -> Any:
    """Where a group, or each of many, is in a table of a power of two."""
    return ((group * _SPREAD) & 0xFFFF_FFFF) >> (33 - size.bit_length())


_AROUND: Final = SHORTEST_ANCHOR - WIDTH  # bytes before or after a group that the end of an anchor may have


class Sieve:
    """Secrets by number, some 5 kB each. Adding one is safe while another thread searches."""

    __slots__ = ("_ends", "_groups", "_unsieved")

    def __init__(self) -> None:
        self._groups: Groups[tuple[int, ...]] = Groups()
        self._ends: dict[int, tuple[bytes, ...]] = {}
        self._unsieved: list[int] = []

    def add(self, number: int, forms: Forms) -> None:
        """Have a secret found from now on."""
        anchors = forms.anchors()
        if anchors is None:
            self._unsieved.append(number)
            return
        alone = (number,)
        self._ends[number] = ends = tuple({anchor[-SHORTEST_ANCHOR:] for anchor in anchors})
        for end in ends:
            for at in range(len(end) - WIDTH + 1):
                group = group_at(end, at)
                others = self._groups.get(group)
                if others is None:
                    self._groups.put(group, alone)
                elif number not in others:
                    self._groups.put(group, others + alone)

    def candidates(self, data: bytes) -> set[int]:
        """Numbers of the secrets that may be in `data`; every one that is."""
        found = set(self._unsieved)
        for each in (data, *less_escaped(data)):
            for at, numbers in self._groups.found_in(each):
                around = each[max(0, at - _AROUND) : at + WIDTH + _AROUND]  # four bytes alone are in many a number
                found.update(
                    number
                    for number in numbers
                    if number not in found and any(end in around for end in self._ends[number])
                )
        return found
