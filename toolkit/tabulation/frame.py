"""Typed columns put together to a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
import pyarrow as pa

_DTYPES: Final = {
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    # By name: the time zone that Arrow brings is another object for the same UTC.
    pa.timestamp("us", "UTC"): pd.DatetimeTZDtype("us", "UTC"),
}


def frame_of(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """A DataFrame of `count` rows, numbered from 0, with these columns in their order.

    A column is an Arrow array, a Series, or a list of objects.
    """
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(count), columns=pd.Index([], dtype="str"))
    arrays = {name: values if _is_arrow(values) else pa.nulls(count) for name, values in columns.items()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=_dtype_of)
    for name, values in columns.items():
        if not _is_arrow(values):
            frame[name] = series_of(values)
    return frame


def series_of(values: Any) -> pd.Series[Any]:
    """One such column alone."""
    if _is_arrow(values):
        return frame_of({"": values}, len(values))[""]
    return values if isinstance(values, pd.Series) else pd.Series(values, dtype=object)


def _dtype_of(kind: Any) -> Any:
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else _DTYPES.get(kind)


def _is_arrow(values: Any) -> bool:
    return isinstance(values, (pa.Array, pa.ChunkedArray))
