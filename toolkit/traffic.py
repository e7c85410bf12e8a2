"""How many calls of this process went out and how many were replayed: what tells live work from a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class Traffic:
    """Counts that only grow. Threads may lose a count to each other, never all of them.

    Attributes:
        sent: calls that went out.
        played: calls that a cassette answered.
    """

    sent: int = 0
    played: int = 0


TRAFFIC: Final = Traffic()
