"""Which of many secrets may be in a text at all: one pass over the text, however many secrets there are.

Each form of a secret has a run of letters and digits that stands plainly wherever the form does. Four
bytes of it, taken at each of four offsets, are kept here; of a text every fourth group of four bytes is
looked up. What comes out is a candidate, to be searched for exactly; what does not is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from toolkit.cassettes.forms import SHORTEST_ANCHOR, Forms, less_escaped

_WIDTH: Final = 4  # bytes; an unsigned int
_OFFSETS: Final = range(SHORTEST_ANCHOR - _WIDTH + 1)  # one of them falls on a group of the text


class Sieve:
    """Secrets by number, some 4 kB each. Adding one is safe while another thread searches."""

    __slots__ = ("_owners", "_unsieved")

    def __init__(self) -> None:
        self._owners: dict[int, int | tuple[int, ...]] = {}
        self._unsieved: list[int] = []

    def add(self, number: int, forms: Forms) -> None:
        """Have a secret found from now on."""
        anchors = forms.anchors()
        if anchors is None:
            self._unsieved.append(number)
            return
        for anchor in set(anchors):
            for group in _groups_at_end(anchor):
                owner = self._owners.get(group)
                if owner is None:
                    self._owners[group] = number
                elif isinstance(owner, int) and owner != number:
                    self._owners[group] = (owner, number)
                elif isinstance(owner, tuple) and number not in owner:
                    self._owners[group] = (*owner, number)

    def candidates(self, data: bytes) -> set[int]:
        """Numbers of the secrets that may be in `data`; every one that is."""
        found = set(self._unsieved)
        found.update(self._owners_in(data))
        for plainer in less_escaped(data):
            found.update(self._owners_in(plainer))
        return found

    def _owners_in(self, data: bytes) -> Iterator[int]:
        groups = memoryview(data)[: len(data) // _WIDTH * _WIDTH].cast("I").tolist()
        owners = self._owners
        if owners.keys().isdisjoint(groups):
            return
        for group in set(groups):
            owner = owners.get(group)
            if isinstance(owner, tuple):
                yield from owner
            elif owner is not None:
                yield owner


def _groups_at_end(anchor: bytes) -> list[int]:
    end = anchor[-SHORTEST_ANCHOR:]
    return [int.from_bytes(end[offset : offset + _WIDTH], sys.byteorder) for offset in _OFFSETS]
