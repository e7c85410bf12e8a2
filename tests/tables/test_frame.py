from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa

from toolkit.tables.arrow_text import frame_of, series_of


def test_dtypes():
    """Each type of Arrow has its dtype, whether or not a value is missing."""
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
        "asked": pd.Series(["a", "b"], dtype="category"),
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
        "asked": "category",
    }
    assert frame.index.equals(pd.RangeIndex(2))
    assert frame["instant"].dt.tz is pd.DatetimeTZDtype("us", "UTC").tz


def test_rows_without_columns():
    """Records without a key are rows all the same."""
    assert frame_of({}, 3).shape == (3, 0)
    assert frame_of({"a": pa.nulls(0)}, 0).shape == (0, 1)


def test_series():
    """A column alone has the dtype that it has in the frame."""
    assert series_of(pa.array([1])).dtype == "Int64"
    assert series_of([1, "x"]).dtype == object
