"""The keys of a sweep: their types, how they are written, and the source that workers take them from."""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from toolkit.core.errors import ConfigurationError
from toolkit.core.escaping import excerpt

if TYPE_CHECKING:
    import pyarrow as pa

Key: TypeAlias = str | int | date
KeyKind: TypeAlias = Literal["text", "integer", "date", "instant", "local time"]
_LARGEST: Final = 2**63
_NANOSECONDS: Final = re.compile(r"\.[0-9]{7}")


def key_of(value: Any) -> tuple[Key, KeyKind]:
    """Return a key as a plain value, with its kind; integers of NumPy and timestamps of pandas are converted.

    Raises:
        ConfigurationError: if the value is not text, an integer, a date or a datetime.
    """
    if isinstance(value, str):
        return _text(value), "text"
    if isinstance(value, datetime) and value == value:  # noqa: PLR0124 - pandas's NaT differs from itself
        if not getattr(value, "nanosecond", 0):  # a timestamp of pandas with nanoseconds is a key as it is
            value = getattr(value, "to_pydatetime", lambda: value)()
        return (value, "local time") if value.tzinfo is None else (value.astimezone(UTC), "instant")
    if isinstance(value, date) and not isinstance(value, datetime):
        return value, "date"
    if hasattr(value, "__index__") and not isinstance(value, bool):
        number = operator.index(value)
        if -_LARGEST <= number < _LARGEST:
            return number, "integer"
    raise ConfigurationError(
        f"A key of a sweep is text, an integer, a date or a datetime, not {excerpt(repr(value), 60)} "
        f"({type(value).__name__}).",
        'Make text of other keys, such as f"{symbol}/{day}", and take it apart in call(key).',
        about="keys",
    )


def encoded(keys: Iterable[Key]) -> list[str | int]:
    """Return keys as JSON values."""
    return [key if isinstance(key, str | int) else key.isoformat() for key in keys]


def decoded(values: Iterable[Any], kind: KeyKind) -> list[Key]:
    """Return the keys of JSON values.

    Raises:
        ValueError, TypeError: if a value is not a key of this kind.
    """
    if kind in ("text", "integer"):
        return list(values)
    parse: Callable[[str], date] = date.fromisoformat if kind == "date" else _instant
    return [parse(value) for value in values]


def _instant(text: str) -> datetime:
    if not _NANOSECONDS.search(text):
        return datetime.fromisoformat(text)
    import pandas as pd

    return pd.Timestamp(text)


def key_array(keys: Sequence[Key], kind: KeyKind) -> pa.Array:
    """Return keys as an Arrow array: text, int64, a midnight without a zone, or an instant."""
    import pyarrow as pa

    if kind == "date":  # as `tabulate` reads dates
        return pa.array(keys, pa.date32()).cast(pa.timestamp("us"))
    unit: Literal["us", "ns"] = "ns" if any(getattr(key, "nanosecond", 0) for key in keys) else "us"
    types = {"text": pa.string(), "integer": pa.int64(), "instant": pa.timestamp(unit, "UTC")}
    return pa.array(keys, types.get(kind, pa.timestamp(unit)))


class KeySource:
    """Keys to ask for, taken one by one by threads or tasks, each key once.

    Args:
        keys: any iterable; it is gone through as keys are taken.
        kind: the kind of the folder's keys, or None if it has none yet.
        finished: returns True for a key that need not be asked for.

    Attributes:
        kind: the kind of the keys; None before the first key.
        order: the keys so far, in their order.
        total: number of all keys, or None if the iterable does not know.
        skipped: number of keys that were finished or came twice.
        finished: number of keys that were finished.

    Raises:
        ConfigurationError: if `keys` is a text, a table, or cannot be iterated over.
    """

    def __init__(self, keys: Iterable[Any], *, kind: KeyKind | None, finished: Callable[[Key], bool]) -> None:
        if isinstance(keys, str | bytes) or hasattr(keys, "itertuples") or not hasattr(keys, "__iter__"):
            raise ConfigurationError(
                f"The keys of a sweep are a list or another iterable of keys, not {_kind_text(keys)}.",
                'Of a table, pass the column of the keys: table["id"].',
                about="keys",
            )
        length = operator.length_hint(keys, -1)
        self.kind = kind
        self.order: dict[Key, None] = {}
        self.total = length if length >= 0 else None
        self.skipped = 0
        self.finished = 0
        self._keys: Iterator[Any] = iter(keys)
        self._finished = finished
        self._lock = threading.Lock()

    def take(self) -> Key | None:
        """Return the next key to ask for, or None after the last one.

        Raises:
            ConfigurationError: if something is not a key, or is of another kind than the earlier keys.
        """
        with self._lock:  # an iterator belongs to one thread at a time
            for value in self._keys:
                key, kind = key_of(value)
                if kind != self.kind:
                    self._note_kind(key, kind)
                if key not in self.order:
                    self.order[key] = None
                    if not self._finished(key):
                        return key
                    self.finished += 1
                self.skipped += 1
            return None

    def _note_kind(self, key: Key, kind: KeyKind) -> None:
        if self.kind is not None:
            raise ConfigurationError(
                f"The keys of one folder are of one type, but {excerpt(repr(key), 60)} is {kind} among keys of "
                f"type {self.kind}.",
                "Convert the keys to one type, such as text, or sweep into another folder.",
                about="keys",
            )
        self.kind = kind


def _kind_text(keys: Any) -> str:
    return "a table" if hasattr(keys, "itertuples") else f"a {type(keys).__name__}"


def _text(value: str) -> str:
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(
            f"A key has a character that UTF-8 cannot write: {excerpt(text, 60)!r}.", about="keys"
        ) from None
    return text
