"""How old a recording is, and whether the project counts it as stale. Nothing is recorded again by itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from toolkit.core.clock import SystemClock
from toolkit.core.ledger import EPOCH
from toolkit.core.user_code import shell, warn
from toolkit.core.words import count_text, date_text


def age_of(recorded_at: datetime | None, now: datetime) -> timedelta | None:
    """Return the age of a recording, or None if it is not known when it was made."""
    return None if recorded_at in (None, EPOCH) else now - recorded_at


def is_stale(recorded_at: datetime | None, stale_after: int | None, now: datetime) -> bool:
    """Check whether a recording has reached the age, in days, from which it counts as stale; None for never."""
    age = age_of(recorded_at, now)
    return age is not None and stale_after is not None and age >= timedelta(days=stale_after)


def staleness_text(path: Path, recorded_at: datetime | None, stale_after: int | None, now: datetime) -> str | None:
    """Return a sentence about a stale recording, or None if it is not stale."""
    age = age_of(recorded_at, now)
    if recorded_at is None or age is None or stale_after is None or not is_stale(recorded_at, stale_after, now):
        return None
    return (
        f"{path.name} was recorded on {date_text(recorded_at)}, {count_text(age.days, 'day')} ago, "
        f"and counts as stale after {count_text(stale_after, 'day')} (stale_after in toolkit.toml)."
    )


def warn_if_stale(path: Path, recorded_at: datetime | None, stale_after: int | None) -> None:
    """Warn in a script that a recording which is opened is stale. A notebook must show the same on any day.

    Args:
        path: the file of the recording.
        recorded_at: when its first interaction was recorded, or None.
        stale_after: age in days from which it is stale, or None for never.
    """
    if shell() is None and (text := staleness_text(path, recorded_at, stale_after, SystemClock().now())):
        warn(f'{text} To record it again, open it with mode="all".')
