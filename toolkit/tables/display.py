"""The display of a table that people look at; the data in it, and tables made from it, are plain pandas.

Only what is shown differs from pandas: at most 20 rows, amounts with thousands separators, instants to the second,
UUIDs shortened (and last, if another column tells the rows apart), and in a terminal the columns that fit. The options
`display.max_rows`, `display.max_columns`, `display.max_colwidth`, `display.precision` and `display.float_format` of
pandas apply if they are set.
"""

from __future__ import annotations

import copy
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any, Final, SupportsIndex

import numpy as np
import pandas as pd

from toolkit.core.escaping import as_html, excerpt, printable
from toolkit.core.words import count_text
from toolkit.tables.column_names import is_identifier, is_key

# The text in `attrs` that is shown below a table, such as how many rows differ.
SUMMARY: Final = "summary"

_ROWS: Final = 20
_TEXT: Final = 32  # characters
_SHORT_TEXT: Final = 16  # characters, if all columns of a table fit into a line then
_UUID_START: Final = 8
_PANDAS_ROWS: Final = 60  # pandas's own default
_PANDAS_TEXT: Final = 50
_LONGEST_NOTE: Final = 1000  # characters of a line
_CENTS: Final = 2  # decimals, at least, of numbers that have any
_MANY: Final = 10_000  # integers from here on have separators; years have none
_MOST_DIGITS: Final = 15  # before the point; larger numbers are shown with an exponent
_NAMES: Final = 12  # of columns that are not shown
_MISSING: Final = "–"  # noqa: RUF001 - a dash, as in printed tables
_STYLE: Final = ".readable-table td { white-space: nowrap; }"
_UNCUT_STYLE: Final = ".uncut-table table.dataframe :is(th, td) { text-align: left; }"
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class _AnyDataFrame(type(pd.DataFrame)):  # type: ignore[misc]
    """Makes isinstance accept any DataFrame, as tests of equal tables ask whether the types are the same."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, pd.DataFrame)


class _ShownTable(pd.DataFrame, metaclass=_AnyDataFrame):
    """A DataFrame with a display of its own, which `head` and `tail` keep: they are for looking at rows.

    Copies, other selections, results and pickles of it are plain DataFrames.
    """

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    # pandas marks both as final for type checkers; its own code does not rely on what they return.
    def head(self, n: int = 5) -> Any:  # type: ignore[misc]
        """Return the first rows with the same display."""
        return _without_summary(super().head(n))

    def tail(self, n: int = 5) -> Any:  # type: ignore[misc]
        """Return the last rows with the same display."""
        return _without_summary(super().tail(n))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return copy.copy, (self.copy(deep=False),)  # a pickle that can be read without the toolkit


class ReadableTable(_ShownTable):
    """A DataFrame that is shown in readable form."""

    def __repr__(self) -> str:
        return super().__repr__() if pd.get_option("display.large_repr") == "info" else table_text(self)

    def _repr_html_(self) -> str | None:
        if pd.get_option("display.large_repr") == "info" or not pd.get_option("display.notebook_repr_html"):
            html: str | None = super()._repr_html_()  # type: ignore[misc]
            return html
        return table_html(self)


class UncutTable(_ShownTable):
    """A DataFrame that is shown as pandas does, but with whole texts: for reasons, which are of no use if cut."""

    def __repr__(self) -> str:
        with _whole_texts():
            return super().__repr__()

    def _repr_html_(self) -> str | None:
        with _whole_texts():
            html: str | None = super()._repr_html_()  # type: ignore[misc]
        return html and f'<div class="uncut-table"><style>{_UNCUT_STYLE}</style>\n{html}</div>'


def readable(table: pd.DataFrame, summary: str | None = None) -> ReadableTable:
    """Return the table with a readable display.

    Args:
        summary: a line to show below the table; it stands in `attrs["summary"]`.
    """
    result = ReadableTable(table)
    result.attrs = {**table.attrs, **({SUMMARY: summary} if summary else {})}
    return result


def _without_summary(rows: pd.DataFrame) -> ReadableTable:
    """Return some rows of a table with a readable display, and without the line that is about the whole table."""
    result = readable(rows)
    result.attrs.pop(SUMMARY, None)
    return result


def table_text(table: pd.DataFrame) -> str:
    """Return the table as text, with the columns that fit into a line."""
    cells = _cells(table)
    if not len(cells):
        return "\n".join(["Columns: " + (", ".join(cells.columns) or "none"), *_notes(table, cells)])
    shown, gap = _fitting(cells)
    parts = [["", *map(printable, map(str, shown.index))]]
    parts += [[name, *shown.iloc[:, at]] for at, name in enumerate(shown.columns)]
    widths = [max(map(len, part)) for part in parts]
    first, *rest = ([text.ljust(widths[0]) for text in parts[0]], *parts[1:])
    columns = [first, *([text.rjust(width) for text in part] for part, width in zip(rest, widths[1:], strict=True))]
    notes = [line for note in _notes(table, shown) for line in textwrap.wrap(note, min(_line_width(), _LONGEST_NOTE))]
    return "\n".join([*map(gap.join, zip(*columns, strict=True)), *notes])


def table_html(table: pd.DataFrame) -> str:
    """Return the table as HTML, with as many columns as pandas would show."""
    cells = _cells(table)
    most = pd.get_option("display.max_columns")
    shown = cells.iloc[:, :most] if most else cells
    with pd.option_context("display.max_colwidth", None):
        body = shown.to_html(notebook=True, max_cols=None, max_rows=None, escape=True)
    notes = "".join(f"<p>{as_html(note)}</p>" for note in _notes(table, shown))
    # Cells are short, so they need not wrap.
    return f'<div class="readable-table"><style>{_STYLE}</style>\n{body}\n{notes}</div>'


def _in_order(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show, with UUIDs in the last columns if another column, such as a number, tells rows apart."""
    head = table.iloc[: _most_rows()]
    uuids = [at for at in range(head.shape[1]) if _has_uuids(head.iloc[:, at])]
    others = [at for at in range(head.shape[1]) if at not in uuids]
    has_key = any(is_key(str(head.columns[at]).rpartition(".")[2]) for at in others)
    return head.iloc[:, [*others, *uuids]] if has_key else head


def _notes(table: pd.DataFrame, shown: pd.DataFrame) -> list[str]:
    """Return lines about what is not shown, with the size of the table, and its summary."""
    notes = []
    if hidden := len(table) - len(shown):
        notes.append(f"and {count_text(hidden, 'more row')}")
    names = [excerpt(str(name), 32) for name in _in_order(table).columns[shown.shape[1] :]]
    if names:
        more = ", ..." if len(names) > _NAMES else ""
        notes.append(f"and {count_text(len(names), 'more column')}: {', '.join(names[:_NAMES])}{more}")
    if summary := table.attrs.get(SUMMARY):
        notes.append(printable(str(summary)))
    else:
        notes.append(f"[{count_text(len(table), 'row')} x {count_text(table.shape[1], 'column')}]")
    return notes


def _cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show as text."""
    head = _in_order(table)
    columns = [_texts(head.iloc[:, at], str(name)) for at, name in enumerate(head.columns)]
    names = [excerpt(str(name), 64) for name in head.columns]
    cells = pd.DataFrame(dict(enumerate(columns)), index=head.index, dtype=object)
    return cells.set_axis(pd.Index(names, dtype=object), axis="columns")


def _most_rows() -> int | None:
    option: int | None = pd.get_option("display.max_rows")
    return _ROWS if option == _PANDAS_ROWS else option or None


def _has_uuids(values: pd.Series[Any]) -> bool:
    texts = values.dropna().tolist()
    return bool(texts) and all(isinstance(text, str) and _UUID.fullmatch(text) for text in texts)


def _fitting(cells: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the first columns, as many as fit into a line of the terminal and at least one, and the gap between them.

    The gap is two spaces, or one if all columns fit then. Texts that are cut are cut shorter if all columns fit then.
    """
    most: int = pd.get_option("display.max_columns") or cells.shape[1]
    width = _line_width()
    left = width - max(len(str(label)) for label in cells.index)
    widths = _widths(cells.iloc[:, :most])
    if sum(widths) + len(widths) > left and pd.get_option("display.max_colwidth") == _PANDAS_TEXT:
        short = cells.iloc[:, :most].map(_cut)
        if sum(_widths(short)) + len(widths) <= left:
            cells, widths = short, _widths(short)
    if sum(widths) + 2 * len(widths) > left >= sum(widths) + len(widths):
        return cells.iloc[:, :most], " "
    ends = np.cumsum([size + 2 for size in widths])
    return cells.iloc[:, : max(1, int(np.searchsorted(ends, left, side="right")))], "  "


def _widths(cells: pd.DataFrame) -> list[int]:
    return [max([len(str(name)), *map(len, cells.iloc[:, at])]) for at, name in enumerate(cells.columns)]


def _cut(text: str) -> str:
    """Return a text that was cut, cut shorter; numbers and instants are never cut."""
    return f"{text[: _SHORT_TEXT - 1]}…" if text.endswith("…") and len(text) > _SHORT_TEXT else text


def _line_width() -> int:
    if not pd.get_option("display.expand_frame_repr"):
        return sys.maxsize
    if sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    width: int | None = pd.get_option("display.width")
    return width or 80


def _texts(values: pd.Series[Any], name: str) -> list[str]:
    """Return the cells of a column as text."""
    if _has_uuids(values):
        cells = [_MISSING if is_missing(value) else f"{value[:_UUID_START]}…" for value in values]
    elif pd.api.types.is_datetime64_any_dtype(values.dtype):
        cells = _instant_texts(values)
    else:
        amounts = [value for value in values if _is_number(value)]
        as_text = _number_text(amounts, name)
        cells = [_MISSING if is_missing(value) else as_text(value) for value in values]
    return cells


def _instant_texts(values: pd.Series[Any]) -> list[str]:
    """Return instants to the second, in UTC with a Z, and days without a time."""
    days = values.dt.tz is None and bool((values.dropna() == values.dropna().dt.normalize()).all())
    form = "%Y-%m-%d" if days else "%Y-%m-%d %H:%M:%S"
    zone = "" if values.dt.tz is None else "Z" if str(values.dt.tz) == "UTC" else "%z"
    return [_MISSING if is_missing(value) else value.strftime(form + zone) for value in values]


def _number_text(numbers: Sequence[Any], name: str) -> Callable[[Any], str]:
    """Return a function that makes text of a cell; numbers of a column have the same number of decimals."""
    longest = _longest_text()
    float_format = pd.get_option("display.float_format")
    finite = [Decimal(str(value)) for value in numbers if abs(value) < float("inf")]
    places = max([-_exponent(value) for value in finite], default=0)
    places = min(max(places, _CENTS) if places else 0, int(pd.get_option("display.precision")))
    tiny, huge = Decimal(1).scaleb(-places), Decimal(1).scaleb(_MOST_DIGITS)
    is_plain = all(value == 0 or tiny <= abs(value) < huge for value in finite)
    has_separators = not is_identifier(name.rsplit(".", 1)[-1]) and any(abs(value) >= _MANY for value in finite)

    def text(value: Any) -> str:
        if not _is_number(value):
            return excerpt(str(value), longest) if longest else " ".join(printable(str(value)).split())
        if float_format is not None and isinstance(value, float):
            return str(float_format(value) if callable(float_format) else float_format % value)
        if abs(value) == float("inf"):
            return str(value)
        if isinstance(value, (int, np.integer)):
            return f"{value:{',' if has_separators else ''}}"
        return f"{value:,.{places}f}" if is_plain else f"{value:.6g}"

    return text


def _whole_texts() -> AbstractContextManager[object]:
    """Show texts of any length, unless the user has set another length."""
    return nullcontext() if _longest_text() != _TEXT else pd.option_context("display.max_colwidth", None)


def _longest_text() -> int | None:
    option: int | None = pd.get_option("display.max_colwidth")
    return _TEXT if option == _PANDAS_TEXT else option


def _exponent(value: Decimal) -> int:
    exponent = value.normalize().as_tuple().exponent
    return min(exponent, 0) if isinstance(exponent, int) else 0


def _is_number(value: Any) -> bool:
    if is_missing(value) or isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, Decimal):
        return not value.is_nan()
    return isinstance(value, (int, float, np.integer, np.floating))


def is_missing(value: Any) -> bool:
    """Check whether a cell is missing; lists and objects are not."""
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))
