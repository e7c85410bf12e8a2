from __future__ import annotations

import pandas as pd
import pytest
from chart_samples import accounts, rows_of, texts_of, widths_of

from toolkit.core.errors import TabulationError
from toolkit.tables import tabulate
from toolkit.tables.charts import balances

CURRENCIES = ["USD", "EUR", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK"]

pytestmark = pytest.mark.usefixtures("_no_layout")


def accounts_in(currencies):
    """Return an account in each currency, the largest first."""
    count = len(currencies)
    return accounts(count).assign(equity=[1000.0 - row for row in range(count)], currency=currencies)


def test_lengths_of_bars():
    """The longest bar comes first, with the amount beside it; a negative balance goes the other way."""
    table = accounts()
    table.loc[0, "equity"] = -5000.0
    chart = balances(table)
    assert rows_of(chart) == ["01", "03", "02"]
    assert widths_of(chart) == [-5000, 3000.5, 2000.5]
    assert {"-5,000", "3,000", "equity in USD", "Equity by account number: 3 records"} <= set(texts_of(chart))


def test_decimals_and_other_columns():
    """Balances can be any column of numbers, including decimals, grouped by any column."""
    records = [{"id": "a", "cash": "1.25", "desk": "x"}, {"id": "b", "cash": "2.50", "desk": None}]
    table = tabulate(records, numbers="decimal")
    chart = balances(table, by="desk", amount="cash")
    assert rows_of(chart) == ["without (1)", "x (1)"]
    assert widths_of(chart) == [2.5, 1.25]
    assert rows_of(balances(table)) == ["b", "a"]


def test_small_balances_are_summed():
    """There are at most eight bars, and the last bar is the sum of the rest."""
    chart = balances(accounts(10))
    assert rows_of(chart)[-1] == "3 others"
    assert widths_of(chart)[-1] == 6001.5


def test_a_sum_that_would_dwarf_the_others():
    """A sum that would dwarf the other bars is written without a bar."""
    table = accounts(500).assign(equity=[100.0] * 500)
    chart = balances(table)
    assert widths_of(chart) == [100.0] * 7 + [0.0]
    assert chart.axes[0].texts[-1].get_text() == "49,300, too long for a bar"
    assert widths_of(balances(table[:17])) == [100.0] * 7 + [1000.0]


@pytest.mark.parametrize(
    ("amounts", "texts"),
    [
        ([1234.5, 2.0], ["1,234", "2"]),
        ([999.994, 0.004], ["999.99", "0.00"]),
        ([0.00012, 0.0], ["0.00012", "0"]),
    ],
)
def test_digits_of_amounts(amounts, texts):
    """Amounts of a thousand or more have no cents, and amounts below one have three digits."""
    chart = balances(accounts(2).assign(equity=amounts))
    assert [text.get_text() for text in chart.axes[0].texts] == texts


def test_currencies_are_not_added_up():
    """Neither a group nor the bar of the others adds up currencies; a bar for each currency is possible."""
    table = accounts(9)
    table.loc[8, "currency"] = "EUR"
    table.loc[0, "currency"] = "EUR"
    for by in ("status", None):
        with pytest.raises(TabulationError, match="different currencies"):
            balances(table, by=by)
    assert rows_of(balances(table, by="currency")) == ["USD (7)", "EUR (2)"]
    assert "each in its own currency" in balances(table.head(8)).axes[0].get_xlabel()


def test_a_bar_for_each_currency():
    """By currency every currency has a bar, however many there are."""
    chart = balances(accounts_in(CURRENCIES), by="currency")
    assert rows_of(chart) == [f"{currency} (1)" for currency in CURRENCIES]
    assert widths_of(chart) == [1000.0 - row for row in range(10)]


def test_currencies_of_small_groups():
    """Groups in one currency each are refused if the bar of the others would add up several."""
    branches = [f"branch {row}" for row in range(10)]
    with pytest.raises(TabulationError, match="different currencies") as caught:
        balances(accounts_in(CURRENCIES).assign(branch=branches), by="branch")
    assert 'by="currency"' in caught.value.next_step
    table = accounts_in([*CURRENCIES[:7], "DKK", "DKK", "DKK"]).assign(branch=branches)
    assert rows_of(balances(table, by="branch"))[-1] == "3 others"
    assert rows_of(balances(accounts_in(["USD", "EUR", *["USD"] * 8])))[-1] == "3 others"


def test_groups_with_similar_names():
    """Names that only look alike, because they are cut or hold invisible characters, are separate groups."""
    alike = ["x" * 40 + "1", "x" * 40 + "2", "a b", "a  b", "c", "c\u200b", "without", None]
    table = accounts(9).assign(desk=[*alike, alike[0]], equity=[800.0, 700, 600, 500, 400, 300, 200, 100, 50])
    chart = balances(table, by="desk")
    cut = "x" * 31 + "…"
    labels = [f"{cut} (2)", f"{cut} (1)", "a b (1)", "a b (1)", "c (1)", "c (1)", "without (1)", "without (1)"]
    assert rows_of(chart) == labels
    assert widths_of(chart) == [850, 700, 600, 500, 400, 300, 200, 100]
    assert len(rows_of(balances(table.assign(account_number=table["desk"]).head(8)))) == 8


def test_groups_of_mixed_values():
    """A number and its text are two groups, missing values of any kind are one, and lists are grouped by their text."""
    table = accounts(6).assign(equity=[60.0, 50, 40, 30, 20, 10])
    mixed = table.assign(desk=pd.Series([1, "1", None, float("nan"), 1, pd.NA], dtype=object))
    assert rows_of(balances(mixed, by="desk")) == ["1 (2)", "without (3)", "1 (1)"]
    lists = table.assign(desk=pd.Series([["a"], ["b"], None, float("nan"), ["a"], ["b"]], dtype=object))
    assert rows_of(balances(lists, by="desk")) == ["['a'] (2)", "without (2)", "['b'] (2)"]


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


def test_names_of_accounts_are_plain_text():
    """The name of an account is drawn as it is, but cut and without control characters; it is never a formula."""
    table = accounts()
    table["account_number"] = ["$\\frac$", "\u202eabc\x1b[2J", "x" * 500]
    chart = balances(table)
    assert chart._repr_png_()
    assert rows_of(chart) == ["x" * 31 + "…", "abc[2J", "$\\frac$"]


@pytest.mark.parametrize("currencies", [None, ["USD", None, "USD"], [None] * 3])
def test_unknown_currencies_are_not_added_up(currencies):
    """Amounts whose currency is not known are not added up, unless the currency is named."""
    table = accounts().drop(columns="currency") if currencies is None else accounts().assign(currency=currencies)
    with pytest.raises(TabulationError, match="whose currency is not known") as caught:
        balances(table, by="status")
    assert caught.value.about == "currency"
    chart = balances(table, by="status", currency="EUR")
    assert widths_of(chart) == [6001.5]
    assert chart.axes[0].get_xlabel() == "equity in EUR"
    assert len(rows_of(balances(table))) == 3  # nothing is added up
    known = table.assign(money="CHF")
    assert balances(known, by="status", currency="money").axes[0].get_xlabel() == "equity in CHF"


def test_currency_beside_the_amount():
    """The currency of an amount within an object is the one beside it."""
    records = [{"id": number, "total": {"value": 5, "currency_code": "JPY"}} for number in range(2)]
    chart = balances(tabulate(records), by="id", amount="total.value")
    assert chart.axes[0].get_xlabel() == "total.value in JPY"


def test_records_without_a_balance():
    """The title says how many of the records are included."""
    table = accounts(5)
    table.loc[1:2, "equity"] = None
    assert balances(table).title == "Equity by account number: 3 of 5 records"
