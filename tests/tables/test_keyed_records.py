"""Records under keys that are data, such as symbols."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables import tabulate
from toolkit.tables.joining import TableBuilder
from toolkit.tables.keyed_records import are_alike, has_data_keys
from toolkit.tables.row_choice import choose_rows

BARS = {"ALFA": [{"close": 1}, {"close": 2}], "BRVO": [{"close": 3}], "CHRL": [], "DLTA": None}
SYMBOLS = st.sampled_from(
    ["ALFA", "BRK.B", "EUR/USD", "^GSPC", "1027", "2026-05-12", "F", "META", "X:BTCUSD", "BTC-USD"]
)


@pytest.mark.parametrize("value", [{"bars": BARS, "next_page_token": None}, {"data": {"bars": BARS}}, BARS])
def test_lists_under_symbols(value):
    """The members of all lists are rows, with their key in the column `key`."""
    table = tabulate(value)
    assert table.to_dict("list") == {"key": ["ALFA", "ALFA", "BRVO"], "close": [1, 2, 3]}
    assert tabulate(value, key="symbol")["symbol"].tolist() == ["ALFA", "ALFA", "BRVO"]


def test_the_same_columns_for_one_symbol():
    """One symbol gives the columns that many give, also if it is called like the member of an envelope."""
    for symbol in ("ALFA", "META", "NEXT", "ERR"):
        assert tabulate({"bars": {symbol: [{"close": 1}]}, "next_page_token": None})["key"].tolist() == [symbol]
    assert tabulate({"META": {"bid": 1}, "ALFA": {"bid": 2}, "LAST": {"bid": 3}})["key"].tolist() == [
        "META",
        "ALFA",
        "LAST",
    ]


@given(st.dictionaries(SYMBOLS, st.fixed_dictionaries({"bid": st.integers(0, 9)}), min_size=1, max_size=5))
def test_objects_under_symbols(quotes):
    """Each object is a row, in the order of the keys."""
    for value in (quotes, {"quotes": quotes, "next": None}, {"status": "ok", "data": {"quotes": quotes}}):
        assert tabulate(value, key="symbol", dtypes={"symbol": "str"}).to_dict("list") == {
            "symbol": list(quotes),
            "bid": [quote["bid"] for quote in quotes.values()],
        }
        assert choose_rows(value).records == list(quotes.values())


def test_words_as_keys():
    """Objects under words are rows if they are alike and nothing else is there."""
    prices = {"bitcoin": {"usd": 1, "eur": 2}, "ethereum": {"usd": 3, "eur": 4}}
    assert tabulate(prices)["key"].tolist() == ["bitcoin", "ethereum"]
    assert tabulate({"status": "ok", "prices": prices})["key"].tolist() == ["bitcoin", "ethereum"]
    assert len(choose_rows({"time": 5, "prices": prices}).records) == 1
    assert len(choose_rows({"time": 5, "prices": prices}, "prices").records) == 2
    assert choose_rows({"first": {"a": 1}, "last": {"a": 2}}).records == [{"a": 1}, {"a": 2}]
    assert tabulate({"prices": {"bitcoin": {"usd": 1}}}, records="prices", key="coin").to_dict("list") == {
        "coin": ["bitcoin"],
        "usd": [1],
    }


def test_not_alike():
    """Objects with few keys in common, or beside anything else, are parts of one record."""
    assert not are_alike({"trade": {"price": 1, "size": 2}, "quote": {"bid": 1, "ask": 2}})
    assert not are_alike({"home": {"city": "x"}, "work": {}})
    assert not are_alike({"home": {"city": "x"}})
    assert not are_alike({"home": {"city": "x"}, "work": 1})


@pytest.mark.parametrize(
    "value",
    [
        {"DATA": [{"a": 1}], "LINKS": [{"b": 2}]},
        {"RESPONSE": {"a": 1}},
        {"ALFA": {"bid": 1}, "time": 5},
        {"ALFA": {"bid": 1}, "BRVO": 5},
        {"ALFA": [1, 2]},
        {"ALFA": []},
        {},
    ],
)
def test_no_data_keys(value):
    """Names of members in capitals, and keys of anything but records, are not keys of records."""
    assert not has_data_keys(value)


def test_a_list_of_the_keys():
    """A list that repeats the keys, and members about paging, may stand beside the records."""
    value = {"ids": ["7", "9"], "9": {"a": 1}, "7": {"a": 2}, "next": None}
    assert tabulate(value).to_dict("list") == {"key": ["9", "7"], "a": [1, 2]}


def test_plain_values_under_keys():
    """With key=, plain values and rows of arrays under keys are rows as well; a null has a row of its own."""
    table = tabulate({"rates": {"EUR": 1.1, "total": 0.9, "XXX": None}}, records="rates", key="currency")
    assert table["currency"].tolist() == ["EUR", "total", "XXX"]
    assert table["value"].tolist()[:2] == [1.1, 0.9]
    table = tabulate({"ALFA": {"t": [1, 2], "c": [3, 4]}, "BRVO": {"t": [1], "c": [5]}}, key="symbol")
    assert table.to_dict("list") == {"symbol": ["ALFA", "ALFA", "BRVO"], "t": [1, 2, 1], "c": [3, 4, 5]}


def test_lists_that_belong_together():
    """key= joins lists under words, for which no other rule is safe."""
    value = {"gainers": [{"symbol": "ALFA"}], "losers": [{"symbol": "BRVO"}], "market": "stocks"}
    with pytest.raises(TabulationError, match="key="):
        tabulate(value)
    assert tabulate(value, key="side").to_dict("list") == {"side": ["gainers", "losers"], "symbol": ["ALFA", "BRVO"]}


def test_a_path_below_keys():
    """A path may lead through the objects under keys."""
    value = {"ALFA": {"meta": {"unit": "day"}, "values": [{"close": 1}]}, "BRVO": {"values": [{"close": 2}]}}
    assert tabulate(value, records="values", key="symbol").to_dict("list") == {
        "symbol": ["ALFA", "BRVO"],
        "close": [1, 2],
    }
    assert tabulate(value, records="values").columns.tolist() == ["key", "close"]
    assert tabulate({"bars": value}, records="bars.values", key="symbol")["symbol"].tolist() == ["ALFA", "BRVO"]


def test_keys_in_each_record():
    """key= works at a path through a list, for every record of it."""
    accounts = [
        {"id": 1, "limits": {"day": {"cash": 1}}},
        {"id": 2, "limits": {"day": {"cash": 2}, "week": {"cash": 3}}},
    ]
    table = tabulate(accounts, records="limits", key="period")
    assert table.to_dict("list") == {"id": [1, 2, 2], "period": ["day", "day", "week"], "cash": [1, 2, 3]}


def test_a_key_that_is_taken():
    """A member that is called like the column keeps its name."""
    quotes = {"quotes": {"ALFA": {"symbol": "A", "bid": 1}}}
    assert tabulate(quotes, key="symbol").columns.tolist() == ["quotes.symbol", "symbol", "bid"]


@pytest.mark.parametrize(
    ("value", "path"), [([{"a": 1}], None), ({"a": 1}, None), ({"rows": [{"a": 1}]}, "rows"), ({"a": 1}, "a")]
)
def test_no_keys(value, path):
    """key= without an object of records is refused."""
    with pytest.raises(TabulationError) as caught:
        tabulate(value, records=path, key="symbol")
    assert caught.value.about in {"key", "records"}


def test_a_key_that_is_not_text():
    """The name of a column is text."""
    with pytest.raises(TabulationError, match="not int") as caught:
        tabulate(BARS, key=1)
    assert caught.value.about == "key"


def test_pages_of_symbols():
    """Pages join, however many symbols each of them has."""
    builder = TableBuilder(records="bars", key="symbol")
    for page in ({"ALFA": [{"close": 1}]}, {}, {"ALFA": [{"close": 2}], "BRVO": [{"close": 3}]}):
        builder.add({"bars": page, "next_page_token": None})
    assert builder.finish().to_dict("list") == {"symbol": ["ALFA", "ALFA", "BRVO"], "close": [1, 2, 3]}
