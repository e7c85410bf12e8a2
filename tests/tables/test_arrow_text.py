from __future__ import annotations

import decimal
import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.arrow_text import (
    DECIMAL_DIGITS,
    INSTANT,
    LOCAL_TIME,
    NUMBER,
    all_match,
    decimal_of,
    exceeds_float,
    frame_of,
    has_nanoseconds,
    instants_from,
    local_times_from,
    numbers_from,
    series_of,
    string_array,
    text_of,
    texts_of,
    without_blanks,
)
from toolkit.tables.json_body import NumberText

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4)
INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timedelta(minutes=minutes))


def test_half_a_surrogate_pair():
    """A lone surrogate, which UTF-8 cannot encode, is replaced by U+FFFD."""
    assert string_array(["a\ud800b", None]).to_pylist() == ["a\ufffdb", None]


@given(st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_text_of_scalars(value):
    """The text of a scalar is its JSON."""
    assert text_of(value) == json.dumps(value)


def test_texts_of():
    """Numbers keep their digits, and null stays missing."""
    values = [None, NumberText("1.50"), Decimal("2.0"), 1.0, "x"]
    assert texts_of(values).to_pylist() == [None, "1.50", "2.0", "1.0", "x"]


def test_an_integer_too_long_for_text():
    """An integer that Python refuses to write raises TabulationError."""
    with pytest.raises(TabulationError, match="too many digits"):
        text_of(10**5000)


@pytest.mark.parametrize(
    ("texts", "matches"),
    [
        (["12", None, "3"], True),
        (["12", "x"], False),
        (["x", "12"], False),
        (["12\n"], False),
        ([None], False),
        ([], False),
    ],
)
def test_all_match(texts, matches):
    """Every text has to match from its first to its last character; without texts nothing matches."""
    assert all_match(string_array(texts), "^[0-9]+$") is matches


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_round_trip(numbers):
    """The text of a float gives the float back."""
    assert numbers_from(string_array(map(repr, numbers)), "float").to_pylist() == numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from(["float", "decimal"]))
def test_integers_are_int64(numbers, kind):
    """Integers are exact in the whole range of int64, whatever the type of fractions is."""
    result = numbers_from(string_array(map(str, numbers)), kind)
    assert result.type == pa.int64()
    assert result.to_pylist() == numbers


@pytest.mark.parametrize(
    ("texts", "kind", "expected"),
    [
        (["1e5", "-1.5E-3"], pa.decimal128(18, 4), ["100000", "-0.0015"]),
        (["0." + "1" * 38], pa.decimal128(38, 38), ["0." + "1" * 38]),
        (["9" * 38, None], pa.decimal128(38, 0), ["9" * 38, None]),
        (["9223372036854775808"], pa.decimal128(19, 0), ["9223372036854775808"]),
        (["0e999999999", "1.0"], pa.decimal128(18, 1), ["0.0", "1.0"]),
        (["-0.0e9999999999999999999999", "1.0"], pa.decimal128(18, 1), ["0.0", "1.0"]),
    ],
)
def test_decimal_types(texts, kind, expected):
    """The precision is that of the numbers, and leaves room for a sum and a product."""
    numbers = numbers_from(string_array(texts), "decimal")
    assert numbers.type == kind
    assert numbers.to_pylist() == [None if text is None else Decimal(text) for text in expected]


@pytest.mark.parametrize(
    "text",
    [
        "9" * (DECIMAL_DIGITS + 1),
        "1e39",
        "1e-39",
        "1e999999999",
        "1e9999999999999999999999",
        "1e-9999999999999999999999",
        "0." + "1" * 39,
    ],
)
def test_too_long_for_a_decimal(text):
    """A number that does not fit decimal128 gives None, and costs no memory."""
    assert numbers_from(string_array([text]), "decimal") is None


@pytest.mark.parametrize("trap", [True, False])
def test_exponents_that_decimal_cannot_hold(trap):
    """A number with a huge exponent gives None, unless it is zero, whatever the user's decimal context is."""
    with decimal.localcontext() as context:
        context.traps[decimal.InvalidOperation] = trap
        assert decimal_of("1e9999999999999999999999") is None
        assert decimal_of("0.00e9999999999999999999999") == 0
        assert decimal_of("1.50") == Decimal("1.50")


def test_too_large_for_a_float():
    """A number that does not fit float64 gives None rather than an infinity."""
    assert numbers_from(string_array(["1e999"]), "float") is None


@pytest.mark.parametrize("text", ["0", "-0", "10", "1.50", "-0.5", "1e5", "1E+5", "1.5e-10"])
def test_number(text):
    """The pattern matches numbers as JSON writes them."""
    assert re.fullmatch(NUMBER, text)


@pytest.mark.parametrize(
    "text", ["", "007", "00.5", "-01", "+1", ".5", "1.", " 1", "1 ", "1,000", "0x1", "inf", "NaN", "1_0", "\u0661"]
)
def test_not_a_number(text):
    """The pattern does not match leading zeros, or digits of other scripts."""
    assert not re.fullmatch(NUMBER, text)


@given(DECIMALS)
def test_15_digits_fit_a_float(number):
    """A number that does not exceed float64 reads back from it digit for digit."""
    text = format(number, "f")
    if not exceeds_float(string_array([text])):
        assert Decimal(repr(float(text))) == number


@pytest.mark.parametrize(
    ("text", "exceeds"),
    [
        ("9999999999999.99", False),
        ("10000000000000.01", True),
        ("-0.000000000000000000000123456789012345", False),
        ("1234567890123450000000000", False),
        ("1.00000000000000000000", False),
        ("1.234567890123456e-5", True),
    ],
)
def test_significant_digits(text, exceeds):
    """Cents fit below 1e13, and zeros around the digits do not count."""
    assert exceeds_float(string_array([None, text])) is exceeds


def rfc_3339(instant, offset, *, lower):
    """Return the text of an instant at an offset."""
    sign, minutes = ("-", -offset) if offset < timedelta(0) else ("+", offset)
    hours, rest = divmod(int(minutes.total_seconds()) // 60, 60)
    text = f"{(instant + offset).replace(tzinfo=None).isoformat()}{sign}{hours:02}:{rest:02}"
    return text.lower() if lower else text.replace("+00:00", "Z")


@given(st.lists(st.tuples(INSTANTS, OFFSETS, st.booleans()), min_size=1))
def test_instants_round_trip(cases):
    """RFC 3339 text of any offset gives the instant in UTC, to the microsecond."""
    texts = [rfc_3339(instant, offset, lower=lower) for instant, offset, lower in cases]
    assert all(re.fullmatch(INSTANT, text) for text in texts)
    result = instants_from(string_array(texts))
    assert result.type == pa.timestamp("us", "UTC")
    assert result.to_pylist() == [instant for instant, _, _ in cases]


@given(st.lists(st.dates(), min_size=1))
def test_dates_round_trip(dates):
    """A date becomes its midnight without a zone."""
    texts = [day.isoformat() for day in dates]
    assert all(re.fullmatch(LOCAL_TIME, text) for text in texts)
    assert [instant.date() for instant in local_times_from(string_array(texts)).to_pylist()] == dates


def test_nanoseconds_are_cut():
    """Digits beyond the microsecond are cut, not rounded, and `has_nanoseconds` tells that there were some."""
    texts = string_array(["2026-05-12T09:30:00.123456999Z", "2026-05-12T09:30:00Z", None])
    assert instants_from(texts).to_pylist() == [
        datetime(2026, 5, 12, 9, 30, 0, 123456, UTC),
        datetime(2026, 5, 12, 9, 30, tzinfo=UTC),
        None,
    ]
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
def test_impossible_instants(text):
    """A text that looks like an instant, but that datetime cannot represent, gives None."""
    assert re.fullmatch(INSTANT, text)
    assert instants_from(string_array(["2026-05-12T00:00:00Z", text])) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2016-05-11 02:59:17", datetime(2016, 5, 11, 2, 59, 17)),  # noqa: DTZ001 - a local time
        ("2016-05-11T02:59:17.5", datetime(2016, 5, 11, 2, 59, 17, 500_000)),  # noqa: DTZ001
        ("2016-05-11 02:59:17.1234567", datetime(2016, 5, 11, 2, 59, 17, 123_456)),  # noqa: DTZ001
        ("2016-05-11", datetime(2016, 5, 11)),  # noqa: DTZ001
    ],
)
def test_local_times(text, expected):
    """A time without an offset stays as it is, with a space or a T; a date is its midnight."""
    assert re.fullmatch(LOCAL_TIME, text)
    assert local_times_from(string_array([text, None])).to_pylist() == [expected, None]


@pytest.mark.parametrize("text", ["2016-05-11 02:59", "2016-05-11 02:59:17Z", "2016-05-11 02", "2016-5-1", ""])
def test_not_a_local_time(text):
    """The pattern does not match instants and other formats."""
    assert not re.fullmatch(LOCAL_TIME, text)


def test_without_blanks():
    """Empty texts become missing, other texts stay."""
    assert without_blanks(string_array(["", None, "a", " "])).to_pylist() == [None, None, "a", " "]


@pytest.mark.parametrize("text", ["2026-02-30", "0000-01-01", "2026-13-01", "2026-05-12 24:00:00"])
def test_impossible_dates(text):
    """A date that does not exist gives None."""
    assert re.fullmatch(LOCAL_TIME, text)
    assert local_times_from(string_array([date(2026, 5, 12).isoformat(), text])) is None


@pytest.mark.parametrize(
    "text", ["2026-05-12T09:30:00", "2026-05-12", "20260512T093000Z", "2026-05-12T09:30Z", "12:00:00Z"]
)
def test_not_rfc_3339(text):
    """The pattern does not match local times and other formats."""
    assert not re.fullmatch(INSTANT, text)


def test_dtypes():
    """Each Arrow type has its dtype, whether or not a value is missing."""
    columns = {
        "integer": pa.array([1, None]),
        "boolean": pa.array([True, None]),
        "number": pa.array([1.5, None]),
        "text": pa.array(["a", None]),
        "instant": pa.array([0, None], pa.timestamp("us", "UTC")),
        "date": pa.array([0, None], pa.timestamp("us")),
        "decimal": pa.array([Decimal("1.50"), None]),
        "nothing": pa.nulls(2),
        "mixed": [1, "x"],
        "requested": pd.Series(["a", "b"], dtype="category"),
    }
    frame = frame_of(columns, 2)
    assert frame.dtypes.astype(str).to_dict() == {
        "integer": "Int64",
        "boolean": "boolean",
        "number": "float64",
        "text": "str",
        "instant": "datetime64[us, UTC]",
        "date": "datetime64[us]",
        "decimal": "decimal128(3, 2)[pyarrow]",
        "nothing": "object",
        "mixed": "object",
        "requested": "category",
    }
    assert frame.index.equals(pd.RangeIndex(2))
    assert frame["instant"].dt.tz is pd.DatetimeTZDtype("us", "UTC").tz


def test_rows_without_columns():
    """Records without keys are still rows."""
    assert frame_of({}, 3).shape == (3, 0)
    assert frame_of({"a": pa.nulls(0)}, 0).shape == (0, 1)


def test_series():
    """A column on its own has the dtype that it has in a DataFrame."""
    assert series_of(pa.array([1])).dtype == "Int64"
    assert series_of([1, "x"]).dtype == object
