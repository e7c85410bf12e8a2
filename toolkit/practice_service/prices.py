"""Prices that move with the clock: the same for the same symbol and second in every run.

A price wanders around a base. Three waves add up: one turns about once a day, one about once an hour, one about once
a minute. The turning points come from a digest and the way between two of them is smooth. Everything is computed with
whole numbers, so that every machine gives the same price.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

# Seconds between two turning points, and the furthest distance from the base in millionths of it.
_WAVES: Final = ((86_400, 60_000), (3_600, 12_000), (60, 2_000))
_MILLION: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


def price(symbol: str, at: datetime) -> Decimal:
    """Return the price of a symbol at an aware instant, in cents; it stays within 8 % of the symbol's base."""
    return _price((at - _EPOCH) // _SECOND, symbol)


def base_price(symbol: str) -> Decimal:
    """Return the price around which a symbol wanders, from 5.00 to 505.00."""
    return Decimal(_base(symbol)).scaleb(-2)


def draw(label: str, upper: int) -> int:
    """Return a number from 0 to `upper` (exclusive), taken from a digest and so the same in every Python version."""
    return int.from_bytes(hashlib.sha256(label.encode()).digest()[:8], "big") % upper


@lru_cache(maxsize=4096)
def _price(second: int, symbol: str) -> Decimal:
    cents = _base(symbol)
    millionths = _MILLION + sum(_wave(symbol, second, period, furthest) for period, furthest in _WAVES)
    return Decimal((cents * millionths + _MILLION // 2) // _MILLION).scaleb(-2)


def _wave(symbol: str, second: int, period: int, furthest: int) -> int:
    """Return the distance of a wave from the base, in millionths."""
    turn, passed = divmod(second, period)
    start, end = (_turning_point(symbol, period, turn + step, furthest) for step in (0, 1))
    # The smooth step 3x² - 2x³ for x = passed / period.
    return start + (end - start) * passed * passed * (3 * period - 2 * passed) // period**3


@lru_cache(maxsize=4096)
def _turning_point(symbol: str, period: int, turn: int, furthest: int) -> int:
    return draw(f"{symbol}/{period}/{turn}", 2 * furthest + 1) - furthest


@lru_cache(maxsize=4096)
def _base(symbol: str) -> int:
    return 500 + draw(f"{symbol}/price", 50_000)
