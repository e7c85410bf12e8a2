"""Arrow arrays of text: made from JSON values, cast to numbers and instants, and put together into a DataFrame.

Each function works on a whole column at once. A function that casts returns None if a text does not fit; then the
caller keeps the column as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError

Numbers: TypeAlias = Literal["float", "decimal", "text"]

# Significant digits of any decimal number that float64 keeps, and the most digits that decimal128 can hold.
FLOAT_DIGITS: Final = 15
DECIMAL_DIGITS: Final = 38
# Leaves room for the product of two columns: their digits add up, and must stay within DECIMAL_DIGITS.
_DECIMAL_PRECISION: Final = 18

# Numbers as JSON writes them (RFC 8259, section 6), so without leading zeros.
INTEGER: Final = "^-?(?:0|[1-9][0-9]*)$"
NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"

# Instants and dates as in RFC 3339, section 5.6.
INSTANT: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$"
)
DATE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
# A date, or a date and a time without an offset, as in `2016-05-11 02:59:17`.
LOCAL_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?$"

_UTC: Final = pa.timestamp("us", "UTC")
_NO_ZONE: Final = pa.timestamp("us")
# The first and the last instant of Python's datetime, in microseconds since 1970.
_FIRST: Final = -62_135_596_800_000_000
_LAST: Final = 253_402_300_799_999_999

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DTYPES: Final = {
    pa.int64(): pd.Int64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    # By name, because pandas and Arrow use different objects for UTC.
    _UTC: pd.DatetimeTZDtype("us", "UTC"),
}


def string_array(texts: Iterable[str | None]) -> Any:
    """Return an Arrow array of texts; a lone surrogate, which UTF-8 cannot encode, becomes U+FFFD."""
    values = list(texts)
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([text and _LONE_SURROGATE.sub("\ufffd", text) for text in values], pa.string())


def texts_of(values: Iterable[Any]) -> Any:
    """Return an Arrow array of the values as JSON writes them."""
    return string_array(None if value is None else text_of(value) for value in values)


def text_of(value: Any) -> str:
    """Return a scalar as JSON writes it, but text without quotes.

    Raises:
        TabulationError: if an integer has more than 4,300 digits, which Python does not convert.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return repr(float(value)) if isinstance(value, float) else str(value)
    except ValueError:
        raise TabulationError("A number has too many digits.", 'Read it as text, with numbers="text".') from None


def all_match(texts: Any, pattern: str) -> bool:
    """Return True if there are texts and all of them match."""
    index = pc.index(pc.is_valid(texts), True).as_py()
    # For most columns the first text is enough to tell.
    if index < 0 or not re.fullmatch(pattern, texts[index].as_py(), re.ASCII):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def numbers_from(texts: Any, numbers: Numbers) -> Any | None:
    """Cast texts that match `NUMBER` to int64, float64 or decimal128; return None if a number does not fit."""
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
    """Return True if one of the numbers has more than `FLOAT_DIGITS` significant digits."""
    long = texts.filter(pc.greater(pc.utf8_length(texts), FLOAT_DIGITS))
    return any(_significant_digits(text) > FLOAT_DIGITS for text in long.to_pylist() if text is not None)


def decimal_of(text: str) -> Decimal | None:
    """Return the number of a text that matches `NUMBER`, or None if Decimal cannot hold its exponent."""
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
    # A single 0 before the point needs no digit.
    whole = pc.max(pc.if_else(pc.match_substring_regex(texts, "^-?0"), 0, before)).as_py()
    if whole + scale > DECIMAL_DIGITS:
        return None
    return texts.cast(pa.decimal128(max(whole + scale, _DECIMAL_PRECISION), scale))


def _without_exponent(text: str | None) -> str | None:
    """Return a number without an exponent, or "" if it would have too many digits."""
    if text is None:
        return None
    number = decimal_of(text)
    if number is None or (number and abs(number.adjusted()) > DECIMAL_DIGITS):
        return ""
    return format(number, "f") if number else "0"


def _significant_digits(text: str) -> int:
    digits = re.split("[eE]", text)[0].replace(".", "").lstrip("-")
    return len(digits.strip("0"))


def instants_from(texts: Any) -> Any | None:
    """Cast texts that match `INSTANT` to instants in UTC, cut to microseconds; return None if a text does not fit."""
    return _times(texts, _UTC)


def local_times_from(texts: Any) -> Any | None:
    """Cast texts that match `LOCAL_TIME` to times without a zone; return None if a text does not fit.

    A date becomes its midnight, and digits beyond the microsecond are cut.
    """
    return _times(texts, _NO_ZONE)


def without_blanks(texts: Any) -> Any:
    """Return an Arrow array of texts with empty ones missing."""
    is_blank = pc.equal(texts, "")
    return pc.if_else(is_blank, pa.scalar(None, texts.type), texts) if pc.any(is_blank).as_py() else texts


def has_nanoseconds(texts: Any) -> bool:
    """Return True if one of the times has digits beyond the microsecond."""
    return bool(pc.any(pc.match_substring_regex(texts, r"\.[0-9]{6}[0-9]*[1-9]")).as_py())


def _times(texts: Any, kind: Any) -> Any | None:
    times = _cast(texts, kind)
    if times is not None:
        return times
    return _cast(pc.replace_substring_regex(pc.utf8_upper(texts), r"(\.[0-9]{6})[0-9]+", r"\1"), kind)


def _cast(texts: Any, kind: Any) -> Any | None:
    """Return the times, or None if a text is not a time: 30 February, a leap second, the year 0."""
    try:
        instants = texts.cast(kind)
    except pa.ArrowInvalid:
        return None
    bounds = pc.min_max(instants.cast(pa.int64())).as_py()
    return instants if bounds["min"] >= _FIRST and bounds["max"] <= _LAST else None


def frame_of(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return a DataFrame of `count` rows, numbered from 0, with these columns in their order.

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
    """Return one column as a Series with the dtype that it has in `frame_of`."""
    if _is_arrow(values):
        return frame_of({"": values}, len(values))[""]
    return values if isinstance(values, pd.Series) else pd.Series(values, dtype=object)


def _dtype_of(kind: Any) -> Any:
    """Return the dtype of an Arrow type, or None for the one that Arrow chooses."""
    if kind in _DTYPES or _is_plain(kind):
        return _DTYPES.get(kind)
    if pa.types.is_integer(kind):
        return pd.api.types.pandas_dtype(str(kind).capitalize().replace("Ui", "UI"))
    return pd.ArrowDtype(kind)


def _is_plain(kind: Any) -> bool:
    """Return True if Arrow gives values of this type a dtype of the same type."""
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_other = pa.types.is_floating(kind) or pa.types.is_timestamp(kind) or pa.types.is_dictionary(kind)
    return bool(is_text or is_other or pa.types.is_null(kind))


def _is_arrow(values: Any) -> bool:
    return isinstance(values, (pa.Array, pa.ChunkedArray))
