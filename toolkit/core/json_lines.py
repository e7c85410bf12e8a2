"""The lines on which the values of a JSON document start, which the module `json` does not report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

Path = tuple[str | int, ...]  # keys and indexes from the top

_SIGN: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"|[{}\[\],]|[^\s"{}\[\],:]++|\n', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_BREAKS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def lines_of_values(text: str, *, depth: int = 12) -> dict[Path, int]:
    """Return the line, from 1, of each value of a valid JSON document.

    Args:
        text: the document.
        depth: number of levels below the top whose values are noted.
    """
    return dict(_values(text, depth))


def _values(text: str, depth: int) -> Iterator[tuple[Path, int]]:
    line = 1
    stack: list[str | int] = []  # the key or index that is next or current, for each open object or array
    key: str | None = None
    is_object: list[bool] = []
    awaits_key = False
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign == "\n":
            line += 1
        elif sign in "}]":
            stack.pop()
            is_object.pop()
            awaits_key = False
        elif sign == ",":
            awaits_key = is_object[-1]
            if not awaits_key:
                stack[-1] = int(stack[-1]) + 1
        elif awaits_key and sign[0] == '"':
            key = match[1]
            stack[-1] = _unescaped(key)
            awaits_key = False
        else:
            if len(stack) <= depth:
                yield tuple(stack), line
            if sign in "{[":
                is_object.append(sign == "{")
                awaits_key = is_object[-1]
                stack.append("" if awaits_key else 0)


def _unescaped(key: str) -> str:
    if "\\" not in key:
        return key
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _BREAKS.get(match[2], match[2]), key)
