"""The chart of balances: a bar for each account, or for each group of accounts, and an axis for each currency."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
from matplotlib.axes import Axes

from toolkit.core.arguments import as_text
from toolkit.core.errors import TabulationError
from toolkit.core.text import count_text, excerpt
from toolkit.tables.charts.figure import (
    BAND,
    BLUE,
    INK,
    MAX_ROWS,
    RED,
    Chart,
    check_columns,
    draw_rows,
    new_chart,
    source_of,
)
from toolkit.tables.display import is_missing

# Tried in this order, because the service document shows no payload.
_AMOUNTS: Final = ("equity", "balance", "portfolio_value", "cash")
_ACCOUNTS: Final = ("account_number", "number", "name", "id")
_CURRENCIES: Final = ("currency", "currency_code", "iso_currency_code")
_UNKNOWN: Final = ""  # currency
_DWARFING: Final = 10  # times the length of the longest other bar


def balances(
    accounts: pd.DataFrame,
    by: str | None = None,
    *,
    amount: str | None = None,
    currency: str | None = None,
    source: Any = None,
) -> Chart:
    """Draw balances as bars, the largest first, on an axis for each currency; the title says how many records have one.

    Of more than eight balances in a currency, the first seven have a bar each, and the last bar is the sum of the
    others. A sum that would dwarf the other bars is written without a bar. Amounts are added up only if they are known
    to be in one currency.

    Args:
        accounts: a table such as `session.accounts()`.
        by: column to group the accounts by; a bar is the sum of a group. By default each account has a bar.
        amount: column of the balances; by default the first of equity, balance, portfolio_value and cash.
        currency: column of the currencies, or the one currency of all amounts, such as "USD"; by default the column
            currency, currency_code or iso_currency_code, beside `amount` if that is a name with dots.
        source: the session that the table came from, or a text; by default what `attrs["source"]` says, which tables
            of sessions have, and those that `tabulate` makes of their responses.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if a column does not exist, if the balances are not numbers, or if a bar would add up amounts
            in an unknown currency.
    """
    check_columns(accounts, about="accounts")
    amount = amount if amount is not None else _usual_column(accounts, _AMOUNTS, "amount")
    label = by if by is not None else _usual_column(accounts, _ACCOUNTS, "by")
    check_columns(accounts, label, about="by")
    check_columns(accounts, amount, about="amount")
    numbers = accounts[amount]
    if not pd.api.types.is_numeric_dtype(numbers.dtype) or pd.api.types.is_bool_dtype(numbers.dtype):
        what = f"The column {excerpt(amount, 40)} holds {numbers.dtype}, not numbers."
        raise TabulationError(what, "Choose another column with amount=.", about="amount")
    rows = pd.DataFrame({"amount": numbers, "currency": _currencies(accounts, amount, currency)})
    rows["label"] = accounts[label].map(lambda value: "without" if is_missing(value) else str(value))
    included = rows.reset_index(drop=True).dropna(subset="amount")
    groups = included.groupby("currency", sort=False)
    plots = [(str(own), _bars(part, is_grouped=by is not None)) for own, part in groups]
    count = count_text(len(rows), "record")
    counted = count if len(included) == len(rows) else f"{len(included):,} of {count}"
    title = f"{_title(amount)} by {_title(label).lower()}: {counted}"
    lines = [len(bars) for _, bars in plots] or [1]
    with new_chart(title, rows=lines, source=source_of(source, accounts)) as (chart, all_axes):
        for axes, (own, bars) in zip(all_axes, plots or [(_UNKNOWN, [])], strict=True):
            _draw(axes, bars)
            is_known = own != _UNKNOWN
            axes.set_xlabel(f"{amount} in {excerpt(own, 10)}" if is_known else f"{amount}, currency not known")
    return chart


def _usual_column(table: pd.DataFrame, usual: tuple[str, ...], argument: str) -> str:
    found = [name for name in usual if name in table.columns]
    if not found:
        check_columns(table, usual[0], about=argument)
    return found[0]


def _currencies(table: pd.DataFrame, amount: str, currency: str | None) -> Any:
    """Return the currency of all records, or of each."""
    if currency is not None:
        currency = as_text(currency, about="currency", example='"USD"')
        return table[currency].astype(object).fillna(_UNKNOWN).map(str) if currency in table.columns else currency
    beside, dot, _ = amount.rpartition(".")
    usual = [f"{beside}{dot}{name}" for name in _CURRENCIES] + list(_CURRENCIES)
    column = next((name for name in usual if name in table.columns), None)
    return _UNKNOWN if column is None else _currencies(table, amount, column)


def _bars(rows: pd.DataFrame, *, is_grouped: bool) -> list[tuple[str, float]]:
    """Return the label and the length of each bar in one currency, the longest bar first."""
    groups = rows.groupby("label" if is_grouped else rows.index)
    bars = [
        (f"{excerpt(part['label'].iloc[0], 26)}{f' ({len(part)})' if is_grouped else ''}", float(part["amount"].sum()))
        for _, part in groups
    ]
    bars.sort(key=lambda bar: -abs(bar[1]))
    own = len(bars) if len(bars) <= MAX_ROWS else MAX_ROWS - 1
    if rows["currency"].iloc[0] == _UNKNOWN and (len(bars) < len(rows) or own < len(bars)):
        raise TabulationError(
            "A bar would add up balances whose currency is not known.",
            'Name the column of the currencies, or the currency of all: currency="USD".',
            about="currency",
        )
    rest = [length for _, length in bars[own:]]
    return [*bars[:own], (f"{len(rest)} others", sum(rest))] if rest else bars


def _draw(axes: Axes, bars: list[tuple[str, float]]) -> None:
    lengths = [length for _, length in bars]
    for row, length in enumerate(lengths):
        width = length if abs(length) <= _DWARFING * abs(lengths[0]) else 0
        axes.barh(row + BAND, width, height=2 * BAND, color=RED if length < 0 else BLUE)
        axes.vlines(0, row, row + 2 * BAND, colors=INK, linewidth=1)
    places = 0 if max(map(abs, lengths), default=0) >= 1000 else 2
    words = [f"{length:,.{places}f}" for length in lengths]
    if bars and abs(lengths[-1]) > _DWARFING * abs(lengths[0]):
        words[-1] += ", too long for a bar"
    draw_rows(axes, [label for label, _ in bars], words, "No account has a balance.")
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _title(column: str) -> str:
    return excerpt(column.replace("_", " ").replace(".", " "), 40).capitalize()
