"""Typed columns put together to a DataFrame."""
# MERGE: Text in Arrow arrays.
# MERGE: Numbers as JSON writes them, to the numbers that hold them.
# MERGE: RFC 3339 instants, and dates, from text.

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def string_array(texts: Iterable[str | None]) -> Any:
    """The texts as an Arrow array; U+FFFD stands for half a surrogate pair, which UTF-8 cannot hold."""
    held = list(texts)
    try:
        return pa.array(held, pa.string())
    except UnicodeEncodeError:
        return pa.array([text and _LONE_SURROGATE.sub("\ufffd", text) for text in held], pa.string())


def text_of(value: Any) -> str:
    """A scalar as JSON writes it, text without its quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return repr(float(value)) if isinstance(value, float) else str(value)
    except ValueError:
        # str() refuses thousands of digits.
        raise TabulationError("a number has too many digits") from None


def texts_of(values: Iterable[Any]) -> Any:
    """The values as JSON writes them, in an Arrow array of strings."""
    return string_array(None if value is None else text_of(value) for value in values)


def all_match(texts: Any, pattern: str) -> bool:
    """Whether every text of an Arrow array matches; the first is tried alone, as it settles most columns."""
    first = _first_text(texts)
    if first is None or not re.fullmatch(pattern, first, re.ASCII):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _first_text(texts: Any) -> str | None:
    index = pc.index(pc.is_valid(texts), True).as_py()
    return None if index < 0 else str(texts[index].as_py())


Numbers: TypeAlias = Literal["float", "decimal", "text"]

# What float64 holds of any decimal number, and decimal128 at most.
FLOAT_DIGITS: Final = 15
DECIMAL_DIGITS: Final = 38
# Room for a sum and a product of two columns: their digits add up, and must stay within DECIMAL_DIGITS.
_DECIMAL_ROOM: Final = 18

INTEGER: Final = "^-?(?:0|[1-9][0-9]*)$"
# Text with leading zeros is none.
NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def numbers_from(texts: Any, numbers: Numbers) -> Any | None:
    """An Arrow array of texts that match `NUMBER` as int64, float64 or decimal128; None when one does not fit."""
    if all_match(texts, INTEGER):
        try:
            return texts.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    if numbers == "decimal":
        return _decimals(texts)
    floats = texts.cast(pa.float64())
    return floats if bool(pc.all(pc.is_finite(floats)).as_py()) else None


def exceeds_float(texts: Any) -> bool:
    """Whether one of the numbers has more than `FLOAT_DIGITS` significant digits."""
    long = texts.filter(pc.greater(pc.utf8_length(texts), FLOAT_DIGITS))
    return any(_significant_digits(text) > FLOAT_DIGITS for text in long.to_pylist() if text is not None)


def decimal_of(text: str) -> Decimal | None:
    """The number of a text that matches `NUMBER`; None when its exponent is beyond all that Decimal holds."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if number.is_finite():
        return number
    return None if _significant_digits(text) else Decimal(0)


def _decimals(texts: Any) -> Any | None:
    if pc.any(pc.match_substring_regex(texts, "[eE]")).as_py():
        plain = [_without_exponent(text) for text in texts.to_pylist()]
        if "" in plain:
            return None
        texts = pa.array(plain, pa.string())
    point = pc.find_substring(texts, ".")
    length = pc.utf8_length(texts)
    has_point = pc.greater_equal(point, 0)
    scale = pc.max(pc.if_else(has_point, pc.subtract(pc.subtract(length, point), 1), 0)).as_py()
    before = pc.subtract(pc.if_else(has_point, point, length), pc.starts_with(texts, "-").cast(pa.int32()))
    # A single 0 before the point takes no digit.
    whole = pc.max(pc.if_else(pc.match_substring_regex(texts, "^-?0"), 0, before)).as_py()
    if whole + scale > DECIMAL_DIGITS:
        return None
    return texts.cast(pa.decimal128(max(whole + scale, _DECIMAL_ROOM), scale))


def _without_exponent(text: str | None) -> str | None:
    if text is None:
        return None
    number = decimal_of(text)
    if number is None or (number and abs(number.adjusted()) > DECIMAL_DIGITS):
        return ""
    return format(number, "f") if number else "0"


def _significant_digits(text: str) -> int:
    digits = re.split("[eE]", text)[0].replace(".", "").lstrip("-")
    return len(digits.strip("0"))


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
