"""From records to columns: one column for each path of keys, with the type inferred from its values and its name.

The values of a column become an Arrow array if they have one type; else they stay a list.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from toolkit.core.errors import TabulationError
from toolkit.core.text import excerpt
from toolkit.tables.conversion import (
    INTEGER,
    MISFIT,
    NUMBER,
    TIMES,
    UTC,
    Losses,
    Numbers,
    NumberText,
    all_match,
    converted,
    first_misfit,
    noted,
    number_array,
    text_of,
    texts_from,
    texts_of,
    whole,
    without_blanks,
)
from toolkit.tables.field_names import KeyPath, is_code

SHOWN: Final = 80  # characters of a name, or of a body that is not JSON, in an error
_PLAIN: Final = (pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string())


_TYPES: Final = {
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    Decimal: "a number",
    NumberText: "a number",
    str: "text",
}


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a column before it has a type: an Arrow array, or a list of several types or of `NumberText`.

    `key` is the last key of its path, which says whether it holds codes.
    """

    name: str
    key: str
    data: Any

    @classmethod
    def of(cls, name: str, key: str, values: list[Any]) -> Column:
        """Return the column of JSON values; refuse those that JSON does not have, such as NaN."""
        data = packed(values)
        for row, value in enumerate(data if isinstance(data, list) else ()):
            if value is not None and not isinstance(value, tuple(_TYPES)):
                raise _not_json(f"Column {excerpt(name, SHOWN)!r} holds a {type(value).__name__}")
            if isinstance(value, (float, Decimal)) and not math.isfinite(value):
                raise _unfit(name, row, "a number that fits float64, found NaN, an infinity or a larger number")
        return cls(name, key, data)

    def values(self) -> Any:
        """Return the values as an Arrow array; those of mixed types as text."""
        return texts_of(self.data) if isinstance(self.data, list) else self.data

    def type_at(self, row: int) -> str:
        """Return the type of the value in this row, for an error."""
        value = self.data[row] if isinstance(self.data, list) else self.data[row].as_py()
        return next((words for kind, words in _TYPES.items() if isinstance(value, kind)), "a missing value")


def columns_of(values: Sequence[Any], path: KeyPath = ()) -> dict[KeyPath, Sequence[Any]]:
    """Return the values at each path of some records, with None for a record without a value there.

    Paths come in the order in which they appear, those of an object together. A record that is not an object is the
    value at the empty path, and a list is JSON text. Null and an empty object make a column, unless another record has
    an object with members there.
    """
    kinds = set(map(type, values)) - {type(None)}
    if not any(issubclass(kind, (dict, list, tuple)) for kind in kinds):
        return {path: values} if path or kinds else {}
    others = [json_text(value) if isinstance(value, (list, tuple)) else value for value in values]
    others = [None if isinstance(value, dict) else value for value in others]
    has_others = any(not issubclass(kind, dict) for kind in kinds)
    columns: dict[KeyPath, Sequence[Any]] = {path: others} if has_others else {}
    objects = [value if isinstance(value, dict) else {} for value in values]
    for key, members in _members(objects).items():
        if not isinstance(key, str):
            raise _not_json(f"A key is of type {type(key).__name__}")
        columns |= columns_of(members, (*path, key))
    return columns if columns or not path else {path: others}


def _members(objects: Sequence[dict[Any, Any]]) -> dict[Any, Sequence[Any]]:
    shapes = set(map(tuple, objects))
    if len(shapes) == 1:
        shape = shapes.pop()
        cells = list(chain.from_iterable(map(dict.values, objects)))  # those of an object lie together in memory
        return {key: cells[place :: len(shape)] for place, key in enumerate(shape)}
    keys = dict.fromkeys(chain.from_iterable(objects))
    return {key: [record.get(key) for record in objects] for key in keys}


def _not_json(what: str) -> TabulationError:
    return TabulationError(f"{what}, which JSON does not have.", "Convert such values to text or numbers first.")


def json_text(value: Any) -> str:
    """Return a parsed value as JSON text on one line, with the digits of a `NumberText`."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise _not_json("A key is not text")
        return "{" + ", ".join(f"{json_text(key)}: {json_text(member)}" for key, member in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(json_text, value)) + "]"
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        raise _not_json(f"A list holds a {type(value).__name__}") from None


def packed(values: list[Any]) -> Any:
    """Return JSON values as an Arrow array if they have one type, else as they are."""
    try:
        array = pa.array(values)
    except UnicodeEncodeError:
        return packed([whole(value) if isinstance(value, str) else value for value in values])
    except (*MISFIT, pa.ArrowException):
        return values  # values of several types, or a number that would change; as text it keeps its digits
    if pa.types.is_floating(array.type) and (
        bool in set(map(type, values)) or pc.all(pc.is_finite(array)).as_py() is False
    ):
        return values  # Arrow makes 1.0 of a boolean between floats
    return array if array.type in _PLAIN else values


def inferred(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """Return the values with the type inferred from them and from the column's name, and note losses.

    They are an Arrow array, or a list of objects if the types are mixed.
    """
    values = column.data
    if isinstance(values, list):
        has_booleans = any(isinstance(value, bool) for value in values)
        if not has_booleans and not any(isinstance(value, str) for value in values):
            return _json_numbers(column, numbers, losses)
        if has_booleans or not all(value in (None, "") or re.fullmatch(NUMBER, text_of(value)) for value in values):
            return packed([_object(value, numbers, column.name, row) for row, value in enumerate(values)])
        values = texts_of(values)
    if pa.types.is_floating(values.type) and numbers == "float":
        return noted(values, values.cast(pa.string()), losses, column.name)
    if pa.types.is_floating(values.type) or (pa.types.is_integer(values.type) and numbers == "text"):
        return _json_numbers(column, numbers, losses)
    if not pa.types.is_string(values.type):
        return values
    texts = without_blanks(values)
    try:
        if numbers != "text" and not is_code(column.key) and all_match(texts, NUMBER):
            return noted(number_array(texts, numbers), texts, losses, column.name)
        kind = next((kind for kind, pattern in TIMES.items() if all_match(texts, pattern)), None)
        return values if kind is None else converted(texts, kind, losses, column.name)
    except MISFIT:
        return values


def frame_of(columns: Mapping[str, Any], count: int) -> pd.DataFrame:
    """Return a DataFrame of `count` rows, numbered from 0, with these columns in their order.

    A column is an Arrow array, a Series, or a list of objects.
    """
    if not columns:
        return pd.DataFrame(index=pd.RangeIndex(count), columns=pd.Index([], dtype="str"))
    others = {name: values for name, values in columns.items() if isinstance(values, (list, pd.Series))}
    arrays = {name: pa.nulls(count) if name in others else values for name, values in columns.items()}
    frame: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=_dtype_of)
    for name, values in others.items():
        frame[name] = pd.Series(values, dtype=object if isinstance(values, list) else None)
    return frame


def _dtype_of(kind: Any) -> Any:
    """Return the dtype of an Arrow type, or None for the one that Arrow chooses, which is of the same type."""
    if kind == UTC:
        return pd.DatetimeTZDtype("us", "UTC")  # pandas and Arrow use different objects for UTC
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return pd.Series([], dtype=kind.to_pandas_dtype()).convert_dtypes().dtype
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) or pa.types.is_date(kind) else None


def _json_numbers(column: Column, numbers: Numbers, losses: Losses) -> Any:
    """Return JSON numbers as text, int64, double or decimal128; codes that are longer integers stay text."""
    texts = texts_from(column.values())
    if numbers == "text":
        return texts
    is_code_of_digits = is_code(column.key) and all_match(texts, INTEGER)
    try:
        values = number_array(texts, numbers)
    except MISFIT:
        if is_code_of_digits:
            return texts
        row = first_misfit(len(texts), lambda part: number_array(texts[part], numbers))
        raise _unfit(column.name, row, f"numbers that fit {numbers}, found longer ones") from None
    return texts if is_code_of_digits and values.type != pa.int64() else noted(values, texts, losses, column.name)


def _object(value: Any, numbers: Numbers, name: str, row: int) -> Any:
    """Return one value of a column of mixed types: a number as `numbers` says, anything else as it is."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if numbers == "text":
        return text_of(value)
    with suppress(*MISFIT):
        number = json.loads(text_of(value), parse_float=Decimal if numbers == "decimal" else float)
        if math.isfinite(number):
            return number
    raise _unfit(name, row, "a number, found one with too many digits")


def _unfit(name: str, row: int, problem: str) -> TabulationError:
    return TabulationError(
        f"Column {excerpt(name, SHOWN)!r}, row {row}: expected {problem}.",
        "numbers='text', or a dtype of text for this column, keeps any number; a missing number is null.",
        about="numbers",
    )
