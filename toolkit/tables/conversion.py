"""From one type to another: the only way from text to numbers and instants, and between the types of Arrow.

Inference tries the types that a text may have; `dtypes=`, `schema=` and sweeps name one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC as UTC_ZONE
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError

Numbers: TypeAlias = Literal["float", "decimal", "text"]

# What Arrow and pandas raise if a value does not fit.
MISFIT: Final = (ValueError, TypeError, ArithmeticError, NotImplementedError)
FLOAT_DIGITS: Final = 15  # significant digits of any decimal number that float64 keeps
DECIMAL_DIGITS: Final = 38  # the most that decimal128 can hold
# Leaves room for the product of two columns: their digits add up, and must stay within DECIMAL_DIGITS.
_DECIMAL_PRECISION: Final = 18

# Numbers as JSON writes them (RFC 8259, section 6), so without leading zeros.
INTEGER: Final = "^-?(?:0|[1-9][0-9]*)$"
NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_BOOLEAN: Final = "^(?:true|false)$"
UTC: Final = pa.timestamp("us", "UTC")
_LOCAL: Final = pa.timestamp("us")
TIMES: Final = {
    # Instants as in RFC 3339, section 5.6.
    UTC: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$",
    # A date, or a date and a time without an offset, as in `2016-05-11 02:59:17`.
    _LOCAL: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?$",
}
# Names of columns that do not hold every digit of the JSON, and which digits: those beyond a float or a microsecond.
Losses: TypeAlias = dict[str, Literal["float", "microsecond"]]
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class NumberText:
    """A JSON number, digit by digit as the service wrote it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def converted(values: Any, kind: Any, losses: Losses, name: str = "") -> Any:
    """Return Arrow values of one type with another, if each stays what it is, and note losses of this column.

    Text becomes what it says: a number as JSON writes it, `true`, an RFC 3339 instant, a date or a local time. Numbers,
    times without a zone and instants become others of their kind; a fraction becomes the nearest float. Anything but
    bytes and nested values becomes text, as JSON would write it. Empty text is missing, except as text.

    Raises:
        MISFIT: if a value does not fit.
    """
    if values.type == kind:
        return values
    if pa.types.is_string(kind):
        return texts_from(values)
    is_text = pa.types.is_string(values.type)
    values = without_blanks(values) if is_text else values
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    is_to_number = _is_number(kind)
    if is_text and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        return _times(values, kind, losses, name)
    if is_text:
        _refuse_if(not all_match(values, NUMBER if is_to_number else _BOOLEAN))
        return _number(values, kind, losses, name) if is_to_number else values.cast(kind)
    if is_to_number:
        _refuse_if(not _is_number(values.type))
        return _number(texts_from(values), kind, {}, name)
    _refuse_if(not pa.types.is_timestamp(values.type) or pa.types.is_boolean(kind))
    return _same_times(values, kind)


def first_misfit(count: int, convert: Callable[[slice], Any]) -> int:
    """Return the first of `count` rows that cannot be converted, or 0 if only all together do not fit."""
    for row in range(count):
        try:
            convert(slice(row, row + 1))
        except MISFIT:
            return row
    return 0


def whole(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def texts_of(values: Iterable[Any]) -> Any:
    """Return an Arrow array of the values as JSON writes them."""
    return pa.array([None if value is None else whole(text_of(value)) for value in values], pa.string())


def text_of(value: Any) -> str:
    """Return a scalar as JSON writes it, but text without quotes; instants in UTC, and local midnights as dates."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        is_local = value.tzinfo is None
        return str(value).removesuffix(" 00:00:00") if is_local else value.astimezone(UTC_ZONE).isoformat()[:-6] + "Z"
    if isinstance(value, Decimal):
        return f"{value:f}"
    try:
        return repr(float(value)) if isinstance(value, float) else str(value)
    except ValueError:  # of more than 4,300 digits
        raise TabulationError("A number has too many digits.", 'Read it as text, with numbers="text".') from None


def texts_from(values: Any) -> Any:
    """Return Arrow values as text."""
    kind = values.type
    _refuse_if(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
    return values if pa.types.is_string(kind) else texts_of(values.to_pylist())


def without_blanks(texts: Any) -> Any:
    is_blank = pc.equal(texts, "")
    return pc.if_else(is_blank, pa.scalar(None, texts.type), texts) if pc.any(is_blank).as_py() else texts


def noted(values: Any, texts: Any, losses: Losses, name: str) -> Any:
    """Return the values; if they are floats of which a text has more digits, note the column."""
    if pa.types.is_floating(values.type):
        long = texts.filter(pc.greater(pc.utf8_length(texts), FLOAT_DIGITS)).drop_null().to_pylist()
        significant = (re.split("[eE]", text)[0].replace(".", "").lstrip("-").strip("0") for text in long)
        if any(len(digits) > FLOAT_DIGITS for digits in significant):
            losses[name] = "float"
    return values


def all_match(texts: Any, pattern: str) -> bool:
    """Return True if there are texts and all of them match; for most columns the first is enough to tell."""
    index = pc.index(pc.is_valid(texts), True).as_py()
    if index < 0 or re.fullmatch(pattern, texts[index].as_py(), re.ASCII) is None:
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _refuse_if(misfits: Any) -> None:
    if misfits:
        raise ValueError


def number_array(texts: Any, numbers: Numbers) -> Any:
    """Return texts that are JSON numbers as int64 if they fit, else as double or decimal128."""
    if all_match(texts, INTEGER):
        try:
            return texts.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    if numbers == "float":
        floats = texts.cast(pa.float64())
        _refuse_if(pc.all(pc.is_finite(floats)).as_py() is False)
        return floats
    decimals = pa.array(_decimals(texts))
    if not pa.types.is_decimal128(decimals.type):
        _refuse_if(not pa.types.is_null(decimals.type))
        return decimals
    precision = max(decimals.type.precision, _DECIMAL_PRECISION)
    return decimals.cast(pa.decimal128(precision, decimals.type.scale))


def _decimals(texts: Any) -> list[Decimal | None]:
    numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
    _refuse_if(any(number and abs(number.adjusted()) > DECIMAL_DIGITS for number in numbers))
    return [number if number is None or number else Decimal(0) for number in numbers]


def _is_number(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _number(texts: Any, kind: Any, losses: Losses, name: str) -> Any:
    """Return texts that are JSON numbers as a type of numbers: by their digits, or as the nearest float."""
    if pa.types.is_floating(kind):
        floats = noted(number_array(texts, "float").cast(pa.float64()), texts, losses, name).cast(kind, safe=False)
        _refuse_if(pc.all(pc.is_finite(floats)).as_py() is False)
        return floats
    is_whole = pa.types.is_integer(kind) and all_match(texts, INTEGER)
    return texts.cast(kind) if is_whole else pa.array(_decimals(texts)).cast(kind)


def _times(texts: Any, kind: Any, losses: Losses, name: str) -> Any:
    """Return texts as instants or local times; digits beyond the microsecond are cut unless the type has them."""
    own = UTC if pa.types.is_timestamp(kind) and kind.tz is not None else _LOCAL
    _refuse_if(not all_match(texts, TIMES[own]))
    if pc.any(pc.match_substring_regex(texts, r"[tz]|\.[0-9]{7}")).as_py():
        texts = pc.utf8_upper(texts)
        if kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            return texts.cast(kind)
        if pc.any(pc.match_substring_regex(texts, r"\.[0-9]{6}[0-9]*[1-9]")).as_py():
            losses[name] = "microsecond"
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    times = texts.cast(own)
    years = pc.min_max(pc.year(times)).as_py()  # those of Python's datetime
    _refuse_if(years["min"] < 1 or years["max"] > 9999)
    return _same_times(times, kind)


def _same_times(values: Any, kind: Any) -> Any:
    """Return times with another unit or zone, or as dates, if each stays the same."""
    _refuse_if((values.type.tz is None) != (getattr(kind, "tz", None) is None))
    result = values.cast(kind)
    _refuse_if(not result.cast(values.type).equals(values))
    return result
