"""Columns of JSON values: their parts, and the type inferred from the values and the name.

A part holds the values of some rows. It is an Arrow array if its values have one type, which takes less memory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.text import excerpt
from toolkit.tables.conversion import (
    DECIMAL_DIGITS,
    INTEGER,
    MISFIT,
    NUMBER,
    TEXTS,
    TIMES,
    UTC,
    Losses,
    Numbers,
    all_match,
    begins_with,
    converted,
    first_misfit,
    noted,
    number_array,
    string_array,
    text_of,
    texts_from,
    texts_of,
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


def is_arrow(values: Any) -> bool:
    """Return True for an Arrow array, in one part or in several."""
    return isinstance(values, (pa.Array, pa.ChunkedArray))


def is_empty(values: Any) -> bool:
    """Return True if no value is there."""
    return values.null_count == len(values) if is_arrow(values) else all(value is None for value in values)


def packed(values: Sequence[Any]) -> Any:
    """Return JSON values as an Arrow array if they have one type, else as they are."""
    try:
        array = pa.array(values)
    except (*MISFIT, pa.ArrowException):
        return values  # values of several types, or a number that would change; as text it keeps its digits
    if pa.types.is_floating(array.type):  # Arrow makes 1.0 of a boolean between floats
        is_plain = pc.all(pc.is_finite(array)).as_py() is not False and bool not in set(map(type, values))
        return array if is_plain else values
    return array if array.type in _PLAIN else values


def column_of(name: str, key: str, parts: Sequence[Any]) -> Column:
    """Return the column of JSON values, with None for null, that come in Arrow arrays and in sequences.

    Raises:
        TabulationError: if a value is not JSON, such as NaN.
    """
    kinds = {part.type if is_arrow(part) else None for part in parts} - {pa.null()}
    if None not in kinds and len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.null()
        parts = [part if part.type == kind else part.cast(kind) for part in parts]
        return Column(name, key, parts[0] if len(parts) == 1 else pa.chunked_array(parts, kind).combine_chunks())
    values = [value for part in parts for value in (part.to_pylist() if is_arrow(part) else part)]
    types = {_json_type(name, kind) for kind in set(map(type, values)) - {type(None)}}
    array = values if NumberText in types else packed(values)
    if is_arrow(array):
        return Column(name, key, array)
    if types == {str}:
        return Column(name, key, string_array(values))
    for row, value in enumerate(values):
        if isinstance(value, (float, Decimal)) and not math.isfinite(value):
            raise _unfit(name, row, "a number that fits float64, found NaN, an infinity or a larger number")
    if types <= {int, float, NumberText, Decimal}:
        return Column(name, key, texts_of(values), is_number_text=True)
    if bool not in types and all(value in (None, "") or re.fullmatch(NUMBER, text_of(value)) for value in values):
        return Column(name, key, texts_of(values))
    return Column(name, key, values)


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
    if numbers == "text" and (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return texts_from(values)
    if pa.types.is_floating(values.type) and numbers == "float":
        return noted(values, values.cast(pa.string()), losses, column.name)
    if column.is_number_text or pa.types.is_floating(values.type):
        return values if numbers == "text" else _json_numbers(column, texts_from(values), numbers, losses)
    if not pa.types.is_string(values.type) or is_identifier(column.key):
        return values
    texts = without_blanks(values)
    try:
        if numbers != "text" and not is_label(column.key) and all_match(texts, NUMBER):
            return noted(number_array(texts, numbers), texts, losses, column.name)
        kind = next((kind for kind, pattern in TIMES.items() if begins_with(texts, pattern)), None)
        return values if kind is None else converted(texts, kind, losses, column.name)
    except MISFIT:
        return values


def frame_of(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return a DataFrame of `count` rows, numbered from 0, with these columns in their order.

    A column is an Arrow array, a Series, or a list of objects.
    """
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(count), columns=pd.Index([], dtype="str"))
    arrays = {name: values if is_arrow(values) else pa.nulls(count) for name, values in columns.items()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=_dtype_of)
    for name, values in columns.items():
        if not is_arrow(values):
            frame[name] = values if isinstance(values, pd.Series) else pd.Series(values, dtype=object)
    return frame


def _dtype_of(kind: Any) -> Any:
    """Return the dtype of an Arrow type, or None for the one that Arrow chooses, which is of the same type."""
    if kind == UTC:
        return pd.DatetimeTZDtype("us", "UTC")  # pandas and Arrow use different objects for UTC
    if pa.types.is_boolean(kind):
        return pd.BooleanDtype()
    if pa.types.is_integer(kind):
        return pd.api.types.pandas_dtype(str(kind).capitalize().replace("Ui", "UI"))
    is_plain = kind in TEXTS or pa.types.is_floating(kind) or pa.types.is_null(kind)
    return None if is_plain or pa.types.is_timestamp(kind) or pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)


def _json_numbers(column: Column, texts: Any, numbers: Numbers, losses: Losses) -> Any:
    """Return JSON numbers as int64, double or decimal128; identifiers that are longer integers stay text."""
    try:
        values = number_array(texts, numbers)
    except MISFIT:
        values = None
    is_long = values is None or not pa.types.is_integer(values.type)
    if is_long and is_identifier(column.key) and all_match(texts, INTEGER):
        return texts
    if values is None:
        row = first_misfit(len(texts), lambda part: number_array(texts[part], numbers))
        digits = f"decimal128 ({DECIMAL_DIGITS} digits before and after the point)"
        kind = digits if numbers == "decimal" else "float64"
        raise _unfit(column.name, row, f"numbers that fit {kind}, found longer ones")
    return noted(values, texts, losses, column.name)


def _json_type(name: str, kind: type) -> type:
    for known in (bool, NumberText, str, int, float, Decimal):
        if issubclass(kind, known):
            return known
    raise TabulationError(
        f"Column {excerpt(name, SHOWN)!r} holds a value of type {kind.__name__}, which JSON does not have.",
        "Convert such values to text or numbers first.",
    )


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
