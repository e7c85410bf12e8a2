"""The chart of balances: a bar for each account, or for each group of accounts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes

from toolkit.core.arguments import as_text
from toolkit.core.errors import TabulationError
from toolkit.core.text import count_text, excerpt
from toolkit.tables.charts.arguments import Source, check_columns, list_columns, source_of
from toolkit.tables.charts.figure import BLUE, INK, MAX_ROWS, RED, Chart, draw_message, name_rows, new_chart

# Tried in this order, because the service document shows no payload.
_AMOUNTS: Final = ("equity", "balance", "portfolio_value", "cash")
_ACCOUNTS: Final = ("account_number", "number", "name", "id")
_CURRENCIES: Final = ("currency", "currency_code", "iso_currency_code")
_DWARFING: Final = 10  # times the length of the longest other bar


def balances(
    accounts: pd.DataFrame,
    by: str | None = None,
    *,
    amount: str | None = None,
    currency: str | None = None,
    source: Source = None,
) -> Chart:
    """Draw balances as bars, the largest first; the title says how many records have one.

    Of more than eight balances, the first seven have a bar each, and the last bar is the sum of the others. A sum
    that would dwarf the other bars is written without a bar. With `by="currency"` every currency has a bar. Amounts
    are added up only if they are known to be in one currency.

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
        TabulationError: if a column does not exist, if the balances are not numbers, or if a bar would add up
            different or unknown currencies.
    """
    check_columns(accounts, about="accounts")
    amount = amount if amount is not None else _usual_column(accounts, _AMOUNTS, "amount")
    label = by if by is not None else _usual_column(accounts, _ACCOUNTS, "by")
    check_columns(accounts, label, about="by")
    check_columns(accounts, amount, about="amount")
    numbers = _numbers(accounts, amount)
    currencies = _currencies(accounts, amount, currency)
    bars = _bars(accounts[label], numbers, currencies, is_grouped=by is not None)
    title = f"{_title(amount)} by {_title(label).lower()}: {_count(numbers)}"
    with new_chart(title, height=0.36 * max(len(bars), 2), source=source_of(source, accounts)) as (chart, axes):
        if not bars:
            draw_message(axes, "No account has a balance.")
            return chart
        _draw(axes, bars)
        axes.set_xlabel(_unit(amount, currencies))
    return chart


def _count(numbers: pd.Series[Any]) -> str:
    """Return how many records have a balance: `9 records`, `9 of 12 records`."""
    included, count = int(numbers.notna().sum()), count_text(len(numbers), "record")
    return count if included == len(numbers) else f"{included:,} of {count}"


def _currencies(table: pd.DataFrame, amount: str, currency: str | None) -> pd.Series[Any]:
    """Return the currency of each record; missing if it is unknown."""
    if currency is not None:
        currency = as_text(currency, about="currency", example='"USD"')
    if currency is not None and currency not in table.columns:
        return pd.Series(currency, index=table.index, dtype="object")
    beside, dot, _ = amount.rpartition(".")
    usual = [f"{beside}{dot}{name}" for name in _CURRENCIES] + list(_CURRENCIES)
    column = currency or next((name for name in usual if name in table.columns), None)
    return pd.Series(None, index=table.index, dtype="object") if column is None else table[column]


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


def _bars(
    labels_of_rows: pd.Series[Any], numbers: pd.Series[Any], currencies: pd.Series[Any], *, is_grouped: bool
) -> list[tuple[str, float]]:
    """Return the label and the length of each bar, the longest bar first."""
    rows = np.flatnonzero(numbers.notna())
    values = labels_of_rows.iloc[rows].astype("object")
    names = np.array([excerpt(str(name), 32) for name in values.where(values.notna(), "without")], dtype=object)
    if is_grouped:
        by_name = np.argsort(names, kind="stable")  # groups with equal sums stay in the order of their names
        rows, values, names = rows[by_name], values.iloc[by_name], names[by_name]
    group_of_row = _groups(values) if is_grouped else np.arange(len(rows))
    lengths = [float(total) for total in numbers.iloc[rows].groupby(group_of_row).sum()]
    order = sorted(range(len(lengths)), key=lambda group: -abs(lengths[group]))
    is_by_currency = labels_of_rows.name == currencies.name and currencies.name is not None
    own = len(order) if len(order) <= MAX_ROWS or is_by_currency else MAX_ROWS - 1
    _refuse_mixture(currencies.iloc[rows], np.where(np.isin(group_of_row, order[own:]), -1, group_of_row))
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


def _refuse_mixture(currencies: pd.Series[Any], bar_of_row: npt.NDArray[np.int64]) -> None:
    """Raise TabulationError if a bar has rows in different currencies, or several rows of which one is unknown."""
    by_bar = currencies.astype("object").groupby(bar_of_row)
    if by_bar.nunique().max() > 1:
        raise TabulationError(
            "A bar would add up balances in different currencies.",
            'Use by="currency", or choose a currency: accounts[accounts["currency"] == "USD"].',
            about="by",
        )
    if ((by_bar.size() > 1) & (by_bar.count() < by_bar.size())).any():
        raise TabulationError(
            "A bar would add up balances whose currency is not known.",
            'Name the column of the currencies, or the currency of all: currency="USD".',
            about="currency",
        )


def _draw(axes: Axes, bars: list[tuple[str, float]]) -> None:
    lengths = [length for _, length in bars]
    drawn = [length if abs(length) <= _DWARFING * abs(lengths[0]) else 0 for length in lengths]
    axes.barh(range(len(bars)), drawn, height=0.62, color=[RED if length < 0 else BLUE for length in lengths])
    texts = [_amount(length, max(map(abs, lengths))) for length in lengths]
    name_rows(axes, [label for label, _ in bars], texts)
    axes.axvline(0, color=INK, linewidth=1)
    for row, (length, end) in enumerate(zip(lengths, drawn, strict=True)):
        side = -1 if end < 0 else 1
        axes.annotate(
            texts[row] + ("" if end == length else ", too long for a bar"),
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


def _unit(amount: str, currencies: pd.Series[Any]) -> str:
    names = sorted(set(currencies.dropna().astype(str)))
    if len(names) == 1 and currencies.notna().all():
        return f"{amount} in {excerpt(names[0], 10)}"
    return f"{amount}, each in its own currency" if names else amount


def _title(column: str) -> str:
    return excerpt(column.replace("_", " ").replace(".", " "), 40).capitalize()
