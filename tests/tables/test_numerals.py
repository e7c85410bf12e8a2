from __future__ import annotations

import decimal
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.tables.arrow_text import DECIMAL_DIGITS, NUMBER, decimal_of, exceeds_float, numbers_from, string_array

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=4)


def written(number):
    return format(number, "f")


@given(st.lists(DECIMALS, min_size=1))
def test_decimals_are_exact(numbers):
    """A decimal column holds every digit, and the scale of the longest number."""
    found = numbers_from(string_array(map(written, numbers)), "decimal")
    assert found.to_pylist() == numbers
    assert found.type == pa.decimal128(18, 4) or found.type.precision <= 18


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_floats_round_trip(numbers):
    """The text of a float gives the float back."""
    assert numbers_from(string_array(map(repr, numbers)), "float").to_pylist() == numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.sampled_from(["float", "decimal"]))
def test_integers_are_int64(numbers, kind):
    """Integers are exact to the last of int64, whatever numbers with a fraction become."""
    found = numbers_from(string_array(map(str, numbers)), kind)
    assert found.type == pa.int64()
    assert found.to_pylist() == numbers


@pytest.mark.parametrize(
    ("texts", "kind", "found"),
    [
        (["1e5", "-1.5E-3"], pa.decimal128(18, 4), ["100000", "-0.0015"]),
        (["0." + "1" * 38], pa.decimal128(38, 38), ["0." + "1" * 38]),
        (["9" * 38, None], pa.decimal128(38, 0), ["9" * 38, None]),
        (["9223372036854775808"], pa.decimal128(19, 0), ["9223372036854775808"]),
        (["0e999999999", "1.0"], pa.decimal128(18, 1), ["0.0", "1.0"]),
        (["-0.0e9999999999999999999999", "1.0"], pa.decimal128(18, 1), ["0.0", "1.0"]),
    ],
)
def test_decimal_types(texts, kind, found):
    """The precision is what the numbers need, and room for a sum and a product."""
    numbers = numbers_from(string_array(texts), "decimal")
    assert numbers.type == kind
    assert numbers.to_pylist() == [None if text is None else Decimal(text) for text in found]


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
    """A number that decimal128 cannot hold is left to the caller, and costs no memory."""
    assert numbers_from(string_array([text]), "decimal") is None


@pytest.mark.parametrize("trap", [True, False])
def test_exponents_beyond_counting(trap):
    """Whatever the reader's own arithmetic does about it, such a number is None, and zero is zero."""
    with decimal.localcontext() as context:
        context.traps[decimal.InvalidOperation] = trap
        assert decimal_of("1e9999999999999999999999") is None
        assert decimal_of("0.00e9999999999999999999999") == 0
        assert decimal_of("1.50") == Decimal("1.50")


def test_too_large_for_a_float():
    """A number that float64 cannot hold is no infinity."""
    assert numbers_from(string_array(["1e999"]), "float") is None


@pytest.mark.parametrize("text", ["0", "-0", "10", "1.50", "-0.5", "1e5", "1E+5", "1.5e-10"])
def test_numbers(text):
    """What JSON writes as a number reads as one."""
    assert re.fullmatch(NUMBER, text)


@pytest.mark.parametrize(
    "text", ["", "007", "00.5", "-01", "+1", ".5", "1.", " 1", "1 ", "1,000", "0x1", "inf", "NaN", "1_0", "\u0661"]
)
def test_no_numbers(text):
    """Leading zeros, and what only some languages read as a number, stay text."""
    assert not re.fullmatch(NUMBER, text)


@given(DECIMALS)
def test_15_digits_fit_a_float(number):
    """What is not said to exceed float64 reads back from it digit for digit."""
    text = written(number)
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
    """Cents fit below 1e13; zeros around the digits count for nothing."""
    assert exceeds_float(string_array([None, text])) is exceeds
