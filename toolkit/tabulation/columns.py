"""The type of a column, from its values and its name."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.errors import TabulationError
from toolkit.escaping import excerpt
from toolkit.tabulation.column_names import is_identifier
from toolkit.tabulation.json_body import SHOWN, Written

Numbers: TypeAlias = Literal["float", "decimal", "text"]

# What float64 holds of any decimal number, and decimal128 at most.
FLOAT_DIGITS: Final = 15
DECIMAL_DIGITS: Final = 38
# Room for a sum and a product of two columns: their digits add up, and must stay within DECIMAL_DIGITS.
_DECIMAL_ROOM: Final = 18

INTEGER: Final = "^-?(?:0|[1-9][0-9]*)$"
# As JSON writes a number. So text with leading zeros is none.
NUMBER: Final = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"
# RFC 3339 section 5.6.
INSTANT: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$"
DATE: Final = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

_UTC_MICROSECONDS: Final = pa.timestamp("us", "UTC")
# Microseconds from 1970 to the first and the last instant that datetime has.
_FIRST_INSTANT: Final = -62_135_596_800_000_000
_LAST_INSTANT: Final = 253_402_300_799_999_999

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a column before they have its type.

    Attributes:
        name: in the table.
        key: the last key of its path, which says whether it holds identifiers.
        values: an Arrow array of null, bool, int64, double or string; a list when its types are mixed.
        numerals: whether the strings are JSON numbers, as they were written.
    """

    name: str
    key: str
    values: Any
    numerals: bool = False

    def text(self) -> Any:
        """Each value as JSON writes it, text without its quotes, in an Arrow array of strings."""
        if isinstance(self.values, list):
            return _texts(self.values)
        if pa.types.is_floating(self.values.type):
            # Arrow writes 1.0 as 1.
            return _texts(self.values.to_pylist())
        return self.values.cast(pa.string())


@dataclass(slots=True)
class Losses:
    """Names of columns that hold less than the JSON did.

    Attributes:
        digits: columns of float64 with numbers of more than `FLOAT_DIGITS` significant digits.
        nanoseconds: columns of instants that had digits beyond the microsecond.
    """

    digits: list[str] = field(default_factory=list)
    nanoseconds: list[str] = field(default_factory=list)


def column_of(name: str, key: str, values: Sequence[Any]) -> Column:
    """The column of these JSON values, of which None is null.

    Raises:
        TabulationError: a value is none of JSON, such as NaN.
    """
    kinds = {_kind(name, kind) for kind in set(map(type, values)) - {type(None)}}
    if not kinds:
        return Column(name, key, pa.nulls(len(values)))
    if not kinds.isdisjoint({float, Decimal}):
        _refuse_infinite(name, values)
    if kinds == {bool}:
        return Column(name, key, pa.array(values, pa.bool_()))
    if kinds == {str}:
        return Column(name, key, string_array(values))
    if kinds <= {int, float}:
        return _column_of_numbers(name, key, values, integers=kinds == {int})
    if kinds <= {int, float, Written, Decimal}:
        return Column(name, key, _texts(values), numerals=True)
    if bool not in kinds and all(value is None or re.fullmatch(NUMBER, text_of(value)) for value in values):
        return Column(name, key, _texts(values))
    return Column(name, key, list(values))


def typed(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """The values with the type that they and the column's name speak for: an Arrow array, or a list of objects.

    Raises:
        TabulationError: a JSON number does not fit the type that `numbers` asks for.
    """
    values = column.values
    if isinstance(values, list):
        held = [_object(value, numbers) for value in values]
        return string_array(held) if all(value is None or isinstance(value, str) for value in held) else held
    if column.numerals:
        return _typed_numerals(column, numbers, losses)
    if pa.types.is_string(values.type):
        return _typed_text(column, numbers, losses)
    if numbers == "text" and not pa.types.is_boolean(values.type):
        return column.text()
    if pa.types.is_floating(values.type) and _exceeds_float(values.cast(pa.string())):
        losses.digits.append(column.name)
    return values


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
    return repr(float(value)) if isinstance(value, float) else str(value)


def _texts(values: Iterable[Any]) -> Any:
    return string_array(None if value is None else text_of(value) for value in values)


def all_match(texts: Any, pattern: str) -> bool:
    """Whether every text of an Arrow array matches; the first is tried alone, as it settles most columns."""
    first = _first(texts)
    if first is None or not re.fullmatch(pattern, first, re.ASCII):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def numbers_from(texts: Any, numbers: Numbers) -> Any | None:
    """Texts that match `NUMBER` as int64, float64 or decimal128; None when one does not fit."""
    if all_match(texts, INTEGER):
        try:
            return texts.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    if numbers == "decimal":
        return _decimals(texts)
    floats = texts.cast(pa.float64())
    return floats if bool(pc.all(pc.is_finite(floats)).as_py()) else None


def _kind(name: str, kind: type) -> type:
    for known in (bool, Written, str, int, float, Decimal):
        if kind is known or (issubclass(kind, known) and known is not bool):
            return known
    raise TabulationError(f"column {excerpt(name, SHOWN)!r} holds {kind.__name__}, which is no JSON value")


def _refuse_infinite(name: str, values: Sequence[Any]) -> None:
    for row, value in enumerate(values):
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise TabulationError(
                f"column {excerpt(name, SHOWN)!r}, row {row}: "
                "expected a number that float64 holds, found NaN, an infinity or a larger one",
                "numbers='decimal' and numbers='text' hold larger ones; null stands for a missing one.",
            )


def _column_of_numbers(name: str, key: str, values: Sequence[Any], *, integers: bool) -> Column:
    try:
        if integers:
            return Column(name, key, pa.array(values, pa.int64()))
        return Column(name, key, pa.array([None if v is None else float(v) for v in values], pa.float64()))
    except (OverflowError, pa.ArrowInvalid):
        return Column(name, key, _texts(values), numerals=True)


def _typed_numerals(column: Column, numbers: Numbers, losses: Losses) -> Any:
    texts = column.values
    if numbers == "text":
        return texts
    found = numbers_from(texts, numbers)
    if found is None or not pa.types.is_int64(found.type):
        if is_identifier(column.key) and all_match(texts, INTEGER):
            return texts
        if numbers == "float" and _exceeds_float(texts):
            losses.digits.append(column.name)
    if found is None:
        raise _too_large(column, numbers)
    return found


def _typed_text(column: Column, numbers: Numbers, losses: Losses) -> Any:
    texts = column.values
    if is_identifier(column.key):
        return texts
    if numbers != "text" and all_match(texts, NUMBER):
        found = numbers_from(texts, numbers)
        if found is not None and pa.types.is_floating(found.type) and _exceeds_float(texts):
            losses.digits.append(column.name)
        return texts if found is None else found
    if all_match(texts, DATE):
        return _instants(texts, pa.timestamp("us"), texts)
    if all_match(texts, INSTANT):
        return _typed_instants(column, losses)
    return texts


def _typed_instants(column: Column, losses: Losses) -> Any:
    texts = column.values
    found = _instants(texts, _UTC_MICROSECONDS, None)
    if found is not None:
        return found
    short = pc.replace_substring_regex(pc.utf8_upper(texts), r"(\.[0-9]{6})[0-9]+", r"\1")
    found = _instants(short, _UTC_MICROSECONDS, texts)
    if found is not texts and pc.any(pc.match_substring_regex(texts, r"\.[0-9]{6}[0-9]*[1-9]")).as_py():
        losses.nanoseconds.append(column.name)
    return found


def _instants(texts: Any, kind: Any, otherwise: Any) -> Any:
    """The instants, or `otherwise` when a text names none (30 February, a leap second, the year 0)."""
    try:
        found = texts.cast(kind)
    except pa.ArrowInvalid:
        return otherwise
    bounds = pc.min_max(found.cast(pa.int64())).as_py()
    return found if bounds["min"] >= _FIRST_INSTANT and bounds["max"] <= _LAST_INSTANT else otherwise


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
    number = Decimal(text)
    if number and abs(number.adjusted()) > DECIMAL_DIGITS:
        return ""
    return format(number, "f") if number else "0"


def _exceeds_float(texts: Any) -> bool:
    long = texts.filter(pc.greater(pc.utf8_length(texts), FLOAT_DIGITS))
    return any(_significant_digits(text) > FLOAT_DIGITS for text in long.to_pylist() if text is not None)


def _significant_digits(text: str) -> int:
    digits = re.split("[eE]", text)[0].replace(".", "").lstrip("-")
    return len(digits.strip("0"))


def _object(value: Any, numbers: Numbers) -> Any:
    """A value of a column of mixed types."""
    if value is None or type(value) in (bool, str):
        return value
    text = text_of(value)
    if numbers == "text" or not isinstance(value, (Written, int, float, Decimal)):
        return text
    if not isinstance(value, Written):
        return value if numbers == "float" or isinstance(value, int) else Decimal(text)
    number = Decimal(text)
    if re.fullmatch(INTEGER, text):
        return int(number)
    return number if numbers == "decimal" or not math.isfinite(float(number)) else float(text)


def _first(texts: Any) -> str | None:
    index = pc.index(pc.is_valid(texts), True).as_py()
    return None if index < 0 else str(texts[index].as_py())


def _too_large(column: Column, numbers: Numbers) -> TabulationError:
    texts = column.values
    alone = (row for row in range(len(texts)) if texts[row].is_valid)
    row = next((row for row in alone if numbers_from(texts.slice(row, 1), numbers) is None), None)
    place = f"column {excerpt(column.name, SHOWN)!r}" + ("" if row is None else f", row {row}")
    kind = f"decimal128 ({DECIMAL_DIGITS} digits before and after the point)" if numbers == "decimal" else "float64"
    return TabulationError(f"{place}: expected numbers that {kind} holds, found larger ones", "numbers='text' holds any.")
