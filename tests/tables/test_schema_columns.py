from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables.schema import schema
from toolkit.tables.tabulation import tabulate

TEXTS = st.sampled_from(
    ["", "x", "1", "1.50", "007", "1e5", "2026-05-12", "2026-05-12 09:30:00", "2026-05-12T09:30:00Z", "true", "1e999"]
)
FLOATS = st.floats(-1e9, 1e9).map(lambda number: round(number, 5))
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | FLOATS | TEXTS
# Columns whose values are of one kind, and of any kind.
VALUES = st.sampled_from(
    [
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        FLOATS | st.integers(-(2**60), 2**60),
        TEXTS,
        st.lists(SCALARS, max_size=2),
        st.sampled_from(["2026-05-12", "", "2026-05-12 09:30:00.5"]),
        st.sampled_from(["2026-05-12T09:30:00Z", "", "2026-05-12t09:30:00.123456789+01:00"]),
        st.decimals(-(10**12), 10**12, places=3).map(str),
    ]
)
NAMES = st.sampled_from(["a", "b", "id", "a.b", "last4"])
PAGES = st.dictionaries(NAMES, VALUES).flatmap(
    lambda kinds: st.lists(st.fixed_dictionaries({}, optional={name: st.none() | kinds[name] for name in kinds}))
)


@pytest.mark.filterwarnings("ignore")
@given(PAGES, st.sampled_from(["float", "decimal", "text"]), st.booleans())
def test_round_trip(records, numbers, as_body):
    """The schema of a table reads the same data as the same table; only columns of mixed types become text."""
    data = json.dumps(records) if as_body else records
    table = tabulate(data, numbers=numbers)
    again = tabulate(data, numbers=numbers, schema=schema(table))
    for name in table.columns:
        if str(again[name].dtype) != str(table[name].dtype):
            assert str(table[name].dtype) == "object"
            table[name] = tabulate(data, numbers=numbers, dtypes={name: "str"})[name]
    pd.testing.assert_frame_equal(again, table, check_exact=True)


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, "x", None, True, 1.5], pa.string(), ["1", "x", None, "true", "1.5"]),
        ([[1, {"a": "é"}], None], pa.string(), ['[1, {"a": "é"}]', None]),
        ([1, 2.5, "3", "", None], pa.float64(), [1.0, 2.5, 3.0, None, None]),
        ([5.0, "6", "7.00", "8e0"], pa.int64(), [5, 6, 7, 8]),
        ([1, "2.5"], pa.decimal128(18, 2), [Decimal(1), Decimal("2.5")]),
        (["2026-05-12", ""], pa.date32(), [date(2026, 5, 12), None]),
        (["2026-05-12", "2026-05-12T09:30:00"], pa.timestamp("s"), ["2026-05-12 00:00:00", "2026-05-12 09:30:00"]),
        (
            ["2026-05-12T09:30:00.123456789Z"],
            pa.timestamp("ns", "UTC"),
            [pd.Timestamp("2026-05-12 09:30:00.123456789Z")],
        ),
        (["a", "b", "a"], pa.dictionary(pa.int8(), pa.string()), ["a", "b", "a"]),
    ],
)
def test_values_that_fit(values, kind, expected):
    """A value gets the type of the schema, whatever would be inferred from the column."""
    table = tabulate([{"a": value} for value in values], schema=pa.schema([("a", kind)]))
    if pa.types.is_timestamp(kind) and kind.tz is None:
        expected = list(map(pd.Timestamp, expected))
    result = table["a"].astype(object).where(table["a"].notna(), None).tolist()
    assert result == expected


@pytest.mark.parametrize(
    ("values", "kind", "row"),
    [
        ([1, None, "x"], pa.int64(), 2),
        (["1", "007"], pa.int64(), 1),
        (["2026-05-12T09:30:00Z", "2026-05-12T09:30:00.5Z"], pa.timestamp("s", "UTC"), 1),
        ([1_778_578_200], pa.timestamp("us", "UTC"), 0),
    ],
)
def test_misfits(values, kind, row):
    """The error names column, row and the type expected, and does not show it."""
    with pytest.raises(TabulationError) as caught:
        tabulate([{"a": value} for value in values], schema=pa.schema([("a", kind)]))
    assert caught.value.what == f"Column 'a', row {row}: the value does not fit {kind}."
    assert caught.value.about == "schema"
    assert caught.value.__cause__ is None
    with pytest.raises(TabulationError, match="Column 'a', row 1: a missing value does not fit int64"):
        tabulate([{"a": 1}, {"a": None}], dtypes={"a": "int64"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (["7", None], "Int64", [7, None]),
        ([2**64 - 1], "UInt64", [2**64 - 1]),
        ([1, None], pd.CategoricalDtype([1.0, 2.0]), [1.0, None]),
        ([1, "x", None], object, [1, "x", None]),
        (["2026-05-12T09:30:00+02:00"], "datetime64[us, UTC]", [pd.Timestamp("2026-05-12 07:30", tz="UTC")]),
        (["0.1", "12345678901234567.25", "1e23"], "float64", [0.1, 12345678901234567.25, 1e23]),
    ],
)
def test_requested_dtypes(values, dtype, expected):
    """A column gets the requested dtype, whatever would be inferred from its values."""
    series = tabulate([{"cash": value} for value in values], dtypes={"cash": dtype, "absent": "str"})["cash"]
    assert str(series.dtype) == str(pd.api.types.pandas_dtype(dtype))
    assert series.astype(object).where(series.notna(), None).tolist() == expected
