"""The rows of an answer: the plain rules, and the places that `records=` and `key=` name."""

from __future__ import annotations

import pytest

from toolkit.core.errors import TabulationError
from toolkit.tables.rows import choose_rows
from toolkit.tables.tabulation import tabulate

ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
BARS = {"ALFA": [{"close": 1}, {"close": 2}], "BRVO": [{"close": 3}], "CHRL": [], "DLTA": None}


@pytest.mark.parametrize(
    "value", [[], {"accounts": []}, {"trades": {}}, {"data": {"items": [], "total": 0}}, {"bars": None, "next": None}]
)
def test_empty_collections(value):
    """An empty list or object at the place has no rows."""
    assert choose_rows(value).records == []
    assert tabulate(value).shape == (0, 0)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({"id": "a", "cash": "5", "positions": ROWS}, ["positions"]),
        ({"accounts": ROWS, "transactions": ROWS, "request_id": "r"}, ["accounts", "transactions"]),
        ({"symbol": "X", "trades": ROWS, "next_page_token": None}, ["trades"]),
        ({"order": {"id": 1, "lines": ROWS}, "total": 5}, ["order.lines"]),
        ({"unit": "usd", "prices": [[1, 2.5], [2, 2.6]]}, ["prices"]),
        ({"cash": 1, "balances": {"USD": {"cash": 5}}}, ["balances"]),
        ({"symbols": ["X", "Y"]}, []),
        ({}, []),
    ],
)
def test_one_row(value, paths):
    """Any other object is one row with all its members, and one hint names its lists."""
    rows = choose_rows(value)
    assert rows.records == [value]
    assert [path for path in paths if f"'{path}'" in rows.hint] == paths
    assert bool(rows.hint) == bool(paths)
    for path in paths:
        assert choose_rows(value, path).records


def test_a_hint_at_included_records():
    """Lists that stand beside the rows are named once, at the caller's line."""
    with pytest.warns(UserWarning, match="The rows come from 'data'; other lists: 'included'") as caught:
        table = tabulate({"data": ROWS, "included": [{"c": 1}], "links": [{"url": "/2"}]})
    assert [warning.filename for warning in caught] == [__file__]
    assert table["b"].tolist() == ["x", "y"]
    assert "response.json()[1]" in choose_rows([{"page": 1}, ROWS]).hint
    assert "records='data'" in choose_rows([{"data": ROWS}, {"error": "none"}]).hint


@pytest.mark.parametrize("value", [{"bars": BARS, "next_page_token": None}, {"data": {"bars": BARS}}, BARS])
def test_lists_under_keys(value):
    """The members of all lists are rows, with their key in a column."""
    assert tabulate(value).to_dict("list") == {"key": ["ALFA", "ALFA", "BRVO"], "close": [1, 2, 3]}
    assert tabulate(value, key="symbol")["symbol"].tolist() == ["ALFA", "ALFA", "BRVO"]


def test_objects_under_keys():
    """Each object is a row, in the order of the keys."""
    names = ["META", "BRK.B", "EUR/USD", "^GSPC", "1027", "2026-05-12"]
    quotes = {name: {"bid": number} for number, name in enumerate(names)}
    for value in (quotes, {"quotes": quotes, "next": None}, {"status": "ok", "data": {"quotes": quotes}}):
        assert tabulate(value, key="symbol")["symbol"].tolist() == names
        assert choose_rows(value).records == list(quotes.values())


def test_keys_that_the_user_names():
    """With key=, objects, lists, arrays and plain values under any words are rows."""
    value = {"gainers": [{"symbol": "ALFA"}], "losers": [{"symbol": "BRVO"}]}
    assert tabulate(value, key="side").to_dict("list") == {"side": ["gainers", "losers"], "symbol": ["ALFA", "BRVO"]}
    prices = {"prices": {"bitcoin": {"usd": 1}}}
    assert tabulate(prices, records="prices", key="coin").to_dict("list") == {"coin": ["bitcoin"], "usd": [1]}
    rates = tabulate({"rates": {"EUR": 1.1, "total": 0.9}}, records="rates", key="currency")
    assert rates.to_dict("list") == {"currency": ["EUR", "total"], "value": [1.1, 0.9]}
    accounts = [
        {"id": 1, "limits": {"day": {"cash": 1}}},
        {"id": 2, "limits": {"day": {"cash": 2}, "week": {"cash": 3}}},
    ]
    table = tabulate(accounts, records="limits", key="period")
    assert table.to_dict("list") == {"id": [1, 2, 2], "period": ["day", "day", "week"], "cash": [1, 2, 3]}
    for data, path in (([{"a": 1}], None), ({"rows": [{"a": 1}]}, "rows")):
        with pytest.raises(TabulationError) as caught:
            tabulate(data, records=path, key="symbol")
        assert caught.value.about in {"key", "records"}


def test_arrays():
    """Arrays of one length of which one holds times are columns, beside the values around them; others are not."""
    history = {"timestamp": [1, 2], "equity": [5, 6], "base_value": 5}
    table = tabulate(history)
    assert table.to_dict("list") == {"base_value": [5, 5], "timestamp": [1, 2], "equity": [5, 6]}
    assert len(tabulate({"labels": ["2026-05-11", "2026-05-12"], "values": [1, 2]})) == 2
    assert len(choose_rows({"codes": [1, 2], "values": [1, 2]}).records) == 1
    assert len(choose_rows({"time": [1, 2], "tags": [1]}).records) == 1
    rows = tabulate({"unit": "usd", "prices": [["2026-05-11", 2.5], ["2026-05-12", 2.6]]}, records="prices")
    assert rows["1"].tolist() == [2.5, 2.6]


def test_a_path_through_lists():
    """Each row carries the keys of the records around it; a path may begin at the records of an envelope."""
    orders = [
        {"id": "o", "symbol": "S", "legs": [{"id": "l", "number": 1, "fills": [{"price": 2}, {"price": 3}]}]},
        {"id": "p", "symbol": "A", "legs": None},
        {"id": "q"},
    ]
    for value in (orders, {"orders": orders, "next": None}):
        frame = tabulate(value, records="legs.fills")
        assert list(frame.columns) == ["parent.id", "symbol", "legs.id", "number", "price"]
        assert frame["legs.id"].tolist() == ["l", "l"]
    assert tabulate({"orders": orders}, records="orders.legs.fills").columns[0] == "orders.id"
    assert tabulate({"symbol": "X", "bars": [{"close": 1}]}, records="bars").columns.tolist() == ["symbol", "close"]
    assert choose_rows({"a.b": [1], "a": {"c": [2]}}, "a.b").records == [1]
    assert choose_rows({"data": {"account": {"cash": 1}}}, "data.account").records == [{"cash": 1}]
    with pytest.raises(TabulationError, match="path 'items' does not lead to a list of records") as caught:
        choose_rows({"orders": orders, "total": 2}, "items")
    assert caught.value.next_step.startswith("Paths in the data: 'orders.legs'")


def test_a_column_of_a_table():
    """A column of JSON text opens like the list in the answer, with the keys of its row."""
    accounts = [{"id": 1, "account_number": "007", "lots": [{"n": 1.50}, {"n": 2}]}, {"id": 2, "lots": None}]
    table = tabulate(accounts)
    columns = {"id": [1, 1], "account_number": ["007"] * 2, "n": [1.5, 2]}
    assert tabulate(table, records="lots").to_dict("list") == columns
    orders = tabulate([{"id": "o", "legs": [{"id": "l", "fills": [{"price": 2.50}]}]}])
    assert tabulate(orders, records="legs.fills", numbers="text")["price"].tolist() == ["2.5"]
    with pytest.raises(TabulationError, match="not JSON"):
        tabulate(table.assign(lots=["[]", "text"]), records="lots")
    for options in ({}, {"records": "absent"}):
        with pytest.raises(TabulationError, match=r"already a table|no column at 'absent'"):
            tabulate(table, **options)


def test_a_kind_that_only_ends_like_a_list_is_a_field():
    """A member that says what an object is stays in its row; only one that says that the answer is a list goes."""
    with pytest.warns(UserWarning, match="tracks"):
        assert list(tabulate({"type": "playlist", "tracks": [{"a": 1}]})) == ["type", "tracks"]
    assert list(tabulate({"object": "list", "data": [{"a": 1}]})) == ["a"]
