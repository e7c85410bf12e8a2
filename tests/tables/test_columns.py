from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.columns import Losses, column_of, typed
from toolkit.tables.json_body import Written


def made(values, numbers="float", *, key="cash", losses=None):
    return typed(column_of(key, key, values), numbers, losses or Losses())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, None], pa.bool_()),
        (["a", None], pa.string()),
        (["1", "2"], pa.int64()),
        (["1.50", None, "2"], pa.float64()),
        (["1.50", "x"], pa.string()),
        (["1.50", ""], pa.string()),
        ([1, "2.5"], pa.float64()),
        (["007", "8"], pa.string()),
        (["2026-05-12T09:30:00Z"], pa.timestamp("us", "UTC")),
        (["2026-05-12"], pa.timestamp("us")),
        (["2026-05-12", "2026-05-12T09:30:00Z"], pa.string()),
        (["2026-02-30"], pa.string()),
        (["2026-05-12T09:30:00"], pa.string()),
        ([None, None], pa.null()),
        ([], pa.null()),
        ([2**63], pa.float64()),
        (["1e999"], pa.string()),
    ],
)
def test_types(values, kind):
    """The values of a column speak for its type."""
    assert made(values).type == kind


@pytest.mark.parametrize("values", [["1", "2"], ["1.50"], ["2026-05-12"], [1, "2"]])
def test_identifiers_stay_text(values):
    """Under a name that says identifier, text is text."""
    assert made(values, key="account_number").to_pylist() == [str(value) for value in values]


def test_integers_between_floats_keep_their_digits():
    """Beside numbers with a fraction, an integer that float64 does not hold is what it was until it has a type."""
    losses = Losses()
    assert made([2**53 + 1, 1.5], losses=losses).to_pylist() == [2.0**53, 1.5]
    assert losses.digits == ["cash"]
    assert made([2**53 + 1, 1.5], "decimal").to_pylist() == [Decimal(2**53 + 1), Decimal("1.5")]
    assert made([2**53 + 1, 1.5, None], "text").to_pylist() == [str(2**53 + 1), "1.5", None]


@pytest.mark.parametrize("number", ["9" * 5000, "1e9999999999999999999999", "-1e-9999999999999999999999"])
def test_hostile_numbers_among_others(number):
    """A number that Python would not show, or not count to, is refused by its row, and kept as text."""
    for numbers in ("float", "decimal"):
        with pytest.raises(TabulationError, match=r"column 'cash', row 1: a number has too many digits"):
            made([True, Written(number)], numbers)
    assert made([True, Written(number)], "text") == [True, number]


def test_identifiers_that_are_numbers():
    """An identifier that came as a JSON number is an integer, and text where it fits none."""
    assert made([7, 8], key="id").type == pa.int64()
    assert made([2**63, 8], key="id").to_pylist() == [str(2**63), "8"]


@given(
    st.lists(
        st.none()
        | st.integers(-(2**63), 2**63 - 1)
        | st.text()
        | st.booleans()
        | st.floats(allow_nan=False, allow_infinity=False)
    )
)
def test_mixed_types_keep_their_values(values):
    """Values of a column under an identifier's name come back unchanged, or as their text."""
    found = made(values, key="id")
    found = found if isinstance(found, list) else found.to_pylist()
    assert len(found) == len(values)
    for before, after in zip(values, found, strict=True):
        assert after == before or after == str(before) or (isinstance(before, int) and after == float(before))


def test_mixed_types_are_objects():
    """Numbers among words stay numbers among words."""
    assert made([1, "x", True, None, 2.5]) == [1, "x", True, None, 2.5]
    mixed = [Written("1.50"), "x", Written("2")]
    assert made(mixed, "decimal") == [Decimal("1.50"), "x", 2]
    assert made(mixed, "text").to_pylist() == ["1.50", "x", "2"]


def test_numbers_as_text():
    """With numbers as text every number is text; booleans, instants and dates are what they are."""
    assert made([1, 2], "text").to_pylist() == ["1", "2"]
    assert made([1.5, 2], "text").to_pylist() == ["1.5", "2.0"]
    assert made(["1.50"], "text").to_pylist() == ["1.50"]
    assert made([Written("1.50"), Written("1E5")], "text").to_pylist() == ["1.50", "1E5"]
    assert made([True], "text").type == pa.bool_()
    assert made(["2026-05-12"], "text").type == pa.timestamp("us")


def test_numbers_as_decimals():
    """With numbers as decimals, fractions and integers beyond int64 are decimals."""
    assert made(["1.50", "2"], "decimal").to_pylist() == [Decimal("1.50"), Decimal(2)]
    assert made([1.1, 2], "decimal").to_pylist() == [Decimal("1.1"), Decimal(2)]
    assert made([Decimal("1.50")], "decimal").to_pylist() == [Decimal("1.50")]
    assert made([2**63], "decimal").to_pylist() == [Decimal(2**63)]
    assert made([1, 2], "decimal").type == pa.int64()


@pytest.mark.parametrize(
    ("values", "exceeds"),
    [
        (["1234567890123456.78"], True),
        ([1234567890123456.78], True),
        ([2**63 + 1], True),
        ([1, 2**53 + 1, 0.5], True),
        (["9007199254740993"], False),
        ([123456789012.34], False),
        (["9999999999999.99"], False),
    ],
)
def test_losses_are_noted(values, exceeds):
    """A column of float64 with more digits than it holds is noted; exact columns are not."""
    losses = Losses()
    made(values, losses=losses)
    assert losses.digits == (["cash"] if exceeds else [])
    for numbers in ("decimal", "text"):
        losses = Losses()
        made(values, numbers, losses=losses)
        assert losses.digits == []


def test_nanoseconds_are_noted():
    """A column of instants that had more digits than microseconds is noted."""
    losses = Losses()
    made(["2026-05-12T09:30:00.123456789Z"], losses=losses, key="at")
    assert losses.nanoseconds == ["at"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
@pytest.mark.parametrize("other", [1, "x", 1.5])
def test_no_number(value, other):
    """NaN and infinities are no JSON; the row is named."""
    with pytest.raises(TabulationError, match="column 'cash', row 1: expected a number"):
        column_of("cash", "cash", [other, value])


@pytest.mark.parametrize(("numbers", "text"), [("float", "1e999"), ("decimal", "1e999"), ("decimal", "1" * 39)])
def test_too_large(numbers, text):
    """A JSON number that the type cannot hold names its row."""
    with pytest.raises(TabulationError, match="column 'cash', row 2: expected numbers that"):
        made([Written("1.5"), None, Written(text)], numbers)


def test_too_many_digits_together():
    """Numbers that each fit a decimal and do not together fit one are refused without a row."""
    with pytest.raises(TabulationError, match="column 'cash': expected"):
        made([Written("1" * 30), Written("0." + "1" * 30)], "decimal")


def test_no_json_value():
    """A value that JSON does not have is refused by its type."""
    with pytest.raises(TabulationError, match="column 'cash' holds set, which is no JSON value"):
        made([{1}])
