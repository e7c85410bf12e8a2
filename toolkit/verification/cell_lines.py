"""Find the lines of a notebook's file where its cells stand, for annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_decode: Final = json.JSONDecoder().raw_decode


def cell_lines(data: bytes) -> list[int]:
    """Return the line of each cell's source, from 1; the line of the cell itself if it has no source.

    Args:
        data: the bytes of a notebook that can be read (see `read_notebook`).
    """
    text = data.decode(json.detect_encoding(data))
    lines = []
    at, line = 0, 1
    for start in _starts_of_sources(text):
        line += text.count("\n", at, start)
        at = start
        lines.append(line)
    return lines


def _starts_of_sources(text: str) -> Iterator[int]:
    for name, start, _ in _members(text, _after_space(text, 0)):
        if name != "cells":
            continue
        at = _after_space(text, start + 1)
        while text[at] != "]":
            members = list(_members(text, at))
            yield next((place for name, place, _ in members if name == "source"), at)
            at = _after_space(text, _end_of_object(text, at, members))
            if text[at] == ",":
                at = _after_space(text, at + 1)
        return


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each member of the object at `start`, and the start and end of its value."""
    at = _after_space(text, start + 1)
    while text[at] != "}":
        name, at = _decode(text, at)
        value = _after_space(text, _after_space(text, at) + 1)
        yield name, value, (at := _end(text, value))
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)


def _end_of_object(text: str, start: int, members: list[tuple[str, int, int]]) -> int:
    return text.index("}", members[-1][2] if members else start) + 1


def _end(text: str, start: int) -> int:
    end: int = _decode(text, start)[1]
    return end


def _after_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]
