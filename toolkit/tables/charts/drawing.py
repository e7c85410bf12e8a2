"""The three charts: account balances, a timeline of tokens and the calls they authorized, and call latencies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import matplotlib.dates
import pandas as pd
from matplotlib.axes import Axes

from toolkit.core.errors import TabulationError, as_text
from toolkit.core.text import count_text, excerpt, minutes_text
from toolkit.tables.charts.figure import (
    AMBER,
    BAND,
    BLUE,
    INK,
    MARKS,
    RED,
    Chart,
    check_columns,
    draw_calls,
    draw_rows,
    new_chart,
    source_of,
    table_of,
)
from toolkit.tables.display import is_missing

_MAX_ROWS: Final = 8  # rows with marks in each plot; the rest is summarized in words below them
# Tried in this order, because the service document shows no payload.
_AMOUNTS: Final = ("equity", "balance", "portfolio_value", "cash")
_ACCOUNTS: Final = ("account_number", "number", "name", "id")
_CURRENCIES: Final = ("currency", "currency_code", "iso_currency_code")
_UNKNOWN: Final = ""  # currency
_STATES: Final = {"valid": BLUE, "replaced": AMBER, "expired": INK}
_DATES: Any = matplotlib.dates  # has no type annotations


def balances(
    accounts: pd.DataFrame,
    by: str | None = None,
    *,
    amount: str | None = None,
    currency: str | None = None,
    source: Any = None,
) -> Chart:
    """Draw balances as bars, largest first, with an axis for each currency; the title gives the number of records.

    If a currency has more than eight balances, the eight largest have a bar each, and the sum of the other balances is
    written below. Amounts are added up only if they are known to be in the same currency.

    Args:
        accounts: a table such as `session.accounts()`.
        by: column to group the accounts by; each bar is the sum of a group. By default, each account has a bar.
        amount: column of balances; defaults to the first of equity, balance, portfolio_value and cash.
        currency: column of currencies, or one currency for all amounts, such as "USD"; defaults to the column currency,
            currency_code or iso_currency_code, with the same dotted prefix as `amount` if it has one.
        source: the session that the table came from, or a string; defaults to the table's `attrs["source"]`, which
            sessions set for their tables and `tabulate` sets for responses from sessions.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if a column does not exist, if the balances are not numbers, or if amounts in an unknown
            currency would be added up.
    """
    check_columns(accounts, about="accounts")
    if amount is None:
        amount = next((name for name in _AMOUNTS if name in accounts), _AMOUNTS[0])
    label = by if by is not None else next((name for name in _ACCOUNTS if name in accounts), _ACCOUNTS[0])
    check_columns(accounts, amount, about="amount")
    check_columns(accounts, label, about="by")
    numbers = accounts[amount]
    if not pd.api.types.is_numeric_dtype(numbers.dtype) or pd.api.types.is_bool_dtype(numbers.dtype):
        what = f"The column {excerpt(amount, 40)} contains {numbers.dtype}, not numbers."
        raise TabulationError(what, "Choose another column with amount=.", about="amount")
    rows = pd.DataFrame({"amount": numbers, "currency": _currencies(accounts, amount, currency)})
    rows["label"] = accounts[label].map(lambda value: "without" if is_missing(value) else str(value))
    included = rows.reset_index(drop=True).dropna(subset="amount")
    groups = included.groupby("currency", sort=False)
    plots = [(str(own), _bars(part, is_grouped=by is not None)) for own, part in groups] or [(_UNKNOWN, [])]
    count = count_text(len(rows), "record")
    counted = count if len(included) == len(rows) else f"{len(included):,} of {count}"
    what = excerpt(f"{amount} by {label}".replace("_", " ").replace(".", " "), 80).capitalize()
    lines = [min(len(bars), _MAX_ROWS + 1) for _, bars in plots]
    with new_chart(f"{what}: {counted}", rows=lines, source=source_of(source, accounts)) as (chart, all_axes):
        for axes, (own, bars) in zip(all_axes, plots, strict=True):
            _draw_bars(axes, bars)
            axes.set_xlabel(f"{amount}, currency not known" if own == _UNKNOWN else f"{amount} in {excerpt(own, 10)}")
    return chart


def _currencies(table: pd.DataFrame, amount: str, currency: str | None) -> Any:
    """Return one currency for all records, or the currency of each record."""
    if currency is not None:
        currency = as_text(currency, about="currency", example='"USD"')
        return table[currency].astype(object).fillna(_UNKNOWN).map(str) if currency in table.columns else currency
    beside, dot, _ = amount.rpartition(".")
    usual = [f"{beside}{dot}{name}" for name in _CURRENCIES] + list(_CURRENCIES)
    column = next((name for name in usual if name in table.columns), None)
    return _UNKNOWN if column is None else _currencies(table, amount, column)


def _bars(rows: pd.DataFrame, *, is_grouped: bool) -> list[tuple[str, float]]:
    """Return the label and length of each bar in one currency, longest first."""
    groups = rows.groupby("label" if is_grouped else rows.index)
    bars = [
        (f"{excerpt(part['label'].iloc[0], 26)}{f' ({len(part)})' if is_grouped else ''}", float(part["amount"].sum()))
        for _, part in groups
    ]
    if rows["currency"].iloc[0] == _UNKNOWN and (len(bars) < len(rows) or len(bars) > _MAX_ROWS):
        raise TabulationError(
            "A bar would add up balances whose currency is not known.",
            'Pass the column with the currencies, or one currency for all rows, such as "USD".',
            about="currency",
        )
    return sorted(bars, key=lambda bar: -abs(bar[1]))


def _draw_bars(axes: Axes, bars: list[tuple[str, float]]) -> None:
    shown, others = bars[:_MAX_ROWS], [length for _, length in bars[_MAX_ROWS:]]
    for row, (_, length) in enumerate(shown):
        axes.barh(row + BAND, length, height=2 * BAND, color=RED if length < 0 else BLUE)
        axes.vlines(0, row, row + 2 * BAND, colors=INK, linewidth=1)
    if others:
        shown.append((count_text(len(others), "other"), sum(others)))
    places = 0 if any(abs(length) >= 1000 for _, length in shown) else 2
    words = [f"{length:,.{places}f}" for _, length in shown]
    draw_rows(axes, [label for label, _ in shown], words, "No account has a balance.")
    is_long = any(abs(length) >= 1e8 for _, length in shown)  # so long that there is room for only three numbers
    axes.locator_params(axis="x", nbins=2 if is_long else 4)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.15g}")


def token_timeline(
    session: Any = None,
    *,
    tokens: pd.DataFrame | None = None,
    calls: pd.DataFrame | None = None,
    source: Any = None,
) -> Chart:
    """Draw the lifetime of each access token and the calls that were made with it.

    A bar is the lifetime of a token, a dot is a call that the token authorized, and a cross is a failed call. If there
    are more than eight tokens, the last eight have a bar each, and earlier tokens and their calls are counted below.

    Args:
        session: the session that used the tokens; not needed if both tables are given.
        tokens: a table such as `session.tokens()`.
        calls: a table such as `session.calls()`.
        source: the session that the tables came from, or a string; defaults to the tables' `attrs["source"]`.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if a table lacks a required column, or if several tokens have the same number.
    """
    tokens = table_of(session, "tokens", tokens, "issued", "expires", "remaining", "state", "calls")
    calls = table_of(session, "calls", calls, "when", "status", "token")
    if not tokens.index.is_unique:
        raise TabulationError("Several tokens have the same number.", "Draw a chart for each session.", about="tokens")
    known = tokens[tokens["issued"].notna() & tokens["expires"].notna()]
    earlier, last = known.iloc[:-_MAX_ROWS], known.iloc[-_MAX_ROWS:]
    labels, words = [f"token {number}" for number in last.index], [_token_words(token) for token in last.itertuples()]
    if len(earlier):
        labels.append(count_text(len(earlier), "earlier token"))
        words.append(count_text(int(earlier["calls"].sum()), "call"))
    counts = count_text(len(tokens), "token"), count_text(int(tokens["calls"].sum()), "call")
    title, source = f"Tokens and their calls: {', '.join(counts)}", source_of(source or session, tokens, calls)
    with new_chart(title, rows=[len(labels)], source=source) as (chart, (axes,)):
        draw_rows(axes, labels, words, "No call was authorized by an access token.")
        for row, token in enumerate(last.itertuples()):
            start, end = _DATES.date2num(token.issued), _DATES.date2num(token.expires)
            colour = _STATES.get(str(token.state), INK)
            axes.broken_barh([(start, end - start)], (row, 2 * BAND), facecolors=colour, alpha=0.35, linewidth=0)
            axes.vlines([start, end], row, row + 2 * BAND, colors=colour, linewidth=1.5)
            own = calls[calls["token"] == token.Index]
            draw_calls(axes, own["when"], row, own["status"])
        locator = _DATES.AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(_DATES.ConciseDateFormatter(locator, show_offset=False))
        days = sorted(f"{day:%Y-%m-%d}" for day in (*last["issued"], *last["expires"]))
        first_and_last = " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))
        axes.set_xlabel(f"time in UTC, {first_and_last}\nA bar is the lifetime of a token.\n{MARKS}")
    return chart


def _token_words(token: Any) -> str:
    left = minutes_text(timedelta(seconds=float(token.remaining)))
    state = f"valid, {left} left" if token.state == "valid" else token.state
    return f"{state}, {count_text(int(token.calls), 'call')}"


def call_latencies(session: Any = None, *, calls: pd.DataFrame | None = None, source: Any = None) -> Chart:
    """Draw how long each call took, by endpoint, the slowest endpoint first.

    A dot is a call, a cross is a failed call, and a line marks the median. If there are more than eight endpoints, the
    eight with the most calls have a row each, and the other endpoints and their calls are counted below.

    Args:
        session: the session that made the calls; not needed if `calls` is given.
        calls: a table such as `session.calls()`.
        source: the session that the table came from, or a string; defaults to the table's `attrs["source"]`.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if the table lacks a required column.
    """
    calls = table_of(session, "calls", calls, "method", "path", "status", "elapsed")
    finished = calls[calls["elapsed"].notna()].reset_index(drop=True)
    endpoints = [(f"{key[0]} {key[1]}", part) for key, part in finished.groupby(["method", "path"])]
    endpoints.sort(key=lambda endpoint: -len(endpoint[1]))
    rows = sorted(endpoints[:_MAX_ROWS], key=lambda endpoint: -endpoint[1]["elapsed"].median())
    others = [len(part) for _, part in endpoints[_MAX_ROWS:]]
    title, lines = f"How long calls took: {count_text(len(finished), 'call')}", [len(rows) + bool(others)]
    unit, factor = ("seconds", 1.0) if finished["elapsed"].max() >= 1 else ("milliseconds", 1000.0)
    labels, words = [f"{excerpt(endpoint, 26)} ({len(part)})" for endpoint, part in rows], []
    with new_chart(title, rows=lines, source=source_of(source or session, calls)) as (chart, (axes,)):
        for row, (_, part) in enumerate(rows):
            latencies = part["elapsed"] * factor
            words.append(f"median {latencies.median():.3g} {unit}")
            draw_calls(axes, latencies, row, part["status"])
            axes.vlines(latencies.median(), row, row + 2 * BAND, colors=INK, linewidth=2)
        if others:
            labels.append(count_text(len(others), "other endpoint"))
            words.append(count_text(sum(others), "call"))
        draw_rows(axes, labels, words, "No call has finished.")
        axes.set_xlim(left=-0.012 * axes.get_xlim()[1])  # half the width of a mark, so that it is drawn whole
        axes.set_xlabel(f"{unit} from sending to the end of the answer\n{MARKS}\nThe line marks the median.")
    return chart
