"""The budget of one file: bytes that opening it may take and give.

Time is not measured, so that every machine decides alike.
"""

from __future__ import annotations

from typing import Final

ATTEMPT: Final = 2048  # bytes that each attempt to decompress costs at least: about as long as it takes to begin one

_ALLOWANCE: Final = 64 << 20  # bytes: a source archive of 2 MB, or thousands of small members
_MULTIPLE: Final = 32  # of the input: a large body in base64, with base64 in it, takes 10 to 20


class TooMuchError(Exception):
    """The data is too large or too deep to scan."""


class Budget:
    """Counts the bytes of one file.

    Args:
        size: bytes of the input.
    """

    __slots__ = ("left",)

    def __init__(self, size: int) -> None:
        self.left = _ALLOWANCE + _MULTIPLE * size

    def spend(self, size: int) -> None:
        """Take bytes from the budget.

        Raises:
            TooMuchError: if it is used up.
        """
        self.left -= size
        if self.left < 0:
            raise TooMuchError
