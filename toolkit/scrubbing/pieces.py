"""Pieces of secrets in a text: what a table cuts short, a box wraps, a markup interrupts, a traceback abridges."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Final

from toolkit.scrubbing.prefilter import WIDTH, Groups, group_at

SHORTEST_PIECE: Final = 12  # bytes; ordinary text has shorter runs in common with a secret by chance
_MOST_PLACES: Final = 16  # of the same four bytes; tokens begin alike, and are told apart by what follows
# A word or a name is no piece of a secret, though a secret may hold one: a piece has digits among letters, or cases
# that change back and forth.
_RANDOM: Final = re.compile(rb"[0-9].*[A-Za-z]|[A-Za-z].*[0-9]|[a-z][A-Z]+[a-z].*[A-Z]", re.DOTALL)


class Pieces:
    """Finds runs of SHORTEST_PIECE bytes or more that some secret holds as well, in one pass over the text.

    Every four bytes of each secret are kept; of a text every fourth group of four is looked up, and where one
    is found, as much around it as is the same.
    """

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._secrets: list[tuple[bytes, bytes]] = []
        self._places: Groups[tuple[tuple[int, int], ...]] = Groups()  # number of the secret, and where in it

    def add(self, secret: str, stand_in: str) -> None:
        """Know one more secret, and what is shown in place of its pieces."""
        head, dot, rest = secret.partition(".")
        if dot and _is_header(head):
            secret = rest
        data = secret.encode("utf-8", "surrogatepass")
        if len(data) < SHORTEST_PIECE or data in self._known:
            return
        self._known.add(data)
        number = len(self._secrets)
        self._secrets.append((data, stand_in.encode()))
        for at in range(len(data) - WIDTH + 1):
            if len(set(data[at : at + WIDTH])) == 1:
                continue  # such as a line of dashes: says nothing, and would be looked for at each of its places
            group = group_at(data, at)
            places = self._places.get(group) or ()
            if len(places) < _MOST_PLACES:
                self._places.put(group, (*places, (number, at)))

    def replaced_in(self, text: str) -> str:
        """The text with what stands for a secret in place of each piece of it."""
        if not self._secrets:
            return text
        data = text.encode("utf-8", "surrogatepass")
        parts, done = [], 0
        for start, end, stand_in in self._spans(data):
            parts += [data[done:start], stand_in]
            done = end
        return b"".join((*parts, data[done:])).decode("utf-8", "surrogatepass") if parts else text

    def _spans(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        done = 0
        for at, places in self._places.found_in(data):
            if at < done:
                continue
            runs = [self._run(data, at, number, place) for number, place in places]
            start, end, number = max(runs, key=lambda run: run[1] - run[0])
            start, end = max(_whole(data, start, -1), done), _whole(data, end, 1)
            if end - start >= SHORTEST_PIECE and _RANDOM.search(data, start, end):
                done = end
                yield start, end, self._secrets[number][1]

    def _run(self, data: bytes, at: int, number: int, place: int) -> tuple[int, int, int]:
        """Begin and end, in the data, of what is the same around four bytes that are; and whose it is."""
        secret = self._secrets[number][0]
        before = _shared(data[max(0, at - place) : at][::-1], secret[:place][::-1])
        after = _shared(data[at : at + len(secret) - place], secret[place:])
        return at - before, at + after, number


def _is_header(text: str) -> bool:
    """Whether this is the header of a signed token (RFC 7515 section 4), which is public, and the same in many."""
    try:
        header = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:  # neither base64 nor JSON: a secret that begins like one
        return False
    return isinstance(header, dict) and "alg" in header


def _whole(data: bytes, at: int, step: int) -> int:
    """Where the character ends, or begins, in which a piece ends or begins: two may have their first byte in common."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    return at


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two texts have in common at their beginnings."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, its) in pairs if mine != its), min(len(one), len(other)))
