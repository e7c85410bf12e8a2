"""The accounts of each correspondent: their identifiers, and the number that belongs to an identifier.

Identifiers come from a digest, so the way back needs an index. It is made at first use, and then each look-up takes the
same time, however many accounts there are.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from toolkit.practice_service import payloads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class AccountIndex:
    """Finds the accounts of correspondents.

    Args:
        count: number of accounts of each correspondent.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._numbers_by_id = cache(self._index)
        self._numbers_by_status = cache(self._with_status)

    def number_of(self, holder: str, account_id: str) -> int | None:
        """Return the number (from 0) of a holder's account, or None if the holder does not have it."""
        return self._numbers_by_id(holder).get(account_id)

    def numbers(self, holder: str, status: str | None = None) -> Sequence[int]:
        """Return the numbers of a holder's accounts, in order; with a status, of those that have it."""
        return range(self._count) if status is None else self._numbers_by_status(holder, status)

    def _index(self, holder: str) -> Mapping[str, int]:
        return {payloads.account_id(holder, number): number for number in range(self._count)}

    def _with_status(self, holder: str, status: str) -> Sequence[int]:
        return [number for number in range(self._count) if payloads.account_status(holder, number) == status]
