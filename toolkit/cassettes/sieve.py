"""Which of many secrets may be in a text at all: one pass over the text, however many secrets there are.

Each form of a secret has a run of letters and digits that stands plainly wherever the form does. Of its end
the groups of four bytes at each of four offsets are looked for among every fourth group of a text, and where
one is, the whole end. What comes out is a candidate, to be searched for exactly; what does not is not there.
"""

from __future__ import annotations

from typing import Final

from toolkit.cassettes.forms import SHORTEST_ANCHOR, Forms, less_escaped
from toolkit.cassettes.groups import WIDTH, Groups, group_at

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
