from __future__ import annotations

import contextlib
import inspect
import json
import re
import sys
import warnings
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.errors import ServiceError, TabulationError, ToolkitError
from toolkit.core.ledger import Authorization, Call
from toolkit.scrubbing.known import KnownSecrets
from toolkit.session.answers import tabulated
from toolkit.tables import arrow_reader
from toolkit.tables.tabulation import calls_table, tabulate, tokens_table

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
PATH = "/v1/accounts"

KEYS = st.text("ab.", max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(-1e9, 1e9).map(lambda number: round(number, 5))
    | st.text(max_size=4)
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=10
)


@pytest.fixture(params=["plainly", "by Arrow"])
def way(request, monkeypatch):
    """Both ways of reading, whatever the size of the body."""
    monkeypatch.setattr(arrow_reader, "WORTHWHILE", 0 if request.param == "by Arrow" else sys.maxsize)


def quietly(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tabulate(data, **options)


def dtypes(frame):
    return frame.dtypes.astype(str).to_dict()


@given(st.lists(JSON), st.sampled_from(["float", "decimal", "text"]))
def test_a_row_for_each_record(records, numbers):
    """A list of anything gives as many rows, numbered from 0."""
    frame = quietly(records, numbers=numbers)
    assert frame.index.equals(pd.RangeIndex(len(records)))


@given(st.lists(st.dictionaries(KEYS, SCALARS, max_size=4)))
def test_no_key_is_lost(records):
    """Each key is a column of its own, in order of first appearance, with its value in each row that has one."""
    frame = quietly(records, dtypes=dict.fromkeys(map(str, range(9))), numbers="float")
    keys = list(dict.fromkeys(key for record in records for key in record))
    assert list(frame.columns) == keys
    for row, record in enumerate(records):
        present = {key for key in keys if not pd.isna(frame.loc[row, key])}
        assert present == {key for key, value in record.items() if value is not None}


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=4)), st.sampled_from(["float", "decimal"]))
def test_every_source_gives_the_same_table(records, numbers):
    """A response, its bytes, its text and its parsed value give one table."""
    text = json.dumps(records)
    frames = [
        quietly(source, numbers=numbers)
        for source in (records, text, text.encode(), httpx.Response(200, content=text.encode()))
    ]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0], check_exact=True)


@given(st.lists(st.dictionaries(KEYS, JSON, max_size=4), min_size=1), st.sampled_from(["float", "decimal", "text"]))
def test_both_ways_give_the_same_table(records, numbers):
    """What Arrow reads makes the same table, dtypes included, as what is read plainly."""
    body = json.dumps(records).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_reader, "WORTHWHILE", 0)
        by_arrow = quietly(body, numbers=numbers)
    pd.testing.assert_frame_equal(by_arrow, quietly(body, numbers=numbers), check_exact=True)


@given(st.lists(st.decimals(-(10**15), 10**15, places=5), min_size=1), st.booleans())
def test_decimals_are_exact(amounts, as_text):
    """With numbers as decimals, every amount comes back digit for digit, sent as a number or as text."""
    mark = '"' if as_text else ""
    body = "[" + ",".join(f'{{"cash": {mark}{amount:f}{mark}}}' for amount in amounts) + "]"
    frame = tabulate(body, numbers="decimal")
    assert [Decimal(amount) for amount in frame["cash"]] == amounts


@given(
    st.lists(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?", fullmatch=True), min_size=1)
)
def test_numbers_as_text_are_as_written(numbers):
    """With numbers as text, every JSON number keeps its characters."""
    body = "[" + ",".join(f'{{"cash": {number}}}' for number in numbers) + "]"
    assert tabulate(body, numbers="text")["cash"].tolist() == numbers


@given(st.binary(max_size=30) | st.text(max_size=30))
def test_anything_is_a_table_or_an_error_of_ours(data):
    """No body raises anything but errors of the toolkit."""
    with contextlib.suppress(ToolkitError):
        assert isinstance(quietly(data), pd.DataFrame)


@pytest.mark.usefixtures("way")
def test_accounts():
    """A page of accounts becomes a table of typed columns."""
    page = {
        "accounts": [
            {
                "id": "1fec9bbc",
                "account_number": "040000001",
                "cash": "216042.84",
                "multiplier": 4,
                "margin": True,
                "created_at": "2026-05-12T09:30:00.25Z",
                "opened_on": "2026-05-12",
                "contact": {"city": "Lisbon", "postal_code": "1100"},
                "positions": [{"symbol": "ALFA", "quantity": "10"}],
                "closed_on": None,
            },
            {"id": "734f78a0", "account_number": "040000002", "cash": "5", "note": "new"},
        ],
        "next_page_token": None,
    }
    frame = tabulate(httpx.Response(200, json=page))
    assert dtypes(frame) == {
        "id": "str",
        "account_number": "str",
        "cash": "float64",
        "multiplier": "Int64",
        "margin": "boolean",
        "created_at": "datetime64[us, UTC]",
        "opened_on": "datetime64[us]",
        "contact.city": "str",
        "contact.postal_code": "str",
        "positions": "str",
        "closed_on": "object",
        "note": "str",
    }
    assert frame.loc[0, "positions"] == '[{"symbol": "ALFA", "quantity": "10"}]'
    assert frame["cash"].tolist() == [216042.84, 5.0]
    assert frame.loc[1].isna().to_dict() == {
        name: name not in {"id", "account_number", "cash", "note"} for name in frame.columns
    }


# What a field of each kind holds as JSON, and what a reader would make of its column by hand.
KINDS = {
    "cash": (st.decimals(-(10**9), 10**9, places=2).map(str), lambda column: pd.to_numeric(column).astype("float64")),
    "rate": (
        st.floats(-1e6, 1e6).map(lambda number: round(number, 4) + 0.5),
        lambda column: column.astype("float64"),
    ),
    "count": (st.integers(-(2**53), 2**53), lambda column: column.astype(object).where(column.notna()).astype("Int64")),
    "is_open": (st.booleans(), lambda column: column.astype("boolean")),
    "status": (st.text("xyz ", max_size=4), lambda column: column.astype("str")),
    "account_number": (st.from_regex(r"[0-9]{3,9}", fullmatch=True), lambda column: column.astype("str")),
    "created_at": (
        st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda at: f"{at.isoformat()}Z"),  # noqa: DTZ001 - Z
        lambda column: pd.to_datetime(column, utc=True, format="ISO8601").astype("datetime64[us, UTC]"),
    ),
    "opened_on": (
        st.dates(date(1990, 1, 1), date(2100, 1, 1)).map(str),
        lambda column: pd.to_datetime(column).astype("datetime64[us]"),
    ),
}
FIELDS = st.fixed_dictionaries({}, optional={name: st.none() | values for name, (values, _) in KINDS.items()})
ACCOUNTS = st.lists(
    st.builds(
        lambda fields, owner: fields | ({"owner": owner} if owner else {}),
        FIELDS,
        st.builds(lambda fields, home: fields | ({"home": home} if home else {}), FIELDS, FIELDS),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("least", [0, sys.maxsize], ids=["by Arrow", "plainly"])
@given(ACCOUNTS)
def test_what_pandas_and_a_reader_would_make_of_it(least, records):
    """The columns of json_normalize, converted by hand; one without any value stays object."""
    expected = pd.json_normalize(records)
    for name in expected:
        column = expected[name]
        _, by_hand = KINDS[name.rpartition(".")[2]]
        expected[name] = column.astype(object).where(column.notna(), None) if column.isna().all() else by_hand(column)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_reader, "WORTHWHILE", least)
        for data in (json.dumps(records).encode(), records):
            frame = quietly(data)
            pd.testing.assert_frame_equal(
                frame, expected[list(frame.columns)], check_exact=True, check_column_type=False
            )
            assert set(frame.columns) == set(expected.columns)


def test_one_account():
    """A single object is one row."""
    frame = tabulate(b'{"id": "a", "cash": "1.50"}')
    assert frame.shape == (1, 2)


def test_scalars():
    """Values that are no objects are in the column value."""
    assert tabulate([1, None, 3])["value"].tolist() == [1, pd.NA, 3]
    assert tabulate("true")["value"].tolist() == [True]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("data", [b"[]", [], {"accounts": [], "next": None}])
def test_no_records(data):
    """No records give an empty table."""
    assert tabulate(data).shape == (0, 0)


@pytest.mark.usefixtures("way")
def test_columns_that_collide():
    """A key with a dot does not overwrite a nested one of the same name."""
    frame = tabulate(b'[{"a.b": 1, "a": {"b": 2}}, {"a": {"b": 3}}]')
    assert list(frame.columns) == ["a.b", "a.b (2)"]
    assert frame["a.b (2)"].tolist() == [2, 3]


def test_positions_of_accounts():
    """A list inside the records makes a table that says which record each row was in."""
    accounts = [
        {"id": "a", "account_number": "01", "cash": "5", "positions": [{"id": "x", "quantity": "1.5"}]},
        {"id": "b", "account_number": "02", "positions": [{"id": "y", "quantity": "2"}, {"id": "z", "quantity": "3"}]},
    ]
    frame = tabulate({"accounts": accounts, "next": None}, records="positions")
    assert list(frame.columns) == ["parent.id", "account_number", "id", "quantity"]
    assert frame["parent.id"].tolist() == ["a", "b", "b"]
    assert frame["account_number"].tolist() == ["01", "02", "02"]
    assert tabulate({"accounts": accounts}, records="accounts.positions").columns[0] == "accounts.id"


def test_rows_of_lists_in_lists():
    """What identifies each record around a row has the name of its list when there is more than one of it."""
    orders = [
        {"id": "o", "symbol": "SPRD", "legs": [{"id": "l", "number": 1, "fills": [{"price": 2}, {"price": 3}]}]},
        {"id": "p", "symbol": "ALFA", "legs": None},
    ]
    frame = tabulate({"orders": orders}, records="legs.fills")
    assert list(frame.columns) == ["parent.id", "symbol", "legs.id", "number", "price"]
    assert frame["legs.id"].tolist() == ["l", "l"]
    assert tabulate({"orders": orders}, records="orders.legs.fills").columns[0] == "orders.id"
    with pytest.raises(TabulationError, match=r"There are: 'legs', 'legs\.fills'\."):
        tabulate({"orders": orders}, records="fills")


def test_rows_of_lists_of_the_same_name():
    """Every record around a row is told from the others, when the lists have one name too."""
    tree = [{"id": 1, "children": [{"id": 2, "children": [{"id": 3, "children": [{"id": 4}]}]}]}]
    frame = tabulate(tree, records="children.children.children")
    assert frame.to_dict("list") == {"parent.id": [1], "children.id": [2], "children.children.id": [3], "id": [4]}
    assert list(tabulate(tree, records="children.children").columns)[:3] == ["parent.id", "children.id", "id"]


@pytest.mark.usefixtures("way")
def test_dtypes_win():
    """A dtype that is asked for goes before name, values and numbers; others are not disturbed."""
    body = b'[{"zip": "07030", "id": 12, "rate": 0.1000, "cash": "1.50", "x": 1.5}]'
    cents = pd.ArrowDtype(pa.decimal128(12, 2))
    frame = tabulate(body, dtypes={"zip": "Int64", "id": "str", "rate": "str", "cash": cents, "absent": "str"})
    assert frame.loc[0].to_dict() == {"zip": 7030, "id": "12", "rate": "0.1000", "cash": Decimal("1.50"), "x": 1.5}
    assert dtypes(frame)["cash"] == "decimal128(12, 2)[pyarrow]"
    assert dtypes(frame)["x"] == "float64"


@pytest.mark.usefixtures("way")
def test_a_value_that_does_not_fit():
    """The error names row, column and types, and no value."""
    with pytest.raises(TabulationError, match="column 'cash', row 1: expected Int64, found text") as caught:
        tabulate(b'[{"cash": "1"}, {"cash": "canary"}]', dtypes={"cash": "Int64"})
    assert "canary" not in str(caught.value)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mixed", ['[{"a": 9007199254740993}, {"a": 1.5}]', '[{"a": 1.5}, {"a": 9007199254740993}]'])
def test_an_integer_between_floats(mixed):
    """One that float64 would change is refused where float64 is asked for, and exact as a decimal."""
    with pytest.raises(TabulationError, match="expected float64, found a number"):
        tabulate(mixed, dtypes={"a": "float64"})
    frame = tabulate(mixed, dtypes={"a": pd.ArrowDtype(pa.decimal128(18, 1))})
    assert set(frame["a"]) == {Decimal("1.5"), Decimal(2**53 + 1)}


def test_an_unknown_dtype():
    """A dtype that is none is pandas' own error."""
    with pytest.raises(TypeError, match="nope"):
        tabulate([], dtypes={"a": "nope"})


def test_an_unknown_kind_of_numbers():
    """A misspelt `numbers` is refused with what there is."""
    with pytest.raises(ValueError, match="'float', 'decimal', 'text'"):
        tabulate([], numbers="int")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("body", "columns"),
    [
        (b'[{"a": "1234567890123456.78", "b": 1, "c": 12345678901234567890}]', "'a', 'c'"),
        (b'[{"a": 1234567890123456.78}]', "'a'"),
    ],
)
def test_digits_that_float_does_not_hold(body, columns):
    """More than 15 digits are warned of once, by the columns' names, at the caller's line."""
    with pytest.warns(UserWarning, match="more than 15 significant digits") as caught:
        tabulate(body)
    assert len(caught) == 1
    assert columns in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tabulate(body, numbers="decimal")
        tabulate(body, numbers="text")


@pytest.mark.parametrize(
    ("record", "options"),
    [
        ({"a": 1234567890123456.78}, {"numbers": "decimal"}),
        ({"a": "2026-05-12T09:30:00.123456789Z"}, {"dtypes": {"a": "str"}}),
    ],
)
def test_warnings_about_a_table_of_accounts(record, options):
    """They show the caller's line too, however many functions lie between, and a remedy that the caller can take."""
    response = httpx.Response(200, json=[record])
    option = ", ".join(f"{name}={value!r}" for name, value in options.items()).replace("'a'", "...")
    with pytest.warns(UserWarning, match=re.escape(f"(tk.tabulate(response, {option}) holds them)")) as caught:
        tabulated(response, known=KnownSecrets())
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tabulate(response, **options)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("numbers", ["float", "decimal", "text"])
@pytest.mark.parametrize("others", ["", ', {"a": 1}', ', {"a": 1.5}', ', {"a": -0.0}'])
def test_minus_zero(numbers, others):
    """The integer -0 is 0 like any other, and as written where numbers are text, whichever way it is read."""
    value = tabulate(f'[{{"a": -0}}{others}]', numbers=numbers)["a"][0]
    assert str(value) in ({"-0"} if numbers == "text" else {"0", "0.0"})


@pytest.mark.usefixtures("way")
def test_half_a_surrogate_pair_in_a_key():
    """A key that UTF-8 cannot hold is a column, whichever way it is read."""
    assert list(tabulate(json.dumps([{"p": "x", "a\ud800": "q"}] * 3)).columns) == ["p", "a\ufffd"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("number", ["9" * 5000, "1e9999999999999999999999"])
@pytest.mark.parametrize("others", ["", ', {"a": true}'])
def test_hostile_numbers(number, others):
    """A number that nothing holds is refused, and shown as text where that is asked for."""
    body = f'[{{"a": {number}}}{others}]'
    for numbers in ("float", "decimal"):
        with pytest.raises(TabulationError):
            tabulate(body, numbers=numbers)
    frame = tabulate(body, numbers="text")
    assert frame["a"][0] == number
    assert repr(frame)


def test_nanoseconds_are_warned_of():
    """Digits beyond the microsecond are warned of, and kept when text is asked for."""
    record = {"at": "2026-05-12T09:30:00.123456789Z"}
    with pytest.warns(UserWarning, match="beyond the microsecond were dropped: 'at'"):
        assert tabulate([record])["at"].tolist() == [pd.Timestamp("2026-05-12 09:30:00.123456", tz="UTC")]
    assert tabulate([record], dtypes={"at": "str"})["at"].tolist() == [record["at"]]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("body", [b'[{"a": NaN}]', b'[{"a": 1.5}, {"a": Infinity}]', b'[{"a": 1e999}]'])
def test_no_infinities(body):
    """What is no JSON number, or too large for one, is refused."""
    with pytest.raises(TabulationError):
        tabulate(body)


def test_answers_that_are_no_table():
    """An error status and a page raise errors of the toolkit."""
    with pytest.raises(ServiceError) as caught:
        tabulate(httpx.Response(503, html="<p>later</p>"))
    assert caught.value.status == 503
    with pytest.raises(TabulationError, match="text/html"):
        tabulate(httpx.Response(200, html="<p>welcome</p>"))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000, b'[{"a":' * 2000 + b"1" + b"}]" * 2000])
def test_depth_is_no_crash(body):
    """A hostile body raises an error of the toolkit."""
    with pytest.raises(TabulationError):
        tabulate(body)


def test_a_value_that_holds_itself():
    """Parsed values deeper than any JSON, too, raise an error of the toolkit."""
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(TabulationError):
        tabulate(loop)
    with pytest.raises(TabulationError):
        tabulate(loop, records="a")


def authorization(token, *, at=0, lasts=900, profile="default", environment=Environment.BROKER_SANDBOX):
    issued = START + timedelta(seconds=at)
    ends = issued + timedelta(seconds=lasts)
    return Authorization(CredentialKind.CLIENT_SECRET, environment, profile, token, issued, ends)


def call(at, by=None, *, status=200, elapsed=0.25, method="GET", path=PATH):
    took = None if elapsed is None else timedelta(seconds=elapsed)
    return Call(START + timedelta(seconds=at), "broker", method, path, status, took, by)


KEY_PAIR = Authorization(CredentialKind.KEY_PAIR, Environment.PAPER, "default")
CALL_TYPES = {
    "when": "datetime64[us, UTC]",
    "interface": "str",
    "method": "str",
    "path": "str",
    "status": "Int64",
    "elapsed": "float64",
    "token": "Int64",
}
TOKEN_TYPES = {
    "profile": "str",
    "environment": "str",
    "issued": "datetime64[us, UTC]",
    "expires": "datetime64[us, UTC]",
    "lifetime": "float64",
    "remaining": "float64",
    "state": "str",
    "calls": "int64",
}


def test_calls():
    """A call is a row, numbered from 1 in the order of sending, with its seconds and its token."""
    first = authorization(1)
    table = calls_table(
        [
            call(2, first, elapsed=0.0),
            call(1, first, status=None, elapsed=None),
            call(0, method="POST", path="/v1/oauth2/token"),
            call(3, KEY_PAIR),
        ]
    )
    assert dtypes(table) == CALL_TYPES
    assert table.index.tolist() == [1, 2, 3, 4]
    assert table.index.name == "call"
    assert table["when"].tolist() == [START + timedelta(seconds=at) for at in range(4)]
    assert table["method"].tolist() == ["POST", "GET", "GET", "GET"]
    assert table["status"].tolist() == [200, pd.NA, 200, 200]
    assert table["elapsed"].fillna(-1).tolist() == [0.25, -1, 0, 0.25]
    assert table["token"].tolist() == [pd.NA, 1, 1, pd.NA]


def test_tables_are_narrow():
    """Instants to the second, cut so that order and lifetimes stay; elapsed to a tenth of a millisecond."""
    issued = START + timedelta(microseconds=900_001)
    token = Authorization(
        CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "desk", 1, issued, issued + timedelta(seconds=899)
    )
    made = Call(issued + timedelta(microseconds=5), "broker", "GET", PATH, 599, timedelta(seconds=0.0123456), token)
    calls, tokens = calls_table([made]), tokens_table([made], issued + timedelta(seconds=0.75))
    assert calls.loc[1, ["when", "status", "elapsed"]].tolist() == [START, 599, 0.0123]
    assert tokens.loc[1, ["issued", "expires"]].tolist() == [START, START + timedelta(seconds=899)]
    assert tokens.loc[1, ["lifetime", "remaining"]].tolist() == [899.0, 899.0]
    assert (tokens["expires"] - tokens["issued"]).dt.total_seconds().tolist() == tokens["lifetime"].tolist()
    for table, width in ((calls, 85), (tokens, 125)):
        assert max(map(len, table.to_string().splitlines())) <= width


def test_a_token_in_its_last_second():
    """What remains is rounded up: 0 only when it has ended."""
    token = authorization(1)
    for left, remaining, state in ((0.001, 1, "valid"), (0, 0, "expired"), (-0.001, 0, "expired")):
        table = tokens_table([call(0, token)], START + timedelta(seconds=900 - left))
        assert table.loc[1, ["remaining", "state"]].tolist() == [remaining, state]


def recipes(function, *beginnings):
    """The lines of code in a docstring that begin so."""
    lines = [line.strip() for line in inspect.getdoc(function).splitlines() if line.startswith("    ")]
    found = [line for line in lines if line.startswith(beginnings)]
    assert found
    return found


def run(lines, **names):
    for line in lines:
        exec(line, names)  # noqa: S102 - a line of ours
    return names


def test_recipes_for_other_shapes():
    """Positions beside their accounts, and records that are listed by their key."""
    accounts = [
        {"id": "a", "account_number": "01", "cash": "5.5", "positions": [{"symbol": "ALFA", "quantity": 2}]},
        {"id": "b", "account_number": "02", "cash": "7.5", "positions": []},
    ]
    found = run(
        recipes(tabulate, "positions = ", "table = "), tabulate=tabulate, response=httpx.Response(200, json=accounts)
    )
    assert found["table"].loc[0, ["account_number", "symbol", "quantity", "cash"]].tolist() == ["01", "ALFA", 2, 5.5]
    quoted = httpx.Response(200, json={"quotes": {"ALFA": {"bid": 1}, "BRVO": {"bid": 2}}})
    quotes = run(recipes(tabulate, "quotes = "), tabulate=tabulate, response=quoted)["quotes"]
    assert quotes.to_dict("list") == {"symbol": ["ALFA", "BRVO"], "bid": [1, 2]}


ANSWER = [{"id": "a", "cash": "5.25", "rate": 1.5, "owner": {"since": "2026-05-12T09:30:00Z"}, "closed_on": None}]
FILES = {
    "calls": (calls_table, lambda: calls_table([call(0, authorization(1)), call(1, status=599)])),
    "tokens": (tokens_table, lambda: tokens_table([call(0, authorization(1))], START)),
    "table": (tabulate, lambda: tabulate(ANSWER)),
}


@pytest.mark.parametrize("name", FILES)
def test_recipes_for_parquet(name, tmp_path, monkeypatch):
    """The line in the docstring keeps every type."""
    monkeypatch.chdir(tmp_path)
    function, made = FILES[name]
    run(recipes(function, f"{name}.to_parquet("), **{name: made()})
    pd.testing.assert_frame_equal(pd.read_parquet(f"{name}.parquet"), made())


@pytest.mark.parametrize("name", FILES)
def test_recipes_for_excel(name, tmp_path, monkeypatch):
    """The lines in the docstrings make a file that holds the same, its instants without their zone."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("openpyxl")
    function, made = FILES[name]
    run(recipes(function, "instants = ", f"{name}.assign("), **{name: made()})
    read, table = pd.read_excel(f"{name}.xlsx", index_col=0, dtype={"id": str}), made()
    assert list(read.columns) == list(table.columns)
    for column in table.select_dtypes("datetimetz"):
        assert read[column].tolist() == table[column].dt.tz_localize(None).tolist()


def test_recipes_when_there_is_no_instant():
    """Nothing is taken off then."""
    (line,) = recipes(tabulate, "instants = ")
    assert run([line], table=tabulate([{"x": 1}]))["instants"].shape[1] == 0


def test_no_calls():
    """Without calls both tables have their columns and types."""
    assert dtypes(calls_table([])) == CALL_TYPES
    assert dtypes(tokens_table([], START)) == TOKEN_TYPES
    assert calls_table([]).index.name == "call"
    assert tokens_table([], START).index.name == "token"


def test_calls_of_one_instant():
    """Calls of one instant stay in the order in which they are given."""
    assert calls_table([call(0, path="/b"), call(0, path="/a")])["path"].tolist() == ["/b", "/a"]


def test_instants_of_another_zone():
    """An instant is in UTC, whatever zone it came in."""
    local = Call(START.astimezone(timezone(timedelta(hours=2))), "broker", "GET", PATH)
    table = calls_table([local])
    assert dtypes(table) == CALL_TYPES
    assert table["when"].tolist() == [START]


def test_tokens():
    """A token is a row with its lifetime, what remains of it and how many calls it authorized."""
    token = authorization(1, lasts=898)
    table = tokens_table([call(0), call(1, token), call(2, token), call(3, KEY_PAIR)], START + timedelta(seconds=98))
    assert dtypes(table) == TOKEN_TYPES
    assert table.index.tolist() == [1]
    assert table.loc[1].to_dict() == {
        "profile": "default",
        "environment": "broker-sandbox",
        "issued": START,
        "expires": START + timedelta(seconds=898),
        "lifetime": 898.0,
        "remaining": 800.0,
        "state": "valid",
        "calls": 2,
    }


@pytest.mark.parametrize(
    ("now", "states", "remaining"),
    [
        (950, ["replaced", "expired", "valid"], [0, 0, 850]),
        (1799, ["replaced", "expired", "valid"], [0, 0, 1]),
        (1800, ["replaced", "expired", "expired"], [0, 0, 0]),
    ],
)
def test_states(now, states, remaining):
    """A token is replaced by a later one of its credentials, expires at its end, and is valid before."""
    tokens = [authorization(1), authorization(2, at=100, lasts=800), authorization(3, at=900)]
    table = tokens_table([call(0, token) for token in tokens], START + timedelta(seconds=now))
    assert table["state"].tolist() == states
    assert table["remaining"].tolist() == remaining


def test_tokens_of_others_replace_nothing():
    """Only a token of the same profile and environment replaces another."""
    tokens = [
        authorization(1),
        authorization(2, at=10, profile="other"),
        authorization(3, at=10, environment=Environment.BROKER_LIVE),
    ]
    table = tokens_table([call(0, token) for token in tokens], START + timedelta(seconds=20))
    assert table["state"].tolist() == ["valid"] * 3
    assert table["profile"].tolist() == ["default", "other", "default"]


def test_tokens_of_one_instant():
    """Of two tokens issued at one instant the higher number is the later."""
    table = tokens_table([call(0, authorization(number)) for number in (1, 2)], START)
    assert table["state"].tolist() == ["replaced", "valid"]


@given(
    st.lists(
        st.builds(authorization, st.integers(1, 4), at=st.integers(0, 2000), lasts=st.integers(1, 900)), max_size=8
    ),
    st.randoms(use_true_random=False),
    st.integers(0, 4000),
)
def test_tokens_law(tokens, chance, now):
    """The table does not depend on the order of calls, counts each once, and nothing remains below zero."""
    calls = [call(index, token) for index, token in enumerate(tokens)]
    instant = START + timedelta(seconds=now)
    table = tokens_table(calls, instant)
    shuffled = [*calls]
    chance.shuffle(shuffled)
    pd.testing.assert_frame_equal(tokens_table(shuffled, instant), table)
    assert table["calls"].sum() == len(calls)
    assert (table["remaining"] >= 0).all()
    assert not ((table["state"] == "valid") & (table["remaining"] == 0)).any()
    assert np.all(np.diff(table.index) >= 0)


def test_arguments_that_are_none():
    """Nothing, and a path that is no text, are told in words."""
    with pytest.raises(TabulationError, match="it is None"):
        tabulate(None)
    with pytest.raises(TabulationError, match="dotted path of a list, not int"):
        tabulate([{"a": [1]}], records=3)
    assert tabulate(b"null").shape == (1, 0)
