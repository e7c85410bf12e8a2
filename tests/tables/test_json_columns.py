"""A column of JSON text in a table, opened without another call."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables import tabulate

LOTS = st.lists(st.fixed_dictionaries({"symbol": st.sampled_from("XY")}, optional={"n": st.integers(0, 9)}), max_size=3)
ACCOUNTS = st.lists(
    st.fixed_dictionaries(
        {"id": st.integers(0, 99), "cash": st.integers(0, 9)},
        optional={
            "account_number": st.sampled_from(["007", "08"]),
            "lots": st.none() | LOTS,
            "owner": st.just({"id": 5}),
        },
    ),
    min_size=1,
    max_size=4,
)


@given(ACCOUNTS.filter(lambda accounts: any(account.get("lots") for account in accounts)))
def test_same_as_from_the_response(accounts):
    """The table of a column is that of the list in the answer."""
    table = tabulate(tabulate(accounts), records="lots").drop(columns="owner.id", errors="ignore")
    expected = tabulate(accounts, records="lots")
    assert set(expected) <= set(table)
    assert table[list(set(table) - set(expected))].isna().all(axis=None)
    pd.testing.assert_frame_equal(table[list(expected)], expected, check_dtype=False, check_exact=True)


def test_lists_in_lists():
    """A path leads on below the column, and columns that were carried are carried further."""
    orders = [{"id": "o", "at": "2026-05-12T09:30:00Z", "legs": [{"id": "l", "fills": [{"price": 2.50}]}]}]
    legs = tabulate(orders, records="legs")
    assert tabulate(legs, records="fills").columns.tolist() == ["parent.id", "id", "price"]
    assert tabulate(tabulate(orders), records="legs.fills").columns.tolist() == ["parent.id", "legs.id", "price"]


def test_options():
    """Digits, dtypes and keys are as for a response."""
    table = pd.DataFrame({"id": [1], "quotes": ['{"ALFA": {"bid": 1.10}, "BRVO": {"bid": 2.25}}']})
    quotes = tabulate(table, records="quotes", key="symbol", numbers="text")
    assert quotes.to_dict("list") == {"id": ["1", "1"], "symbol": ["ALFA", "BRVO"], "bid": ["1.10", "2.25"]}
    assert tabulate(table, records="quotes", key="symbol", dtypes={"bid": "str"})["bid"].tolist() == ["1.10", "2.25"]


def test_values_that_are_parsed_already():
    """A column of lists, as of json_normalize, and a column whose name has dots are read as well."""
    table = pd.json_normalize([{"owner": {"lots": [{"n": 1}, {"n": 2}]}}, {"owner": {"lots": None}}, {"id": "x"}])
    assert tabulate(table, records="owner.lots")["n"].tolist() == [1, 2]
    instants = pd.DataFrame({"id": [pd.Timestamp("2026-05-12", tz="UTC")], "lots": [json.dumps([{"n": 1}])]})
    assert tabulate(instants, records="lots")["n"].tolist() == [1]


def test_no_column():
    """A path that is not a column is refused, and the error lists the columns of JSON."""
    table = tabulate([{"id": 1, "lots": [{"n": 1}], "name": "x"}])
    with pytest.raises(TabulationError, match=r"Columns of JSON: 'lots'\.") as caught:
        tabulate(table, records="orders")
    assert caught.value.about == "records"
    with pytest.raises(TabulationError, match="already a table"):
        tabulate(table)


@pytest.mark.parametrize("cell", ["text", "[", "1", 5, True])
def test_no_json(cell):
    """A cell that is not a JSON list or object is refused with its row; its text is not shown."""
    with pytest.raises(TabulationError, match="Column 'lots', row 1: expected a JSON list") as caught:
        tabulate(pd.DataFrame({"lots": ["[]", cell]}, dtype=object), records="lots")
    assert "text" not in str(caught.value).partition("records=")[0]
