"""The columns of a table: what their names imply, types inferred from their values, and conversion between types.

A column's values are an Arrow array if they have one type, otherwise a list. Inference tries each type that text can
represent, unless `dtypes=`, `schema=` or a sweep specifies the type. `converted` does all conversions.

The last word of a name indicates what the values are: `accountNumber`, `account_number` and `owner.account-number` all
end in `number`. Digits at the end of a word are ignored (`phone_2`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC as UTC_ZONE
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.text import excerpt

Numbers: TypeAlias = Literal["float", "decimal", "text"]

# What Arrow and pandas raise if a value does not fit.
MISFIT: Final = (ValueError, TypeError, ArithmeticError, NotImplementedError)
SHOWN: Final = 80  # characters of a name, or of a body that is not JSON, in an error
FLOAT_DIGITS: Final = 15  # significant digits that float64 keeps of any decimal number
_DECIMAL_DIGITS: Final = 38  # the maximum of decimal128
# Leaves room for the product of two columns: their digits add up, and must not exceed _DECIMAL_DIGITS.
_DECIMAL_PRECISION: Final = 18

# Numbers as JSON writes them (RFC 8259, section 6), so without leading zeros.
_INTEGER: Final = "^-?(?:0|[1-9][0-9]*)$"
_NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
_MORE_DIGITS: Final = rf"^-?[0.]*[1-9](?:\.?[0-9]){{{FLOAT_DIGITS - 1},}}\.?[1-9]"  # more digits than a float can keep
_BOOLEAN: Final = "^(?:true|false)$"
_UTC: Final = pa.timestamp("us", "UTC")
_LOCAL: Final = pa.timestamp("us")
_TIMES: Final = {
    # Instants as in RFC 3339, section 5.6.
    _UTC: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$",
    # A date, or a date and a time without an offset, as in `2016-05-11 02:59:17`.
    _LOCAL: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)?$",
}
# Columns that do not keep every digit in the JSON, each with its limit: the precision of a float or a microsecond.
Losses: TypeAlias = dict[str, Literal["float", "microsecond"]]
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")

# Last words of names that tell records apart.
_KEY_WORDS: Final = frozenset("id uuid guid number no account acct symbol ticker cusip isin figi iban".split())
# Last words of names of codes, texts, classes and days, whose digits are not quantities.
_CODE_WORDS: Final = _KEY_WORDS | frozenset(
    "ids nbr nr code key reference ref serial version prefix suffix hash checksum signature pin ssn tin cik lei bic "
    "swift routing zip zipcode postcode postal phone telephone mobile fax barcode upc ean isbn token cursor name title "
    "label description comment note username country state city address street type kind category class status sector "
    "series exchange currency contract branch revision release expiry expiration maturity".split()
)
# A name with one of these words is not a key, even if it ends in a key word (`phone_number`).
_CONTACT_WORDS: Final = frozenset("phone telephone mobile fax tax street house".split())
_LAST_FOUR: Final = ("last4", "last_4", "last_four")  # the last digits of a longer number
_WORD_BOUNDARY: Final = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=1024)  # a sweep meets the same names in each response
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, without trailing digits."""
    parts = (word.rstrip("0123456789") for word in _WORD_BOUNDARY.split(name))
    return tuple(word.lower() for word in parts if word)


def is_code(name: str) -> bool:
    """Return True if a name ends in a word for a code, text or day, so that digits in its column are not a quantity."""
    return name.lower().endswith(_LAST_FOUR) or not _CODE_WORDS.isdisjoint(words(name)[-1:])


def is_key(name: str) -> bool:
    """Return True if values with this name identify records: account numbers do, phone numbers do not."""
    parts = words(name)
    return not _KEY_WORDS.isdisjoint(parts[-1:]) and _CONTACT_WORDS.isdisjoint(parts)


class NumberText:
    """A JSON number, exactly as the service wrote it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


_SCALARS: Final = (bool, int, float, Decimal, NumberText, str)
_PLAIN: Final = (pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a column before it has a type."""

    name: str
    key: str  # the last part of its path, which says whether the values are codes
    data: Any  # an Arrow array, or a list of several types or of `NumberText`

    def __post_init__(self) -> None:
        for value in self.data if isinstance(self.data, list) else ():
            if value is not None and not isinstance(value, _SCALARS):
                raise not_json(f"Column {excerpt(self.name, SHOWN)!r} contains a {type(value).__name__}")
            if isinstance(value, (float, Decimal)) and not math.isfinite(value):
                raise _unfit(self.name, "a number that fits float64, found NaN, an infinity or a larger number")

    def values(self) -> Any:
        """Return the values as an Arrow array; values of mixed types become text."""
        return texts_of(self.data) if isinstance(self.data, list) else self.data


def packed(values: list[Any]) -> Any:
    """Return JSON values as an Arrow array if they have one type, else unchanged."""
    try:
        array = pa.array(values)
    except UnicodeEncodeError:
        return packed([whole(value) if isinstance(value, str) else value for value in values])
    except (*MISFIT, pa.ArrowException):
        return values  # values of several types, or a number that would change; text keeps its digits
    if pa.types.is_floating(array.type) and (
        bool in set(map(type, values)) or pc.all(pc.is_finite(array)).as_py() is False
    ):
        return values  # Arrow would turn a boolean among floats into 1.0
    return array if array.type in _PLAIN else values


def inferred(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """Return the values with the type inferred from them and from the column's name, and note lost digits.

    The result is an Arrow array, or a list of objects if the types are mixed.
    """
    values = column.data
    if isinstance(values, list):
        kinds = set(map(type, values))
        if kinds.isdisjoint((bool, str)):
            return _json_numbers(column, numbers, losses)
        if bool in kinds or not all(value in (None, "") or re.fullmatch(_NUMBER, text_of(value)) for value in values):
            return packed([_object(value, numbers, column.name) for value in values])
        values = texts_of(values)
    if pa.types.is_floating(values.type) and numbers == "float":
        return _noted(values, values.cast(pa.string()), losses, column.name)
    if pa.types.is_floating(values.type) or (pa.types.is_integer(values.type) and numbers == "text"):
        return _json_numbers(column, numbers, losses)
    if not pa.types.is_string(values.type):
        return values
    texts = _without_blanks(values)
    try:
        if numbers != "text" and not is_code(column.key) and _all_match(texts, _NUMBER):
            return _noted(_number_array(texts, numbers), texts, losses, column.name)
        kind = next((kind for kind, pattern in _TIMES.items() if _all_match(texts, pattern)), None)
        return values if kind is None else converted(texts, kind, losses, column.name)
    except MISFIT:
        return values


def _json_numbers(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """Return JSON numbers as text, int64, double or decimal128; integer codes that do not fit int64 stay text."""
    texts = _texts_from(column.values())
    if numbers == "text":
        return texts
    is_code_of_digits = is_code(column.key) and _all_match(texts, _INTEGER)
    try:
        values = _number_array(texts, numbers)
    except MISFIT:
        if not is_code_of_digits:
            raise _unfit(column.name, f"numbers that fit {numbers}, found numbers with more digits") from None
        return texts
    return texts if is_code_of_digits and values.type != pa.int64() else _noted(values, texts, losses, column.name)


def _object(value: Any, numbers: Numbers, name: str) -> Any:
    """Return one value from a column of mixed types; only numbers are converted, according to `numbers`."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if numbers == "text":
        return text_of(value)
    with suppress(*MISFIT):
        number = json.loads(text_of(value), parse_float=Decimal if numbers == "decimal" else float)
        if math.isfinite(number):
            return number
    raise _unfit(name, "a number, found a number with too many digits")


def _unfit(name: str, expected: str) -> TabulationError:
    return TabulationError(
        f"Column {excerpt(name, SHOWN)!r}: expected {expected}.",
        "To keep any number, use numbers='text', or a text dtype for this column. Write a missing number as null.",
        about="numbers",
    )


def not_json(what: str) -> TabulationError:
    return TabulationError(f"{what}, which JSON does not support.", "Convert such values to text or numbers first.")


def frame_of(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return a DataFrame made from Arrow arrays, Series and lists of objects, with `count` rows numbered from 0."""
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(count), columns=pd.Index([], dtype="str"))
    others = {name: values for name, values in columns.items() if isinstance(values, (list, pd.Series))}
    arrays = {name: pa.nulls(count) if name in others else values for name, values in columns.items()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=_dtype_of)
    for name, values in others.items():
        frame[name] = pd.Series(values, dtype=object if isinstance(values, list) else None)
    return frame


def _dtype_of(kind: Any) -> Any:
    """Return the pandas dtype for an Arrow type, or None to use Arrow's default."""
    if kind == _UTC:
        return pd.DatetimeTZDtype("us", "UTC")  # pandas and Arrow use different objects for UTC
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pd.Series([], dtype=kind.to_pandas_dtype()).convert_dtypes().dtype
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) or pa.types.is_date(kind) else None


def converted(values: Any, kind: Any, losses: Losses, name: str = "") -> Any:
    """Return Arrow values converted to another type, and note in `losses` if the column loses digits.

    Every value, except bytes and nested values, can be converted to text, in the form that it would have in JSON. Text
    can be converted if it represents a value of the type: a JSON number, `true` or `false`, an RFC 3339 instant, a date
    or a local time. For a float type, a number becomes the nearest float. Empty text becomes a missing value, unless
    the type is text. If a value does not fit, one of the exceptions in `MISFIT` is raised.
    """
    if values.type == kind:
        return values
    texts = _texts_from(values)
    if pa.types.is_string(kind):
        return texts
    texts = _without_blanks(texts)
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), kind)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _times(texts, kind, losses, name)
    _refuse_if(not _all_match(texts, _BOOLEAN if pa.types.is_boolean(kind) else _NUMBER))
    return texts.cast(kind) if pa.types.is_boolean(kind) else _number(texts, kind, losses, name)


def whole(text: str) -> str:
    """Return a string with each lone surrogate replaced by U+FFFD."""
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


def _texts_from(values: Any) -> Any:
    kind = values.type
    _refuse_if(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
    return values if pa.types.is_string(kind) else texts_of(values.to_pylist())


def _without_blanks(texts: Any) -> Any:
    is_blank = pc.equal(texts, "")
    return pc.if_else(is_blank, pa.scalar(None, texts.type), texts) if pc.any(is_blank).as_py() else texts


def _noted(values: Any, texts: Any, losses: Losses, name: str) -> Any:
    """Return the values; note the column if a float has fewer digits than its text."""
    if pa.types.is_floating(values.type):
        long = texts.filter(pc.greater(pc.utf8_length(texts), FLOAT_DIGITS))
        if pc.any(pc.match_substring_regex(long, _MORE_DIGITS)).as_py():
            losses[name] = "float"
    return values


def _all_match(texts: Any, pattern: str) -> bool:
    """Return True if there are strings and all match; the first is checked on its own, because it usually decides."""
    index = pc.index(pc.is_valid(texts), True).as_py()
    if index < 0 or re.fullmatch(pattern, texts[index].as_py(), re.ASCII) is None:
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _refuse_if(misfits: Any) -> None:
    if misfits:
        raise ValueError


def _number_array(texts: Any, numbers: Numbers) -> Any:
    """Return strings that are JSON numbers as int64 if they fit, else as double or decimal128."""
    if _all_match(texts, _INTEGER):
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
    _refuse_if(any(number and abs(number.adjusted()) > _DECIMAL_DIGITS for number in numbers))
    return [number if number is None or number else Decimal(0) for number in numbers]


def _number(texts: Any, kind: Any, losses: Losses, name: str) -> Any:
    """Return strings that are JSON numbers as numbers of a type, either exact or as the nearest float."""
    if pa.types.is_floating(kind):
        floats = _noted(_number_array(texts, "float").cast(pa.float64()), texts, losses, name).cast(kind, safe=False)
        _refuse_if(pc.all(pc.is_finite(floats)).as_py() is False)
        return floats
    is_whole = pa.types.is_integer(kind) and _all_match(texts, _INTEGER)
    return texts.cast(kind) if is_whole else pa.array(_decimals(texts)).cast(kind)


def _times(texts: Any, kind: Any, losses: Losses, name: str) -> Any:
    """Return strings as instants or local times; digits beyond microseconds are cut off unless the type keeps them."""
    own = _UTC if pa.types.is_timestamp(kind) and kind.tz is not None else _LOCAL
    _refuse_if(not _all_match(texts, _TIMES[own]))
    if pc.any(pc.match_substring_regex(texts, r"[tz]|\.[0-9]{7}")).as_py():
        texts = pc.utf8_upper(texts)
        if kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
            return texts.cast(kind)
        if pc.any(pc.match_substring_regex(texts, r"\.[0-9]{6}[0-9]*[1-9]")).as_py():
            losses[name] = "microsecond"
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    times = texts.cast(own)
    years = pc.min_max(pc.year(times)).as_py()  # the years of Python's datetime
    _refuse_if(years["min"] < 1 or years["max"] > 9999)
    result = times.cast(kind)
    _refuse_if(not result.cast(own).equals(times))
    return result
