"""A text from a file, with what is needed to say where in the file it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

_LONGEST_PART: Final = 300  # characters of the words for a place


class TextPlace(NamedTuple):
    """The place of a text in a file.

    Attributes:
        lines: gives the line of the file, or of the member of an archive, for each line of the text, from 1.
        cell: number of the cell of a notebook, from 1, or None.
        part: the place in words, or "".
    """

    lines: Callable[[int], int]
    cell: int | None = None
    part: str = ""

    def inside(self, part: str, lines: Callable[[int], int] | None = None) -> TextPlace:
        """Return the place of something that is found here.

        Args:
            part: what it is, in words.
            lines: gives the line for each of its lines; by default its own lines count.
        """
        words = ", ".join(filter(None, (self.part, part)))[:_LONGEST_PART]
        # The name of an archive's member may be any bytes.
        return TextPlace(lines or own_lines, self.cell, words.encode("utf-8", "replace").decode())


class FileText(NamedTuple):
    """A text from a file, or a slice of one.

    Attributes:
        text: what is searched for values in the places of credentials; long runs of base64 may be shortened.
        place: where it stands.
        raw: what is searched for known secrets; None for the text itself.
        start, end: positions in the text; what begins outside belongs to the slice before or after.
        secret_kind: what the whole text is if it is a secret by its place, such as the value of a password field.
    """

    text: str
    place: TextPlace
    raw: str | bytes | None = None
    start: int = 0
    end: int = 1 << 62
    secret_kind: str = ""


def own_lines(line: int) -> int:
    """Return the line itself."""
    return line
