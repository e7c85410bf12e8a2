"""The type of a column, inferred from its values and its name."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.tables.conversion import (
    DECIMAL_DIGITS,
    INTEGER,
    MISFIT,
    NUMBER,
    TIMES,
    Losses,
    Numbers,
    all_match,
    first_misfit,
    noted,
    parsed_numbers,
    string_array,
    text_of,
    texts_from,
    texts_of,
    times_from,
    without_blanks,
)
from toolkit.tables.records import SHOWN, NumberText, is_identifier, is_label

_PLAIN: Final = (pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a column before it has a type.

    Attributes:
        name: name in the table.
        key: last key of its path, which says whether it holds identifiers.
        data: an Arrow array; a list if the types are mixed.
        is_number_text: True if the strings are JSON numbers as the service wrote them.
    """

    name: str
    key: str
    data: Any
    is_number_text: bool = False

    def values(self) -> Any:
        """Return the values as an Arrow array; those of mixed types as text."""
        return texts_of(self.data) if isinstance(self.data, list) else self.data

    def type_at(self, row: int) -> str:
        """Return the type of the value in this row, for an error."""
        value = self.data[row] if isinstance(self.data, list) else self.data[row].as_py()
        if value is None:
            return "a missing value"
        names = {bool: "a boolean", int: "an integer", float: "a number", NumberText: "a number", str: "text"}
        return "a number" if self.is_number_text else names.get(type(value), str(self.values().type))


def column_of(name: str, key: str, values: Sequence[Any], *, numbers_are_text: bool = False) -> Column:
    """Return the column of JSON values, with None for null.

    Raises:
        TabulationError: if a value is not JSON, such as NaN.
    """
    try:
        array = pa.array(values)
        is_plain = array.type in _PLAIN and not (numbers_are_text and pa.types.is_string(array.type))
        if pa.types.is_floating(array.type):  # Arrow makes 1.0 of a boolean between floats
            is_plain = pc.all(pc.is_finite(array)).as_py() is not False and bool not in set(map(type, values))
        if is_plain:
            return Column(name, key, array)
    except (*MISFIT, pa.ArrowException):
        pass  # values of several types, or a number that would change; as text it keeps its digits
    kinds = {_kind(name, kind) for kind in set(map(type, values)) - {type(None)}}
    if kinds == {str}:
        return Column(name, key, string_array(values))
    for row, value in enumerate(values):
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise _unfit(name, row, "a number that fits float64, found NaN, an infinity or a larger number")
    if kinds <= {int, float, NumberText, Decimal}:
        return Column(name, key, texts_of(values), is_number_text=True)
    if bool not in kinds and all(value in (None, "") or re.fullmatch(NUMBER, text_of(value)) for value in values):
        return Column(name, key, texts_of(values))
    return Column(name, key, list(values))


def inferred(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """Return the values with the type inferred from them and from the column's name, and note losses.

    Returns:
        An Arrow array, or a list of objects if the types are mixed.

    Raises:
        TabulationError: if a JSON number does not fit the type of `numbers`.
    """
    values = column.data
    if isinstance(values, list):
        objects = [_object(value, numbers, column.name, row) for row, value in enumerate(values)]
        return string_array(objects) if all(value is None or isinstance(value, str) for value in objects) else objects
    if pa.types.is_floating(values.type) or column.is_number_text:
        texts = texts_from(values) if numbers != "float" else values.cast(pa.string())
        if numbers == "text":
            return texts
        if numbers == "float" and pa.types.is_floating(values.type):
            return noted(values, texts, losses.digits, column.name)
        return _numbers_of(column, texts, numbers, losses)
    if pa.types.is_string(values.type):
        return values if is_identifier(column.key) else _from_text(column, without_blanks(values), numbers, losses)
    return texts_from(values) if numbers == "text" and pa.types.is_integer(values.type) else values


def _kind(name: str, kind: type) -> type:
    for known in (bool, NumberText, str, int, float, Decimal):
        if issubclass(kind, known):
            return known
    raise TabulationError(
        f"Column {excerpt(name, SHOWN)!r} holds a value of type {kind.__name__}, which JSON does not have.",
        "Convert such values to text or numbers first.",
    )


def _numbers_of(column: Column, texts: Any, numbers: Numbers, losses: Losses) -> Any:
    """Return JSON numbers as int64, double or decimal128; identifiers that are longer integers stay text."""
    try:
        values = parsed_numbers(texts, numbers)
    except MISFIT:
        values = None
    if (
        (values is None or not pa.types.is_integer(values.type))
        and is_identifier(column.key)
        and all_match(texts, INTEGER)
    ):
        return texts
    if values is None:
        row = first_misfit(len(texts), lambda part: parsed_numbers(texts[part], numbers))
        kind = f"decimal128 ({DECIMAL_DIGITS} digits before and after the point)" if numbers == "decimal" else "float64"
        raise _unfit(column.name, row, f"numbers that fit {kind}, found longer ones")
    return noted(values, texts, losses.digits, column.name)


def _from_text(column: Column, texts: Any, numbers: Numbers, losses: Losses) -> Any:
    """Return text as numbers, instants or local times if all of it reads as such, else as it is."""
    try:
        if numbers != "text" and not is_label(column.key) and all_match(texts, NUMBER):
            return noted(parsed_numbers(texts, numbers), texts, losses.digits, column.name)
        kind = next((kind for kind, pattern in TIMES.items() if all_match(texts, pattern)), None)
        return column.data if kind is None else times_from(texts, kind, losses, column.name)
    except MISFIT:
        return column.data


def _object(value: Any, numbers: Numbers, name: str, row: int) -> Any:
    """Return one value of a column of mixed types: a number as `numbers` says, anything else as it is."""
    if value is None or isinstance(value, bool) or type(value) is str:
        return value
    text = text_of(value)
    if numbers == "text" or (isinstance(value, str) and not isinstance(value, NumberText)):
        return text
    try:
        number = json.loads(text, parse_float=Decimal if numbers == "decimal" else float)
        if math.isfinite(number):
            return number
    except (ValueError, InvalidOperation):
        pass
    raise _unfit(name, row, "a number, found one with too many digits")


def _unfit(name: str, row: int, problem: str) -> TabulationError:
    return TabulationError(
        f"Column {excerpt(name, SHOWN)!r}, row {row}: expected {problem}.",
        "numbers='text', or a dtype of text for this column, keeps any number; a missing number is null.",
        about="numbers",
    )
