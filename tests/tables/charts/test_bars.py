from __future__ import annotations

import pandas as pd
import pytest
from chart_samples import accounts, rows_of, widths_of

from toolkit.core.errors import TabulationError
from toolkit.tables.charts import balances
from toolkit.tables.tabulation import tabulate

pytestmark = pytest.mark.usefixtures("_no_layout")


def test_lengths_of_bars():
    """The longest bar comes first, with its amount; a negative balance goes the other way."""
    table = accounts()
    table.loc[0, "equity"] = -5000.0
    chart = balances(table)
    assert chart.rows == ("01: -5,000", "03: 3,000", "02: 2,000")
    assert widths_of(chart.axes[0]) == [-5000, 3000.5, 2000.5]
    assert chart.title == "Equity by account number: 3 records"
    assert chart.axes[0].get_xlabel() == "equity in USD"
    long = balances(table.assign(equity=1e12)).axes[0]
    assert len(long.get_xticks()) == 3  # there is no room for more numbers
    assert long.xaxis.get_major_formatter()(1e12, None) == "1,000,000,000,000"


def test_decimals_and_groups():
    """Balances can be any column of numbers, including decimals, grouped by any column; missing names are a group."""
    records = [{"id": "a", "cash": "1.25", "desk": "x"}, {"id": "b", "cash": "2.50"}, {"id": "c", "cash": "2.50"}]
    table = tabulate(records, numbers="decimal")
    chart = balances(table, by="desk", amount="cash", currency="EUR")
    assert rows_of(chart) == ["without (2)", "x (1)"]
    assert widths_of(chart.axes[0]) == [5, 1.25]


def test_small_balances_are_summed():
    """There are at most eight bars; the sum of the rest is a line of text, however large it is."""
    chart = balances(accounts(10))
    assert chart.rows[-1] == "2 others: 3,001"
    assert widths_of(chart.axes[0]) == [10000.5 - 1000 * number for number in range(8)]
    assert rows_of(balances(accounts(8)))[-1] == "01"


@pytest.mark.parametrize("by", [None, "status", "currency"])
def test_an_axis_for_each_currency(by):
    """Each currency has an axis of its own, so that nothing adds up or compares two of them."""
    table = accounts(12)
    table["currency"] = ["USD"] * 9 + ["JPY"] * 2 + [None]
    chart = balances(table, by=by)
    labels = [axes.get_xlabel() for axes in chart.axes]
    assert labels == ["equity in USD", "equity in JPY", "equity, currency not known"]
    totals = [sum(widths_of(axes)) for axes in chart.axes]
    assert totals == [45004.5 if by else 44004.0, 21001.0, 12000.5]  # of nine accounts, eight have a bar


def test_names_are_cut_and_plain():
    """Groups whose names are cut to the same text stay apart; a name has no control characters and is no formula."""
    alike = ["x" * 40 + "1", "x" * 40 + "2", "$\\frac$", "\u202eabc\x1b[2J"]
    table = accounts(4).assign(desk=alike, account_number=alike)
    labels = ["abc[2J", "$\\frac$", "x" * 25 + "…", "x" * 25 + "…"]
    assert rows_of(balances(table)) == labels
    assert rows_of(balances(table, by="desk")) == [f"{label} (1)" for label in labels]
    assert balances(table)._repr_png_()


@pytest.mark.parametrize(
    ("table", "options", "message", "about"),
    [
        (pd.DataFrame({"a": [1]}), {}, "no column equity", "amount"),
        (accounts(), {"amount": "nope"}, "no column nope", "amount"),
        (accounts(), {"amount": "status"}, "not numbers", "amount"),
        (accounts(), {"by": "nope"}, "no column nope", "by"),
    ],
)
def test_tables_without_balances(table, options, message, about):
    """The error names the columns of the table, and the argument to change."""
    with pytest.raises(TabulationError, match=message) as caught:
        balances(table, **options)
    assert caught.value.about == about


@pytest.mark.parametrize("has_column", [False, True])
def test_unknown_currencies_are_not_added_up(has_column):
    """Amounts whose currency is not known are not added up, unless the currency is named."""
    table = accounts().assign(currency=[None] * 3) if has_column else accounts().drop(columns="currency")
    with pytest.raises(TabulationError, match="whose currency is not known") as caught:
        balances(table, by="status")
    assert caught.value.about == "currency"
    chart = balances(table, by="status", currency="EUR")
    assert widths_of(chart.axes[0]) == [6001.5]
    assert chart.axes[0].get_xlabel() == "equity in EUR"
    assert len(rows_of(balances(table))) == 3  # nothing is added up
    known = table.assign(money="CHF")
    assert balances(known, by="status", currency="money").axes[0].get_xlabel() == "equity in CHF"
