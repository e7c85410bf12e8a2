"""The chart of balances: a bar for each account, or for each group of accounts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.core.words import count_text
from toolkit.tables.charts.figure import (
    BLUE,
    INK,
    MAX_ROWS,
    RED,
    Chart,
    Source,
    check_columns,
    draw_message,
    list_columns,
    name_rows,
    new_chart,
    source_of,
)

# Tried in this order, because the service document shows no payload.
_AMOUNTS: Final = ("equity", "balance", "portfolio_value", "cash")
_ACCOUNTS: Final = ("account_number", "number", "name", "id")
_CURRENCY: Final = "currency"
_DWARFING: Final = 10  # times the length of the longest other bar


def balances(
    accounts: pd.DataFrame, by: str | None = None, *, amount: str | None = None, source: Source = None
) -> Chart:
    """Draw balances as bars, the largest first.

    Of more than eight balances, the first seven have a bar each, and the last bar is the sum of the others. A sum
    that would dwarf the other bars is written without a bar. With `by="currency"` every currency has a bar.

    Args:
        accounts: a table such as `session.accounts()`.
        by: column to group the accounts by; a bar is the sum of a group. By default each account has a bar.
        amount: column of the balances; by default the first of equity, balance, portfolio_value and cash.
        source: the session that the table came from, or a text; by default what a session wrote to `attrs["source"]`.

    Raises:
        ConfigurationError: if matplotlib is not installed.
        TabulationError: if a column does not exist, if the balances are not numbers, or if a bar would add up
            different currencies.
    """
    check_columns(accounts, about="accounts")
    amount = amount or _usual_column(accounts, _AMOUNTS, "amount")
    label = by if by is not None else _usual_column(accounts, _ACCOUNTS, "by")
    check_columns(accounts, label, about="by")
    check_columns(accounts, amount, about="amount")
    numbers = _numbers(accounts, amount)
    bars = _bars(accounts, label, numbers, is_grouped=by is not None)
    title = f"{_title(amount)} by {_title(label).lower()}: {count_text(int(numbers.notna().sum()), 'account')}"
    with new_chart(title, height=0.36 * max(len(bars), 2), source=source_of(source, accounts)) as (chart, axes):
        if not bars:
            draw_message(axes, "No account has a balance.")
            return chart
        _draw(axes, bars)
        axes.set_xlabel(_unit(accounts, amount))
    return chart


def _usual_column(table: pd.DataFrame, usual: tuple[str, ...], argument: str) -> str:
    for name in usual:
        if name in table.columns:
            return name
    raise TabulationError(
        f"The table has no column {', '.join(usual[:-1])} or {usual[-1]}.",
        f"Choose a column with {argument}=: {list_columns(table)}.",
        about=argument,
    )


def _numbers(table: pd.DataFrame, amount: str) -> pd.Series[Any]:
    dtype = table[amount].dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise TabulationError(
            f"The column {excerpt(amount, 40)} holds {dtype}, not numbers.",
            "Choose another column with amount=.",
            about="amount",
        )
    return table[amount]


def _bars(table: pd.DataFrame, label: str, numbers: pd.Series[Any], *, is_grouped: bool) -> list[tuple[str, float]]:
    """Return the label and the length of each bar, the longest bar first."""
    rows = np.flatnonzero(numbers.notna())
    values = table[label].iloc[rows].astype("object")
    names = np.array([excerpt(str(name), 32) for name in values.where(values.notna(), "without")], dtype=object)
    if is_grouped:
        by_name = np.argsort(names, kind="stable")  # groups with equal sums stay in the order of their names
        rows, values, names = rows[by_name], values.iloc[by_name], names[by_name]
    group_of_row = _groups(values) if is_grouped else np.arange(len(rows))
    lengths = [float(total) for total in numbers.iloc[rows].groupby(group_of_row).sum()]
    order = sorted(range(len(lengths)), key=lambda group: -abs(lengths[group]))
    own = len(order) if len(order) <= MAX_ROWS or label == _CURRENCY else MAX_ROWS - 1
    _refuse_mixture(table.iloc[rows], np.where(np.isin(group_of_row, order[own:]), -1, group_of_row))
    labels = _labels(names, group_of_row, is_grouped=is_grouped)
    bars = [(labels[group], lengths[group]) for group in order]
    rest = bars[own:]
    return [*bars[:own], (f"{len(rest)} others", sum(length for _, length in rest))] if rest else bars


def _groups(values: pd.Series[Any]) -> npt.NDArray[np.int64]:
    """Return the number of each row's group, counted in order of appearance; missing values are one group.

    Rows are grouped by their values, because labels of different values may be cut to the same text.
    """
    try:
        return pd.factorize(values, use_na_sentinel=False)[0]
    except TypeError:  # lists and objects are compared by their text
        return pd.factorize(values.map(str, na_action="ignore"), use_na_sentinel=False)[0]


def _labels(names: npt.NDArray[np.object_], group_of_row: npt.NDArray[np.int64], *, is_grouped: bool) -> list[str]:
    """Return the label of each bar: the name in its first row, and the number of its accounts if it is a group."""
    _, first, counts = np.unique(group_of_row, return_index=True, return_counts=True)
    return [f"{name} ({count})" if is_grouped else name for name, count in zip(names[first], counts, strict=True)]


def _refuse_mixture(table: pd.DataFrame, bar_of_row: npt.NDArray[np.int64]) -> None:
    """Raise TabulationError if a bar has rows in different currencies."""
    if _CURRENCY in table.columns and table[_CURRENCY].groupby(bar_of_row).nunique().max() > 1:
        raise TabulationError(
            "A bar would add up balances in different currencies.",
            'Use by="currency", or choose a currency: accounts[accounts["currency"] == "USD"].',
            about="by",
        )


def _draw(axes: Axes, bars: list[tuple[str, float]]) -> None:
    lengths = [length for _, length in bars]
    drawn = [length if abs(length) <= _DWARFING * abs(lengths[0]) else 0 for length in lengths]
    axes.barh(range(len(bars)), drawn, height=0.62, color=[RED if length < 0 else BLUE for length in lengths])
    name_rows(axes, [label for label, _ in bars])
    axes.axvline(0, color=INK, linewidth=1)
    for row, (length, end) in enumerate(zip(lengths, drawn, strict=True)):
        side = -1 if end < 0 else 1
        axes.annotate(
            _amount(length, max(map(abs, lengths))) + ("" if end == length else ", too long for a bar"),
            (end, row),
            (5 * side, 0),
            textcoords="offset points",
            va="center",
            ha="left" if side > 0 else "right",
            fontsize=9,
        )
    axes.margins(x=0.14)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _amount(length: float, longest: float) -> str:
    if longest >= 1000:
        return f"{length:,.0f}"
    return f"{length:,.2f}" if longest >= 1 else f"{length:.3g}"


def _unit(table: pd.DataFrame, amount: str) -> str:
    currencies = sorted(set(table[_CURRENCY].dropna().astype(str))) if _CURRENCY in table.columns else []
    if len(currencies) == 1:
        return f"{amount} in {excerpt(currencies[0], 10)}"
    return f"{amount}, each in its own currency" if currencies else amount


def _title(column: str) -> str:
    return excerpt(column.replace("_", " ").replace(".", " "), 40).capitalize()
