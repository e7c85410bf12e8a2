"""From one type to another: the only way from text to numbers and instants, and between the types of Arrow.

Inference tries the types that a text may have; `dtypes=`, `schema=` and sweeps name one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError

Numbers: TypeAlias = Literal["float", "decimal", "text"]

# What Arrow and pandas raise if a value does not fit.
MISFIT: Final = (ValueError, TypeError, OverflowError, NotImplementedError)
FLOAT_DIGITS: Final = 15  # significant digits of any decimal number that float64 keeps
DECIMAL_DIGITS: Final = 38  # the most that decimal128 can hold
# Leaves room for the product of two columns: their digits add up, and must stay within DECIMAL_DIGITS.
_DECIMAL_PRECISION: Final = 18
# Makes infinities, not errors, of exponents that Decimal cannot hold, and rounds only what is too long anyway.
_DECIMALS: Final = Context(prec=1_000, traps=[])

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
        ValueError, TypeError, NotImplementedError: if a value does not fit; these include the errors of Arrow.
    """
    if values.type == kind:
        return values
    if pa.types.is_string(kind):
        return texts_from(values)
    is_text = pa.types.is_string(values.type)
    values = without_blanks(values) if is_text else values
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    if is_text:
        return _parsed(values, kind, losses, name)
    _refuse_if(_family(values.type) is None or _family(values.type) != _family(kind))
    return _cast_exactly(values, kind)


def first_misfit(count: int, convert: Callable[[slice], Any]) -> int:
    """Return the first of `count` rows that cannot be converted, found by bisection; there is at least one."""
    first, last = 0, count
    while last - first > 1:
        middle = (first + last) // 2
        try:
            convert(slice(first, middle))
        except MISFIT:
            last = middle
        else:
            first = middle
    return first


def whole(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def texts_of(values: Iterable[Any]) -> Any:
    """Return an Arrow array of the values as JSON writes them."""
    return pa.array([None if value is None else whole(text_of(value)) for value in values], pa.string())


def text_of(value: Any) -> str:
    """Return a scalar as JSON writes it, but text without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        return repr(float(value)) if isinstance(value, float) else str(value)
    except ValueError:  # of more than 4,300 digits
        raise TabulationError("A number has too many digits.", 'Read it as text, with numbers="text".') from None


def texts_from(values: Any) -> Any:
    """Return Arrow values as text: as JSON writes them, instants in UTC, and midnights without a zone as dates."""
    kind = values.type
    if pa.types.is_floating(kind):
        return texts_of(values.to_pylist())  # Arrow writes 1.0 as 1
    if pa.types.is_decimal(kind):
        return texts_of(None if number is None else format(number, "f") for number in values.to_pylist())
    _refuse_if(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
    if not pa.types.is_timestamp(kind):
        return values.cast(pa.string())
    texts = (values if kind.tz is None else values.cast(pa.timestamp(kind.unit, "UTC"))).cast(pa.string())
    texts = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+(Z?)$", r"\1\2")
    texts = pc.replace_substring_regex(texts, r"\.(Z?)$", r"\1")
    if kind.tz is None:
        return pc.replace_substring_regex(texts, " 00:00:00$", "")
    return pc.replace_substring(texts, " ", "T")


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
    if pa.types.is_null(decimals.type):
        return decimals
    _refuse_if(not pa.types.is_decimal128(decimals.type))
    precision = max(decimals.type.precision, _DECIMAL_PRECISION)
    return decimals.cast(pa.decimal128(precision, decimals.type.scale))


def _decimals(texts: Any) -> list[Decimal | None]:
    numbers = [None if text is None else _DECIMALS.create_decimal(text) for text in texts.to_pylist()]
    sizes = [number.adjusted() if number.is_finite() else math.inf for number in numbers if number]
    _refuse_if(any(abs(size) > DECIMAL_DIGITS for size in sizes))
    return [number if number is None or number else Decimal(0) for number in numbers]


def _parsed(texts: Any, kind: Any, losses: Losses, name: str) -> Any:
    """Return texts as values of a type that is not text; see `converted`."""
    is_time = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    own = UTC if pa.types.is_timestamp(kind) and kind.tz is not None else _LOCAL
    pattern = TIMES[own] if is_time else _BOOLEAN if pa.types.is_boolean(kind) else NUMBER
    _refuse_if(not all_match(texts, pattern))
    if is_time:
        return _times(texts, own, kind, losses, name)
    if pa.types.is_floating(kind):
        floats = noted(number_array(texts, "float").cast(pa.float64()), texts, losses, name).cast(kind, safe=False)
        _refuse_if(pc.all(pc.is_finite(floats)).as_py() is False)
        return floats
    if pa.types.is_boolean(kind) or (pa.types.is_integer(kind) and all_match(texts, INTEGER)):
        return texts.cast(kind)
    _refuse_if(_family(kind) != "numbers")
    decimals = pa.array(_decimals(texts), kind if pa.types.is_decimal(kind) else pa.decimal256(76, DECIMAL_DIGITS))
    return decimals.cast(kind)


def _times(texts: Any, own: Any, kind: Any, losses: Losses, name: str) -> Any:
    """Return texts as instants or local times; digits beyond the microsecond are cut unless the type has them."""
    if pc.any(pc.match_substring_regex(texts, r"[tz]|\.[0-9]{7}")).as_py():
        texts = pc.utf8_upper(texts)
        if kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            return texts.cast(pa.timestamp("ns", own.tz)).cast(kind)
        if pc.any(pc.match_substring_regex(texts, r"\.[0-9]{6}[0-9]*[1-9]")).as_py():
            losses[name] = "microsecond"
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    times = texts.cast(own)
    years = pc.min_max(pc.year(times)).as_py()  # those of Python's datetime
    _refuse_if(years["min"] < 1 or years["max"] > 9999)
    return _cast_exactly(times, kind)


def _cast_exactly(values: Any, kind: Any) -> Any:
    """Return numbers or times with another type of the same family, if each stays equal, or is the nearest float."""
    if pa.types.is_decimal(kind) and not pa.types.is_decimal(values.type):
        return values.cast(pa.string()).cast(kind)  # by their digits, where Arrow decides by the type
    result = values.cast(kind, safe=not pa.types.is_floating(kind))
    is_same = pc.equal(values, result.cast(values.type))
    if pa.types.is_floating(values.type):
        is_rounded = pc.is_finite(result) if pa.types.is_floating(kind) else False
        is_same = pc.or_(pc.or_(is_same, is_rounded), pc.is_nan(values))
    _refuse_if(pc.all(is_same).as_py() is False)
    return result


def _family(kind: Any) -> str | None:
    """Return which types this one may become without being text."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers"
    if pa.types.is_timestamp(kind):
        return "local times" if kind.tz is None else "instants"
    return "local times" if pa.types.is_date(kind) else None
