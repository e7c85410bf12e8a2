"""The words that displays share: counts, dates, lifetimes, and where answers come from."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final

from toolkit.cassettes.cassette import Cassette
from toolkit.cassettes.format import EPOCH
from toolkit.credentials import Credentials
from toolkit.service import Environment

KEY_PAIR: Final = "none: the key pair goes with every call"
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


def who_text(environment: Environment, credentials: Credentials | None) -> str:
    """Who calls: `desk · client secret · sandbox broker partner`."""
    holder = environment.rules.holder
    return f"{credentials.name} · {credentials.kind} · {holder}" if credentials else f"{holder}, as recorded"


def source_text(cassette: Cassette | None, ended: datetime | None) -> str:
    """Where answers come from, and of when.

    Args:
        cassette: what is replayed or recorded; None when live.
        ended: when the last call ended; None before the first. It dates what comes from the service
            itself, since a display that is saved must not depend on when it is looked at.
    """
    as_of = f", as of {instant_words(ended)}" if ended else ", no call yet"
    if cassette is None:
        return f"live calls{as_of}"
    if not cassette.replays:
        return f"live calls, recorded{as_of}" if cassette.records else "replayed, nothing recorded"
    at = cassette.recorded_at
    recorded = f"recorded {date_text(at)}" if at is not None and at != EPOCH else "recorded on an unknown day"
    return f"replayed and added to, {recorded}" if cassette.records else f"replayed, {recorded}"


def session_source(environment: Environment, cassette: Cassette | None, ended: datetime | None) -> str:
    """The same for a session, with whose account it is."""
    real = f" · {REAL_ACCOUNT}" if environment.rules.real_account else ""
    return f"{environment}{real} · {source_text(cassette, ended)}"


_MONTHS: Final = "January February March April May June July August September October November December".split()
