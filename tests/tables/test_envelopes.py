"""The place of the records in an answer: in its envelope, and not in a record that has lists."""

from __future__ import annotations

import json
import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.errors import TabulationError
from toolkit.tables import tabulate
from toolkit.tables.envelopes import choose_place
from toolkit.tables.row_choice import choose_rows

ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]

# Answers, and the path of their records.
ENVELOPES = {
    "Stripe, OpenAI": ({"object": "list", "url": "/v1/charges", "has_more": False, "data": ROWS}, "data"),
    "Google": ({"kind": "drive#fileList", "etag": "e", "nextPageToken": "t", "items": ROWS}, "items"),
    "Cloudflare": (
        {"success": True, "errors": [], "messages": [], "result": ROWS, "result_info": {"page": 1}},
        "result",
    ),
    "Laravel": (
        {"data": ROWS, "links": {"next": None}, "meta": {"links": [{"url": "/2", "label": "2"}], "total": 9}},
        "data",
    ),
    "Laravel, simple": ({"current_page": 1, "data": ROWS, "links": [{"url": "/2", "label": "2"}]}, "data"),
    "a status": ({"status": "ok", "totalResults": 2, "articles": ROWS}, "articles"),
    "scalars of its own": ({"units": "lin", "sort_order": "asc", "count": 2, "observations": ROWS}, "observations"),
    "an object of its own": ({"cod": "200", "cnt": 2, "list": ROWS, "city": {"id": 1, "name": "Lisbon"}}, "list"),
    "lists of plain values": ({"accounts": ROWS, "symbols": ["X"], "tags": []}, "accounts"),
    "deep": ({"message": {"facets": {}, "items": ROWS, "total-results": 2}, "status": "ok"}, "message.items"),
    "metadata with a list": ({"rows": ROWS, "schema": {"fields": [{"name": "a"}]}}, "rows"),
    "an id beside paging": ({"id": 7, "page": 1, "reviews": ROWS, "total_pages": 1}, "reviews"),
    "an id of a collection": ({"id": "b", "type": "searchset", "entry": ROWS}, "entry"),
    "an id of something else": ({"account_id": "a", "positions": ROWS}, "positions"),
    "nodes": ({"data": {"user": {"id": 7, "repos": {"nodes": ROWS, "pageInfo": {}}}}}, "data.user.repos.nodes"),
    "empty": ({"status": "ok", "totalResults": 0, "articles": []}, "articles"),
    "empty beside links": ({"current_page": 1, "data": [], "links": [{"url": "/2", "label": "2"}]}, "data"),
    "empty, one of two": ({"items": [], "tags": [], "next": None}, "items"),
    "null": ({"symbol": "X", "trades": None, "next_page_token": None}, "trades"),
    "an empty object": ({"bars": {}, "next_page_token": None}, "bars"),
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_envelopes(name):
    """The records are found whatever stands beside them."""
    value, path = ENVELOPES[name]
    assert ".".join(choose_place(value).place.path) == path
    here = value
    for key in path.split("."):
        here = here[key]
    assert choose_rows(value).records == (here or [])
    assert choose_rows(value).hint == ""


RECORDS = {
    "an account": ({"id": "a", "account_number": "01", "cash": "5", "positions": ROWS}, "positions"),
    "a number": ({"number": 1, "lots": ROWS}, "lots"),
    "a number with a qualifier": (
        {"order_number": 1, "side": "buy", "price": 2, "status": "x", "fills": ROWS},
        "fills",
    ),
    "in an object": ({"order": {"id": 1, "total": 5, "line_items": ROWS}}, "order.line_items"),
    "an envelope inside": ({"id": "s", "items": {"object": "list", "data": ROWS, "has_more": False}}, "items.data"),
    "objects": ({"main": {"t": 1}, "wind": {"v": 1}, "sun": {"up": 1}, "weather": ROWS, "name": "L"}, "weather"),
    "only texts": ({"symbols": ["X", "Y"]}, "symbols"),
    "arrays": ({"unit": "usd", "prices": [[1, 2.5], [2, 2.6]]}, "prices"),
    "deep arrays": ({"result": {"XBTUSD": [[1, 2.5], [2, 2.6]], "last": 2}}, "result.XBTUSD"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records_that_have_lists(name):
    """A record with a list is one row, and a hint says how to open the list."""
    value, path = RECORDS[name]
    rows = choose_rows(value)
    assert rows.records == [value]
    assert f"tk.tabulate(response, records='{path}')" in rows.hint
    assert len(choose_rows(value, path).records) == 2


@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "tags": ["a"], "emails": ["b"]},
        {"id": 1, "positions": []},
        {"symbol": "X", "trade": {"price": 1, "conditions": []}},
        {"cash": 1},
        {"buyer": {"name": "x"}, "seller": {"id": 1, "address": "y", "phone": "z"}},
        {},
    ],
)
def test_records(value):
    """An object without records is one row, and there is nothing to say."""
    rows = choose_rows(value)
    assert rows.records == [value]
    assert rows.hint == ""


SEVERAL = {
    "siblings": ({"accounts": ROWS, "transactions": ROWS, "request_id": "r"}, ["accounts", "transactions"]),
    "of the same name": ({"albums": {"items": ROWS}, "artists": {"items": ROWS}}, ["albums.items", "artists.items"]),
    "at different depths": ({"a": {"b": {"c": ROWS}}, "d": {"e": ROWS}}, ["a.b.c", "d.e"]),
    "a list and arrays": (
        {"filings": {"recent": {"date": ["x"], "form": ["y"]}, "files": ROWS}},
        ["filings.recent", "filings.files"],
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_lists(name):
    """If no list is better than the others, an error names them all."""
    value, paths = SEVERAL[name]
    with pytest.raises(TabulationError) as caught:
        choose_rows(value)
    assert all(f"'{path}'" in str(caught.value) for path in paths)
    assert caught.value.about == "records"
    assert all(len(choose_rows(value, path).records) for path in paths)


@pytest.mark.parametrize(
    ("value", "path", "other"),
    [
        ({"data": ROWS, "included": [{"c": 1}]}, "data", "included"),
        ({"data": ROWS, "includes": {"users": [{"c": 1}]}}, "data", "includes.users"),
        ({"fields": [{"c": 1}], "result": {"records": ROWS}}, "result.records", "fields"),
        ({"trades": ROWS, "detail": {"fees": [{"c": 1}]}}, "trades", "detail.fees"),
    ],
)
def test_the_better_of_several_lists(value, path, other):
    """A main name, or the smaller depth, decides; a warning names the other list."""
    with pytest.warns(UserWarning, match=f"The rows are those of '{path}'") as caught:
        table = tabulate(value)
    assert f"'{other}'" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert table["b"].tolist() == ["x", "y"]


def test_several_lists_in_a_record():
    """The hint for a record names all its lists."""
    rows = choose_rows({"id": 1, "legs": ROWS, "fills": ROWS})
    assert len(rows.records) == 1
    assert "'legs', 'fills'" in rows.hint


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([{"data": ROWS}, {"error": "no such instrument"}], "data"),
        ({"reservations": [{"owner_id": "o", "instances": ROWS}]}, "reservations.instances"),
        ({"Results": {"series": [{"seriesID": "s", "data": ROWS}]}}, "Results.series.data"),
    ],
)
def test_rows_that_only_wrap_a_list(value, path):
    """A hint says how to open records that are envelopes themselves."""
    assert f"records='{path}'" in choose_rows(value).hint
    assert choose_rows(value, path).records == ROWS


def test_no_hint_at_lists_of_records_in_rows():
    """Accounts with positions are rows as they should be, however many there are."""
    account = {"id": 1, "cash": 5, "positions": ROWS}
    assert choose_rows({"accounts": [account], "next": None}).hint == ""
    assert choose_rows([account]).hint == ""


def edges(*nodes):
    return {"edges": [{"cursor": "c", "node": node} for node in nodes], "pageInfo": {"hasNextPage": False}}


def test_nodes_of_edges():
    """The rows of a connection are the nodes of its edges, at any depth; other values of an edge stand before them."""
    node = {"a": 1, "labels": edges({"name": "x"}, {"name": "y"})}
    value = {"data": {"repository": {"issues": edges(node, {"a": 2, "labels": edges()})}}}
    assert choose_rows(value).records == [node, {"a": 2, "labels": edges()}]
    assert choose_rows(value, "data.repository.issues.edges.node").records == choose_rows(value).records
    assert choose_rows(value, "data.repository.issues").records == choose_rows(value).records
    assert choose_rows(value, "labels").records == [{"name": "x"}, {"name": "y"}]
    starred = {"edges": [{"starred_at": "2026-05-12", "node": {"a": 1}}, None, {"node": None}]}
    assert tabulate({"data": {"stars": starred}}).columns.tolist() == ["starred_at", "a"]


def test_leading_columns():
    """Keys, a currency and a name beside the list stand before its columns; what is about the request does not."""
    value = {
        "symbol": "X",
        "currency": "USD",
        "request_id": "r",
        "page_number": 1,
        "bars": [{"close": 1}, {"close": 2}],
    }
    table = tabulate(value)
    assert table.columns.tolist() == ["symbol", "currency", "close"]
    assert table["symbol"].tolist() == ["X", "X"]
    assert tabulate(value, records="bars").equals(table)
    same = tabulate({"symbol": "X", "bars": [{"symbol": "X.N", "close": 1}], "next": None})
    assert same.columns.tolist() == ["parent.symbol", "symbol", "close"]
    assert tabulate(
        {"symbol": "X", "bars": [{"id": 1, "lots": [{}]}], "next": None}, records="lots"
    ).columns.tolist() == [
        "symbol",
        "id",
    ]


def test_many_leading_columns():
    """An envelope puts a few columns before its records, not thousands in every row."""
    assert len(choose_rows({f"k{n}_symbol": n for n in range(1000)} | {"data": ROWS}).carried) == 20


def test_a_page_beside_its_records():
    """A list of a page's metadata and of its records gives the records."""
    assert choose_rows([{"page": 1, "pages": 2}, ROWS]).records == ROWS
    assert choose_rows([{"a": 1}, ROWS]).records == [{"a": 1}, ROWS]


def test_an_object_at_the_path():
    """An object that a path names is read as an answer of its own."""
    value = {"data": {"items": ROWS, "total": 2}, "more": {"hourly": {"time": [1, 2], "t": [3, 4]}}}
    assert choose_rows(value, "data").records == ROWS
    assert choose_rows(value, "more").records == [{"time": 1, "t": 3}, {"time": 2, "t": 4}]
    assert choose_rows({"data": {"items": [], "total": 0}}, "data").records == []
    with pytest.raises(TabulationError, match=r"'data\.a', 'data\.b'"):
        choose_rows({"data": {"a": ROWS, "b": ROWS}}, "data")


VALUES = st.none() | st.booleans() | st.integers(-1000, 1000) | st.text("xyz", min_size=1, max_size=3)
RECORD = st.dictionaries(st.sampled_from(["a", "b", "id", "symbol"]), VALUES, min_size=1, max_size=4).flatmap(
    lambda own: st.sampled_from([own, own | {"owner": {"d": 1}}, own | {"owner": {"d": None, "e": {"f": "x"}}}])
)
BESIDE = st.fixed_dictionaries(
    {},
    optional={
        "symbol": st.just("X"),
        "status": st.just("ok"),
        "next_page_token": st.none() | st.just("t"),
        "total": st.integers(0, 9),
        "units": st.just("lin"),
        "meta": st.just({"page": 1, "links": [{"url": "/2"}]}),
        "errors": st.just([]),
        "tags": st.lists(st.sampled_from("uvw"), max_size=2),
    },
)


@given(st.lists(RECORD, min_size=1, max_size=5), st.lists(BESIDE, min_size=1, max_size=3), st.randoms())
def test_same_in_any_envelope(records, envelopes, chance):
    """Whatever the envelope, the table is that of the records alone, apart from leading columns."""
    value = records
    for depth, beside in enumerate(envelopes):
        members = [*beside.items(), (f"list{depth}", value)]
        chance.shuffle(members)
        value = dict(members)
    expected = tabulate(records, numbers="text")
    for data in (value, json.dumps(value).encode()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = tabulate(data, numbers="text")
        leading = table.shape[1] - expected.shape[1]
        assert all("symbol" in name for name in table.columns[:leading])
        pd.testing.assert_frame_equal(table.iloc[:, leading:], expected)


@pytest.mark.parametrize("many", [{f"k{n}": ROWS for n in range(3000)}, {f"k{n}": [[1, 2]] for n in range(3000)}])
def test_many_lists(many):
    """Thousands of lists are looked through once, not for each of the others."""
    with pytest.MonkeyPatch.context() as patch:
        calls = [0]

        def counted(value, key):
            calls[0] += 1
            return False

        patch.setattr("toolkit.tables.envelopes.is_record", counted)
        patch.setattr("toolkit.tables.envelopes.header_of", counted)
        choose_place(many)
    assert calls[0] < 100
