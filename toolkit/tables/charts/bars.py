"""Balances as bars: of each account, or of accounts taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from toolkit.core.errors import TabulationError
from toolkit.core.escaping import excerpt
from toolkit.core.words import count_text
from toolkit.tables.charts.figure import (
    AT_MOST,
    BLUE,
    INK,
    RED,
    Picture,
    Source,
    need,
    nothing_to_show,
    picture,
    rows_of,
    source_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The service's document shows no payload: these are tried in turn, and any other may be named.
_AMOUNTS: Final = ("equity", "balance", "portfolio_value", "cash")
_ACCOUNTS: Final = ("account_number", "number", "name", "id")
_CURRENCY: Final = "currency"
_DWARFING: Final = 10  # times the largest balance, from where on the bar of all others would leave slivers of the rest


def balances(
    accounts: pd.DataFrame, by: str | None = None, *, amount: str | None = None, source: Source = None
) -> Picture:
    """Balances as bars, the largest first; of more than eight, seven and the sum of the others.

    A sum that would dwarf the bars above it is written without a bar. By currency, each one has a bar,
    however many there are.

    Args:
        accounts: a table such as `session.accounts()`.
        by: column whose values have a bar each, the balances of their accounts summed; by default each
            account has its own.
        amount: column of the balances; by default the first there is of equity, balance,
            portfolio_value and cash.
        source: the session that the table came from, or words that say live or replayed and of when,
            for a table that does not say so.

    Returns:
        A figure of matplotlib.

    Raises:
        ConfigurationError: matplotlib is not installed.
        TabulationError: there is no such column, it holds no numbers, or a bar, also that of the others,
            would add up currencies.
    """
    need(accounts)
    amount = _chosen(accounts, amount, _AMOUNTS, "amount")
    label = by if by is not None else _chosen(accounts, None, _ACCOUNTS, "by")
    need(accounts, label, amount)
    numbers = _numbers(accounts, amount)
    bars = _bars(accounts, label, numbers, is_grouped=by is not None)
    title = f"{_title(amount)} by {_title(label).lower()}: {count_text(int(numbers.notna().sum()), 'account')}"
    with picture(title, height=0.36 * max(len(bars), 2), source=source_of(source, accounts)) as (figure, axes):
        if not bars:
            nothing_to_show(axes, "No account has a balance.")
            return figure
        _draw(axes, bars)
        axes.set_xlabel(_unit(accounts, amount))
    return figure


def _chosen(table: pd.DataFrame, name: str | None, usual: tuple[str, ...], argument: str) -> str:
    found = name or next((each for each in usual if each in table.columns), None)
    if found is None:
        has = ", ".join(excerpt(str(column), 40) for column in table.columns) or "none"
        raise TabulationError(f"The table has none of {', '.join(usual)}.", f"Name a column as {argument}: {has}.")
    return found


def _numbers(table: pd.DataFrame, amount: str) -> pd.Series[Any]:
    if not pd.api.types.is_numeric_dtype(table[amount].dtype) or pd.api.types.is_bool_dtype(table[amount].dtype):
        raise TabulationError(
            f"The column {excerpt(amount, 40)} is of {table[amount].dtype}, not of numbers.", "Name another as amount."
        )
    return table[amount]


def _bars(table: pd.DataFrame, label: str, numbers: pd.Series[Any], *, is_grouped: bool) -> list[tuple[str, float]]:
    """Label and length of each bar, the longest first."""
    rows = np.flatnonzero(numbers.notna())
    values = table[label].iloc[rows].astype("object")
    names = np.array([excerpt(str(name), 32) for name in values.where(values.notna(), "without")], dtype=object)
    if is_grouped:
        by_name = np.argsort(names, kind="stable")  # of groups with equal sums the first by name comes first
        rows, values, names = rows[by_name], values.iloc[by_name], names[by_name]
    owners = _groups(values) if is_grouped else np.arange(len(rows))
    lengths = [float(total) for total in numbers.iloc[rows].groupby(owners).sum()]
    order = sorted(range(len(lengths)), key=lambda owner: -abs(lengths[owner]))
    own = len(order) if len(order) <= AT_MOST or label == _CURRENCY else AT_MOST - 1
    _refuse_mixture(table.iloc[rows], np.where(np.isin(owners, order[own:]), -1, owners))
    labels = _labels(names, owners, is_grouped=is_grouped)
    bars = [(labels[owner], lengths[owner]) for owner in order]
    rest = bars[own:]
    return [*bars[:own], (f"{len(rest)} others", sum(length for _, length in rest))] if rest else bars


def _groups(values: pd.Series[Any]) -> npt.NDArray[np.int64]:
    """For each row the number of its group, counted as they appear; missing values are one group.

    It is by the values themselves: two that look alike once they are cut for a label are two groups.
    """
    try:
        return pd.factorize(values, use_na_sentinel=False)[0]
    except TypeError:  # lists and objects, which are only told apart by their words
        return pd.factorize(values.map(str, na_action="ignore"), use_na_sentinel=False)[0]


def _labels(names: npt.NDArray[np.object_], owners: npt.NDArray[np.int64], *, is_grouped: bool) -> list[str]:
    """The label of each bar: the name of its first row, and of how many accounts it is."""
    _, first, counts = np.unique(owners, return_index=True, return_counts=True)
    return [f"{name} ({count})" if is_grouped else name for name, count in zip(names[first], counts, strict=True)]


def _refuse_mixture(table: pd.DataFrame, bars: npt.NDArray[np.int64]) -> None:
    """Raise TabulationError if the rows of a bar, whose number stands beside each, are of several currencies."""
    if _CURRENCY in table.columns and table[_CURRENCY].groupby(bars).nunique().max() > 1:
        raise TabulationError(
            "A bar would add up balances in different currencies.",
            'Draw by="currency", or choose one: accounts[accounts["currency"] == "USD"].',
        )


def _draw(axes: Axes, bars: list[tuple[str, float]]) -> None:
    lengths = [length for _, length in bars]
    drawn = [length if abs(length) <= _DWARFING * abs(lengths[0]) else 0 for length in lengths]
    axes.barh(range(len(bars)), drawn, height=0.62, color=[RED if length < 0 else BLUE for length in lengths])
    rows_of(axes, [label for label, _ in bars])
    axes.axvline(0, color=INK, linewidth=1)
    for height, (length, end) in enumerate(zip(lengths, drawn, strict=True)):
        side = -1 if end < 0 else 1
        axes.annotate(
            _amount(length, max(map(abs, lengths))) + ("" if end == length else ", too long for a bar"),
            (end, height),
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
