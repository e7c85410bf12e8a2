"""Numbers as JSON writes them, to the numbers that hold them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.tabulation.texts import all_match

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
