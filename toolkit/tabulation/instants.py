"""RFC 3339 instants, and dates, from text."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

# Section 5.6.
INSTANT: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
DATE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

_UTC: Final = pa.timestamp("us", "UTC")
_NO_ZONE: Final = pa.timestamp("us")
# Microseconds from 1970 to the first and the last instant that datetime has.
_FIRST: Final = -62_135_596_800_000_000
_LAST: Final = 253_402_300_799_999_999


def instants_from(texts: Any) -> Any | None:
    """An Arrow array of texts that match `INSTANT` in UTC, cut to microseconds; None when one is no instant."""
    found = _cast(texts, _UTC)
    if found is not None:
        return found
    return _cast(pc.replace_substring_regex(pc.utf8_upper(texts), r"(\.[0-9]{6})[0-9]+", r"\1"), _UTC)


def dates_from(texts: Any) -> Any | None:
    """An Arrow array of texts that match `DATE` as midnights without a zone; None when one is no date."""
    return _cast(texts, _NO_ZONE)


def has_nanoseconds(texts: Any) -> bool:
    """Whether one of the instants has digits beyond the microsecond."""
    return bool(pc.any(pc.match_substring_regex(texts, r"\.[0-9]{6}[0-9]*[1-9]")).as_py())


def _cast(texts: Any, kind: Any) -> Any | None:
    """The instants, or None when a text names none: 30 February, a leap second, the year 0."""
    try:
        found = texts.cast(kind)
    except pa.ArrowInvalid:
        return None
    bounds = pc.min_max(found.cast(pa.int64())).as_py()
    return found if bounds["min"] >= _FIRST and bounds["max"] <= _LAST else None
