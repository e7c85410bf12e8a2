"""Regular expressions that are compiled when they are first used.

Long patterns take milliseconds to compile: together as long as all else that a first session loads. Most sessions
need few of them.
"""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled form of a pattern of this package; flags stand at its start, such as `(?i)`."""
    return re.compile(pattern)
