"""Words that displays and errors share: counts, dates, lifetimes, and the right spelling of a name."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

REAL_ACCOUNT: Final = "real account"
PRACTICE: Final = "practice"  # in place of the above: a practice service answers
# Why a connection failed, as the end of a sentence. Recordings note it, and cannot make an error say anything else.
NAME_UNKNOWN: Final = "its host name is not known"
NO_LISTENER: Final = "nothing listens there"
NO_TLS: Final = "what answers there does not speak TLS"
PROXY_UNKNOWN: Final = "the host name of its proxy is not known"
NO_PROXY: Final = "nothing listens at its proxy"
NO_CONNECTION: Final = frozenset({NAME_UNKNOWN, NO_LISTENER, NO_TLS, PROXY_UNKNOWN, NO_PROXY})


def account_words(*, is_real: bool, is_practice: bool) -> str:
    """Return what to call the account that calls reach: a real account, practice in its place, or nothing.

    Args:
        is_real: True if calls are sent, and the environment is that of a real account.
        is_practice: True if a practice service answers.
    """
    if not is_real:
        return ""
    return PRACTICE if is_practice else REAL_ACCOUNT


def count_text(number: int, noun: str) -> str:
    """Return a count with its noun: `1 account`, `1,200 accounts`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def date_text(instant: datetime) -> str:
    """Return the day of an instant, in English whatever the locale: `12 May 2026`."""
    return f"{instant.day} {_MONTHS[instant.month - 1]} {instant.year}"


def instant_words(instant: datetime) -> str:
    """Return an instant to the second in UTC: `12 May 2026, 09:30:07 UTC`."""
    utc = instant.astimezone(UTC)
    return f"{date_text(utc)}, {utc.hour:02}:{utc.minute:02}:{utc.second:02} UTC"


def minutes_text(left: timedelta) -> str:
    """Return a remaining lifetime as minutes and seconds, `12:07`; rounded up, so that `0:00` means expired."""
    minutes, seconds = divmod(max(0, math.ceil(left.total_seconds())), 60)
    return f"{minutes}:{seconds:02}"


def nearest(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the valid name that a misspelt name probably means, or None; `cutoff` is the least similarity, 0 to 1."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(names), n=1, cutoff=cutoff)), None)


_MONTHS: Final = "January February March April May June July August September October November December".split()
