from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.arrow_text import DATE, INSTANT, dates_from, has_nanoseconds, instants_from, string_array

DAY = timedelta(days=1)
INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timedelta(minutes=minutes))


def written(instant, offset, *, lower):
    """RFC 3339 text of an instant at an offset."""
    sign, minutes = ("-", -offset) if offset < timedelta(0) else ("+", offset)
    hours, rest = divmod(int(minutes.total_seconds()) // 60, 60)
    text = f"{(instant + offset).replace(tzinfo=None).isoformat()}{sign}{hours:02}:{rest:02}"
    return text.lower() if lower else text.replace("+00:00", "Z")


@given(st.lists(st.tuples(INSTANTS, OFFSETS, st.booleans()), min_size=1))
def test_instants_round_trip(cases):
    """RFC 3339 text of any offset gives the instant in UTC, to the microsecond."""
    texts = [written(instant, offset, lower=lower) for instant, offset, lower in cases]
    assert all(re.fullmatch(INSTANT, text) for text in texts)
    found = instants_from(string_array(texts))
    assert found.type == pa.timestamp("us", "UTC")
    assert found.to_pylist() == [instant for instant, _, _ in cases]


@given(st.lists(st.dates(), min_size=1))
def test_dates_round_trip(dates):
    """A date is its midnight without a zone."""
    texts = [day.isoformat() for day in dates]
    assert all(re.fullmatch(DATE, text) for text in texts)
    assert [instant.date() for instant in dates_from(string_array(texts)).to_pylist()] == dates


def test_nanoseconds_are_cut():
    """Digits beyond the microsecond are cut off, not rounded, and it is known that they were there."""
    texts = string_array(["2026-05-12T09:30:00.123456999Z", "2026-05-12T09:30:00Z", None])
    found = instants_from(texts).to_pylist()
    assert found == [datetime(2026, 5, 12, 9, 30, 0, 123456, UTC), datetime(2026, 5, 12, 9, 30, tzinfo=UTC), None]
    assert has_nanoseconds(texts)
    assert not has_nanoseconds(string_array(["2026-05-12T09:30:00.123456000Z"]))


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30T00:00:00Z",
        "2026-05-12T24:00:00Z",
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_no_instants(text):
    """What looks like an instant and is none that datetime knows is left as text."""
    assert re.fullmatch(INSTANT, text)
    assert instants_from(string_array(["2026-05-12T00:00:00Z", text])) is None


@pytest.mark.parametrize("text", ["2026-02-30", "0000-01-01", "2026-13-01"])
def test_no_dates(text):
    """A day that no calendar has is left as text."""
    assert re.fullmatch(DATE, text)
    assert dates_from(string_array([date(2026, 5, 12).isoformat(), text])) is None


@pytest.mark.parametrize(
    "text", ["2026-05-12T09:30:00", "2026-05-12", "20260512T093000Z", "2026-05-12T09:30Z", "12:00:00Z"]
)
def test_not_rfc_3339(text):
    """Local times and other formats are no instants."""
    assert not re.fullmatch(INSTANT, text)
