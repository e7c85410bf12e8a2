"""Replace pieces of secrets in displayed text: secrets that are shortened, wrapped, or split by markup.

This is only for displayed output. Recordings are searched for whole secrets, in every form.
"""

from __future__ import annotations

from typing import Final

SHORTEST_PIECE: Final = 12  # characters; shorter runs of ordinary text may match a secret by chance
_HEADERS: Final = ("eyJhbGci", "eyJ0eXAi", "eyJraWQi")  # of signed tokens (RFC 7515 section 4), which many tokens share
_SIGN: Final = 4  # characters
_STEP: Final = SHORTEST_PIECE - _SIGN + 1  # one of the signs in every piece begins at a multiple of this


class Pieces:
    """Secrets whose pieces are replaced. A piece is a run of SHORTEST_PIECE or more characters of a secret."""

    def __init__(self) -> None:
        self._secrets: dict[str, None] = {}
        self._signs: set[str] = set()  # every run of four characters in each secret
        self._stand_ins: dict[str, str] = {}  # keyed by every run of twelve characters in each secret

    def add(self, secret: str, stand_in: str) -> None:
        """Add a secret, and the stand-in that is shown in place of its pieces."""
        if secret.startswith(_HEADERS) and "." in secret:
            secret = secret.partition(".")[2]
        if len(secret) < SHORTEST_PIECE or secret in self._secrets:
            return
        self._secrets[secret] = None
        for at in range(len(secret) - SHORTEST_PIECE + 1):
            piece = secret[at : at + SHORTEST_PIECE]
            if len(set(piece)) > 1:  # not a line of dashes
                self._stand_ins.setdefault(piece, stand_in)
        self._signs.update(secret[at : at + _SIGN] for at in range(len(secret) - _SIGN + 1))

    def replace_in(self, text: str) -> str:
        """Return a string in which each piece of a secret is replaced by the secret's stand-in."""
        pieces: list[str] = []
        done = at = 0
        while at < len(text):
            start = self._piece_around(text, at, done) if text[at : at + _SIGN] in self._signs else None
            if start is None:
                at += _STEP
                continue
            pieces += [text[done:start], self._stand_ins[text[start : start + SHORTEST_PIECE]]]
            while text[start + 1 : start + 1 + SHORTEST_PIECE] in self._stand_ins:
                start += 1
            done = at = start + SHORTEST_PIECE
        return "".join((*pieces, text[done:])) if pieces else text

    def unfinished(self, text: str) -> int:
        """Return the length of the longest suffix that may be the start of a piece; 0 if it is shorter than 4."""
        if text[-_SIGN:] not in self._signs:
            return 0
        length = 0
        for secret in self._secrets:
            while length < len(text) and text[-length - 1 :] in secret[:-1]:
                length += 1
        return length if length >= _SIGN else 0

    def _piece_around(self, text: str, at: int, first: int) -> int | None:
        """Return the start of a piece that contains the four characters at a position, or None."""
        starts = range(max(first, at - _STEP + 1), at + 1)
        return next((start for start in starts if text[start : start + SHORTEST_PIECE] in self._stand_ins), None)
