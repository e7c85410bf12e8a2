"""Regular expressions that are compiled when they are first used.

Long patterns take milliseconds to compile, and most sessions need few of them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import AnyStr

_compile = cache(re.compile)


def compiled(pattern: AnyStr) -> re.Pattern[AnyStr]:
    """Return the compiled form of a pattern, which begins with its flags, such as `(?i)`."""
    return _compile(pattern)
