"""The examples in the docstring of `tabulate` do what they say."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta

import httpx
import pandas as pd
import pytest

from toolkit.core.document import CredentialKind, Environment
from toolkit.core.ledger import Authorization, Call
from toolkit.tables import calls_table, tabulate, tokens_table

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
TOKEN = Authorization(
    CredentialKind.CLIENT_SECRET, Environment.BROKER_SANDBOX, "default", 1, START, START + timedelta(seconds=900)
)
CALLS = [
    Call(START, "broker", "GET", "/v1/accounts", 200, timedelta(seconds=0.25), TOKEN),
    Call(START + timedelta(seconds=1), "broker", "GET", "/v1/accounts", 599),
]
ACCOUNT = {"id": "a", "cash": "5.25", "rate": 1.5, "owner": {"since": "2026-05-12T09:30:00Z"}, "closed_on": None}
TABLES = {"accounts": tabulate([ACCOUNT]), "calls": calls_table(CALLS), "tokens": tokens_table(CALLS, START)}


def recipe(*beginnings):
    """Return the lines of code in the docstring of `tabulate` with these beginnings."""
    lines = [line.strip() for line in inspect.getdoc(tabulate).splitlines() if line.startswith("    ")]
    code = [line for line in lines if line.startswith(beginnings)]
    assert code
    return "\n".join(code)


def run(code, **names):
    """Return the variables after running the code."""
    exec(code, names)  # noqa: S102 - from our own docstrings
    return names


def test_positions_with_their_accounts():
    """The positions of each account get the columns of their account."""
    accounts = [
        {"id": "a", "account_number": "01", "cash": "5.5", "positions": [{"symbol": "ALFA", "quantity": 2}]},
        {"id": "b", "account_number": "02", "cash": "7.5", "positions": []},
    ]
    code = recipe("positions = ", "table = ")
    response = httpx.Response(200, json=accounts)
    names = run(code, tabulate=tabulate, response=response, accounts=tabulate(response))
    pd.testing.assert_frame_equal(names["positions"], tabulate(response, records="positions"))
    table = names["table"]
    assert table.loc[0, ["account_number", "symbol", "quantity", "cash"]].tolist() == ["01", "ALFA", 2, 5.5]


def test_records_listed_by_their_key():
    """The keys of an object become a column of the table of its members."""
    response = httpx.Response(200, json={"quotes": {"ALFA": {"bid": 1}, "BRVO": {"bid": 2}}})
    quotes = run(recipe("quotes = "), tabulate=tabulate, response=response)["quotes"]
    assert quotes.to_dict("list") == {"symbol": ["ALFA", "BRVO"], "bid": [1, 2]}


@pytest.mark.parametrize("name", TABLES)
def test_parquet(name, tmp_path, monkeypatch):
    """A table comes back from Parquet with every type."""
    monkeypatch.chdir(tmp_path)
    run(recipe("table.to_parquet("), table=TABLES[name])
    pd.testing.assert_frame_equal(pd.read_parquet("table.parquet"), TABLES[name])


@pytest.mark.parametrize("name", TABLES)
def test_excel(name, tmp_path, monkeypatch):
    """A table comes back from Excel with the same columns, and its instants without a zone."""
    monkeypatch.chdir(tmp_path)
    table = TABLES[name]
    run(recipe("instants = ", "table.assign("), table=table)
    result = pd.read_excel("table.xlsx", index_col=0, dtype={"id": str})
    assert list(result.columns) == list(table.columns)
    for column in table.select_dtypes("datetimetz"):
        assert result[column].tolist() == table[column].dt.tz_localize(None).tolist()


def test_excel_without_instants():
    """The lines for Excel also work for a table without instants."""
    assert run(recipe("instants = "), table=tabulate([{"x": 1}]))["instants"].shape[1] == 0
