"""Regular expressions that are compiled when they are first used, and searches that let other threads run.

Long patterns take milliseconds to compile, and most sessions need few of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import AnyStr, Final

SLICE: Final = 1 << 18  # characters that one search reads, since a search blocks all other threads

_compile = cache(re.compile)


def compiled(pattern: AnyStr) -> re.Pattern[AnyStr]:
    """Return the compiled form of a pattern, which begins with its flags, such as `(?i)`."""
    return _compile(pattern)


def matches_in(pattern: AnyStr, text: AnyStr, *, longest: int) -> Iterator[re.Match[AnyStr]]:
    """Yield the matches of a pattern in a text, which is searched slice by slice.

    Args:
        pattern: the pattern, as in `compiled`.
        text: the text.
        longest: characters of a match that are read beyond the end of the slice in which it starts.
    """
    done = 0
    for start in range(0, len(text), SLICE):
        end = start + SLICE
        for match in compiled(pattern).finditer(text, max(start, done), end + longest):
            if match.start() >= end:
                break
            yield match
            done = match.end()
