from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.api.types import pandas_dtype

from toolkit.core.errors import TabulationError
from toolkit.tables.columns import Column
from toolkit.tables.conversion import NumberText
from toolkit.tables.schema import _as_dtype

CENTS = pd.ArrowDtype(pa.decimal128(12, 2))
TIME = pd.ArrowDtype(pa.time32("s"))


def requested(values, dtype):
    return _as_dtype(
        Column.of("cash", "cash", values),
        pandas_dtype(dtype),
        "float",
        {},
    )


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (["1", "2"], "Int64", [1, 2]),
        (["7", None], "Int64", [7, None]),
        ([1.0, 2.0], "int64", [1, 2]),
        ([2**64 - 1], "UInt64", [2**64 - 1]),
        (["1.5", None], "float32", [1.5, None]),
        ([1, "2.5"], "float64", [1.0, 2.5]),
        (["1.50", None], CENTS, [Decimal("1.50"), None]),
        ([NumberText("1.10"), NumberText("2")], CENTS, [Decimal("1.10"), Decimal(2)]),
        ([NumberText("1.50"), NumberText("2")], "str", ["1.50", "2"]),
        ([True, "x", 1.5], "str", ["true", "x", "1.5"]),
        (["true", "false"], "bool", [True, False]),
        (["a", "b"], "category", ["a", "b"]),
        ([1, "x", None], object, [1, "x", None]),
        ([None, None], "Int64", [None, None]),
        (["2026-05-12T09:30:00+02:00"], "datetime64[us, UTC]", [pd.Timestamp("2026-05-12 07:30", tz="UTC")]),
        (
            ["2026-05-12T09:30:00.123456789Z"],
            "datetime64[ns, UTC]",
            [pd.Timestamp("2026-05-12 09:30:00.123456789", tz="UTC")],
        ),
        (["2026-05-12T09:30:00"], "datetime64[s]", [pd.Timestamp("2026-05-12 09:30")]),
        (["2026-05-12"], pd.ArrowDtype(pa.date32()), [pd.Timestamp("2026-05-12").date()]),
        (["2026-05-12T09:30:00.5000000000Z"], "datetime64[ms, UTC]", [pd.Timestamp("2026-05-12 09:30:00.5", tz="UTC")]),
        (["0.1", "12345678901234567.25", "1e23"], "float64", [0.1, 12345678901234567.25, 1e23]),
        ([2**60], "float64", [2.0**60]),
        ([0.1], "float32", [float(np.float32(0.1))]),
        (["09:30:00", None], TIME, [pd.Timestamp("2026-05-12 09:30").time(), None]),
        ([1, 2.5], "category", [1.0, 2.5]),
        ([1, None], pd.CategoricalDtype([1.0, 2.0]), [1.0, None]),
        ([0.30000000000000004], object, [0.30000000000000004]),
    ],
)
def test_requested_dtype(values, dtype, expected):
    """A column gets the requested dtype, whatever would be inferred from its values."""
    series = requested(values, dtype)
    assert str(series.dtype) == str(pandas_dtype(dtype))
    assert [None if value is pd.NA or value != value else value for value in series.tolist()] == expected  # noqa: PLR0124 - NaN


@pytest.mark.parametrize(
    ("values", "dtype", "row", "kind"),
    [
        (["1", None, "x"], "Int64", 2, "text"),
        (["1", "1.5"], "Int64", 1, "text"),
        ([1.0, 1.5], "Int64", 1, "a number"),
        ([1, 300], "Int8", 1, "an integer"),
        ([-1], "UInt8", 0, "an integer"),
        ([1, None], "int64", 1, "a missing value"),
        (["1", "1e999"], "float64", 1, "text"),
        ([1, True], "Int64", 1, "a boolean"),
        ([1], "boolean", 0, "an integer"),
        ([NumberText("1.50"), NumberText("1.505")], CENTS, 1, "a number"),
        (["12345678901.00"], CENTS, 0, "text"),
        (["2026-05-12", "soon"], "datetime64[us]", 1, "text"),
        (["2026-05-12"], "datetime64[us, UTC]", 0, "text"),
        (["2026-05-12T09:30:00Z"], "datetime64[us]", 0, "text"),
        (["1", "007"], "Int64", 1, "text"),
        (["c", "a"], pd.CategoricalDtype(["a", "b"]), 0, "text"),
        (["2026-05-12", "NaT"], pd.ArrowDtype(pa.date32()), 1, "text"),
        ([1.5, 1e300], "float32", 1, "a number"),
        ([70_000.5], "float16", 0, "a number"),
        ([2**53 + 1], "float64", 0, "an integer"),
        (["2026-05-12T09:30:00Z", "2026-05-12T09:30:00.5Z"], "datetime64[s, UTC]", 1, "text"),
        (["2026-05-12T09:30:00.1234567891Z"], "datetime64[ns, UTC]", 0, "text"),
        (["2026-05-12", "2026-05-12T10:00:00"], pd.ArrowDtype(pa.date32()), 1, "text"),
        (["2026-05-12T10:00:00Z"], pd.ArrowDtype(pa.timestamp("us")), 0, "text"),
        (["2026-05-12"], TIME, 0, "text"),
        (["09:30:00", "09:30:00.5"], TIME, 1, "text"),
    ],
)
def test_misfits(values, dtype, row, kind):
    """The error names row and type of the first value that does not fit, and does not show it."""
    with pytest.raises(TabulationError) as caught:
        requested(values, dtype)
    assert caught.value.what == f"Column 'cash', row {row}: expected {pandas_dtype(dtype)}, found {kind}."
    assert caught.value.about == "dtypes"
    assert caught.value.__cause__ is None


@given(
    st.lists(
        st.integers(0, 10**15).map(lambda us: datetime(1990, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)), min_size=1
    ),
    st.sampled_from([("s", 10**6), ("ms", 10**3), ("us", 1), ("ns", 1)]),
    st.booleans(),
)
def test_instants_stay_where_they_are(instants, unit, coarse):
    """An instant becomes an instant equal to it, or is refused."""
    name, step = unit
    if coarse:
        instants = [at.replace(microsecond=at.microsecond // step * step) for at in instants]
    texts = [at.isoformat() for at in instants]
    if any(at.microsecond % step for at in instants):
        with pytest.raises(TabulationError):
            requested(texts, f"datetime64[{name}, UTC]")
    else:
        assert requested(texts, f"datetime64[{name}, UTC]").tolist() == instants
