"""Readable tables: a display that derived tables keep, and the tables of calls and tokens.

Only the display differs from pandas: at most 20 rows, amounts with thousands separators, instants to the second, long
text, JSON and UUIDs shortened, and UUIDs moved to the end if another column tells the rows apart. The pandas options
for rows, columns, width, text, precision and floats apply if they are set.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Final, SupportsIndex

import numpy as np
import pandas as pd

from toolkit.core.ledger import Authorization, Call
from toolkit.core.text import as_html, count_text, excerpt, printable
from toolkit.tables.columns import is_code, is_key

# Key in `attrs` of a text such as how many rows differ. It is shown below a table that still has all its rows.
SUMMARY: Final = "summary"
_SUMMARIZED: Final = "summarized rows"

_ROWS: Final = 20
_TEXT: Final = 32  # characters
_LONGEST_NAME: Final = 64
_PANDAS_ROWS: Final = 60  # pandas's own default
_PANDAS_TEXT: Final = 50
_CENTS: Final = 2  # minimum number of decimals for numbers that have any
_MANY: Final = 10_000  # integers from this size on have thousands separators; years do not
_HUGE: Final = 10**15  # numbers from this size on are shown with an exponent
_MISSING: Final = "–"  # noqa: RUF001 - a dash, as in printed tables
_INSTANT: Final = "datetime64[us, UTC]"
_STYLE: Final = ".readable-table td { white-space: nowrap; }"
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


class ReadableTable(pd.DataFrame):
    """A DataFrame with a readable display, which derived DataFrames keep; it is pickled as a plain DataFrame."""

    _metadata: ClassVar[list[str]] = ["cuts_text"]
    cuts_text = True  # False to show strings in full, such as reasons, which are useless if shortened

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return ReadableTable

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        plain = pd.DataFrame(self)  # a pickle that can be read without the toolkit
        plain.attrs = dict(self.attrs)
        return copy.copy, (plain,)

    def __repr__(self) -> str:
        cells = _cells(self)
        body = _shown(cells, "__repr__") if len(cells) else f"Columns: {', '.join(cells.columns) or 'none'}"
        return "\n".join([body, *_notes(self, len(cells))])

    def _repr_html_(self) -> str | None:
        cells = _cells(self)
        body = _shown(cells, "_repr_html_")
        notes = "".join(f"<p>{as_html(note)}</p>" for note in _notes(self, len(cells)))
        return body and f'<div class="readable-table"><style>{_STYLE}</style>\n{body}\n{notes}</div>'


def readable(table: pd.DataFrame, summary: str | None = None, *, cuts_text: bool = True) -> ReadableTable:
    """Return the table with a readable display. `summary` is shown below it and kept in `attrs["summary"]`."""
    result = ReadableTable(table)
    result.cuts_text = cuts_text
    result.attrs = {**table.attrs, **({SUMMARY: summary, _SUMMARIZED: len(table)} if summary else {})}
    return result


def is_missing(value: Any) -> bool:
    return pd.api.types.is_scalar(value) and bool(pd.isna(value))


def _shown(cells: pd.DataFrame, method: str) -> Any:
    """Return pandas's text or HTML for a table of strings, with all rows and columns even in a narrow terminal."""
    columns = pd.get_option("display.max_columns") or None
    options = {"max_rows": None, "max_colwidth": None, "show_dimensions": False, "max_columns": columns}
    with pd.option_context({f"display.{name}": value for name, value in options.items()}):
        return getattr(cells, method)()


def _notes(table: pd.DataFrame, shown: int) -> list[str]:
    """Return a line about the rows that are not shown, if any, and the table's summary or size."""
    notes = [f"and {count_text(len(table) - shown, 'more row')}"] if shown < len(table) else []
    if SUMMARY in table.attrs and table.attrs.get(_SUMMARIZED) == len(table):
        return [*notes, printable(str(table.attrs[SUMMARY]))]
    return [*notes, f"[{count_text(len(table), 'row')} x {count_text(table.shape[1], 'column')}]"]


def _cells(table: ReadableTable) -> pd.DataFrame:
    """Return the rows to show as text, with UUIDs last if another column, such as a number, tells the rows apart."""
    rows, width = pd.get_option("display.max_rows"), pd.get_option("display.max_colwidth")
    longest = width if width != _PANDAS_TEXT else _TEXT if table.cuts_text else None
    head = table.iloc[: _ROWS if rows == _PANDAS_ROWS else rows or None]
    columns = [(str(name), head.iloc[:, at]) for at, name in enumerate(head.columns)]
    uuids = [column for column in columns if _has_uuids(column[1])]
    others = [column for column in columns if not _has_uuids(column[1])]
    columns = [*others, *uuids] if any(is_key(name.rpartition(".")[2]) for name, _ in others) else columns
    texts = {at: _texts(*column, longest) for at, column in enumerate(columns)}
    cells = pd.DataFrame(texts, index=head.index, dtype=object)
    cells.columns = pd.Index([excerpt(name, _LONGEST_NAME) for name, _ in columns], dtype=object)
    if any(isinstance(label, str) for label in head.index[:1]):
        cells.index = pd.Index([excerpt(str(label), _LONGEST_NAME) for label in head.index], name=head.index.name)
    return cells


def _has_uuids(values: pd.Series[Any]) -> bool:
    texts = values.dropna().tolist()
    return bool(texts) and all(isinstance(text, str) and _UUID.fullmatch(text) for text in texts)


def _texts(name: str, values: pd.Series[Any], longest: int | None) -> list[str]:
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        days = values.dt.tz is None and bool((values.dropna() == values.dropna().dt.normalize()).all())
        zone = "" if values.dt.tz is None else "Z" if str(values.dt.tz) == "UTC" else "%z"
        form = "%Y-%m-%d" if days else f"%Y-%m-%d %H:%M:%S{zone}"
        return [_MISSING if is_missing(value) else value.strftime(form) for value in values]
    is_uuid, number_text = _has_uuids(values), _number_text(list(filter(_is_number, values)), name)

    def text(value: Any) -> str:
        if is_missing(value):
            return _MISSING
        if _is_number(value):
            return number_text(value)
        return f"{value[:8]}…" if is_uuid else excerpt(str(value), longest or len(str(value)))

    return list(map(text, values))


def _number_text(numbers: list[Any], name: str) -> Callable[[Any], str]:
    """Return a function that formats the numbers in a column, all with the same number of decimals."""
    float_format = pd.get_option("display.float_format")
    finite = [Decimal(str(value)) for value in numbers if abs(value) < float("inf")]
    places = max([-min(int(value.normalize().as_tuple().exponent), 0) for value in finite], default=0)
    places = min(max(places, _CENTS) if places else 0, int(pd.get_option("display.precision")))
    is_plain = all(value == 0 or Decimal(1).scaleb(-places) <= abs(value) < _HUGE for value in finite)
    has_separators = not is_code(name.rsplit(".", 1)[-1]) and any(abs(value) >= _MANY for value in finite)

    def text(value: Any) -> str:
        if isinstance(value, (int, np.integer)):
            return f"{value:,}" if has_separators else str(value)
        if callable(float_format) and isinstance(value, float):
            return str(float_format(value))
        return f"{value:,.{places}f}" if is_plain else f"{value:.6g}"

    return text


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, (int, float, Decimal, np.number)) and not isinstance(value, bool)
    return is_number and not is_missing(value)


def calls_table(calls: Sequence[Call], *, first: int = 1) -> pd.DataFrame:
    """Return one row for each call, with an index that counts from `first`; `Session.calls` describes the columns."""
    sent = sorted(calls, key=lambda call: call.sent_at)
    columns = {
        "when": _series(_INSTANT, (call.sent_at for call in sent)),
        "interface": _series("str", (str(call.interface) for call in sent)),
        "method": _series("str", (call.method for call in sent)),
        "path": _series("str", (call.path for call in sent)),
        "status": _series("Int64", (call.status for call in sent)),
        "elapsed": _series(
            "float64", (None if call.elapsed is None else round(call.elapsed.total_seconds(), 4) for call in sent)
        ),
        "tries": _series("Int64", (call.tries for call in sent)),
        "token": _series("Int64", (call.authorized_by and call.authorized_by.token for call in sent)),
    }
    return readable(pd.DataFrame(columns).set_index(pd.RangeIndex(first, first + len(sent), name="call")))


def tokens_table(calls: Iterable[Call], now: datetime) -> pd.DataFrame:
    """Return one row for each token that authorized a call, with its remaining lifetime; see `Session.tokens`."""
    uses = Counter(call.authorized_by for call in calls if call.authorized_by and call.authorized_by.token is not None)
    tokens = sorted(uses, key=lambda token: (token.token, str(token.environment), token.profile, str(token.issued_at)))
    issued = _series(_INSTANT, (token.issued_at for token in tokens))
    expires = _series(_INSTANT, (token.expires_at for token in tokens))
    frame = pd.DataFrame(
        {
            "profile": _series("str", (token.profile for token in tokens)),
            "environment": _series("str", (str(token.environment) for token in tokens)),
            "issued": issued.dt.floor("s"),  # unlike rounding, this keeps the order and the lifetimes
            "expires": expires.dt.floor("s"),
            "lifetime": (expires - issued).dt.total_seconds(),
            "remaining": np.ceil((expires - now).dt.total_seconds().clip(lower=0)),
            "state": _series("str", (_state(token, tokens, now) for token in tokens)),
            "calls": _series("int64", (uses[token] for token in tokens)),
        }
    )
    return readable(frame.set_index(pd.Index([token.token for token in tokens], dtype="int64", name="token")))


def _series(dtype: str, values: Iterable[Any]) -> pd.Series[Any]:
    # Methods, paths and names may come from a recording, and tables are printed without escaping.
    texts = (printable(value) if isinstance(value, str) else value for value in values)
    return pd.Series(list(texts), dtype=dtype)


def _state(token: Authorization, tokens: Sequence[Authorization], now: datetime) -> str:
    """Return "replaced" if the credentials got a later token before this one expired; else "expired" or "valid"."""
    if token.expires_at is None:
        return "valid"
    is_replaced = any(
        (other.profile, other.environment) == (token.profile, token.environment)
        and (other.token or 0) > (token.token or 0)
        and other.issued_at is not None
        and other.issued_at < token.expires_at
        for other in tokens
    )
    return "replaced" if is_replaced else "expired" if token.expires_at <= now else "valid"
