"""The type of a column, inferred from its values and its name."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.arrow_text import (
    DECIMAL_DIGITS,
    INSTANT,
    INTEGER,
    LOCAL_TIME,
    NUMBER,
    Numbers,
    all_match,
    decimal_of,
    exceeds_float,
    has_nanoseconds,
    instants_from,
    local_times_from,
    numbers_from,
    string_array,
    text_of,
    texts_of,
    without_blanks,
)
from toolkit.tables.column_names import is_identifier, is_label
from toolkit.tables.json_body import SHOWN, NumberText

_NAMES: Final = {bool: "a boolean", int: "an integer", float: "a number"}


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a column before it has a type.

    Attributes:
        name: name in the table.
        key: last key of its path, which says whether it holds identifiers.
        data: an Arrow array of null, bool, int64, double or string; a list if the types are mixed.
        is_number_text: True if the strings are JSON numbers as the service wrote them.
    """

    name: str
    key: str
    data: Any
    is_number_text: bool = False

    def text(self) -> Any:
        """Return the values as an Arrow array of strings, as JSON writes them, but without quotes."""
        if isinstance(self.data, list):
            return texts_of(self.data)
        if pa.types.is_floating(self.data.type):
            # Arrow writes 1.0 as 1.
            return texts_of(self.data.to_pylist())
        return self.data.cast(pa.string())

    def type_at(self, row: int) -> str:
        """Return the type of the JSON value in this row, for an error."""
        value = self.data[row]
        value = value if isinstance(self.data, list) else value.as_py()
        if value is None:
            return "a missing value"
        if self.is_number_text:
            return "a number"
        return _NAMES.get(type(value), "text")

    def __getitem__(self, rows: slice) -> Column:
        return replace(self, data=self.data[rows])


@dataclass(slots=True)
class Losses:
    """Names of columns that do not hold every digit of the JSON.

    Attributes:
        digits: columns of float64 with numbers of more than `FLOAT_DIGITS` significant digits.
        nanoseconds: columns of times that had digits beyond the microsecond.
    """

    digits: list[str] = field(default_factory=list)
    nanoseconds: list[str] = field(default_factory=list)


def column_of(name: str, key: str, values: Sequence[Any]) -> Column:
    """Return the column of JSON values, with None for null.

    Raises:
        TabulationError: if a value is not JSON, such as NaN.
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
        return _column_of_numbers(name, key, values, are_integers=kinds == {int})
    if kinds <= {int, float, NumberText, Decimal}:
        return Column(name, key, texts_of(values), is_number_text=True)
    if bool not in kinds and all(value is None or re.fullmatch(NUMBER, text_of(value)) for value in values):
        return Column(name, key, texts_of(values))
    return Column(name, key, list(values))


def with_inferred_type(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """Return the values with the type inferred from them and from the column's name, and note losses.

    Returns:
        An Arrow array, or a list of objects if the types are mixed.

    Raises:
        TabulationError: if a JSON number does not fit the type of `numbers`.
    """
    values = column.data
    if isinstance(values, list):
        objects = _objects(column, numbers)
        is_text = all(value is None or isinstance(value, str) for value in objects)
        return string_array(objects) if is_text else objects
    if column.is_number_text:
        return _from_number_text(column, numbers, losses)
    if pa.types.is_string(values.type):
        return _from_text(column, numbers, losses)
    if numbers == "text" and not pa.types.is_boolean(values.type):
        return column.text()
    if not pa.types.is_floating(values.type):
        return values
    if numbers == "decimal":
        return _from_number_text(replace(column, data=column.text(), is_number_text=True), numbers, losses)
    if exceeds_float(values.cast(pa.string())):
        losses.digits.append(column.name)
    return values


def inferred_type(column: Column, numbers: Numbers) -> Any:
    """Return the Arrow type that would be inferred; text for mixed types.

    Raises:
        TabulationError: as for `with_inferred_type`.
    """
    values = with_inferred_type(column, numbers, Losses())
    return pa.string() if isinstance(values, list) else values.type


def _kind(name: str, kind: type) -> type:
    for known in (bool, NumberText, str, int, float, Decimal):
        if issubclass(kind, known):
            return known
    raise TabulationError(
        f"Column {excerpt(name, SHOWN)!r} holds a value of type {kind.__name__}, which JSON does not have.",
        "Convert such values to text or numbers first.",
    )


def _refuse_infinite(name: str, values: Sequence[Any]) -> None:
    for row, value in enumerate(values):
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise TabulationError(
                f"Column {excerpt(name, SHOWN)!r}, row {row}: "
                "expected a number that fits float64, found NaN, an infinity or a larger number.",
                "numbers='decimal' and numbers='text' keep larger numbers; a missing number is null.",
                about="numbers",
            )


def _column_of_numbers(name: str, key: str, values: Sequence[Any], *, are_integers: bool) -> Column:
    try:
        if are_integers:
            return Column(name, key, pa.array(values, pa.int64()))
        floats = [None if value is None else float(value) for value in values]
        # An integer between floats keeps its digits, in case a dtype is requested.
        if all(number == value for number, value in zip(floats, values, strict=True)):
            return Column(name, key, pa.array(floats, pa.float64()))
    except (OverflowError, pa.ArrowInvalid):
        pass
    return Column(name, key, texts_of(values), is_number_text=True)


def _from_number_text(column: Column, numbers: Numbers, losses: Losses) -> Any:
    texts = column.data
    if numbers == "text":
        return texts
    values = numbers_from(texts, numbers)
    if values is None or not pa.types.is_int64(values.type):
        if is_identifier(column.key) and all_match(texts, INTEGER):
            return texts
        if numbers == "float" and exceeds_float(texts):
            losses.digits.append(column.name)
    if values is None:
        raise _too_large(column, numbers)
    return values


def _from_text(column: Column, numbers: Numbers, losses: Losses) -> Any:
    texts = column.data
    if is_identifier(column.key):
        return texts
    if numbers != "text" and all_match(texts, NUMBER) and not is_label(column.key):
        values = numbers_from(texts, numbers)
        if values is not None and pa.types.is_floating(values.type) and exceeds_float(texts):
            losses.digits.append(column.name)
    else:
        values = _times(without_blanks(texts))
        if values is not None and has_nanoseconds(texts):
            losses.nanoseconds.append(column.name)
    return texts if values is None else values


def _times(texts: Any) -> Any | None:
    if all_match(texts, LOCAL_TIME):
        return local_times_from(texts)
    return instants_from(texts) if all_match(texts, INSTANT) else None


def _objects(column: Column, numbers: Numbers) -> list[Any]:
    """Return the values of a column of mixed types."""
    objects = []
    for row, value in enumerate(column.data):
        try:
            objects.append(_object(value, numbers))
        except ValueError:
            raise TabulationError(
                f"Column {excerpt(column.name, SHOWN)!r}, row {row}: a number has too many digits.",
                "numbers='text' keeps it as it is.",
                about="numbers",
            ) from None
    return objects


def _object(value: Any, numbers: Numbers) -> Any:
    """Return one value of a column of mixed types.

    Raises:
        ValueError: if a number has more digits than Python shows, or too large an exponent.
    """
    if value is None or type(value) in (bool, str):
        return value
    text = text_of(value)
    if numbers == "text" or not isinstance(value, (NumberText, int, float, Decimal)):
        return text
    if not isinstance(value, NumberText):
        return value if numbers == "float" or isinstance(value, int) else Decimal(text)
    if re.fullmatch(INTEGER, text):
        # int(text) refuses more than 4,300 digits; an integer made from a Decimal could not be shown.
        return int(text)
    number = decimal_of(text)
    if number is None:
        raise ValueError
    return number if numbers == "decimal" or not math.isfinite(float(number)) else float(text)


def _too_large(column: Column, numbers: Numbers) -> TabulationError:
    texts = column.data
    rows = (row for row in range(len(texts)) if texts[row].is_valid)
    row = next((row for row in rows if numbers_from(texts.slice(row, 1), numbers) is None), None)
    place = f"Column {excerpt(column.name, SHOWN)!r}" + ("" if row is None else f", row {row}")
    kind = f"decimal128 ({DECIMAL_DIGITS} digits before and after the point)" if numbers == "decimal" else "float64"
    return TabulationError(
        f"{place}: expected numbers that fit {kind}, found longer ones.",
        "numbers='text', or a dtype of text for this column, keeps any number.",
        about="numbers",
    )
