"""The words that displays share: counts, dates, lifetimes, and where answers come from."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final

REAL_ACCOUNT: Final = "real account"


def count_text(number: int, noun: str) -> str:
    """How many: `1 account`, `1,200 accounts`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def date_text(instant: datetime) -> str:
    """The day of an instant: `12 May 2026`, in English wherever it runs."""
    return f"{instant.day} {_MONTHS[instant.month - 1]} {instant.year}"


def instant_words(instant: datetime) -> str:
    """An instant to the second, in UTC: `12 May 2026, 09:30:07 UTC`."""
    at = instant.astimezone(UTC)
    return f"{date_text(at)}, {at.hour:02}:{at.minute:02}:{at.second:02} UTC"


def minutes_text(left: timedelta) -> str:
    """A lifetime as minutes and seconds, `12:07`; rounded up, so that `0:00` means that it is over."""
    minutes, seconds = divmod(max(0, math.ceil(left.total_seconds())), 60)
    return f"{minutes}:{seconds:02}"


_MONTHS: Final = "January February March April May June July August September October November December".split()
