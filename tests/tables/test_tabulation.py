from __future__ import annotations

import contextlib
import itertools
import json
import warnings
from datetime import date, datetime
from decimal import Decimal

import httpx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolkit as tk
from toolkit.core.errors import ConfigurationError, TabulationError, ToolkitError
from toolkit.tables.tabulation import tabulate


@given(st.lists(st.decimals(-(10**15), 10**15, places=5), min_size=1), st.booleans())
def test_decimals_are_exact(amounts, as_text):
    """With numbers as decimals, every amount keeps its digits, whether it is a JSON number or text."""
    mark = '"' if as_text else ""
    body = "[" + ",".join(f'{{"cash": {mark}{amount:f}{mark}}}' for amount in amounts) + "]"
    frame = tabulate(body, numbers="decimal")
    assert [Decimal(amount) for amount in frame["cash"]] == amounts


@pytest.mark.filterwarnings("ignore")
@given(st.binary(max_size=30) | st.text(max_size=30))
def test_any_body_is_a_table_or_a_toolkit_error(data):
    """No body raises any other error."""
    with contextlib.suppress(ToolkitError):
        assert isinstance(tabulate(data), pd.DataFrame)


# JSON values of a field of each kind, and the conversion of its column that a user would write by hand.
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


@pytest.mark.filterwarnings("ignore")
@given(ACCOUNTS)
def test_same_as_json_normalize(records):
    """The columns are those of json_normalize, converted by hand; a column without any value stays object."""
    expected = pd.json_normalize(records)
    for name in expected:
        column = expected[name]
        _, by_hand = KINDS[name.rpartition(".")[2]]
        expected[name] = column.astype(object).where(column.notna(), None) if column.isna().all() else by_hand(column)
    for data in (records, json.dumps(records).encode()):
        frame = tabulate(data)
        pd.testing.assert_frame_equal(frame, expected[list(frame.columns)], check_exact=True, check_column_type=False)
        assert set(frame.columns) == set(expected.columns)


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        (b'[{"a": "1234567890123456.78", "b": 1, "c": 12345678901234567890}]', "'a', 'c'"),
        (b'[{"a": 1234567890123456.78}]', "'a'"),
    ],
)
def test_digits_that_do_not_fit_a_float(body, columns):
    """Numbers with more than 15 digits cause one warning, which names the columns, at the caller's line."""
    with pytest.warns(UserWarning, match="more than 15 significant digits") as caught:
        tabulate(body)
    assert len(caught) == 1
    assert columns in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tabulate(body, numbers="decimal")
        tabulate(body, numbers="text")


@pytest.mark.parametrize("number", ["9" * 5000, "1e9999999999999999999999"])
@pytest.mark.parametrize("others", ["", ', {"a": true}'])
def test_hostile_numbers(number, others):
    """A number too large for any type is refused, unless numbers are text."""
    body = f'[{{"a": {number}}}{others}]'
    for numbers in ("float", "decimal"):
        with pytest.raises(TabulationError):
            tabulate(body, numbers=numbers)
    frame = tabulate(body, numbers="text")
    assert frame["a"][0] == number
    assert repr(frame)


def test_nanoseconds():
    """Digits beyond the microsecond cause a warning; as text they are kept."""
    record = {"at": "2026-05-12T09:30:00.123456789Z"}
    with pytest.warns(UserWarning, match="beyond the microsecond were dropped: 'at'"):
        assert tabulate([record])["at"].tolist() == [pd.Timestamp("2026-05-12 09:30:00.123456", tz="UTC")]
    assert tabulate([record], dtypes={"at": "str"})["at"].tolist() == [record["at"]]


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 200_000, b'[{"a":' * 2000 + b"1" + b"}]" * 2000])
def test_hostile_depth(body):
    """A body that is nested too deeply raises TabulationError instead of crashing."""
    with pytest.raises(TabulationError):
        tabulate(body)


def test_wrong_arguments():
    """None instead of data, and a path that is not text, are refused."""
    with pytest.raises(TabulationError, match="data is None") as caught:
        tabulate(None)
    assert caught.value.about == "data"
    with pytest.raises(ConfigurationError, match="records must be a string, not int") as caught:
        tabulate([{"a": [1]}], records=3)
    assert caught.value.about == "records"
    assert tabulate(iter([b"null", {"a": 1}])).shape == (2, 1)
    assert tabulate(5)["value"].tolist() == [5]
    with pytest.raises(TabulationError, match="too many digits"):
        tabulate([{"id": 10**5000}])


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (list, ""),
        (lambda pages: [*pages][::-1], ""),
        (lambda pages: itertools.islice(pages, 3), ""),
        (lambda pages: itertools.islice(pages, 2), "is part of a list"),
        (lambda pages: [next(iter(pages))], "is one page of a list"),
    ],
)
def test_pages_that_are_not_there(read, said):
    """A list or an iterator of pages gives a warning if they name a page that is not among them, and only then."""

    def answer(request):
        page = int(request.url.params.get("page_token", "1"))
        return httpx.Response(
            200, json={"items": [{"id": page}], "next_page_token": str(page + 1) if page < 3 else None}
        )

    client = httpx.Client(transport=httpx.MockTransport(answer), base_url="https://svc.example", params={"a": 1})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tabulate(read(tk.pages(client, "/v1/items")))
    assert [said in str(warning.message) for warning in caught] == ([True] if said else [])


def test_missing_decimals_are_not_zero():
    """With numbers as decimals, a missing amount stays missing, also beside amounts with an exponent."""
    frame = tabulate([{"cash": "1e3"}, {"cash": None}, {"cash": "0e9"}], numbers="decimal")
    assert frame["cash"].isna().tolist() == [False, True, False]
