"""Text in Arrow arrays."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from toolkit.errors import TabulationError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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
    try:
        return repr(float(value)) if isinstance(value, float) else str(value)
    except ValueError:
        # str() refuses thousands of digits.
        raise TabulationError("a number has too many digits") from None


def texts_of(values: Iterable[Any]) -> Any:
    """The values as JSON writes them, in an Arrow array of strings."""
    return string_array(None if value is None else text_of(value) for value in values)


def all_match(texts: Any, pattern: str) -> bool:
    """Whether every text of an Arrow array matches; the first is tried alone, as it settles most columns."""
    first = _first_text(texts)
    if first is None or not re.fullmatch(pattern, first, re.ASCII):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _first_text(texts: Any) -> str | None:
    index = pc.index(pc.is_valid(texts), True).as_py()
    return None if index < 0 else str(texts[index].as_py())
