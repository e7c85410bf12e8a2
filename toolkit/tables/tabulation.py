"""Tables: of JSON, of a session's calls, and of its tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, get_args

import pandas as pd
import pyarrow as pa
from pandas.api import types

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.core.ledger import Authorization, Call
from toolkit.core.user_code import warn
from toolkit.tables import arrow_reader
from toolkit.tables.arrow_text import FLOAT_DIGITS, Numbers, frame_of, string_array
from toolkit.tables.column_names import Path, distinct, dotted
from toolkit.tables.columns import Column, Losses, column_of, typed
from toolkit.tables.comparison import compare
from toolkit.tables.flatten import columns_of
from toolkit.tables.json_body import body_of
from toolkit.tables.requested_dtypes import asked, needs_digits
from toolkit.tables.row_choice import choose_rows

_INSTANT: Final = "datetime64[us, UTC]"


def tabulate(
    data: Any,
    *,
    numbers: Numbers = "float",
    dtypes: Mapping[str, Any] | None = None,
    records: str | None = None,
) -> pd.DataFrame:
    """The records of a JSON value as a table, one row each, numbered from 0.

    Rows. A list gives a row for each member, an object one row. An object that only wraps a list of
    objects (`{"accounts": [...], "next": null}`: every other member is null or about paging) gives
    the rows of that list. `records` names the list to take instead, by its dotted path. One that is
    inside records (`"positions"` of many accounts) gives a row for each member of each, and its
    first columns are those that identify the records around it (`id`, `account_number`, ...), called
    `<list>.id` or `parent.id` where there is more than one `id`, and `<list>.<list>.id` for a list
    in one of the same name. No records, no columns.

    Columns come in order of first appearance. A member of a nested object has the dotted name of
    its path; names that are the same get ` (2)`, ` (3)` and so on from the second on. A list inside
    a record stays JSON text. A member that is no object is in the column `value`.

    Types. Null and absent are both a missing value.
    - JSON numbers without a fraction are Int64. With one, and beyond int64, they are what `numbers`
      says: "float" is float64, exact for cents below 1e13, with a warning when a number has more
      than 15 significant digits; "decimal" is Arrow's decimal128, exact to 38 digits. With "text"
      every number, integers too, is text as it was written.
    - Text is a number in the same way when all of a column reads as JSON numbers. So leading zeros
      keep it text; and so does a name whose last word says identifier: id, number, account, symbol,
      cusip, isin, zip, phone, code, version and the like (`column_names.IDENTIFIER_WORDS`).
    - RFC 3339 instants are datetime64[us, UTC], dates (2026-05-12) datetime64[us] without a zone.
      Local times without an offset stay text, since nobody knows which instant they are.
    - Booleans are boolean, other text is str. A column without any value, and one of mixed types, is object.

    Positions beside their accounts, and records that are listed by their key:

        positions = tabulate(response, records="positions")
        table = positions.merge(tabulate(response), on=["id", "account_number"])
        quotes = tabulate([{"symbol": symbol} | quote for symbol, quote in response.json()["quotes"].items()])

    For Excel, which knows no time zones and takes text that begins with = for a formula, and for
    Parquet, which keeps every type:

        instants = table.select_dtypes("datetimetz").apply(lambda column: column.dt.tz_localize(None))
        table.assign(**instants).to_excel("table.xlsx")
        table.to_parquet("table.parquet")

    Args:
        data: a response, JSON as bytes or text, or a parsed value.
        numbers: "float", "decimal" or "text".
        dtypes: column to dtype (of pandas, NumPy or Arrow), before all rules above; text is read as
            that dtype, and what would lose a fraction or a digit is refused, except that a fraction
            becomes the nearest float. Names of no column are ignored.
        records: dotted path of the list whose members are the rows.

    Raises:
        ServiceError: the response has an error status.
        TabulationError: it is no JSON (NaN and infinities are none), or has a name twice in one
            object; nothing is at `records`; a value does not fit its column.
    """
    if numbers not in get_args(Numbers):
        raise ValueError(f"numbers is one of {', '.join(map(repr, get_args(Numbers)))}, not {numbers!r}")
    if data is None:
        raise TabulationError("There is nothing to make a table of: it is None.", "Give a response, JSON or its value.")
    if records is not None and not isinstance(records, str):
        raise TabulationError(
            f"records is the dotted path of a list, not {type(records).__name__}.", 'For example records="positions".'
        )
    wanted = {name: types.pandas_dtype(dtype) for name, dtype in (dtypes or {}).items()}
    try:
        columns, count = _read(data, records, written=numbers != "float")
        columns |= _digit_by_digit(data, records, columns, wanted) if numbers == "float" else {}
    except RecursionError:
        raise TabulationError("the value is nested too deep") from None
    losses = Losses()
    frame = frame_of({column.name: _finished(column, wanted, numbers, losses) for column in columns.values()}, count)
    _warn(losses)
    return frame


def _finished(column: Column, wanted: Mapping[str, Any], numbers: Numbers, losses: Losses) -> Any:
    if column.name in wanted:
        return asked(column, wanted[column.name], numbers)
    return typed(column, numbers, losses)


def _read(data: Any, path: str | None, *, written: bool) -> tuple[dict[str, Column], int]:
    """The columns by name, and how many rows there are."""
    body = body_of(data)
    if body is not None and len(body.content) >= arrow_reader.WORTHWHILE:
        read = arrow_reader.read_columns(body, path, written=written)
        if read is not None:
            return _named(read[0], {}), read[1]
    rows = choose_rows(data if body is None else body.parse(written=written), path)
    return _named(columns_of(rows.records), rows.carried), len(rows.records)


def _digit_by_digit(
    data: Any, path: str | None, columns: Mapping[str, Column], wanted: Mapping[str, Any]
) -> dict[str, Column]:
    """Again those columns whose floats have lost digits that the dtype asked for would hold."""
    lossy = [
        name
        for name, dtype in wanted.items()
        if needs_digits(dtype) and name in columns and _has_floats(columns[name].data)
    ]
    body = body_of(data) if lossy else None
    if body is None:
        return {}
    rows = choose_rows(body.parse(written=True), path)
    exact = _named(columns_of(rows.records), rows.carried)
    return {name: exact[name] for name in lossy}


def _has_floats(values: Any) -> bool:
    if isinstance(values, list):
        return any(isinstance(value, float) for value in values)
    return bool(pa.types.is_floating(values.type))


def _named(columns: Mapping[Path, Any], carried: Mapping[tuple[str, str], list[Any]]) -> dict[str, Column]:
    own = [dotted(path) for path in columns]
    keys = [key for _, key in carried] + [path[-1] if path else "" for path in columns]
    met = Counter([*own, *(key for _, key in carried)])
    names = [key if met[key] == 1 else f"{place}.{key}" for place, key in carried] + own
    values = [*carried.values(), *columns.values()]
    found = distinct(string_array(names).to_pylist())
    return {name: _column(name, key, part) for name, key, part in zip(found, keys, values, strict=True)}


def _column(name: str, key: str, values: Any) -> Column:
    return column_of(name, key, values) if isinstance(values, list) else Column(name, key, values)


def _warn(losses: Losses) -> None:
    if losses.digits:
        what = f"more than {FLOAT_DIGITS} significant digits, which float64 may not hold as they were written"
        _warn_of(what, losses.digits, "numbers='decimal'")
    if losses.nanoseconds:
        _warn_of("digits beyond the microsecond were dropped", losses.nanoseconds, "dtypes={...: 'str'}")


def _warn_of(what: str, names: Sequence[str], option: str) -> None:
    shown = ", ".join(repr(excerpt(name, 40)) for name in names[:5]) + (", ..." if len(names) > 5 else "")
    # The whole call, as the table may be one of session.accounts(), which has no such option.
    warn(f"{what}: {shown} (tk.tabulate(response, {option}) holds them)")


def calls_table(calls: Sequence[Call], *, first: int = 1) -> pd.DataFrame:
    """One row a call, in the order in which they were sent; the index "call" counts from `first`.

    Columns, the same ones of the same types also when there are no calls:
        when (datetime64[us, UTC]): the second in which it was sent.
        interface (str): name of the interface, or the host of another address.
        method (str): HTTP method.
        path (str): path without the address and without the query.
        status (Int64): HTTP status code; 599 for a call that got no answer.
        elapsed (float64): seconds from sending to the end of the body, to a tenth of a millisecond;
            missing while unfinished.
        token (Int64): number of the token that authorized it; missing for a key pair and a token request.

    For Excel, which knows no time zones, and for Parquet, which does:

        calls.assign(when=calls["when"].dt.tz_localize(None)).to_excel("calls.xlsx")
        calls.to_parquet("calls.parquet")
    """
    sent = sorted(calls, key=lambda call: call.sent_at)
    columns = {
        "when": _column_of(_INSTANT, (_to_the_second(call.sent_at) for call in sent)),
        "interface": _column_of("str", (str(call.interface) for call in sent)),
        "method": _column_of("str", (call.method for call in sent)),
        "path": _column_of("str", (call.path for call in sent)),
        "status": _column_of("Int64", (call.status for call in sent)),
        "elapsed": _column_of(
            "float64", (None if call.elapsed is None else round(call.elapsed.total_seconds(), 4) for call in sent)
        ),
        "token": _column_of("Int64", (call.authorized_by and call.authorized_by.token for call in sent)),
    }
    return pd.DataFrame(columns).set_index(pd.RangeIndex(first, first + len(sent), name="call"))


def tokens_table(calls: Iterable[Call], now: datetime) -> pd.DataFrame:
    """One row a token that authorized a call, by number; the index "token" holds the numbers, from 1.

    A key pair has no token and no row. Columns, the same ones of the same types also without tokens:
        profile (str): name of the credentials.
        environment (str): whose credentials.
        issued (datetime64[us, UTC]): the second from which the token counts.
        expires (datetime64[us, UTC]): the second in which it ends.
        lifetime (float64): seconds from issued to expires.
        remaining (float64): seconds from `now` to expires, rounded up: 0 means that it has ended.
        state (str): "replaced" when a later token of the same profile and environment was issued
            before this one expired, else "expired" from `expires` on, else "valid".
        calls (int64): how many calls it authorized.

    For Excel, which knows no time zones, and for Parquet, which does:

        instants = tokens.select_dtypes("datetimetz").apply(lambda column: column.dt.tz_localize(None))
        tokens.assign(**instants).to_excel("tokens.xlsx")
        tokens.to_parquet("tokens.parquet")

    Args:
        calls: the calls of a session, in any order.
        now: the instant, with its time zone, that remaining and state are as of.
    """
    used = Counter(call.authorized_by for call in calls if call.authorized_by and call.authorized_by.token is not None)
    tokens = sorted(used, key=_token_order)
    frame = pd.DataFrame(
        {
            "profile": _column_of("str", (token.profile for token in tokens)),
            "environment": _column_of("str", (str(token.environment) for token in tokens)),
            "issued": _column_of(_INSTANT, (_to_the_second(token.issued_at) for token in tokens)),
            "expires": _column_of(_INSTANT, (_to_the_second(token.expires_at) for token in tokens)),
            "lifetime": _column_of("float64", (_seconds(token.issued_at, token.expires_at) for token in tokens)),
            "remaining": _column_of("float64", (_remaining(token, now) for token in tokens)),
            "state": _column_of("str", _states(tokens, now)),
            "calls": _column_of("int64", (used[token] for token in tokens)),
        }
    )
    return frame.set_index(pd.Index([token.token for token in tokens], dtype="int64", name="token"))


def _column_of(dtype: str, values: Iterable[Any]) -> pd.Series[Any]:
    return pd.Series(list(values), dtype=dtype)


def _token_order(token: Authorization) -> tuple[Any, ...]:
    instants = (str(token.issued_at), str(token.expires_at))
    return (token.token, str(token.environment), token.profile, *instants, str(token.kind))


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


def _to_the_second(instant: datetime | None) -> datetime | None:
    """Cut rather than rounded: order stays, and so does the difference between issue and expiry."""
    return instant and instant.replace(microsecond=0)


def _remaining(token: Authorization, now: datetime) -> float | None:
    left = _seconds(now, token.expires_at)
    return None if left is None else float(max(math.ceil(left), 0))


def _states(tokens: Sequence[Authorization], now: datetime) -> Iterator[str]:
    for token in tokens:
        if any(_replaces(other, token) for other in tokens):
            yield "replaced"
        else:
            yield "expired" if token.expires_at is not None and token.expires_at <= now else "valid"


def _replaces(later: Authorization, token: Authorization) -> bool:
    """Whether a token was issued after another of the same credentials, and before that one expired."""
    if (later.profile, later.environment) != (token.profile, token.environment):
        return False
    if later.issued_at is None or token.issued_at is None or token.expires_at is None:
        return False
    follows = (later.issued_at, later.token or 0) > (token.issued_at, token.token or 0)
    return follows and later.issued_at < token.expires_at


__all__ = ["calls_table", "compare", "tabulate", "tokens_table"]
