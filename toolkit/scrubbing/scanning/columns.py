"""Credentials in columns: files with commas or tabs between values, and tables as terminals and notebooks print them.

A line of names is followed by lines with as many values; the values below the name of a credential are looked at.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from toolkit.core.patterns import compiled, matches_in
from toolkit.scrubbing.finding.shapes import ShapedCredential
from toolkit.scrubbing.grading import secret_kind
from toolkit.scrubbing.strength import Strength, grade
from toolkit.scrubbing.vocabulary import Place, credential_kind

_WORDS: Final = (b"pass", b"secret", b"token", b"key")  # names of credentials in columns have one of these
_LONGEST_LINE: Final = 2_000  # characters
_MOST_ROWS: Final = 10_000
_NAMES: Final = r"[\w .,;|\t\r\"'-]{8,2000}"
_NAME: Final = r"[\w .-]{0,60}"
_SPACES: Final = r"[ ]{2,}"
_SEPARATORS: Final = (r"[ ]*,[ ]*", r"[ ]*;[ ]*", r"[ \t]*\|[ \t]*", r"\t", _SPACES)
_RULE: Final = r"[-+=| :\r]+"
_AROUND: Final = "\"' \t\r"


def columns_in(text: str, shadow: bytes) -> Iterator[ShapedCredential]:
    """Yield the credentials in columns, given a text and its shadow."""
    if "\n" not in text:
        return
    starts = {
        text.rfind("\n", 0, match.start()) + 1 for word in _WORDS for match in matches_in(word, shadow, longest=0)
    }
    done = 0
    for start in sorted(starts):
        end = text.find("\n", start, start + _LONGEST_LINE)
        if start < done or end < 0 or not compiled(_NAMES).fullmatch(text, start, end):
            continue
        for separator in _SEPARATORS:
            names = _cells(separator, text[start:end])
            if len(names) > 1 and all(map(compiled(_NAME).fullmatch, names)):
                wanted = [at for at, name in enumerate(names) if credential_kind(name, Place.JSON)]
                done = yield from _rows(text, end + 1, separator, names, wanted)
                break


def _rows(
    text: str, start: int, separator: str, names: list[str], wanted: list[int]
) -> Generator[ShapedCredential, None, int]:
    """Yield the credentials in the rows below names, and return the position where the rows end."""
    for _ in range(_MOST_ROWS if wanted else 0):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + _LONGEST_LINE)]
        cells = _cells(separator, line)
        more = len(cells) - len(names)  # a table of pandas begins with its index, which has no name
        if not (more == 0 or (more == 1 and separator == _SPACES)) and not compiled(_RULE).fullmatch(line):
            break
        at = start
        for number, cell in enumerate(cells):
            at = text.find(cell, at)
            if number - more in wanted and grade(cell) is Strength.STRONG:
                kind = secret_kind(names[number - more], cell, Place.JSON)
                if kind is not None:
                    yield ShapedCredential(at, at + len(cell), kind, "secret field", cell)
            at += len(cell)
        start = end + 1
        if start > len(text):
            break
    return start


def _cells(separator: str, line: str) -> list[str]:
    return [cell.strip(_AROUND) for cell in compiled(separator).split(line.strip("| \r"))]
