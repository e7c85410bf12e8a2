"""The type of a column, from its values and its name."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import (
    DATE,
    DECIMAL_DIGITS,
    INSTANT,
    INTEGER,
    NUMBER,
    Numbers,
    all_match,
    dates_from,
    decimal_of,
    exceeds_float,
    has_nanoseconds,
    instants_from,
    numbers_from,
    string_array,
    text_of,
    texts_of,
)
from toolkit.tables.column_names import is_identifier
from toolkit.tables.json_body import SHOWN, Written


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a column before they have its type.

    Attributes:
        name: in the table.
        key: the last key of its path, which says whether it holds identifiers.
        data: an Arrow array of null, bool, int64, double or string; a list when its types are mixed.
        numerals: whether the strings are JSON numbers, as they were written.
    """

    name: str
    key: str
    data: Any
    numerals: bool = False

    def text(self) -> Any:
        """Each value as JSON writes it, text without its quotes, in an Arrow array of strings."""
        if isinstance(self.data, list):
            return texts_of(self.data)
        if pa.types.is_floating(self.data.type):
            # Arrow writes 1.0 as 1.
            return texts_of(self.data.to_pylist())
        return self.data.cast(pa.string())


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
        return Column(name, key, texts_of(values), numerals=True)
    if bool not in kinds and all(value is None or re.fullmatch(NUMBER, text_of(value)) for value in values):
        return Column(name, key, texts_of(values))
    return Column(name, key, list(values))


def typed(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """The values with the type that they and the column's name speak for: an Arrow array, or a list of objects.

    Raises:
        TabulationError: a JSON number does not fit the type that `numbers` asks for.
    """
    values = column.data
    if isinstance(values, list):
        held = _objects(column, numbers)
        return string_array(held) if all(value is None or isinstance(value, str) for value in held) else held
    if column.numerals:
        return _typed_numerals(column, numbers, losses)
    if pa.types.is_string(values.type):
        return _typed_text(column, numbers, losses)
    if numbers == "text" and not pa.types.is_boolean(values.type):
        return column.text()
    if not pa.types.is_floating(values.type):
        return values
    if numbers == "decimal":
        return _typed_numerals(replace(column, data=column.text(), numerals=True), numbers, losses)
    if exceeds_float(values.cast(pa.string())):
        losses.digits.append(column.name)
    return values


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
        floats = [None if v is None else float(v) for v in values]
        # An integer between floats keeps its digits for a dtype that is asked for.
        if all(number == value for number, value in zip(floats, values, strict=True)):
            return Column(name, key, pa.array(floats, pa.float64()))
    except (OverflowError, pa.ArrowInvalid):
        pass
    return Column(name, key, texts_of(values), numerals=True)


def _typed_numerals(column: Column, numbers: Numbers, losses: Losses) -> Any:
    texts = column.data
    if numbers == "text":
        return texts
    found = numbers_from(texts, numbers)
    if found is None or not pa.types.is_int64(found.type):
        if is_identifier(column.key) and all_match(texts, INTEGER):
            return texts
        if numbers == "float" and exceeds_float(texts):
            losses.digits.append(column.name)
    if found is None:
        raise _too_large(column, numbers)
    return found


def _typed_text(column: Column, numbers: Numbers, losses: Losses) -> Any:
    texts = column.data
    if is_identifier(column.key):
        return texts
    if numbers != "text" and all_match(texts, NUMBER):
        found = numbers_from(texts, numbers)
        if found is not None and pa.types.is_floating(found.type) and exceeds_float(texts):
            losses.digits.append(column.name)
        return texts if found is None else found
    if all_match(texts, DATE):
        found = dates_from(texts)
    elif all_match(texts, INSTANT):
        found = instants_from(texts)
        if found is not None and has_nanoseconds(texts):
            losses.nanoseconds.append(column.name)
    else:
        found = None
    return texts if found is None else found


def _objects(column: Column, numbers: Numbers) -> list[Any]:
    """The values of a column of mixed types."""
    held = []
    for row, value in enumerate(column.data):
        try:
            held.append(_object(value, numbers))
        except ValueError:
            raise TabulationError(
                f"column {excerpt(column.name, SHOWN)!r}, row {row}: a number has too many digits",
                "numbers='text' keeps it as it is.",
            ) from None
    return held


def _object(value: Any, numbers: Numbers) -> Any:
    """One of them.

    Raises:
        ValueError: a number has more digits than Python shows, or an exponent that it does not count to.
    """
    if value is None or type(value) in (bool, str):
        return value
    text = text_of(value)
    if numbers == "text" or not isinstance(value, (Written, int, float, Decimal)):
        return text
    if not isinstance(value, Written):
        return value if numbers == "float" or isinstance(value, int) else Decimal(text)
    if re.fullmatch(INTEGER, text):
        # Not by way of Decimal: an integer of thousands of digits would be made, and then never be shown.
        return int(text)
    number = decimal_of(text)
    if number is None:
        raise ValueError
    return number if numbers == "decimal" or not math.isfinite(float(number)) else float(text)


def _too_large(column: Column, numbers: Numbers) -> TabulationError:
    texts = column.data
    alone = (row for row in range(len(texts)) if texts[row].is_valid)
    row = next((row for row in alone if numbers_from(texts.slice(row, 1), numbers) is None), None)
    place = f"column {excerpt(column.name, SHOWN)!r}" + ("" if row is None else f", row {row}")
    kind = f"decimal128 ({DECIMAL_DIGITS} digits before and after the point)" if numbers == "decimal" else "float64"
    return TabulationError(
        f"{place}: expected numbers that {kind} holds, found longer ones",
        "numbers='text', or a dtype of text for this column, holds any.",
    )
