"""Pieces of secrets in what is displayed: tables cut text short, boxes wrap it, markup and tracebacks interrupt it.

Used for displays only. Recordings are searched for whole secrets, in every form.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Final

from toolkit.scrubbing.normal_form import WIDTH, WindowIndex, window_at

SHORTEST_PIECE: Final = 12  # bytes; ordinary text has shorter runs in common with a secret by chance
_MOST_PLACES: Final = 16  # for the same four bytes; tokens that begin alike differ in what follows


class Pieces:
    """The secrets whose pieces are replaced: runs of SHORTEST_PIECE bytes or more that a text shares with a secret.

    The index holds every four bytes of each secret, and the text is looked up four bytes at a time. A match is
    extended in both directions as far as text and secret agree.
    """

    def __init__(self) -> None:
        self._known: set[bytes] = set()
        self._secrets: list[tuple[bytes, bytes]] = []
        self._longest = 0  # bytes
        self._places: WindowIndex[tuple[tuple[int, int], ...]] = WindowIndex()  # numbers of secrets, and positions

    def add(self, secret: str, stand_in: str) -> None:
        """Add a secret, and what is shown in place of its pieces."""
        head, dot, rest = secret.partition(".")
        if dot and _is_header(head):
            secret = rest
        data = secret.encode("utf-8", "surrogatepass")
        if len(data) < SHORTEST_PIECE or data in self._known:
            return
        self._known.add(data)
        self._longest = max(self._longest, len(data))
        number = len(self._secrets)
        self._secrets.append((data, stand_in.encode()))
        for at in range(len(data) - WIDTH + 1):
            if len(set(data[at : at + WIDTH])) == 1:
                continue  # part of a line of dashes, which would match at each dash
            group = window_at(data, at)
            places = self._places.get(group) or ()
            if len(places) < _MOST_PLACES:
                self._places.put(group, (*places, (number, at)))

    def replace_in(self, text: str) -> str:
        """Return a text with the stand-in of a secret in place of each piece of the secret."""
        if not self._secrets:
            return text
        data = text.encode("utf-8", "surrogatepass")
        parts, done = [], 0
        for start, end, stand_in in self._spans(data):
            parts += [data[done:start], stand_in]
            done = end
        return b"".join((*parts, data[done:])).decode("utf-8", "surrogatepass") if parts else text

    def unfinished(self, text: str) -> int:
        """Return the length of the longest end of a text that may be a piece of a secret that goes on, 0 below 4."""
        data = text[-self._longest :].encode("utf-8", "surrogatepass") if self._longest else b""
        at = len(data) - WIDTH
        places = (self._places.get(window_at(data, at)) if at >= 0 else None) or ()
        runs = [
            self._run(data, at, number, place)
            for number, place in places
            if place + WIDTH < len(self._secrets[number][0])
        ]
        start = _character_edge(data, min((start for start, _, _ in runs), default=len(data)), 1)
        return len(data[start:].decode("utf-8", "surrogatepass"))

    def _spans(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        done = 0
        for at, places in self._places.matches_in(data):
            if at < done:
                continue
            runs = [self._run(data, at, number, place) for number, place in places]
            start, end, number = max(runs, key=lambda run: run[1] - run[0])
            start, end = max(_character_edge(data, start, -1), done), _character_edge(data, end, 1)
            if end - start >= SHORTEST_PIECE:
                done = end
                yield start, end, self._secrets[number][1]

    def _run(self, data: bytes, at: int, number: int, place: int) -> tuple[int, int, int]:
        """Return start and end of the run that the data has in common with a secret, and the secret's number."""
        secret = self._secrets[number][0]
        before = _common_length(data[max(0, at - place) : at][::-1], secret[:place][::-1])
        after = _common_length(data[at : at + len(secret) - place], secret[place:])
        return at - before, at + after, number


def _is_header(text: str) -> bool:
    """Check whether a text is the header of a signed token (RFC 7515 section 4), which many tokens share."""
    try:
        header = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:  # neither base64 nor JSON
        return False
    return isinstance(header, dict) and "alg" in header


def _character_edge(data: bytes, at: int, step: int) -> int:
    """Move a position to the edge of its UTF-8 character: two characters may share their first byte."""
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    return at


def _common_length(left: bytes, right: bytes) -> int:
    """Return the number of bytes that two texts have in common at their beginnings."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(left), len(right)))
